--- histories.lua: histories of commits that are played to the search for a step: values, noise, layouts, costs.
--
-- A scenario: commits; steps: a list of percent at commits drawn anew, or at { at, percent }; run: the spread of
-- runs; layout: that of layouts (percent); tails: one run of ten disturbed; two_valued: layouts are fast or slow;
-- drift: percent by which the machine wanders in 1,000 s; paired: with an anchor; broken: a share of commits that do
-- not build; margin; same_layout: no new layouts.

local random = require "pmclua.stats.random"
local search = require "pmclua.commits.search"

local M = {}

local BUILD_S, LINK_S, RUN_S, BUDGET_S = 10, 2, 1, 1e9

-- The value of each commit, and at which commits it changes.
local function truth_of(scenario, source)
  local changes, values, sum = {}, {}, 0
  for _, step in ipairs(scenario.steps) do
    local at, by
    if type(step) == "table" then at, by = step[1], step[2]
    else
      repeat at, by = source:integer(scenario.commits - 1) + 1, step until not changes[at]
    end
    changes[at] = by
  end
  for commit = 1, scenario.commits do
    sum = sum + (changes[commit] or 0)
    values[commit] = sum
  end
  return values, changes
end

local function layout_of(scenario, source)
  if scenario.two_valued then return source:uniform() < 0.5 and -scenario.layout or scenario.layout end
  return scenario.layout * source:normal()
end

local function noise_of(scenario, source)
  local value = scenario.run * source:normal()
  if scenario.tails and source:uniform() < 0.1 then
    value = value - 3 * scenario.run * math.log(1 - source:uniform())
  end
  return value
end

-- A machine that measures: problem.measure, with what it cost.
local function machine(scenario, values, source)
  local state = { runs = 0, seconds = 0, builds = 0, drift = 0 }
  local broken, built, fixed = {}, {}, {}
  for commit = 2, scenario.commits - 1 do broken[commit] = source:uniform() < (scenario.broken or 0) end
  local function spend(seconds)
    state.seconds = state.seconds + seconds
    if scenario.drift then
      state.drift = state.drift + scenario.drift * math.sqrt(seconds / 1000) * source:normal()
    end
  end
  local function run(value)
    spend(RUN_S)
    state.runs = state.runs + 1
    return value + noise_of(scenario, source) + state.drift
  end
  local function pair(value)
    if not scenario.paired then return run(value) end
    local is_first = source:uniform() < 0.5
    local anchor = is_first and run(0)
    local own = run(value)
    return own - (anchor or run(0))
  end
  function state.measure(commit, draws, runs)
    if not built[commit] then
      built[commit], state.builds = true, state.builds + 1
      spend(BUILD_S)
    end
    if broken[commit] then return nil end
    local list = {}
    for i = 1, draws do
      spend(LINK_S)
      fixed[commit] = fixed[commit] or layout_of(scenario, source)
      local place = scenario.same_layout and fixed[commit] or layout_of(scenario, source)
      list[i] = {}
      for j = 1, runs do list[i][j] = pair(values[commit] + place) end
    end
    return list
  end
  return state
end

-- Whether an answer that names a commit, or a range of them, is true.
local function is_right(answer, changes)
  for commit = answer.from + 1, answer.to do
    if changes[commit] then return true end
  end
  return false
end

--- Plays one history: what was answered, whether it is right, and what it took.
---@param scenario table
---@param seed integer
---@return { answer: pmclua.SearchAnswer, is_claim: boolean, is_right: boolean, runs: integer, builds: integer,
---  seconds: number }
function M.play(scenario, seed)
  local source = random.new(seed, scenario.name)
  local values, changes = truth_of(scenario, source)
  local played = machine(scenario, values, source)
  local answer = search.run { commits = scenario.commits, margin = scenario.margin or 1,
    draws_layouts = not scenario.same_layout, measure = played.measure,
    costs = { build = BUILD_S, link = LINK_S, run = RUN_S, pair = scenario.paired and 2 or 1 },
    left = function() return (scenario.budget or BUDGET_S) - played.seconds end }
  local is_claim = answer.kind == "commit" or answer.kind == "range" and answer.reason == "broken"
  return { answer = answer, is_claim = is_claim, is_right = is_claim and is_right(answer, changes),
    runs = played.runs,
    builds = played.builds, seconds = played.seconds }
