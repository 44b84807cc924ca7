--- posterior.lua: where among commits a step lies, as probabilities, from draws of commits that were measured.
--
-- A draw is one layout of one commit with several runs, in percent (100 ln t). Its mean varies about its commit's value
-- by the layout (variance lambda times that of runs) and by its runs. The values of commits have no step, one, two, or
-- a ramp. The likelihood depends only on the gap between measured commits in which a step lies. Numbers in, numbers
-- out: no clock, no file, no dice.

local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"

local exp, log, max, min, sqrt = math.exp, math.log, math.max, math.min, math.sqrt

local M = {}

local PRIOR = { none = 0.1, one = 0.6, two = 0.2, ramp = 0.1 }
-- runs further from their draw's median than this many deviations are clipped
local CLIP = 2.5
local RATIOS, REACH = 11, 3.5           -- points of lambda, and how many deviations of its estimate they span
local SMALLEST_STEP = 1                 -- percent: the prior's width is at least this
local LEAST_SD = 1e-4                   -- percent: runs of exactly equal values

---@class pmclua.Draw
---@field commit integer from 1
---@field values number[] in percent, in the order of runs

---@class pmclua.CommitGap a step into `to` or one of the commits between
---@field from integer a measured commit
---@field to integer the next one
---@field q number the probability that the largest step lies here, where there is one

---@class pmclua.Posterior
---@field gaps pmclua.CommitGap[]
---@field ramp number the probability that they grow gradually
---@field step number the largest step, percent
---@field sd number of a run
---@field layout_sd number of a layout

-- ---- draws ---------------------------------------------------------------------------------------------

--- The spread of runs by neighbours, which drift hardly changes.
---@param draws pmclua.Draw[]
---@return number percent
function M.spread_of_runs(draws)
  return max(LEAST_SD, order.spread_of_neighbours(lists.column(draws, "values")) or 0)
end

local function reduced(draw, sd)
  local middle = order.median_of(order.sorted(draw.values))
  local n, sum, squares = #draw.values, 0, 0
  local function clipped(value) return max(middle - CLIP * sd, min(middle + CLIP * sd, value)) end
  for _, value in ipairs(draw.values) do sum = sum + clipped(value) end
  local mean = sum / n
  for _, value in ipairs(draw.values) do squares = squares + (clipped(value) - mean) ^ 2 end
  return { commit = draw.commit, n = n, mean = mean, squares = squares }
end

--- The mean of a draw, with far runs clipped.
---@param draw pmclua.Draw
---@param sd number of a run
---@return number
function M.mean(draw, sd) return reduced(draw, sd).mean end

