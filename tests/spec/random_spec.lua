-- The random generator: the same numbers on every machine, and as random as it must be.

local pmc = require "pmclua"
local random = require "pmclua.stats.random"

-- From the reference C of xoshiro128** 1.1 and SplitMix64 (prng.di.unimi.it), compiled and run: state
-- words are the low and high halves of two SplitMix64 outputs. First five outputs, and the 10^6th.
local REFERENCE = {
  { 0, { 3737715805, 2584255861, 2876756834, 3286328325, 1553311962 }, 847243337 },
  { 1, { 1695105466, 1423115009, 634581793, 1068227753, 716759206 }, 637055319 },
  { 42, { 1776835114, 4165204688, 17111135, 2317295270, 2792088233 }, 2277284690 },
  { 2 ^ 53, { 737483044, 1905701964, 87905447, 1487455117, 3707366562 }, 1600196169 },
}

describe("the random generator", function()
  it("draws what the reference implementation draws", function()
    for _, row in ipairs(REFERENCE) do
      local seed, first, millionth = unpack(row)
      local generator = random.new(seed)
      for i = 1, 5 do assert.equal(first[i], generator:bits()) end
      for _ = 6, 999999 do generator:bits() end
      assert.equal(millionth, generator:bits())
    end
  end)

  it("repeats a seed and a stream, and tells streams apart", function()
    local function draw(...)
      local generator, list = random.new(...), {}
      for i = 1, 20 do list[i] = generator:bits() end
      return list
    end
    assert.same(draw(7, "order"), draw(7, "order"))
    assert.are_not.same(draw(7, "order"), draw(7, "layout"))
    assert.are_not.same(draw(7), draw(7, "order"))
    assert.are_not.same(draw(7), draw(8))
  end)

  it("gives uniform numbers from 0 up to but not 1", function()
    local generator, sum, least, most = random.new(1), 0, 1, 0
    for _ = 1, 1e5 do
      local u = generator:uniform()
      sum, least, most = sum + u, math.min(least, u), math.max(most, u)
    end
    assert.is_true(least >= 0 and least < 1e-3)
    assert.is_true(most < 1 and most > 0.999)
    assert.is_true(math.abs(sum / 1e5 - 0.5) < 0.005)
  end)

  it("takes a uniform number's 53 bits from two draws, the higher first", function()
    local bits, generator = random.new(5), random.new(5)
    for _ = 1, 10 do
      local high, low = math.floor(bits:bits() / 2 ^ 5), math.floor(bits:bits() / 2 ^ 6)
      assert.equal((high * 2 ^ 26 + low) / 2 ^ 53, generator:uniform())
    end
  end)

  it("gives each integer as often, also where 2^32 is no multiple", function()
    local generator, n, draws = random.new(2), 7, 70000
    local counts, chi = {}, 0
    for i = 1, n do counts[i] = 0 end
    for _ = 1, draws do
      local i = generator:integer(n)
      counts[i] = counts[i] + 1
    end
    for i = 1, n do chi = chi + (counts[i] - draws / n) ^ 2 / (draws / n) end
    assert.is_true(chi < 22.46)         -- scipy.stats.chi2.isf(0.001, 6)
    assert.equal(1, generator:integer(1))
    assert.is_true(generator:integer(2 ^ 32) >= 1)
  end)

  it("shuffles in place, each order as often", function()
    local generator, counts = random.new(3), {}
    for _ = 1, 24000 do
      local word = table.concat(generator:shuffle { "a", "b", "c", "d" })
      counts[word] = (counts[word] or 0) + 1
    end
    local orders, chi = 0, 0
    for _, count in pairs(counts) do orders, chi = orders + 1, chi + (count - 1000) ^ 2 / 1000 end
    assert.equal(24, orders)
    assert.is_true(chi < 49.73)         -- scipy.stats.chi2.isf(0.001, 23)
  end)

  it("gives normal numbers of mean 0 and deviation 1", function()
    local generator, sum, squares, beyond = random.new(4), 0, 0, 0
    for _ = 1, 1e5 do
      local z = generator:normal()
      sum, squares = sum + z, squares + z * z
      if math.abs(z) > 1.959963984540054 then beyond = beyond + 1 end
    end
    assert.is_true(math.abs(sum / 1e5) < 0.012)
    assert.is_true(math.abs(squares / 1e5 - 1) < 0.02)
    assert.is_true(math.abs(beyond / 1e5 - 0.05) < 0.003)
  end)

  it("refuses what is no seed and no range at the caller's line", function()
    for _, seed in ipairs { -1, 0.5, 2 ^ 53 + 2, "1", 0 / 0 } do
      local ok, problem = pcall(function() pmc.stats.random(seed) end)
      assert.is_false(ok)
      assert.matches("random_spec.lua:%d+: pmc.stats.random: seed must be a whole number", tostring(problem))
    end
    for _, n in ipairs { 0, -3, 1.5, 2 ^ 33, "x" } do
      assert.has_error(function() random.new(1):integer(n) end)
    end
  end)
end)