end

local function gradual(commits, by)
  local steps = {}
  for commit = 2, commits do steps[#steps + 1] = { commit, by / (commits - 1) } end
  return steps
end

--- The scenarios, with what is promised of each: the least share of claims, and the most runs and builds.
M.SCENARIOS = {
  { name = "5/3/0", commits = 128, steps = { 5 }, run = 3, layout = 0 },
  { name = "5/3/2.5", commits = 128, steps = { 5 }, run = 3, layout = 2.5 },
  { name = "5/10/0", commits = 128, steps = { 5 }, run = 10, layout = 0 },
  { name = "2/1/1.5", commits = 128, steps = { 2 }, run = 1, layout = 1.5 },
  { name = "2/3/2.5", commits = 128, steps = { 2 }, run = 3, layout = 2.5 },
  { name = "1/3/2.5", commits = 128, steps = { 1 }, run = 3, layout = 2.5, budget = 20000 },
  { name = "16 commits", commits = 16, steps = { 5 }, run = 3, layout = 2.5 },
  { name = "1000 commits", commits = 1000, steps = { 5 }, run = 3, layout = 2.5 },
  { name = "heavy tails", commits = 128, steps = { 5 }, run = 3, layout = 2.5, tails = true },
  { name = "two-valued layouts", commits = 128, steps = { 5 }, run = 3, layout = 2.5, two_valued = true },
  { name = "drift, paired", commits = 128, steps = { 5 }, run = 3, layout = 2.5, drift = 5, paired = true },
  { name = "two steps", commits = 128, steps = { 5, 3 }, run = 3, layout = 2.5 },
  { name = "step, partial fix", commits = 128, steps = { { 40, 6 }, { 90, -3 } }, run = 3, layout = 2.5 },
  { name = "30 % broken", commits = 128, steps = { 5 }, run = 3, layout = 2.5, broken = 0.3 },
  { name = "A/A", commits = 128, steps = {}, run = 3, layout = 2.5 },
  { name = "A/A, no layouts", commits = 128, steps = {}, run = 3, layout = 0 },
  { name = "A/A, drift, paired", commits = 128, steps = {}, run = 3, layout = 2.5, drift = 5, paired = true },
  { name = "gradual", commits = 128, steps = gradual(128, 5), run = 3, layout = 2.5, is_gradual = true },
  { name = "same layouts, 5/1/0.3", commits = 128, steps = { 5 }, run = 1, layout = 0.3, same_layout = true },
  { name = "same layouts, 5/3/2.5", commits = 128, steps = { 5 }, run = 3, layout = 2.5, same_layout = true },
}

--- Plays a scenario several times: shares and medians.
---@param scenario table
---@param times integer
---@param seed integer
---@return table
function M.summary(scenario, times, seed)
  local sum = { claims = 0, right = 0, kinds = {}, runs = {}, builds = {}, seconds = {} }
  for i = 1, times do
    local played = M.play(scenario, seed + i)
    sum.claims, sum.right = sum.claims + (played.is_claim and 1 or 0), sum.right + (played.is_right
      and 1 or 0)
    local kind = played.answer.kind .. (played.answer.reason and " " .. played.answer.reason or "")
    sum.kinds[kind] = (sum.kinds[kind] or 0) + 1
    for _, name in ipairs { "runs", "builds", "seconds" } do sum[name][i] = played[name] end
  end
  for _, name in ipairs { "runs", "builds", "seconds" } do
    sum[name] = require("pmclua.stats").median(sum[name])
  end
  return sum
end

return M
