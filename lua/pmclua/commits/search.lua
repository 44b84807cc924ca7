--- search.lua: the search for the commit with a step in time: ends, narrowing, confirmation.
--
-- Invariant: a commit is named only after a comparison of it with the commit before, of new layouts and new runs, by a
-- test that was fixed beforehand: a posterior of 95 % alone is right in 41 to 98 %. What is measured is asked of
-- `problem.measure`; nothing else here does anything but reckon.

local choice = require "pmclua.commits.choice"
local LEVEL = require("pmclua.stats.multiple").LEVEL
local lists = require "pmclua.base.lists"
local mean = require "pmclua.stats.mean"
local posteriors = require "pmclua.commits.posterior"

local abs, max, min = math.abs, math.max, math.min

local M = {}

local FIRST_DRAWS, FIRST_RUNS, MORE_DRAWS, MOST_DRAWS = 4, 5, 2, 200
local DIFFERENT = 0.0005                -- p of the ends: looked at after every few draws
local SURE = 0.95                       -- of the posterior, before a step is confirmed
local CONFIRMED = { 0.025, 0.0083 }     -- one-sided p: of the first comparison and of the second
local OTHER_STEPS = 0.01
-- without new layouts: a step has to be this many of their deviations to be named
local LAYOUTS = 6
local LEAST_LAYOUT_SD = 0.5             -- percent: what is assumed of layouts where commits show none
local MOST_TURNS = 300

---@class pmclua.SearchProblem
---@field commits integer
---@field margin number percent: a smaller difference of the ends counts as none
---@field costs pmclua.SearchCosts
---@field measure fun(commit: integer, draws: integer, runs: integer): number[][]? of each draw its runs in percent;
---  nil: the commit cannot be built
---@field left fun(): number seconds of the budget that are left
---@field draws_layouts boolean each draw is a new layout

---@class pmclua.SearchAnswer
---@field kind "commit"|"range"|"none"
---@field commit? integer the first one behind the step
---@field from? integer of a range: the last commit before the step
---@field to? integer of a range: the first commit that has it certainly
---@field reason? "equal"|"undecided"|"budget"|"gradual"|"refuted"|"broken"|"layout"|"interrupted" why no commit, or none alone
---@field step? pmclua.Change of the confirming comparison
---@field ends? pmclua.Change
---@field confirmed_with? integer draws a side
---@field posterior? pmclua.Posterior
---@field forecast? table of choice.forecast
---@field has_others? boolean the confirmed step is not all of the ends' difference

---@class pmclua.Change
---@field mean number percent
---@field low number
---@field high number

local Search = {}
Search.__index = Search

-- Raised where the budget is spent. `measure` may raise such a table too, with its own reason.
local STOP = { stop = "budget" }

-- ---- measuring -----------------------------------------------------------------------------------------

-- Draws of a commit, of which each is kept; nil: it does not build.
local function measure(self, commit, draws, runs)
  local problem = self.problem
  if choice.cost(problem.costs, draws, runs, self.built[commit]) > problem.left() then error(STOP, 0) end
  local values = problem.measure(commit, draws, runs)
  if not values then
    self.broken[commit] = true
    return nil
  end
  self.built[commit] = true
  return lists.map(values, function(list) return { commit = commit, values = list } end)
end

local function add(self, commit, draws, runs)
  local list = measure(self, commit, draws, runs)
  lists.append(self.draws, list or {})
  return list
end

