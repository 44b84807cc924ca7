--- kinds.lua: the kinds of workloads: a row each, with what holds for all of a kind.
--
-- Callers ask for a fact, never for a kind. Stored results name their workloads' kinds, so what is asked of stored ones
-- stands here, where nothing else is loaded; what takes code stands in the kind's own file.

local M = {}

---@class pmclua.WorkloadKind
---@field per? "run"|"iteration" what its values are per
---@field is_executed? boolean it is a process of its own, counted from exec to exit with threads and children; else a
---  call, counted between two reads
---@field in_runner? boolean a runner calls it: repetitions share a process, and what an empty call counts is known
---@field in_process? boolean pmclua itself calls it
---@field is_rerun? boolean what a result stores of it is enough to run it again
---@field simulators table<"counts"|"heap"|"calls", string> by what is simulated, the module of simulate/ that counts it
---@field why_not_simulated? string of its name: why there is no simulator for `counts`
---@field takes table<string, true> keys of an experiment that not every kind takes; "simulated lines": simulated events
---  in `sample`
---@field units table<"run"|"iteration", string> what a value is per, in words
---@field is_unnamed? boolean what a script writes has no name by which two differ
local ANY = { simulators = {}, takes = {}, units = { run = "per run", iteration = "per iteration" } }

---@type table<string, pmclua.WorkloadKind>
local KINDS = {
  command = { per = "run", is_executed = true, is_rerun = true,
    simulators = { counts = "command", heap = "heap", calls = "system_calls" },
    takes = { delay = true, launch = true, regions = true, system_calls = true, ["layout.build"] = true,
      ["sample.heap"] = true, ["sample.confirm"] = true, ["simulated lines"] = true } },
  kernel = { per = "iteration", in_runner = true, simulators = { counts = "kernel" } },
  ["function"] = { per = "run", in_process = true, is_unnamed = true,
    units = { run = "a Lua function", iteration = "per call of a Lua function" },
    why_not_simulated = "%s is a Lua function, which runs in pmclua itself: Valgrind counts what it runs "
      .. "itself" },
}
for _, row in pairs(KINDS) do setmetatable(row, { __index = ANY }) end

--- The facts of a kind. A stored result may name an unknown kind, for which none hold.
---@param kind? string
---@return pmclua.WorkloadKind
function M.of(kind) return KINDS[kind] or ANY end

--- A class for the workloads of a kind, which have its facts as fields.
---@param kind string
---@return table
function M.class(kind)
  local class = setmetatable({ kind = kind }, { __index = KINDS[kind] })
  class.__index = class
  return class
end

return M
