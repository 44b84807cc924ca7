--- marked.lua: what lies between marks (pmclua_mark.h), from callgrind's dumps.
--
-- Each mark writes two: "cut", when it is reached, and "+NAME" or "-NAME", when it is done. So what ends in a cut is the
-- program's, and what ends in a name is the mark's own and counts nowhere.

local out_file = require "pmclua.simulate.out_file"

local M = {}

--- The value of PMCLUA_MARKS for programs under callgrind.
M.TABLE = ":valgrind"

---@class pmclua.Marked
---@field name string
---@field entries integer that are complete
---@field counts table<string, number|ffi.cdata*> sums over entries, of a mark within itself the outermost alone

local function part_of(file) return tonumber(file.text:match "\npart: (%d+)") or math.huge end

local function new_mark(marks, name)
  if not marks[name] then
    marks[name] = { name = name, entries = 0, counts = {}, open = {}, stray = 0 }
    marks[#marks + 1] = marks[name]
  end
  return marks[name]
end

-- The latest begin of the mark ends.
local function leave(mark)
  local ended = table.remove(mark.open)
  if not ended then
    mark.stray = mark.stray + 1
    return
  end
  mark.entries = mark.entries + 1
  if #mark.open == 0 then out_file.add(mark.counts, ended) end
end

-- Counts belong to every open entry; in recursion of a mark, to the outermost.
local function cut(marks, counts)
  for _, mark in ipairs(marks) do
    if mark.open[1] then out_file.add(mark.open[1], counts) end
  end
end

local TOO_MANY = "it has more than 1,000 entries of marks: callgrind writes four files for each"
local THREADS = "its marks are in several threads or processes, which callgrind's counts do not tell apart"

--- The marks of a run, in the order of their first begin.
---@param files pmclua.OutFile[] of one process
---@return (pmclua.Marked|{ open: table[], stray: integer })[]? marks nil where they cannot be told apart
---@return string? why
function M.read(files)
  table.sort(files, function(a, b) return part_of(a) < part_of(b) end)
  local marks, thread = {}, nil
  for _, file in ipairs(files) do
    local request = (file.trigger or ""):match "^Client Request: pmclua mark (.*)$"
    local tid, kind, name = (request or ""):match "^(%d+) ([-+!])(.*)$"
    thread = thread or tid
    if tid and tid ~= thread then return nil, THREADS end
    if kind == "!" then return nil, TOO_MANY end
    if request == "cut" then cut(marks, file.summary)
    elseif kind == "+" then table.insert(new_mark(marks, name).open, {})
    elseif kind == "-" then leave(new_mark(marks, name)) end
  end
  return marks
end

return M
