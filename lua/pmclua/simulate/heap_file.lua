--- heap_file.lua: the files that DHAT writes: what a process allocated, by the chain of calls that allocated it.
--
-- Invariant: a file that is cut off is refused. Counts of all chains sum to the process's own.

local callers = require("pmclua.base.lazy").module "pmclua.simulate.callers"
local core = require "pmclua.core"
local lists = require "pmclua.base.lists"

local M = {}

--- Frames of a chain; those further out are unknown.
M.DEPTH = 64

---@class pmclua.HeapFrame
---@field fn string as the symbol has it
---@field file string? of the source
---@field line integer? of it
---@field object string? where there is no source

---@class pmclua.HeapFile
---@field command string that was executed
---@field summary table<string, number> by counter (event/simulated.lua)
---@field lines table[] as out_file.lines has them, each with `frames`, the innermost first
---@field has_threads boolean a thread was started while Valgrind counted

-- "0x109186: keep (/tmp/h.c:5)", "0x48417B4: malloc (in /usr/lib/x.so)", "0x10: ???".
local function frame_of(text)
  local address, rest = text:match "^(0x%x+): (.*)$"
  if not address then return { fn = "???" } end
  local fn, where = rest:match "^(.-) %((.*)%)$"
  local file, line = (where or ""):match "^(.*):(%d+)$"
  return { fn = fn or rest, address = address, file = file, line = tonumber(line),
    object = not file and (where or ""):match "^in (.*)$" or nil }
end

local function frames_in(text)
  return lists.map(lists.collect(text:gmatch '\n [%[,]"([^\n]*)"%f[\n]'), function(frame)
    return frame_of((frame:gsub("\\(.)", "%1")))
  end)
end

-- Valgrind's own malloc, new and so on.
local function is_allocator(frame)
  return (frame.object or ""):find("vgpreload_", 1, true) or (frame.file or ""):find "vg_replace_malloc%.c$"
end

-- The frames of a chain, the innermost first. Functions that were copied into another one have its address: they are
-- one frame, with the name of the outer and the source of the inner.
local function chain_of(known, indices)
  local chain = {}
  for index in indices:gmatch "%d+" do
    local frame, last = known[index + 1] or { fn = "???" }, chain[#chain]
    if last and frame.address and last.address == frame.address then
      last.fn = frame.fn
    elseif #chain > 0 or not is_allocator(frame) then
      chain[#chain + 1] = lists.copy(frame)
    end
  end
  return chain
end

local function counts_of(fields)
  local function number(name) return tonumber(fields:match('"' .. name .. '":(%d+)') or 0) end
  local bytes = number "tb"
  return { tbk = number "tbk", tb = bytes, gb = number "gb", unread = math.max(0, bytes - number "rb") }
end

local THREADS = lists.set { "pthread_create", "thrd_create", "start_thread", "clone3", "clone" }

--- Parses a file's text; nil and why it cannot be parsed.
---@param text string
---@return pmclua.HeapFile?
---@return string? why
function M.parse(text)
  local from = text:find('\n,"ftbl":', 1, true)
  if not from or not text:find "%]\n}%s*$" then return nil, "it was cut off" end
  local known, lines = frames_in(text:sub(from)), {}
  local summary = { tbk = 0, tb = 0, gb = 0, unread = 0 }
  for fields, indices in text:sub(1, from):gmatch '({"tb":.-)"fs":%[([%d,]*)%]' do
    local counts, frames = counts_of(fields), chain_of(known, indices)
    local first = frames[1] or { fn = "???" }
    for counter, count in pairs(counts) do summary[counter] = summary[counter] + count end
    lines[#lines + 1] = { fn = first.fn, file = first.file or "???", line = first.line or 0,
      object = first.object, counts = counts, frames = frames }
  end
  return { command = text:match '\n,"cmd":"([^\n]*)"\n' or "", summary = summary, lines = lines,
    has_threads = lists.any(known, function(frame) return THREADS[frame.fn:match "^[^@]*"] end) }
end

--- The same of a file of this user's own.
---@param path string
---@return pmclua.HeapFile?
---@return string? why
function M.read(path)
  local text, why = core.read_plain(path, nil, { owner = core.uid() })
  if not text then return nil, why end
  return M.parse(text)
end

--- Leaves the peak to the process that has the largest one: those of several processes may not have been at once.
---@param files pmclua.HeapFile[] changed
function M.keep_largest_peak(files)
  local largest = files[1]
  for _, file in ipairs(files) do
    if file.summary.gb > largest.summary.gb then largest = file end
  end
  for _, file in ipairs(files) do
    if file ~= largest then
      file.summary.gb = 0
      for _, line in ipairs(file.lines) do line.counts.gb = 0 end
    end
  end
end

-- "main;g;f" of a chain.
local function spelt(frames)
  local names = {}
  for _, frame in ipairs(frames) do
    table.insert(names, 1, callers.frame(frame.fn))
    if frame.fn == "main" then break end
  end
  if #frames >= M.DEPTH - 1 and names[1] ~= "main" then table.insert(names, 1, callers.UNKNOWN) end
  return table.concat(names, ";")
end

--- The cost of each chain.
---@param files pmclua.HeapFile[]
---@param counters string[] whose sum is asked for
---@return table<string, number> chains "main;f;g"
function M.chains(files, counters)
  local chains = {}
  for _, file in ipairs(files) do
    for _, line in ipairs(file.lines) do
      local chain = spelt(line.frames)
      for _, counter in ipairs(counters) do
        local count = line.counts[counter]
        if count > 0 then chains[chain] = (chains[chain] or 0) + count end
      end
    end
  end
  return chains
end

return M