-- The draws with what all of them have in common.
local function reduce(draws)
  local sd = M.spread_of_runs(draws)
  local all = { sd = sd, runs = 0, squares = 0 }
  for i, draw in ipairs(draws) do
    all[i] = reduced(draw, sd)
    all.runs, all.squares = all.runs + all[i].n, all.squares + all[i].squares
  end
  all.variance = max(LEAST_SD ^ 2, all.squares / max(1, all.runs - #draws))
  table.sort(all, function(a, b) return a.commit < b.commit end)
  return all
end

-- The commits that were measured, in order.
local function measured(all) return lists.unique(lists.column(all, "commit")) end

-- ---- the ratio of layouts' variance to that of runs ---------------------------------------------------------

-- The variance of draws about two levels, on either side of a gap; and its degrees of freedom.
local function residual(all, to)
  local count, sum, squares = { 0, 0 }, { 0, 0 }, 0
  for _, draw in ipairs(all) do
    local side = draw.commit < to and 1 or 2
    count[side], sum[side] = count[side] + 1, sum[side] + draw.mean
  end
  for _, draw in ipairs(all) do
    local side = draw.commit < to and 1 or 2
    squares = squares + (draw.mean - sum[side] / count[side]) ^ 2
  end
  local df = #all - 2
  return df > 0 and squares / df or nil, df
end

-- A coarse fixed grid gave 74 % where 95 was claimed; this one follows the estimate.
local function ratios(all, to)
  local runs, variance, df = all.runs / #all, residual(all, to)
  local middle, reach = 2, 1
  if variance then middle, reach = variance * runs / all.variance, REACH * sqrt(2 / df) end
  local list = {}
  for i = 1, RATIOS do
    local share = 2 * (i - 1) / (RATIOS - 1) - 1
    list[i] = (max(1, middle * exp(share * reach)) - 1) / runs
  end
  return list
end

-- ---- likelihoods ---------------------------------------------------------------------------------------

-- Weighted sums of the draws from each measured commit on, with means about their weighted mean.
local function sums(all, places, ratio, last)
  local total, weighted, logs = 0, 0, 0
  for _, draw in ipairs(all) do
    draw.weight = 1 / (ratio + 1 / draw.n)
    total, weighted = total + draw.weight, weighted + draw.weight * draw.mean
    logs = logs + log(draw.weight)
  end
  local centre = weighted / total
  local s = { total = total, logs = logs, squares = all.squares, w = {}, b = {}, ramp = { 0, 0, 0 } }
  for i = 1, #places do s.w[i], s.b[i] = 0, 0 end
  local at = 1
  for _, draw in ipairs(all) do
    while places[at] ~= draw.commit do at = at + 1 end
    local mean, x = draw.mean - centre, (draw.commit - 1) / (last - 1)
    s.squares = s.squares + draw.weight * mean ^ 2
    s.w[at], s.b[at] = s.w[at] + draw.weight, s.b[at] + draw.weight * mean
    s.ramp[1], s.ramp[2] = s.ramp[1] + draw.weight * x, s.ramp[2] + draw.weight * x * x
    s.ramp[3] = s.ramp[3] + draw.weight * mean * x
  end
  for i = #places - 1, 1, -1 do s.w[i], s.b[i] = s.w[i] + s.w[i + 1], s.b[i] + s.b[i + 1] end
  return s
end

-- One regressor beside the mean: its log likelihood but for what all have, and its coefficient.
local function with_one(s, width, products, moment, freedom, ridge)
  local pivot = products + ridge - width * width / s.total
  local slope = moment / pivot
  local rest = max(1e-300, s.squares - slope * moment)
  return 0.5 * log(ridge) - 0.5 * log(s.total * pivot) - freedom / 2 * log(rest), slope
end

local function with_two(s, i, j, freedom, ridge)
  local a, b = s.w[i] + ridge - s.w[i] ^ 2 / s.total, s.w[j] - s.w[i] * s.w[j] / s.total
  local d = s.w[j] + ridge - s.w[j] ^ 2 / s.total
  local det = a * d - b * b
  local first, second = (d * s.b[i] - b * s.b[j]) / det, (a * s.b[j] - b * s.b[i]) / det
  local rest = max(1e-300, s.squares - first * s.b[i] - second * s.b[j])
  return log(ridge) - 0.5 * log(s.total * det) - freedom / 2 * log(rest), first, second
end

-- Calls `add(kind, log weight, gap, step)` for each hypothesis at a ratio: gap: that of the largest step.
local function each_hypothesis(s, places, widths, all, ridge, add)
  local freedom, gaps = all.runs - 1, #places - 1
  local rest = 0.5 * s.logs
  add("none", rest + log(PRIOR.none) - 0.5 * log(s.total) - freedom / 2 * log(max(1e-300, s.squares)))
  local ramp = with_one(s, s.ramp[1], s.ramp[2], s.ramp[3], freedom, ridge)
  if gaps > 1 then add("ramp", rest + log(PRIOR.ramp) + ramp) end
  local pairs_weight = 1
  for i = 1, gaps do pairs_weight = pairs_weight - widths[i] ^ 2 end
  for i = 1, gaps do
    local value, step = with_one(s, s.w[i + 1], s.w[i + 1], s.b[i + 1], freedom, ridge)
    add("one", rest + log(PRIOR.one * widths[i]) + value, i, step)
    for j = i + 1, gaps do
      local both, first, second = with_two(s, i + 1, j + 1, freedom, ridge)
      local is_first = math.abs(first) >= math.abs(second)
      add("two", rest + log(PRIOR.two * 2 * widths[i] * widths[j] / pairs_weight) + both, is_first and i or j,
        is_first and first or second)
    end
  end
end

-- The mean of one commit's draws less that of another's.
local function difference(all, from, to)
  local sum, count = { [from] = 0, [to] = 0 }, { [from] = 0, [to] = 0 }
  for _, draw in ipairs(all) do
    if sum[draw.commit] then
      sum[draw.commit], count[draw.commit] = sum[draw.commit] + draw.mean, count[draw.commit] + 1
    end
  end
  return sum[to] / count[to] - sum[from] / count[from]
end

--- The posterior after some draws. At least two commits have been measured.
---@param draws pmclua.Draw[]
---@param commits integer how many there are
---@param best? pmclua.CommitGap where the step was last taken to lie
---@return pmclua.Posterior
function M.of(draws, commits, best)
  local all = reduce(draws)
  local places, widths, list, top = measured(all), {}, {}, -math.huge
  for i = 1, #places - 1 do widths[i] = (places[i + 1] - places[i]) / (places[#places] - places[1]) end
  local ends = difference(all, places[1], places[#places])
  local ridge = all.sd ^ 2 / max(SMALLEST_STEP, math.abs(ends)) ^ 2
  for _, ratio in ipairs(ratios(all, best and best.to or places[#places])) do
    each_hypothesis(sums(all, places, ratio, commits), places, widths, all, ridge, function(kind, value,
      gap, step)
      list[#list + 1] = { kind = kind, value = value, gap = gap, step = step, ratio = ratio }
      top = max(top, value)
    end)
  end
  local p, q, total, step, ratio, stepped = {}, {}, 0, 0, 0, 0
  for _, hypothesis in ipairs(list) do
    local weight = exp(hypothesis.value - top)
    total, p[hypothesis.kind] = total + weight, (p[hypothesis.kind] or 0) + weight
    ratio = ratio + weight * hypothesis.ratio
    if hypothesis.gap then
      q[hypothesis.gap], step = (q[hypothesis.gap] or 0) + weight, step + weight * hypothesis.step
      stepped = stepped + weight
    end
  end
  local gaps = {}
  for i = 1, #places - 1 do
    gaps[i] = { from = places[i], to = places[i + 1], q = stepped > 0 and q[i] / stepped or 0 }
  end
  return { gaps = gaps, ramp = (p.ramp or 0) / total,
    step = stepped > 0 and step / stepped or 0, sd = sqrt(all.variance), spread = all.sd,
    layout_sd = sqrt(ratio / total * all.variance) }
end

return M
