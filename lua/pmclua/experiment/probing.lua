--- probing.lua: measures what following a region costs the program, with the same events, on functions with the same
--- first instruction and the same return, before the program runs.
--
-- Copies of each kind of function are called in rounds: with both probes, with the entry probe alone, and with
-- none. The difference between them is the cost of a probe. Costs are lists by column of a call: duration, enabled
-- ns, running ns, events.

local code = require "pmclua.experiment.probe_code"
local explain = require "pmclua.explain"
local files = require "pmclua.event.function_files"
local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"
local packages = require "pmclua.base.packages"
local regions = require "pmclua.core.regions"

local M = {}

local WARMUP, ROUNDS, CALLS = 3, 24, 8
local CPU_TIME, FIRST_EVENT = 2, 4   -- columns; the first is the duration

-- ---- kinds of functions --------------------------------------------------------------------------------

local function instruction_at(point)
  local ok, list = pcall(files.of_file, point.file)
  if not ok then return nil, tostring(list) end
  local instruction, why = list:instruction(point.offset)
  if instruction then return instruction end
  return nil, why == "ELIBACC" and "it needs " .. packages.missing("Capstone", ", which is not installed")
    or why == "ENOTSUP" and "the program is for another kind of machine"
    or "Capstone does not know its first instruction"
end

local ENDS = { ["return"] = true, tail = true, to = true, return_probe = true }

-- The first point at which a region ends: its other returns cost the same, or nearly.
local function end_of(region)
  return lists.find(region.points, function(point) return ENDS[point.kind] end)
end

--- The key of a region's probing cost; nil and why it cannot be known.
local function kind_of(region)
  local entry, last = region.points[1], end_of(region)
  if not entry.file or last and not last.file then return nil, "it begins or ends at a tracepoint" end
  local kind = { is_whole = entry.kind == "whole", is_return_probe = last and last.kind == "return_probe" }
  local why
  kind.first, why = instruction_at(entry)
  if not kind.first then return nil, why end
  if kind.is_whole or kind.is_return_probe or not last then
    kind.last = kind.is_whole and kind.first or { bytes = "", is_return = true }
  else
    kind.last, why = instruction_at(last)
    if not kind.last then return nil, why end
  end
  for _, which in ipairs { "first", "last" } do
    if kind[which].unfit then kind[which] = code.stand_in() end
  end
  return kind
end

