--- gate.lua: whether a result stays within limits: absolute, against stored baselines, or against a baseline
-- that ran in the same blocks; cell by cell.
--
-- Invariant: what could not be counted on either side does not pass: it is uncountable, with the reason, and so
-- is a cell that only the baseline has, and what a run that was cut short might still have found. Relative
-- limits are judged at levels that hold together (verdict.together), so that more cells do not make more false alarms.

local check = require "pmclua.verdict.check"
local ending_of = require("pmclua.result.ending").of
local explain = require "pmclua.explain"
local hosts = require "pmclua.result.hosts"
local limits_of_cells = require "pmclua.result.limits"
local lists = require "pmclua.base.lists"
local metric = require "pmclua.metric"
local names = require "pmclua.result.names"
local cell_key = require "pmclua.result.cell_key"
local text = require "pmclua.base.text"
local verdict = require "pmclua.verdict"
local values = require("pmclua.base.lazy").module "pmclua.result.values"

local M = {}

---@class pmclua.Gate
---@field state pmclua.State
---@field results pmclua.GateRow[] each limit in each cell
---@field result pmclua.Result that was checked
---@field baselines pmclua.Result[] stored ones
---@field causes? pmclua.Cause[] of what fails or is undecided, where they were looked for
---@field remarks string[] by what simulated counts of a baseline could differ; that both sides are one program
local Gate = require("pmclua.public.class").new("results", "gate", "causes")

---@class pmclua.GateRow: pmclua.GateResult
---@field cell string
---@field unit string
---@field missing integer? repetitions without a value, of
---@field repetitions integer?
---@field runs integer? of the baseline
---@field spread number? between runs
---@field is_assumed boolean? the spread was not measured
---@field paired boolean? the baseline ran in the same blocks
---@field is_same boolean? nothing was run: both sides are the same program
---@field is_timed boolean? it is on a time, or computed from one
---@field doubts string[]? what keeps a limit that holds or fails from being sure
---@field again pmclua.GateRow? of a limit that failed at first: what a second run says

function Gate:__tostring() return self:summary() end

