--- exact.lua: the search for commits at which an exact count changes: one run tells a commit's count.
--
-- Stretches whose ends agree within the jitter are not looked into. That proves nothing about their inside: a revert
-- restores everything. Numbers in, numbers out: counts are asked of `problem.count`.

local M = {}

---@class pmclua.CountProblem
---@field commits integer
---@field margin number share of the count before: smaller steps are not reported
---@field all boolean every step, not the largest alone
---@field count fun(commit: integer): number? nil: the commit cannot be built

---@class pmclua.CountStep into `to`, or one of the commits between, where these do not build
---@field from integer
---@field to integer
---@field before number
---@field after number

-- Counts differ by a few instructions for paths and versions alone.
local JITTER_SHARE, JITTER = 1e-5, 50

local function share(before, after)
  if before == 0 then return after == 0 and 0 or math.huge end
  return (after - before) / before
end

--- A change as a share of the count before it.
---@param step { before: number, after: number }
---@return number
function M.share(step) return share(step.before, step.after) end

-- The commit nearest to the middle that has a count, and this; nil: none inside builds.
local function middle(counts, from, to)
  local centre = math.floor((from + to) / 2)
  for distance = 0, to - from do
    for _, commit in ipairs { centre - distance, centre + distance } do
      local count = commit > from and commit < to and counts(commit)
      if count then return commit, count end
    end
  end
end

local function differ(a, b) return math.abs(b - a) > math.max(JITTER, JITTER_SHARE * math.abs(a)) end

local function split(search, from, to, before, after)
  if not differ(before, after) then return end
  local centre, count = middle(search.counts, from, to)
  if not centre then
    search.steps[#search.steps + 1] = { from = from, to = to, before = before, after = after }
  elseif search.all then
    split(search, from, centre, before, count)
    split(search, centre, to, count, after)
  elseif (count - before) * search.sign >= (after - count) * search.sign then
    return split(search, from, centre, before, count)
  else
    return split(search, centre, to, count, after)
  end
end

--- The steps between commits 1 and `commits`.
---@param problem pmclua.CountProblem
---@return { steps: pmclua.CountStep[], before: number?, after: number?, broken: integer? } broken: an end that does not
---  build. Steps are in order; none where the ends agree within the margin, unless all are asked for.
function M.run(problem)
  local known = {}
  local function counts(commit)
    if known[commit] == nil then known[commit] = problem.count(commit) or false end
    return known[commit]
  end
  local search = { counts = counts, steps = {}, all = problem.all }
  local before, after = counts(1), counts(problem.commits)
  local result = { steps = search.steps, before = before or nil, after = after or nil }
  if not (before and after) then
    result.broken = before and problem.commits or 1
    return result
  end
  if not problem.all and math.abs(share(before, after)) <= problem.margin then return result end
  search.sign = after >= before and 1 or -1
  split(search, 1, problem.commits, before, after)
  local steps = {}
  for _, step in ipairs(search.steps) do
    if math.abs(share(step.before, step.after)) > problem.margin then steps[#steps + 1] = step end
  end
  result.steps = steps
  return result
end

return M
