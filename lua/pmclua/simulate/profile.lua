--- profile.lua: what Valgrind counted of a command as a profile: exact, by function and source line.
--
-- Invariant: lines and rest are the count, to the last one. Its files do not say which program or library a function
-- is in, so functions of one name are one, but for those that the program itself has in several source files.

local lists = require "pmclua.base.lists"
local out_file = require "pmclua.simulate.out_file"
local spell = require("pmclua.core.symbols").spell

local M = {}

local UNKNOWN = "???"           -- Valgrind's word
local UNTOLD = "?"              -- a file, which may be the program: its build stands for all

local function known(name) return name ~= UNKNOWN and name ~= "" and name or nil end

-- The names of a function; Go's have dots of their own, which are no compiler's suffix.
local function names_of(fields)
  local is_go = fields.file and fields.file:find "%.go$"
  if is_go or not known(fields.fn) then return fields.fn, fields.fn end
  return spell((fields.fn:gsub("@@.*$", "")))
end

-- The source file that tells a function from others of its name in the program; "": none does.
local function home_in(program, full, entry)
  local homes = program and program.homes and known(entry.fn) and program.homes(full) or {}
  return homes[entry.file or ""] and entry.file or ""
end

local function line_for(lines, entry, program)
  local full, fn = names_of(entry)
  local home = home_in(program, full, entry)
  local key = table.concat({ full, entry.object or "", home }, "\0")
  local line = lines[key]
  if not line then
    local is_known = known(entry.fn) ~= nil
    line = { file = entry.object or UNTOLD, fn = is_known and fn or "code without symbols",
      full = is_known and full ~= fn and full or nil, nameless = not is_known or nil,
      source = home ~= "" and home or nil, is_local = home ~= "" or nil, count = 0, at = {}, of_source = {} }
    lines[key], lines[#lines + 1] = line, line
  end
  return line
end

local function add(line, number, source, count)
  line.count = line.count + count
  line.of_source[source] = (line.of_source[source] or 0) + count
  line.at[#line.at + 1] = { line = number > 0 and number or nil, source = known(source), count = count }
end

-- The source file of a function: the one that has most of it; the others belong to functions copied into it.
local function home_of(of_source)
  local home
  for source, count in pairs(of_source) do
    local is_more = not home or count > of_source[home] or count == of_source[home] and source < home
    if known(source) and is_more then home = source end
  end
  return home
end

-- Gives the lines of a function what they were copied with.
local function add_copied(line, copied)
  for _, at in ipairs(line.at) do
    at.inlined = at.line and copied(line.full or line.fn, at.source, at.line)
  end
end

local function take(lines, file, counters, program)
  local sum = 0
  for _, entry in ipairs(out_file.lines(file)) do
    local count = not entry.inclusive and out_file.sum_of(counters, entry.counts) or 0
    if count > 0 then
      add(line_for(lines, entry, program), entry.line, entry.file, count)
      sum = sum + count
    end
  end
  return sum
end

--- The profile of an event in a run of a command.
---@param files (pmclua.OutFile|pmclua.HeapFile)[] all that Valgrind wrote of the run
---@param event pmclua.Event with `simulated`, the counters that it is the sum of
---@param program? { path: string, build_id: string?, homes?: fun(full: string): table<string, string>,
---  text?: fun(line: table): string?, has?: fun(full: string): boolean, copied?: fun(full: string, source?: string, number: integer): table[]? } that was
---  run; copied: what a line was copied with; homes: by source file, the frames of functions of a full name, where
---  there are several; text: the hash of a function's source lines
---@return table
function M.new(files, event, program)
  local lines, total, placed = {}, 0, 0
  for _, file in ipairs(files) do
    total = total + out_file.sum_of(event.simulated, file.summary)
    placed = placed + take(lines, file, event.simulated, program)
  end
  for _, line in ipairs(lines) do
    line.source, line.of_source = line.source or home_of(line.of_source), nil
    if line.file == UNTOLD and program then
      line.build_id, line.text = program.build_id, program.text and program.text(line)
      line.is_in_program = program.has and not line.nameless and program.has(line.full or line.fn) or nil
      if program.copied and not line.nameless then add_copied(line, program.copied) end
    end
  end
  local rest = total ~= placed and { ["at no line"] = total - placed } or {}
  return { event = event.name, period = 1, total = total, unit = event.unit or "", rest = rest,
    lines = lists.append({}, lines),
    exact = true, source = "valgrind", program = program and program.path }
end

return M
