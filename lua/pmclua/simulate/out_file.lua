--- out_file.lua: the files that cachegrind and callgrind write: their sums, and what each line of the source had.
--
-- Invariant: a file that is cut off or has no sums is refused, with the reason. The order of the counters is read from
-- the file. Counts are exact: the sum of all lines is the file's own sum (`summary`; callgrind's `totals` where a
-- dump is a part), and what a file leaves out at the end of a line is 0.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.OutFile
---@field events string[] Valgrind's counters, in the file's order
---@field summary table<string, number|ffi.cdata*> sums by counter
---@field command string that was executed
---@field trigger string? why callgrind wrote it: "--dump-before=fork", "Program termination", …
---@field text string the whole file

local function counts_of(events, numbers)
  local counts, i = {}, 0
  for digits in numbers:gmatch "%d+" do
    i = i + 1
    if events[i] then counts[events[i]] = core.exact(assert(core.u64(digits))) end
  end
  for k = i + 1, #events do counts[events[k]] = 0 end
  return counts
end

local function words_of(line) return lists.collect(line:gmatch "%S+") end

--- Parses a file's text; nil and why it cannot be parsed.
---@param text string
---@return pmclua.OutFile?
---@return string? why
function M.parse(text)
  local names = text:match "\nevents:([^\n]*)\n" or text:match "^events:([^\n]*)\n"
  if not names then return nil, "it does not say which events it has" end
  local events = words_of(names)
  local sums = text:match "\ntotals:([^\n]*)" or text:match "\nsummary:([^\n]*)"
  if not sums or not sums:find "%d" then return nil, "it has no sums: it was cut off" end
  return { events = events, summary = counts_of(events, sums), command = text:match "\ncmd:%s*([^\n]*)" or "",
    trigger = text:match "\ndesc:%s*Trigger:%s*([^\n]*)", text = text }
end

--- The same of a file of this user's own.
---@param path string
---@return pmclua.OutFile?
---@return string? why
function M.read(path)
  local text, why = core.read_plain(path, nil, { owner = core.uid() })
  if text == "" then return nil, "it is empty" end
  if not text then return nil, why end
  return M.parse(text)
end

-- ---- lines ------------------------------------------------------------------------------------------------

-- Names that callgrind has given a number: "(3) main" the first time, then "(3)".
local function named(names, field)
  local number, name = field:match "^%((%d+)%)%s*(.*)$"
  if not number then return field end
  if name ~= "" then names[number] = name end
  return names[number] or field
end

-- A position: a number, or the difference to the last one ("+3", "-2", "*").
local function position(last, field)
  if field == "*" then return last end
  local sign, digits = field:match "^([+-])(%d+)$"
  if sign then return last + tonumber(sign .. digits) end
  return tonumber(field) or last
end

local PATHS = { fl = "file", fi = "file", fe = "file", ob = "object", fn = "fn" }

local Reader = {}
Reader.__index = Reader

-- "fn=(3) main": where what follows is.
function Reader:set(key, field)
  local names = self.names[PATHS[key]]
  if key == "fl" then self.at.home = nil end
  self.at[PATHS[key]] = named(names, field)
end

-- A line of counts; after "calls=" it is what the called function cost with all that it called.
function Reader:count(numbers)
  local words, at = words_of(numbers), self.at
  at.at = position(at.at or 0, words[self.positions] or "0")
  self.lines[#self.lines + 1] = { file = at.file, object = at.object, fn = at.fn, line = at.at,
    inclusive = self.calls and true, calls = self.calls, called = self.calls and self.called,
    counts = counts_of(self.file.events, table.concat(words, " ", self.positions + 1)) }
  self.calls = nil
end

function Reader:take(line)
  local key, value = line:match "^(%l%l)=(.*)$"
  if key and PATHS[key] then return self:set(key, value) end
  if line:find "^calls=" then self.calls = tonumber(line:match "^calls=(%d+)" or 0)
  elseif line:find "^c%l+=" then
    local other, name = line:match "^c(%l+)=(.*)$"
    local kind = PATHS[other == "fi" and "fl" or other]
    local known = kind and named(self.names[kind], name)
    if kind == "fn" then self.called = known end
  elseif line:find "^[%d+*-]" then self:count(line) end
end

--- The costs of each source line, in the file's order. Of callgrind's files, costs of calls are marked `inclusive`:
--- they are in the lines of the called function already.
---@param file pmclua.OutFile|pmclua.HeapFile
---@return { file: string, object: string?, fn: string, line: integer, inclusive: true?, calls: integer?, called: string?,
---  counts: table<string, number> }[] calls, called: of an inclusive one
function M.lines(file)
  if file.lines then return file.lines end             -- DHAT's, which is parsed already
  -- A line of counts begins with one position or, with addresses, two.
  local positions = #words_of(file.text:match "\npositions:([^\n]*)" or "line")
  local reader = setmetatable({ file = file, lines = {}, names = { file = {}, object = {}, fn = {} },
    positions = positions, at = {} }, Reader)
  for line in file.text:gmatch "[^\n]+" do reader:take(line) end
  return reader.lines
end

--- Whether one of some functions was executed, by the names that symbols give it.
---@param file pmclua.OutFile
---@param functions string[]
---@return boolean
function M.has_function(file, functions)
  return lists.any(functions, function(name)
    local pattern = "\nfn=[^\n]-%f[%w_]" .. name:gsub("%p", "%%%0") .. "%f[^%w_]"
    return file.text:find(name, 1, true) and file.text:find(pattern)
  end)
end

--- The sum of some counters.
---@param counters string[]
---@param counts table<string, number|ffi.cdata*>
---@return number
function M.sum_of(counters, counts)
  return lists.sum(counters, function(counter) return tonumber(counts[counter] or 0) end)
end

--- Adds counts to others, exactly.
---@param total table<string, number|ffi.cdata*> changed
---@param counts table<string, number|ffi.cdata*>
function M.add(total, counts)
  for event, count in pairs(counts) do total[event] = core.sum(total[event], count) end
end

--- The sums of several files.
---@param list (pmclua.OutFile|pmclua.HeapFile)[]
---@return table<string, number|ffi.cdata*>
function M.sum(list)
  local total = {}
  for _, file in ipairs(list) do M.add(total, file.summary) end
  return total
end

return M
