--- choice.lua: what is measured next in a search for a step, and what the search will cost: numbers in, numbers out.

local exp, log, max, min, sqrt = math.exp, math.log, math.max, math.min, math.sqrt

local M = {}

local AMOUNTS = { 1, 2, 4, 8, 16 }      -- draws of a commit that are asked for at once
local LEAST_RUNS, MOST_RUNS = 3, 8

---@class pmclua.SearchCosts seconds
---@field build number of a commit that was not built yet
---@field link number of one more layout
---@field run number
---@field pair integer runs of a measured run: 2 with an anchor

local function entropy(p)
  if p <= 0 or p >= 1 then return 0 end
  return -p * log(p) - (1 - p) * log(1 - p)
end

--- How many runs a draw has, so that layouts and runs cost about the same for what they tell.
---@param costs pmclua.SearchCosts
---@param posterior pmclua.Posterior
---@return integer
function M.runs(costs, posterior)
  local layout = max(1e-3, posterior.layout_sd)
  local best = sqrt(costs.link / (costs.run * costs.pair)) * posterior.sd / layout
  return max(LEAST_RUNS, min(MOST_RUNS, math.ceil(best)))
end

-- The variance of a draw's mean.
local function variance(posterior, runs) return posterior.layout_sd ^ 2 + posterior.sd ^ 2 / runs end

--- The cost in seconds of a number of draws of a commit.
---@param costs pmclua.SearchCosts
---@param draws number as expected
---@param runs integer
---@param is_built? boolean
---@return number
function M.cost(costs, draws, runs, is_built)
  return (is_built and 0 or costs.build) + draws * (costs.link + runs * costs.run * costs.pair)
end

-- The information in nats that `draws` give about a point that has the step before it with probability p.
local function information(p, distance2, draws)
  local h = entropy(p)
  return h > 0 and h * (1 - exp(-p * (1 - p) * distance2 * draws / (2 * h))) or 0
end

-- The commit of a gap that can be built and has the step at or before it with a probability nearest to ½.
local function point_in(gap, before, can_build)
  local width = gap.to - gap.from
  local best, best_p
  local wanted = gap.from + width * max(0, min(1, (0.5 - before) / max(gap.q, 1e-12)))
  for distance = 0, width do
    for _, commit in ipairs { math.floor(wanted + 0.5) - distance, math.floor(wanted + 0.5) + distance } do
      if commit > gap.from and commit < gap.to and can_build(commit) then best = commit; break end
    end
    if best then break end
  end
  if best then best_p = before + gap.q * (best - gap.from) / width end
  return best, best_p
end

--- The measurement that tells most for its cost.
---@param posterior pmclua.Posterior
---@param costs pmclua.SearchCosts
---@param about { can_build: fun(commit: integer): boolean, is_built: fun(commit: integer): boolean }
---@return { commit: integer, draws: integer, runs: integer }? nil: nothing tells anything
function M.next(posterior, costs, about)
  local runs, best, best_rate = M.runs(costs, posterior), nil, 0
  local distance2 = posterior.step ^ 2 / variance(posterior, runs)
  local function consider(commit, p)
    for _, draws in ipairs(AMOUNTS) do
      local rate = information(p, distance2, draws) / M.cost(costs, draws, runs, about.is_built(commit))
      if rate > best_rate then
        best, best_rate = { commit = commit, draws = draws, runs = runs }, rate
      end
    end
  end
  local before = 0
  for _, gap in ipairs(posterior.gaps) do
    consider(gap.from, before)
    local commit, p = point_in(gap, before, about.can_build)
    if commit then consider(commit, p) end
    before = before + gap.q
  end
  return best
end

--- How many draws a side confirm a step.
---@param posterior pmclua.Posterior
---@param runs integer
---@return integer
function M.confirming(posterior, runs)
  local wanted = math.ceil(26 * variance(posterior, runs) / posterior.step ^ 2) + 2
  return max(4, min(wanted, 1e6))
end

--- The expected cost of a whole search: draws, runs, seconds.
---@param posterior pmclua.Posterior
---@param costs pmclua.SearchCosts
---@param commits integer
---@return { draws: number, runs: number, seconds: number }
function M.forecast(posterior, costs, commits)
  local runs = M.runs(costs, posterior)
  local draws = 30 + (165 + 11 * log(commits)) * variance(posterior, runs) / max(1e-9, posterior.step ^ 2)
  -- Between two neighbours there is nothing to search, only to confirm.
  if commits == 2 then draws = 2 * M.confirming(posterior, runs) end
  local builds = math.ceil(log(commits) / log(2)) + 2
  return { draws = draws, runs = draws * runs * costs.pair,
    seconds = M.cost(costs, draws, runs, true) + builds * costs.build }
end

return M
