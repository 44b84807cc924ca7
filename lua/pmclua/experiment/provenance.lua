--- provenance.lua: everything that a stored result must contain so that others can repeat its experiment.
--
-- These are the script with its arguments, what is checked out where it runs, and for each workload what was run: sources, compiler and flags,
-- hashes of programs and libraries, those that LD_PRELOAD, LD_AUDIT and LD_LIBRARY_PATH bring in among them. Of the
-- environment it has what the script sets, and the few variables that change what programs do. Values whose
-- names look secret are left out.

local core = require "pmclua.core"
local evidence = require "pmclua.workload.evidence"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local paths = require "pmclua.host.paths"

local M = {}

-- Variables that change what a program does or how fast it is.
local VARIABLES = { "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_BIND_NOW", "GLIBC_TUNABLES",
  "MALLOC_ARENA_MAX", "LC_ALL", "LANG", "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "GOMAXPROCS" }

-- ---- the whole ---------------------------------------------------------------------------------------------

local function script_of()
  local script = require("pmclua.host.running").script
  if not script or not script.path then return script and { args = evidence.words(script.words) } or nil end
  local text = evidence.file(script.path)
  return { path = paths.from(core.real_path "." or ".", script.path), hash = text and core.hash(text),
    text = evidence.text(text), args = evidence.words(script.words) }
end

local function environment()
  local values = {}
  for _, name in ipairs(VARIABLES) do values[name] = os.getenv(name) end
  return next(values) and values or nil
end

-- Equal facts have equal fingerprints.
local function fingerprint(value)
  return require("pmclua.base.json").encode(value)
end

-- The facts about a workload; if the machine withholds them, why.
local function described(workload, levels, how)
  local ok, facts = pcall(workload.facts, workload, levels, how)
  if ok then return facts end
  if not explain.is(facts) then error(facts, 0) end
  return { unknown = tostring(facts) }
end

-- One entry for all cells in which a workload is the same.
local function workloads_of(cells, how)
  local all = lists.map(cells, function(cell)
    local facts = described(cell.workload, cell.levels, how)
    facts.workload, facts.kind = cell.workload.name, cell.workload.kind
    return { facts = facts, cell = table.concat(lists.assignments(cell.levels), " ") }
  end)
  local groups = lists.groups(all, function(entry) return fingerprint(entry.facts) end)
  return lists.map(groups, function(same)
    same[1].facts.cells = lists.column(same, "cell")
    return same[1].facts
  end)
end

--- How the experiment of a plan can be repeated.
---@param plan pmclua.Plan
---@param pin? string on which CPUs
---@param is_alone? boolean nothing is run in the environment of this process
---@return table store/README.md, "The header"
function M.of(plan, pin, is_alone)
  local has_kernel = lists.any(plan.cells, function(cell) return cell.workload.in_runner end)
  local session = has_kernel and require("pmclua.workload.session").new() or nil
  local ok, workloads = pcall(workloads_of, plan.cells,
    { pin = pin, session = session, known = {}, is_alone = is_alone })
  if session then session:close() end
  if not ok then error(workloads, 0) end
  local checkout = require("pmclua.host.git").checkout() or {}
  return { script = script_of(), folder = core.real_path ".", environment = environment(),
    workloads = workloads, commit = checkout.commit, branch = checkout.branch, changes = checkout.changes }
end

-- ---- what differs ------------------------------------------------------------------------------------------

-- Best explanations first. Hashes, not paths: paths depend on the folder that pmclua runs in.
local COMPARED = { { "kind", "kind" }, { "source_hash", "source" }, { "compiler", "compiler" },
  { "command", "compiler's command" }, { "included_hash", "source's headers" },
  { "library_hash", "library" }, { "symbol", "symbol" },
  { "params", "parameters" }, { "threads", "threads" }, { "cpus", "CPUs" }, { "argv", "command" },
  { "launch", "launch" }, { "launcher", "launcher" },
  { "program_hash", "program" }, { "libraries", "preloaded libraries (LD_PRELOAD, LD_LIBRARY_PATH)" },
  { "cwd", "folder" },
  { "env", "environment" }, { "stdin", "standard input" } }

-- Folders of headers are left out: the hash with all headers covers them.
local function compared(value, field)
  if field ~= "command" or type(value) ~= "table" then return value end
  return lists.where(value, function(word) return not word:find "^%-I" end)
end

local function shown(value)
  if value == nil then return "nothing" end
  if type(value) ~= "table" then return "'" .. tostring(value) .. "'" end
  return fingerprint(value)
end

local function by_cell(how)
  local map = {}
  for _, workload in ipairs(how.workloads or {}) do
    for _, cell in ipairs(workload.cells or {}) do map[workload.workload .. "\0" .. cell] = workload end
  end
  return map
end

--- The first difference between how two results were made, as text; nil if what is known of both agrees.
---@param stored? table
---@param here table
---@return string?
function M.difference(stored, here)
  if not stored then return nil end
  local before = by_cell(stored)
  for cell, workload in pairs(by_cell(here)) do
    local old = before[cell]
    for _, field in ipairs(old and COMPARED or {}) do
      local was, is = compared(old[field[1]], field[1]), compared(workload[field[1]], field[1])
      if fingerprint(was or "") ~= fingerprint(is or "") then
        return ("the %s of %s was %s and is now %s"):format(field[2], workload.workload, shown(was),
          shown(is))
      end
    end
  end
end

--- The first variable that differs between two results, as text; nil if none that is known of both does.
---@param stored? table
---@param here table
---@return string?
function M.other_environment(stored, here)
  if not stored then return nil end
  local was, is = stored.environment or {}, here.environment or {}
  for _, name in ipairs(VARIABLES) do
    if was[name] ~= is[name] then
      local form = "resumed in another environment: %s was %s and is now %s"
      return form:format(name, shown(was[name]), shown(is[name]))
    end
  end
end

return M
