-- Repetitions of one process or layout, as one value of it.

local clusters = require "pmclua.result.clusters"

describe("pairs of repetitions by cluster", function()
  local ids = { "p", "p", "p", "q", "q", "q" }

  it("are one pair each, whose ratio is the median of theirs, whatever happened to the others", function()
    local a = { 102, 102, 204, 51, 306, 102 }
    local b = { 100, 300, 200, 50, 300, 100 }
    local ours, theirs = clusters.pairs(ids, a, b)
    assert.equal(2, #ours)
    for i = 1, 2 do assert.is_true(math.abs(ours[i] / theirs[i] / 1.02 - 1) < 1e-12) end
  end)

  it("have the median of their differences where a value is not above 0", function()
    local ours, theirs = clusters.pairs(ids, { 5, 6, 90, 1, 2, 3 }, { 0, 1, 2, 1, 2, 3 })
    assert.same({ 5, 0 }, { ours[1] - theirs[1], ours[2] - theirs[2] })
  end)

  it("are exact where the values of each side are", function()
    local ours, theirs = clusters.pairs(ids, { 7, 7, 7, 7, 7, 7 }, { 3, 3, 3, 11, 11, 11 })
    assert.same({ 7, 7 }, ours)
    assert.same({ 3, 11 }, theirs)
  end)

  it("are geometric means where there are two of a cluster", function()
    local ours, theirs = clusters.pairs({ 1, 1 }, { 8, 2 }, { 1, 1 })
    assert.is_true(math.abs(ours[1] / theirs[1] - 4) < 1e-12)
  end)

  it("of more sides are by what each is to the first", function()
    local first, second, third = clusters.pairs({ 1, 1, 1 }, { 10, 20, 10 }, { 20, 40, 99 }, { 30, 60, 30 })
    assert.is_true(math.abs(second[1] / first[1] - 2) < 1e-12)
    assert.is_true(math.abs(third[1] / first[1] - 3) < 1e-12)
  end)
end)
