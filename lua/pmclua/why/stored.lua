--- stored.lua: the two programs of stored results, as workloads that can be run again: what is measured of a cause must
--- be measured on what was counted.
--
-- Invariant: a program is run only where it is, by the hash of the file, the one that was counted, or where the user names
-- it; with the new result's arguments alone: a baseline may be anybody's. What stands in the way is said, with what to do.

local cell_key = require "pmclua.result.cell_key"
local comparable = require "pmclua.result.comparable"
local core = require "pmclua.core"
local evidence = require "pmclua.workload.evidence"
local kinds = require "pmclua.workload.kinds"
local lists = require "pmclua.base.lists"
local paths = require "pmclua.host.paths"

local M = {}

local NEED = "; `gate --against OLD --why -- NEW` measures both in one run"

local function facts_of(cell) return comparable.how(cell.result.header, cell.workload, cell.levels) end

local function unknown(facts, whose)
  local is_rerun = facts and kinds.of(facts.kind).is_rerun
  if not facts or is_rerun and not facts.program then
    return ("the file of %s does not say which program was run%s"):format(whose, NEED)
  elseif not is_rerun then
    return ("%s is of a %s; only commands are run again from stored results%s"):format(whose,
      facts.kind, NEED)
  end
  local values = require("pmclua.base.json").encode { facts.argv, facts.env or {} }
  if values:find(evidence.HIDDEN, 1, true) then
    return ("the command of %s has a value that was not stored, as its name says that it is secret%s")
      :format(whose, NEED)
  end
end

local function replaced(facts, program, whose, commit)
  local hash = core.stat(program) and evidence.identity(program)
  if hash == facts.program_hash then return nil end
  local from = commit and (" (commit %s)"):format(commit:sub(1, 10)) or ""
  local is_old = whose == "the baseline"
  return ("%s was counted with %s%s of hash %s, which %s; %s"):format(whose, program, from,
    tostring(facts.program_hash):sub(1, 12),
    hash and "is another program now (" .. hash:sub(1, 12) .. ")" or "is no longer there",
    is_old and "keep it, and say where it is: --old-program FILE"
      or "count again: the new result must be of the program that is there")
end

-- The inputs of a command besides its program.
local function given_to(facts)
  return require("pmclua.base.json").encode { { unpack(facts.argv, 2) }, facts.env or {},
    facts.stdin or false, facts.shell or false }
end

local function file_name(path) return path:match "[^/]*$" end

local function unlike(old, new, program)
  if given_to(old) ~= given_to(new) then
    return "the baseline was counted with other arguments, input or environment"
  elseif program and file_name(old.program) ~= file_name(new.program) then
    return ("the baseline is of another program, %s; --old-program FILE has it run all the same")
      :format(old.program)
  elseif program and old.program_hash == new.program_hash then
    return "both results are of the same program with the same arguments: what differs is beside it (a "
      .. "library, a script or a file that it reads), and was not kept" .. NEED
  end
end

local function command_of(side, facts, folder, program)
  local env = facts.env and lists.copy(facts.env) or nil
  for name, value in pairs(env or {}) do
    if value == evidence.REMOVED then env[name] = false end
  end
  return require("pmclua.workload.command").new { name = side, cwd = folder, env = env,
    stdin = facts.stdin ~= "inherit" and facts.stdin and paths.from(folder, facts.stdin) or facts.stdin,
    program, unpack(facts.argv, 2) }
end

--- The workloads of a stored cell and its baseline.
---@param cells { a: pmclua.Cell, b: pmclua.Cell }
---@param given? string path of the baseline's program, where it is no longer at its own
---@return { a: pmclua.Command, b: pmclua.Command }? nil: they cannot be run
---@return string? why not; or that the given program is not the one that was counted
function M.sides(cells, given)
  local old, new = facts_of(cells.a), facts_of(cells.b)
  local why = unknown(new, "the new result") or unknown(old, "the baseline")
  if why then return nil, why end
  local how, how_old = cells.b.result.header.how, cells.a.result.header.how
  local folder = paths.from(how.folder or ".", new.cwd or ".")
  local program = paths.from(how.folder or ".", new.program)
  local before = not given and paths.from(how_old.folder or ".", old.program)
  why = unlike(old, new, before) or replaced(new, program, "the new result", how.commit)
    or before and replaced(old, before, "the baseline", how_old.commit)
    or given and not core.stat(given) and given .. ": there is no such file (--old-program)"
  if why then return nil, why end
  local is_other = given and evidence.identity(given) ~= old.program_hash
  return { a = command_of("baseline", new, folder, core.real_path(given or before)),
    b = command_of("new", new, folder, core.real_path(program)) },
    is_other and given .. " is not, to the byte, the program that the baseline was counted with" or nil
end

--- The cell of the newest baseline that a limit on a cell is relative to.
---@param gate pmclua.Gate
---@param cell pmclua.Cell
---@return pmclua.Cell?
function M.baseline(gate, cell)
  local key = cell_key.of(cell.workload, cell.levels, cell)
  for i = #gate.baselines, 1, -1 do
    local before = cell_key.index(gate.baselines[i])[key]
    if before then return before end
  end
end

return M
