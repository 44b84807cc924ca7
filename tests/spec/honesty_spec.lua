-- Are the intervals and verdicts honest? A short form of tests/bench/honesty.lua: few experiments, so
-- bounds as wide as their number asks for (five standard errors).

local simulate = require "tests.bench.simulate"
local support = require "tests.support"

local EXPERIMENTS = 500

local function within(share, low, high, what)
  local error_of_share = math.sqrt(0.05 * 0.95 / EXPERIMENTS)
  if share < low - 5 * error_of_share or share > high + 5 * error_of_share then
    error(("%s: %.1f %%"):format(what, 100 * share), 2)
  end
end

describe("the long form", function()
  it("marks no promise that chance alone misses where it is run with few experiments", function()
    local result = support.pmclua({ support.root .. "/tests/bench/honesty.lua", "60" }, { limit_s = 120 })
    assert.same({ 0, "" }, { result.status, result.err })
    assert.is_nil(result.out:find("!", 1, true))
    assert.matches("A planted 2 %, margin 1 %, 6 experiments each", result.out, 1, true)
  end)
end)

describe("of simulated experiments", function()
  it("95 % intervals hold the truth in 94 to 97.5 %, of few repetitions in up to 99.5", function()
    for i, shape in ipairs(simulate.shapes) do
      for _, n in ipairs { 8, 20, 100 } do
        local held = simulate.coverage(shape, n, EXPERIMENTS, i)
        for name, share in pairs(held) do
          within(share, 0.94, n < 20 and 0.995 or 0.975, shape.name .. ", " .. name)
        end
      end
    end
  end)

  it("95 % intervals hold the truth where layouts differ by more than runs do", function()
    for _, n in ipairs { 20, 100 } do
      local all, of_layouts = simulate.coverage_of_layouts(n, 10, EXPERIMENTS, n)
      within(of_layouts, 0.94, 1, "means of layouts")
      assert.is_true(all < 0.92)                 -- which is why
    end
  end)

  it("95 % intervals of slopes, and of their ratios, hold the truth in 93 % at least", function()
    for i, model in ipairs(simulate.counts) do
      local held = simulate.slopes(model, 15, 200, i)
      for name, share in pairs(held) do within(share, 0.93, 1, model.name .. ", " .. name) end
      for _, n in ipairs { 6, 10 } do
        local share = simulate.resampled(model, n, 200, i)
        within(share, 0.95, 1, ("%s, %d points resampled"):format(model.name, n))
      end
    end
  end)

  it("at most 5 % of A against A come out as different, stopped early or not", function()
    local options = { n = 30, spread = 0.2, ratio = 1, margin = 0.01 }
    within(simulate.found(options, EXPERIMENTS, 1), 0, 0.05, "30 pairs")
    within(simulate.any_different(5, options, EXPERIMENTS, 2), 0, 0.05, "any of five")
    options.n, options.margin = 200, 0
    within((simulate.found_adaptively(options, EXPERIMENTS, 3)), 0, 0.05, "adaptive")
  end)

  it("at least 95 % find a planted 2 % in 30 quiet pairs", function()
    local quiet = { n = 30, spread = 0.01, ratio = 1.02, margin = 0.01 }
    within(simulate.found(quiet, EXPERIMENTS, 4), 0.95, 1, "30 pairs")
    quiet.n = 200
    local found, pairs_used = simulate.found_adaptively(quiet, EXPERIMENTS, 5)
    within(found, 0.95, 1, "adaptive")
    assert.is_true(pairs_used < 60)
  end)
end)