--- The exit status that it stands for: 0, 3 where a limit fails (with `strict`, too, where one is undecided), 77
--- where one could not be counted (with `strict`, too, where nothing was run, as both sides are the same program).
---@param strict? boolean
---@return integer
function Gate:status(strict)
  local has = {}
  for _, row in ipairs(self.results) do has[row.is_same and "same" or row.state] = true end
  if has.fail or strict and has.undecided then return 3 end
  return (has.uncountable or #self.results == 0 or strict and has.same) and 77 or 0
end

-- ---- what is asked ---------------------------------------------------------------------------------------

local function parsed_limits(list)
  local limits = {}
  for i, source in ipairs(type(list) == "string" and { list } or list) do
    local limit, problem = metric.limit(source)
    if not limit then explain.misuse(("limit '%s': %s"):format(tostring(source), problem.message), 4) end
    limits[i] = limit
  end
  if #limits == 0 then explain.misuse("gate needs limits, such as \"instructions <= +1%\"", 4) end
  return limits
end

-- A limit may name a metric that the result was not made with.
local function with_metrics(result, limits)
  local wanted = lists.where(lists.joined(lists.column(limits, "needs")), function(name)
    return not names.is_known(result, name) and metric.find(name)
  end)
  return #wanted > 0 and result:with { metrics = wanted } or result
end

local function check_names(result, limits)
  for _, limit in ipairs(limits) do
    local missing = names.missing(result, limit)
    if missing then names.unknown(result, missing) end
  end
end

local HINTS = {
  host = "counts depend on microcode and Linux; --any-host compares all the same on the same CPU",
  cpu = "counts differ between CPUs; --any-cpu compares them all the same",
}

local function check_one_host(here, there, options)
  local name, is_cpu = hosts.difference(here, there)
  local is_allowed = options.any_cpu or options.any_host and not is_cpu
  if not name or is_allowed then return end
  error(explain.problem { code = "EHOST", operation = "gate",
    message = ("the baseline is from another host: its %s is '%s', here it is '%s'"):format(name,
      tostring(there[name]), tostring(here[name])), hint = is_cpu and HINTS.cpu or HINTS.host }, 0)
end

--- Raises an error object if a baseline comes from another kind of host. With one of another architecture nothing is
--- compared, whatever was counted: result/limits.lua says so of each limit.
---@param here table facts of a host
---@param baseline pmclua.Result
---@param options { any_host: boolean?, any_cpu: boolean? }
function M.check_host(here, baseline, options)
  if hosts.architectures({ host = here }, baseline.header) then return end
  for _, there in ipairs(baseline.header.hosts or { baseline.header.host }) do
    check_one_host(here, there, options)
  end
end

local function load(baseline)
  return type(baseline) == "string" and require("pmclua.result.files").load(baseline) or baseline
end

-- No file is two runs, nor the baseline of itself.
local function baselines_of(asked, limits, new)
  local is_one = asked == nil or type(asked) == "string" or asked.header ~= nil
  local list, seen = {}, { [new.path or new] = true }
  for i, run in ipairs(is_one and { asked } or asked) do
    local whose = type(run) == "table" and run.path or run
    if seen[whose] then explain.misuse(("baseline: %s is given twice"):format(tostring(whose)), 4) end
    seen[whose] = true
    list[i] = load(run)
    -- A metric that it cannot be computed with is uncountable, with the reason.
    local ok, with = pcall(with_metrics, list[i], limits)
    if ok then list[i] = with end
  end
  return list
end

-- ---- which cells -------------------------------------------------------------------------------------------

-- One run of the baseline: its cells by their keys, and these in order.
---@class pmclua.BaselineRun
---@field keys string[]
---@field cells table<string, pmclua.Cell>

-- The cells of a baseline as a run, or as several where it was merged of files and the new result was not.
---@return pmclua.BaselineRun[]
local function runs_of(baseline, result)
  local factor = baseline.header.unpaired
  if factor and result.factor_by_name[factor] then factor = nil end
  local levels = lists.groups(baseline:list(), function(cell) return factor and cell.levels[factor] or 1 end)
  return lists.map(levels, function(cells)
    local run = { keys = {}, cells = {} }
    for i, cell in ipairs(cells) do
      local own = factor and lists.without(cell.levels, factor) or cell.levels
      run.keys[i] = cell_key.of(cell.workload, own, cell)
      run.cells[run.keys[i]] = cell
    end
    return run
  end)
end

local function against_stored(result, runs)
  return lists.map(result:list(), function(cell)
    local key = cell_key.of(cell.workload, cell.levels, cell)
    local befores = lists.map(runs, function(run) return run.cells[key] or false end)
    return { cell = cell, befores = befores, paired = false }
  end)
end

local function against_own(result, against)
  return lists.map(require("pmclua.result.compare").pairs(result, against), function(pair)
    return { cell = pair.cell, befores = { pair.baseline }, paired = pair.paired, pair = pair }
  end)
end

-- Cells of a baseline that the result lacks, except those left out on purpose.
local function lost_cells(result, runs)
  if result.is_chosen then return {} end
  local here, lost, seen = cell_key.index(result), {}, {}
  for _, run in ipairs(runs) do
    for _, key in ipairs(run.keys) do
      if not (here[key] or seen[key]) then lost[#lost + 1] = run.cells[key]:label() end
      seen[key] = true
    end
  end
  return lost
end

-- ---- runs that were cut short ------------------------------------------------------------------------------

local ENDINGS = {
  interrupted = "was interrupted", failed = "stopped at a failure", running = "has not ended",
  unfinished = "was cut off without an end line",
}

local function why_unfinished(result, whose)
  local ending = ENDINGS[ending_of(result)]
  if not ending then return nil end
  local most, planned = 0, result.header.repetitions
  for cell in result:cells() do most = math.max(most, cell.repetitions) end
  local is_fixed = planned and planned >= most and not result.header.stop
  local count = is_fixed and ("%d of %s"):format(most, text.plural(planned, "repetition"))
    or text.plural(most, "repetition")
  return ("%s %s, after %s"):format(whose, ending, count)
end

-- What the two sides of a limit differ in, or have in common, besides what is compared.
local function doubts_of(limit, item, row)
  local is_decided = row.state == "pass" or row.state == "fail"
  local list = is_decided and limit.relative and item.pair
    and require("pmclua.result.doubts").of(item.pair, limit) or {}
  return #list > 0 and list or nil
end

-- A partial run can break a limit; it cannot show that one holds.
local function cut_short(row, why)
  if why and row.state ~= "fail" and row.state ~= "uncountable" then
    row.state, row.reason = "uncountable", why
  end
end

-- ---- all limits in all cells -----------------------------------------------------------------------------

local function unit_of(result, limit)
  local event = #limit.needs == 1 and result.event_by_field[limit.needs[1]]
  return event and event.unit or ""
end

local function is_idle(result)
  return result.header.same_program ~= nil
    and lists.all(result:list(), function(cell) return cell.repetitions == 0 end)
end

-- A program cannot cost more than itself.
local function same_rows(limits, gated)
  return lists.joined(lists.map(limits, function(limit)
    return lists.map(gated, function(item)
      return { state = "pass", is_same = true, text = limit.formula, cell = item.cell:label(), unit = "" }
    end)
  end))
end

local function rows_of(result, baselines, runs, gated, limits, options)
  local rows, tests, places = {}, {}, {}
  local spread = options.run_spread and require("pmclua.base.units").share(options.run_spread)
  local why = not options.is_running and why_unfinished(result, "the run") or nil
  local why_before = lists.map(baselines, function(run) return why_unfinished(run, "the baseline") end)[1]
  for _, limit in ipairs(limits) do
    for _, item in ipairs(gated) do
      local function row_at(level)
        local row = limits_of_cells.check(limit, item.cell, item.befores,
          { level = level, paired = item.paired, spread = spread,
            any_cpu = options.any_cpu, any_arguments = options.any_arguments })
        row.cell, row.unit = item.cell:label(), unit_of(result, limit)
        cut_short(row, why or limit.relative and why_before)
        row.doubts = doubts_of(limit, item, row)
        return row
      end
      rows[#rows + 1] = not limit.relative and row_at() or false
      if limit.relative then tests[#tests + 1], places[#places + 1] = row_at, #rows end
    end
    for _, label in ipairs(lost_cells(result, runs)) do
      rows[#rows + 1] = { state = "uncountable", text = limit.formula, cell = label, unit = "",
        reason = "the baseline has this cell, but the new result does not" }
    end
  end
  local function fails(row) return row.state == "fail" end
  for i, row in ipairs(verdict.together(tests, fails, result.header.level)) do rows[places[i]] = row end
  return rows
end

--- Whether all limits are on simulated counts: these do not depend on the host's CPU.
---@param result { event_by_field: table, metric_by_name: table }
---@param limits table[]
---@return boolean
function M.are_simulated(result, limits)
  return #limits > 0 and lists.all(limits, function(limit) return values.is_simulated(result, limit) end)
end

local DIFFERS = "simulated counts of this baseline can differ by more than the program: %s"

-- Refuses baselines of another architecture, except for simulated counts; also the facts that these depend on.
local function check_hosts(result, baselines, limits, options)
  local remarks, are_simulated = {}, M.are_simulated(result, limits)
  for _, baseline in ipairs(baselines) do
    local here = result.header.hosts or { result.header.host or {} }
    for _, host in ipairs(not are_simulated and here or {}) do M.check_host(host, baseline, options) end
    local differences = hosts.simulated_differences(result.header, baseline.header)
    if #differences > 0 then remarks[#remarks + 1] = DIFFERS:format(text.list(differences)) end
  end
  return remarks
end

---@class pmclua.GateOptions
---@field limits? string|string[] "instructions <= +1%", "page_faults <= 5000"; those of the result by default
---@field baseline? pmclua.Result|string|table a result, a stored one's path, or a list of these: runs of the same
---  baseline, which show how runs differ
---@field against? string|table a workload or partial cell of this result that relative limits are relative to: it
---  ran in the same blocks
---@field any_host? boolean compare results of other microcodes and OS kernels too
---@field any_cpu? boolean compare results of other CPUs and architectures too
---@field any_arguments? boolean compare workloads that were given other arguments too
---@field is_running? boolean more repetitions come: what there is, is judged as if it were all
---@field run_spread? string standard deviation between runs, as "5%", where there is one baseline

--- Checks a result against limits.
---@param result pmclua.Result
---@param options pmclua.GateOptions
---@return pmclua.Gate
function M.check(result, options)
  if options.baseline and options.against then
    explain.misuse("gate takes a baseline, or a cell of the run itself as `against`, not both", 3)
  end
  local limits = parsed_limits(options.limits or result.header.gate or {})
  local given = result
  result = with_metrics(given, limits)
  check_names(result, limits)
  local baselines = baselines_of(options.baseline, limits, given)
  local remarks = check_hosts(result, baselines, limits, options)
  local runs = lists.joined(lists.map(baselines, function(baseline) return runs_of(baseline, result) end))
  local gated = options.against and against_own(result, options.against) or against_stored(result, runs)
  local rows = options.against and is_idle(result) and same_rows(limits, gated)
    or rows_of(result, baselines, runs, gated, limits, options)
  if options.against and result.header.same_program then
    table.insert(remarks, 1, result.header.same_program)
  end
  return setmetatable({ state = check.gravest(rows), results = rows, result = result,
    baselines = baselines, remarks = remarks }, Gate)
end

return M
