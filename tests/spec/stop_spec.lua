-- The rule when to stop: what is known that ends an experiment, and what is not yet enough.

local verdict = require "pmclua.verdict"

describe("the rule when to stop", function()
  local narrow = { median = 100, low = 99.9, high = 100.1 }
  local wide = { median = 100, low = 95, high = 105 }
  local decided = { verdict = "faster", low = 0.9, high = 0.95 }
  local undecided = { verdict = "undecided", low = 0.95, high = 1.05 }
  local almost = { verdict = "undecided", low = 1.008, high = 1.011 }

  local function stop(rule, state)
    return verdict.stop(rule, { n = state.n or 10, seconds = state.seconds or 1,
                                summaries = state.summaries or { wide }, verdicts = state.verdicts or {} })
  end

  it("ends at a number of repetitions or a time, whatever is known", function()
    assert.equal("repetitions", stop({ repetitions = 200 }, { n = 200 }))
    assert.equal("time", stop({ seconds = 300 }, { seconds = 300.5, n = 7 }))
    assert.is_nil(stop({ repetitions = 200, seconds = 300 }, { n = 199, seconds = 299 }))
    assert.equal("repetitions", stop({}, { n = 1000 }))
  end)

  it("ends when every cell's interval is as narrow as asked", function()
    assert.equal("narrow", stop({ interval = 0.005 }, { summaries = { narrow, narrow } }))
    assert.is_nil(stop({ interval = 0.005 }, { summaries = { narrow, wide } }))
    assert.is_nil(stop({ interval = 0.005 }, { summaries = { { median = 5 } } }))
    assert.equal("narrow", stop({ interval = 0.005 }, { summaries = { { median = 0, low = 0, high = 0 } } }))
    local huge = 2ULL ^ 63
    assert.equal("narrow", stop({ interval = 0.005 }, { summaries = { { median = huge, low = huge,
      high = huge } } }))
  end)

  it("ends when every comparison is decided, or known as narrowly as asked", function()
    assert.equal("decided", stop({}, { verdicts = { decided, decided } }))
    assert.is_nil(stop({}, { verdicts = { decided, undecided } }))
    assert.equal("decided", stop({ interval = 0.005 }, { verdicts = { decided, almost } }))
    assert.is_nil(stop({ interval = 0.005 }, { verdicts = { undecided }, summaries = { narrow } }))
    assert.is_nil(stop({}, { verdicts = { almost } }))
  end)

  it("looks at few sizes that are known beforehand, each at a level that is corrected for all", function()
    local rule = { repetitions = 200 }
    assert.same({ 10, 15, 23, 35, 53, 80, 120, 180, 200 }, verdict.looks(rule))
    assert.is_true(math.abs(verdict.look_level(rule) - (1 - 0.05 / 9)) < 1e-12)
    assert.same({ 6 }, verdict.looks { repetitions = 6 })
    local looked = {}
    for n = 1, 60 do
      if stop(rule, { n = n, verdicts = { decided } }) then looked[#looked + 1] = n end
    end
    assert.same({ 10, 15, 23, 35, 53 }, looked)
  end)
end)