-- Without new layouts all runs of a commit are one draw.
local function merged(draws)
  local by_commit, list = {}, {}
  for _, draw in ipairs(draws) do
    local group = by_commit[draw.commit]
    if not group then
      group = { commit = draw.commit, values = {} }
      by_commit[draw.commit], list[#list + 1] = group, group
    end
    lists.append(group.values, draw.values)
  end
  return list
end

-- The independent values of some draws: their means, or without new layouts their runs.
local function independent(self, draws)
  if not self.problem.draws_layouts then
    return lists.joined(lists.map(draws, function(draw) return draw.values end))
  end
  local sd = self.posterior and self.posterior.spread or posteriors.spread_of_runs(draws)
  return lists.map(draws, function(draw) return posteriors.mean(draw, sd) end)
end

local function of_commit(self, commit)
  return lists.where(self.draws, function(draw) return draw.commit == commit end)
end

local function compare(self, before, after)
  return mean.unpaired(independent(self, before), independent(self, after))
end

local function interval(estimate)
  local low, high = mean.interval(estimate, LEVEL)
  return { mean = estimate.mean, low = low, high = high }
end

local function best_gap(posterior)
  local best = posterior.gaps[1]
  for _, gap in ipairs(posterior.gaps) do
    if gap.q > best.q then best = gap end
  end
  return best
end

local function update(self)
  local draws = self.problem.draws_layouts and self.draws or merged(self.draws)
  local best = self.posterior and best_gap(self.posterior) or nil
  self.posterior = posteriors.of(draws, self.problem.commits, best)
  return self.posterior
end

-- ---- ends ----------------------------------------------------------------------------------------------

local function answer(self, kind, reason, more)
  local result = { kind = kind, reason = reason, ends = self.ends, posterior = self.posterior }
  for key, value in pairs(more or {}) do result[key] = value end
  return result
end

-- Measures the ends until they differ, are equal within the margin, or neither can be said. Returns an answer that
-- ends the search; nil: they differ.
local function compare_ends(self)
  local last, draws = self.problem.commits, FIRST_DRAWS
  while true do
    for _, commit in ipairs { 1, last } do
      if not add(self, commit, draws, FIRST_RUNS) then
        return answer(self, "none", "broken", { commit = commit })
      end
    end
    local before, after = of_commit(self, 1), of_commit(self, last)
    local estimate = compare(self, before, after)
    self.ends = interval(estimate)
    if max(abs(self.ends.low), abs(self.ends.high)) < self.problem.margin then
      update(self)
      return answer(self, "none", "equal")
    end
    if mean.p(estimate) < DIFFERENT then return nil end
    if #before >= MOST_DRAWS then return answer(self, "none", "undecided") end
    draws = MORE_DRAWS
  end
end

-- ---- ranges --------------------------------------------------------------------------------------------

local function can_build(self)
  return function(commit) return not self.broken[commit] end
end

local function has_inside(self, gap)
  for commit = gap.from + 1, gap.to - 1 do
    if not self.broken[commit] then return true end
  end
  return false
end

-- The gaps that have the step with 95 %, as one range.
local function range(self, reason)
  if not self.posterior then return answer(self, "none", reason) end
  local gaps, sum, from, to = lists.copy(self.posterior.gaps), 0, math.huge, 0
  table.sort(gaps, function(a, b) return a.q > b.q end)
  for _, gap in ipairs(gaps) do
    if sum >= SURE then break end
    sum, from, to = sum + gap.q, min(from, gap.from), max(to, gap.to)
  end
  return answer(self, "range", reason, { from = from, to = to })
end

-- ---- confirmation --------------------------------------------------------------------------------------

-- A new comparison of both sides of a gap; whether it shows the step, and its estimate.
local function confirm(self, gap, level)
  local costs, runs = self.problem.costs, choice.runs(self.problem.costs, self.posterior)
  local draws = choice.confirming(self.posterior, runs)
  if 2 * choice.cost(costs, draws, runs, true) > self.problem.left() then error(STOP, 0) end
  local before, after = measure(self, gap.from, draws, runs), measure(self, gap.to, draws, runs)
  local estimate = compare(self, before, after)
  self.confirmed_with = draws
  local is_shown = mean.p(estimate) / 2 < level and estimate.mean * self.posterior.step > 0
  self.refuted = interval(estimate)
  if not is_shown then self.draws = lists.joined { self.draws, before, after } end
  return is_shown, estimate
end

-- Whether the ends differ by more, or less, than the confirmed step.
local function has_others(self, estimate)
  local ends = compare(self, of_commit(self, 1), of_commit(self, self.problem.commits))
  local rest = { mean = ends.mean - estimate.mean, error = math.sqrt(ends.error ^ 2 + estimate.error ^ 2),
    df = min(ends.df, estimate.df) }
  return mean.p(rest) < OTHER_STEPS
end

local function conclude(self, gap, estimate)
  local more = { step = interval(estimate), from = gap.from, to = gap.to,
    confirmed_with = self.confirmed_with,
    has_others = has_others(self, estimate), q = gap.q }
  local layout_sd = max(LEAST_LAYOUT_SD, self.posterior.layout_sd)
  if not self.problem.draws_layouts and abs(estimate.mean) < LAYOUTS * layout_sd then
    return answer(self, "range", "layout", more)
  end
  if gap.to - gap.from > 1 then return answer(self, "range", "broken", more) end
  more.commit = gap.to
  return answer(self, "commit", nil, more)
end

-- ---- the search ----------------------------------------------------------------------------------------

local function narrow(self)
  local problem, tries = self.problem, 0
  for _ = 1, MOST_TURNS do
    local posterior = update(self)
    if posterior.ramp > SURE then return answer(self, "none", "gradual") end
    local gap = best_gap(posterior)
    if gap.q >= SURE and not has_inside(self, gap) then
      tries = tries + 1
      local is_shown, estimate = confirm(self, gap, CONFIRMED[tries])
      if is_shown then return conclude(self, gap, estimate) end
      if tries == #CONFIRMED then
        return answer(self, "none", "refuted", { commit = gap.to, step = self.refuted })
      end
    else
      local step = choice.next(posterior, problem.costs, { can_build = can_build(self),
        is_built = function(commit) return self.built[commit] ~= nil end })
      if not step then return range(self, "undecided") end
      add(self, step.commit, step.draws, step.runs)
    end
  end
  return range(self, "undecided")
end

local function search(self)
  local ended = compare_ends(self)
  if ended then return ended end
  local problem = self.problem
  local forecast = choice.forecast(update(self), problem.costs, problem.commits)
  if forecast.seconds > problem.left() then return answer(self, "none", "budget", { forecast = forecast }) end
  return narrow(self)
end

--- Searches the commit at which a value changes for good, commits 1 (good) to `commits` (bad).
---@param problem pmclua.SearchProblem
---@return pmclua.SearchAnswer
function M.run(problem)
  local self = setmetatable({ problem = problem, draws = {}, built = {}, broken = {} }, Search)
  local ok, result = pcall(search, self)
  if ok then return result end
  if type(result) == "table" and rawget(result, "stop") then return range(self, result.stop) end
  error(result, 0)
end

return M
