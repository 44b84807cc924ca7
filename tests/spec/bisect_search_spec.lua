-- The code that decides which commit changed a cost: by times in histories that are played, by exact counts, in a series.

local exact = require "pmclua.commits.exact"
local histories = require "tests.support.histories"
local lists = require "pmclua.base.lists"
local steps = require "pmclua.commits.steps"

-- ---- played histories ------------------------------------------------------------------------------------

describe("the search by times, in played histories,", function()
  local HISTORIES = 3

  local function scenario(name) return lists.by(histories.SCENARIOS, "name")[name] end

  for _, name in ipairs { "5/3/0", "5/3/2.5", "16 commits", "1000 commits", "drift, paired", "30 % broken",
    "step, partial fix", "heavy tails" } do
    it(("names the right commit, or a range that has it: %s"):format(name), function()
      local sum = histories.summary(scenario(name), HISTORIES, 100)
      assert.is_true(sum.claims >= HISTORIES - 1, sum.claims)
      assert.equal(sum.claims, sum.right)
    end)
  end

  for _, name in ipairs { "A/A, no layouts", "gradual" } do
    it(("claims nothing: %s"):format(name), function()
      assert.equal(0, histories.summary(scenario(name), HISTORIES, 100).claims)
    end)
  end

  it("refuses at once what does not fit into the budget, with what it would take", function()
    local one = { name = "budget", commits = 128, steps = { 2 }, run = 3, layout = 2.5, budget = 1700 }
    local reasons = {}
    for seed = 1, 6 do
      local played = histories.play(one, seed)
      reasons[played.answer.reason or "commit"] = true
      assert.is_true(played.seconds <= 1700)
      if played.answer.forecast then assert.is_true(played.answer.forecast.seconds > 0) end
    end
    assert.is_true(reasons.budget)
  end)

  it("gives a range where a step is small beside what layouts change and none can be drawn", function()
    local sum = histories.summary(scenario "same layouts, 5/3/2.5", HISTORIES, 100)
    assert.is_nil(sum.kinds.commit)
  end)
end)

-- ---- exact counts ----------------------------------------------------------------------------------------

-- The steps among counts; false: that commit does not build.
local function steps_of(counts, options)
  local reverts = options.reverts
  local asked = 0
  local result = exact.run { commits = #counts, margin = options.margin or 0.001, all = options.all,
    reverts = reverts and function(step) return reverts[step.to] or {} end,
    count = function(i)
      asked = asked + 1
      return counts[i] or nil
    end }
  return lists.map(result.steps, function(step) return { step.from, step.to } end), asked, result
end

local function history_of(n, changes)
  local list, value = {}, 1000000
  for i = 1, n do
    value = value + (changes[i] or 0)
    list[i] = value
  end
  return list
end

describe("the search by counts", function()
  it("finds the commit of a step with log2 N runs", function()
    for at = 2, 64 do
      local found, asked = steps_of(history_of(64, { [at] = 20000 }), {})
      assert.same({ { at - 1, at } }, found)
      assert.is_true(asked <= 2 + 6)
    end
  end)

  it("finds the largest alone, or all, a pair that almost cancels among them", function()
    local counts = history_of(200, { [20] = 50000, [90] = -49500, [150] = 3000 })
    assert.same({ { 19, 20 }, { 89, 90 }, { 149, 150 } }, steps_of(counts, { all = true }))
    assert.equal(1, #steps_of(history_of(200, { [20] = 50000, [150] = 3000 }), {}))
  end)

  it("takes a few instructions for none", function()
    assert.same({}, steps_of(history_of(32, { [5] = 7, [6] = -3 }), { all = true, margin = 0 }))
  end)

  it("gives a range where commits do not build, and says which end does not", function()
    local counts = history_of(16, { [9] = 20000 })
    counts[8], counts[9] = false, false
    assert.same({ { 7, 10 } }, steps_of(counts, {}))
    counts[16] = false
    local _, _, result = steps_of(counts, {})
    assert.equal(16, result.broken)
  end)

  it("names what lasts, not an equal step that a commit takes back", function()
    -- The middle of the search lies between the step at 31 and the one at 34 that takes it back.
    local counts = history_of(64, { [31] = 20000, [34] = -20000, [50] = 20000 })
    local reverts = { [31] = { 34 } }
    local found, asked, result = steps_of(counts, { reverts = reverts })
    assert.same({ { 49, 50 } }, found)
    assert.same({ 31, 34 }, { result.gone[1].to, result.gone[1].taken_back_by })
    assert.is_true(asked <= 20, asked)
    assert.same({ { 30, 31 }, { 33, 34 }, { 49, 50 } }, (steps_of(counts, { reverts = reverts, all = true })))
  end)

  it("names the step that came first where a fix of it was taken back", function()
    local counts = history_of(64, { [10] = 20000, [31] = -20000, [34] = 20000 })
    assert.same({ { 9, 10 } }, (steps_of(counts, { reverts = { [34] = { 31 }, [31] = { 34 } } })))
  end)

  it("keeps a step whose lines another commit takes back, but not its count", function()
    local found, _, result = steps_of(history_of(64, { [31] = 20000 }),
      { all = true, reverts = { [31] = { 40 } } })
    assert.same({ { 30, 31 } }, found)
    assert.same({}, result.gone)
    assert.equal(23, result.unseen)
    -- A commit that takes a little back is no reason to search everything.
    local counts = history_of(64, { [31] = 20000, [40] = -2000 })
    assert.is_true(select(2, steps_of(counts, { reverts = { [31] = { 40 } } })) <= 10)
  end)

  it("finds none where the ends are equal within the margin", function()
    assert.same({}, steps_of(history_of(16, { [4] = 90000, [8] = -90000 }), {}))
  end)
end)

describe("a series of values", function()
  local function at(values, margin)
    local errors = lists.map(values, function() return 0.1 end)
    return lists.map(steps.segments(values, errors, margin or 1), function(one) return one.first end)
  end

  it("is one segment where nothing changes, and two at a step", function()
    assert.same({ 1 }, at { 0, 0.1, -0.1, 0, 0.2, 0 })
    assert.same({ 1, 4 }, at { 0, 0.1, -0.1, 5, 5.2, 5.1 })
  end)

  it("has no step below the margin", function()
    assert.same({ 1 }, at({ 0, 0, 0, 0, 2, 2, 2, 2 }, 3))
    assert.same({ 1, 5 }, at({ 0, 0, 0, 0, 2, 2, 2, 2 }, 1))
  end)

  it("may have one point, or two", function()
    assert.same({ 1 }, at { 3 })
    assert.same({ 1 }, at { 3, 9 })
  end)
end)