--- The kinds of these regions, each once, and each region's.
local function kinds_of(list)
  local kinds, by_name, of, unknown = {}, {}, {}, nil
  for i, region in ipairs(list) do
    local kind, why = kind_of(region)
    if kind then
      local name = table.concat({ kind.first.bytes, kind.last.bytes, tostring(kind.is_whole),
        tostring(kind.is_return_probe) }, "\0")
      if not by_name[name] then kinds[#kinds + 1], by_name[name] = kind, kind end
      of[i] = by_name[name]
    else
      unknown = unknown or why
    end
  end
  return kinds, of, unknown
end

-- ---- the run -------------------------------------------------------------------------------------------

-- Regions 2k-1 and 2k are the copies of kind k that are probed; the last is what the rounds take.
local function regions_of(kinds, path)
  local list = {}
  local function add(name, ...) list[#list + 1] = { name = name, notes = {}, points = { ... } } end
  local function point(kind, offset) return { kind = kind, file = path, offset = offset } end
  for _, kind in ipairs(kinds) do
    local full, alone = kind.slot + code.FULL * code.SLOT, kind.slot + code.ENTRY * code.SLOT
    if kind.is_whole then add("both", point("whole", full))
    elseif kind.is_return_probe then add("both", point("entry", full), point("return_probe", full))
    else add("both", point("entry", full), point("return", full + kind.return_at)) end
    add("entry", point("entry", alone))
  end
  add("round", point("from", 0), point("to", code.SLOT))
  return list
end

local function arguments(kinds, path, code_bytes)
  local list = { require("pmclua.host.paths").runner(), "probed-calls", path, code_bytes, code.ALIGNMENT,
    WARMUP + ROUNDS, CALLS, 0, code.SLOT }
  for _, kind in ipairs(kinds) do
    for number = 0, code.COPIES - 1 do list[#list + 1] = kind.slot + number * code.SLOT end
  end
  return lists.map(list, tostring)
end

-- ---- costs --------------------------------------------------------------------------------------

-- By round, per call: how much more the calls of one copy took than those of another.
local function beyond(rounds, kinds, k, copy, other)
  local list, stride = {}, code.COPIES * #kinds
  for round = WARMUP, WARMUP + ROUNDS - 1 do
    local first = round * stride + (k - 1) * code.COPIES + 1
    list[#list + 1] = (rounds[first + copy] - rounds[first + other]) / CALLS
  end
  return order.sorted(list)
end

local function half_spread(sorted)
  return (order.quantile_of(sorted, 0.75) - order.quantile_of(sorted, 0.25)) / 2
end

local function after_warmup(list)
  local rest = {}
  for i = WARMUP * CALLS + 1, #list do rest[#rest + 1] = list[i] end
  return order.sorted(rest)
end

---@class pmclua.ProbeCost of one column: what a region's probes cost the program
---@field entry number of the entry
---@field both number of a call
---@field inside number what of `both` is between a call's two samples, and so in its own value
---@field spread number? half of the distance of the quartiles of `both`
---@field inside_spread number

--- One column of one kind. Probes lengthen a duration by CPU time, so time in which others had the CPU is left out.
local function cost_of(measured, kinds, k, column)
  local calls, rounds = measured.calls, measured.calls:values(#kinds * 2 + 1, math.max(CPU_TIME, column))
  local both = beyond(rounds, kinds, k, code.FULL, code.PLAIN)
  local entry = order.median_of(beyond(rounds, kinds, k, code.ENTRY, code.PLAIN))
  if kinds[k].is_whole then
    local once = order.median_of(both)
    return { entry = once, both = once, inside = 0, spread = half_spread(both), inside_spread = 0 }
  end
  local inside = after_warmup(calls:values(2 * k - 1, column))
  -- The function itself takes a few instructions: their counts matter here, their time is too short to.
  local own = column < FIRST_EVENT and 0 or order.median_of(beyond(rounds, kinds, k, code.PLAIN, code.BARE))
  return { entry = entry, both = order.median_of(both), inside = order.median_of(inside) - own,
    spread = half_spread(both), inside_spread = half_spread(inside) }
end

local function costs_of(measured, kinds)
  for k, kind in ipairs(kinds) do
    kind.costs = {}
    for column = 1, measured.width do
      kind.costs[column] = cost_of(measured, kinds, k, column)
    end
  end
end

-- Whether every call was seen; copies with an entry probe alone have no calls.
local function is_whole(measured, kinds)
  local rounds = WARMUP + ROUNDS
  local all = rounds * code.COPIES * #kinds
  if measured.lost ~= 0 or measured[#kinds * 2 + 1].calls ~= all then return false end
  for k = 1, #kinds do
    local full = measured[2 * k - 1]
    if full.calls ~= rounds * CALLS or full.partial ~= 0 then return false end
  end
  return true
end

--- Runs the functions of some kinds; nil and why where it failed.
local function try(kinds, spec, run)
  local bytes, code_bytes = code.write(kinds)
  local file, errnum = regions.code_file(bytes)
  if not file then return nil, tostring(explain.system(errnum, "write", "a file in memory")) end
  local region = require "pmclua.workload.region"
  local command = require("pmclua.workload.command").new(arguments(kinds, file.path, code_bytes))
  local workload = region.with(command, { threads = spec.threads }, regions_of(kinds, file.path))
  local ok, result = pcall(run, workload)
  file:close()
  if not ok then return nil, tostring(result) end
  local is_done = result.outcome == "done" and result.exit == 0 and result.signal == 0
  if not is_done then return nil, "an instruction failed" end
  if not is_whole(result.regions, kinds) then return nil, "some of its calls were not seen" end
  costs_of(result.regions, kinds)
  return true
end

-- Tries kinds one by one, with another instruction in place of one that cannot be executed here.
local function try_each(kinds, spec, run)
  local unknown
  for _, kind in ipairs(kinds) do
    local ok, why = try({ kind }, spec, run)
    if not ok and not kind.is_whole then
      kind.first = code.stand_in()
      ok, why = try({ kind }, spec, run)
    end
    if not ok then kind.costs, unknown = nil, why end
  end
  return unknown
end

--- The probing cost of each of these regions.
---@param list pmclua.Region[]
---@param spec pmclua.RegionSpec
---@param run fun(workload: table): table  follows a workload's regions: a result
---@return table<integer, pmclua.ProbeCost[]> by region; none of one for which it could not be measured
---@return string? why of one of these
function M.measure(list, spec, run)
  if not code.is_known() then return {}, "pmclua cannot measure it on this kind of machine" end
  local kinds, of, unknown = kinds_of(list)
  if #kinds == 0 then return {}, unknown end
  local ok = try(kinds, spec, run)
  if not ok then unknown = try_each(kinds, spec, run) or unknown end
  local costs = {}
  for i in pairs(of) do costs[i] = of[i].costs end
  return costs, unknown
end

--- Widens the spread by what probing cost afterwards: where the clock changes, or others use the machine, it costs
--- more at one time than at another.
---@param before table<integer, pmclua.ProbeCost[]> changed
---@param after table<integer, pmclua.ProbeCost[]>
function M.add_drift(before, after)
  local seen = {}
  for i, costs in pairs(before) do
    for column, cost in ipairs(not seen[costs] and after[i] and costs or {}) do
      local other = after[i][column]
      cost.spread = math.max(cost.spread, other.spread, math.abs(other.both - cost.both))
      local inside = math.abs(other.inside - cost.inside)
      cost.inside_spread = math.max(cost.inside_spread, other.inside_spread, inside)
    end
    seen[costs] = true
  end
end

--- Costs as the runner takes them, each for all columns: of an entry, of a return, and of both within a call.
---@param costs pmclua.ProbeCost[]
---@return number[]
function M.for_runner(costs)
  local list, columns = {}, #costs
  for i, cost in ipairs(costs) do
    list[i], list[columns + i], list[2 * columns + i] = cost.entry, cost.both - cost.entry, cost.inside
  end
  return list
end

return M
