--- same_program.lua: whether what is compared is one program, which is known before anything runs.
--
-- Invariant: programs are the same only where all that is loaded of them and of their libraries is, to the byte, and
-- they get the same arguments, input and environment. Of scripts nothing is concluded: they start what lies beside them.

local core = require "pmclua.core"
local linked = require "pmclua.event.linked"
local lists = require "pmclua.base.lists"
local shellwords = require "pmclua.workload.shellwords"
local symbols = require "pmclua.core.symbols"

local M = {}

-- A command's arguments and surroundings, as one text.
local function surroundings_of(command, levels)
  local words = { unpack(shellwords.fill_all(command.argv, levels), 2) }
  return require("pmclua.base.json").encode { words, command.cwd or false, command.env or {},
    command.stdin or false, command.environment or {} }
end

local function are_one_file(a, b)
  return core.real_path(a) == core.real_path(b) or symbols.is_same_program(a, b) == true
end

-- Whether two programs load the same libraries, whatever folders these are in.
local function have_same_libraries(a, b, cwd)
  local ours, theirs = linked.of { program = a, cwd = cwd }, linked.of { program = b, cwd = cwd }
  if not (ours and theirs) then return ours == theirs end
  ours, theirs = ours:paths(), theirs:paths()
  if #ours ~= #theirs then return false end
  for i, path in ipairs(ours) do
    if not are_one_file(path, theirs[i]) then return false end
  end
  return true
end

-- "file": one file; "copy": two files that are one program; nil: they are not, or nothing is known.
local function likeness(a, b)
  if not (a.workload.program and b.workload.program) then return nil end
  if surroundings_of(a.workload, a.levels) ~= surroundings_of(b.workload, b.levels) then return nil end
  local ours, theirs = a.workload:program(a.levels), b.workload:program(b.levels)
  if not (ours and theirs) then return nil end
  if ours == theirs then return "file" end
  -- A program reached by a link may look for its files beside the link.
  local is_copy = core.real_path(ours) ~= core.real_path(theirs)
    and symbols.is_same_program(ours, theirs) == true and have_same_libraries(ours, theirs, a.workload.cwd)
  return is_copy and "copy" or nil
end

-- The cell that another is compared with; nil: it is itself such a cell.
local function partner_of(cell, cells, against)
  local function value(of, key) return key == "workload" and of.workload.name or of.levels[key] end
  local function differs(key) return value(cell, key) ~= against[key] end
  if not lists.any(lists.keys(against), differs) then return nil end
  return lists.find(cells, function(other)
    for name, level in pairs(cell.levels) do
      if other.levels[name] ~= (against[name] == nil and level or against[name]) then return false end
    end
    return other.workload.name == (against.workload or cell.workload.name)
  end)
end

local SAID = {
  file = "both sides are the same program and get the same arguments: what differs is chance",
  copy = "both sides are the same program: all that is loaded of %s and %s is equal, and of their "
    .. "libraries, and they get the same arguments",
}

--- A remark if each cell is the same program as the baseline of its limits.
---@param declaration pmclua.Declaration
---@param cells table[] of a plan
---@return string? sentence nil: they differ, or it is not known
---@return boolean is_copy they are two files
function M.of(declaration, cells)
  local against, sentence, is_copy = declaration.against, nil, true
  if not against or declaration.build then return nil, false end
  for _, cell in ipairs(cells) do
    local other = partner_of(cell, cells, against)
    local how = other and likeness(cell, other)
    if other and not how then return nil, false end
    if other then
      sentence = sentence or SAID[how]:format(cell.workload:program(cell.levels),
        other.workload:program(other.levels))
      is_copy = is_copy and how == "copy"
    end
  end
  return sentence, sentence ~= nil and is_copy
end

return M
