--- exact.lua: the search for commits at which an exact count changes: one run tells a commit's count.
--
-- Stretches whose ends agree within the jitter are not looked into. That proves nothing about their inside: a revert
-- restores everything. So commits that take lines of a step back are counted, too, and a step that is gone before the
-- end is not named for one that lasts. Numbers in, numbers out: counts are asked of `problem.count`.

local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.CountProblem
---@field commits integer
---@field margin number share of the count before: smaller steps are not reported
---@field all? boolean every step, not the largest alone
---@field count fun(commit: integer): number? nil: the commit cannot be built
---@field reverts? fun(step: pmclua.CountStep): integer[] commits that take lines of a step back

---@class pmclua.CountStep into `to`, or one of the commits between, where these do not build
---@field from integer
---@field to integer
---@field before number
---@field after number
---@field taken_back_by? integer a later commit with an opposite step of the same size, which takes lines of this one back
---@field takes_back? boolean it is such a commit

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

-- Counts commits that take lines of a step back; whether one of them takes half of the step back at least. Of an earlier one, as of a
-- fix that the step undoes, it is the commit before that tells.
local function is_taken_back(search, step)
  local reverts = search.reverts(step)
  search.reverts_of[step.to] = lists.set(reverts)
  local up, is_back = step.after - step.before, false
  for _, commit in ipairs(reverts) do
    local is_later = commit >= step.to
    local count = search.counts(is_later and commit or commit - 1)
    local back = count and (is_later and step.after - count or count - step.before) or 0
    is_back = is_back or back / up >= 0.5
  end
  return is_back
end

-- Splits all that lies between counted commits: every step that they show.
local function split_all(search)
  search.all, search.steps = true, {}
  local before
  for _, commit in ipairs(lists.keys(search.known)) do
    if search.known[commit] then
      if before then split(search, before, commit, search.known[before], search.known[commit]) end
      before = commit
    end
  end
end

-- Looks for what takes steps back until nothing new is found.
local function look_again(search)
  local is_looked_at = {}
  repeat
    local is_any_back = false
    for _, step in ipairs(search.steps) do
      if not is_looked_at[step.to] then is_any_back = is_taken_back(search, step) or is_any_back end
      is_looked_at[step.to] = true
    end
    if is_any_back then split_all(search) end
  until not is_any_back
end

local function mark_taken_back(search)
  for i, later in ipairs(search.steps) do
    for j = i - 1, 1, -1 do
      local step = search.steps[j]
      local rest = (later.after - later.before) + (step.after - step.before)
      if not (step.taken_back_by or step.takes_back) and search.reverts_of[step.to][later.to]
        and not differ(step.after, step.after + rest) then
        step.taken_back_by, later.takes_back = later.to, true
        break
      end
    end
  end
end

-- The largest step in the direction of the ends among those that last.
local function largest(search)
  local best
  for _, step in ipairs(search.steps) do
    local size = (step.after - step.before) * search.sign
    if not (step.taken_back_by or step.takes_back) and (not best or size > best.size) then
      best = { step = step, size = size }
    end
  end
  return best and { best.step } or {}
end

-- The longest row of commits between counted ones: what comes and goes inside is not seen.
local function longest_row(known)
  local longest, last = 0, 1
  for _, commit in ipairs(lists.keys(known)) do
    longest, last = math.max(longest, commit - last - 1), commit
  end
  return longest
end

--- The steps between commits 1 and `commits`.
---@param problem pmclua.CountProblem
---@return { steps: pmclua.CountStep[], gone: pmclua.CountStep[], unseen: integer?, before: number?, after: number?,
---  broken: integer? } steps: in order; none where the ends agree within the margin, unless all are asked for. gone:
---  those that were taken back, among them or not. unseen: the longest row of commits that were not counted, where steps were looked for. broken: an
---  end that does not build.
function M.run(problem)
  local known = {}
  local function counts(commit)
    if known[commit] == nil then known[commit] = problem.count(commit) or false end
    return known[commit]
  end
  local search = { counts = counts, known = known, steps = {}, all = problem.all, reverts_of = {},
    reverts = problem.reverts or function() return {} end }
  local before, after = counts(1), counts(problem.commits)
  local result = { steps = {}, gone = {}, before = before or nil, after = after or nil }
  if not (before and after) then
    result.broken = before and problem.commits or 1
    return result
  end
  if not problem.all and math.abs(share(before, after)) <= problem.margin then return result end
  search.sign = after >= before and 1 or -1
  split(search, 1, problem.commits, before, after)
  look_again(search)
  mark_taken_back(search)
  local steps = problem.all and search.steps or largest(search)
  result.steps = lists.where(steps, function(step)
    return math.abs(share(step.before, step.after)) > problem.margin
  end)
  result.gone = lists.where(search.steps, function(step) return step.taken_back_by end)
  result.unseen = longest_row(known)
  return result
end

return M
