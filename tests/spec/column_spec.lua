-- Columns of numbers, and packed lines that are read into them.

local core = require "pmclua.core"
local pmc = require "pmclua"
local support = require "tests.support"

local function filled(list)
  local column = core.column()
  for i = 1, #list do column[i] = list[i] end
  return column
end

describe("a column of numbers", function()
  it("gives back what was put there: small, large, fractional, exact, absent", function()
    local wide = 2ULL ^ 64 - 1
    for _, list in ipairs { { 7, 7, 7 }, { 7, 7, 8 }, { false, false }, { 3, false, 2 ^ 32 - 1, 2 ^ 32 },
                            { 1, 2 ^ 52, false, 0.25, -3 }, { 5, false, wide, 2 ^ 33 }, { wide, wide, 1 } } do
      local column = filled(list)
      assert.equal(#list, column.n)
      for i = 1, #list do assert.is_true(column[i] == list[i], ("%d of %s"):format(i, tostring(list[1]))) end
      assert.is_nil(column[0])
      assert.is_nil(column[#list + 1])
    end
  end)

  it("takes no room while all are one value, and 4 bytes of each that is a small whole number", function()
    local same, small = core.column(), core.column()
    core.column_expects(small, 1000)
    for i = 1, 1000 do same[i], small[i] = 9, i end
    assert.equal(0, same.room)
    assert.same({ 1000, 1 }, { small.room, small.kind })
  end)

  it("grows at its end alone", function()
    assert.has_error(function() filled { 1 }[3] = 1 end, "a column grows at its end")
  end)
end)

local KERNEL = [[
#include <pmclua_kernel.h>
void add(void *state, uint64_t iterations)
{
    (void)state;
    for (uint64_t i = 0; i < iterations; i++) pmclua_keep(i);
}
]]

-- Two files of 20 repetitions of one cell each, whose lines are packed.
local function two_files()
  local folder, paths = support.folder(), {}
  for i = 1, 2 do
    paths[i] = ("%s/%d.jsonl"):format(folder, i)
    pmc.measure(pmc.kernel { name = "add", code = KERNEL, symbol = "add" }, { events = { "page-faults" },
      repetitions = 20, warmup = 3, iterations = 10, store = paths[i], quiet = true })
    assert.matches('"kind":"repetitions"', support.read(paths[i]), 1, true)
  end
  return paths, folder
end

describe("packed lines", function()
  it("of several files become one cell, whose repetitions go on counting", function()
    support.need(support.have "cc", "no C compiler")
    local paths = two_files()
    paths.by = "none"
    local cell = pmc.load(paths):cells()()
    local block = cell.columns.passes[1]
    assert.same({ 40, 1, 20, 21, 40 }, { cell.repetitions, block.index[1], block.index[20], block.index[21],
      block.index[40] })
    assert.same({ 6, 40 }, { cell.warmups, #cell:values "page_faults" })
  end)

  it("stay packed in a merged file, and are what they were", function()
    support.need(support.have "cc", "no C compiler")
    local paths, folder = two_files()
    paths.by = "none"
    local output = folder .. "/all.jsonl"
    assert.equal(46, pmc.stored.merge(paths, output))
    assert.matches('"kind":"repetitions"', support.read(output), 1, true)
    local function rows(result)
      local block = result:cells()().columns.passes[1]
      return support.sequence(40, function(i)
        return { block.index[i], block.order[i], block.wall[i], block.iterations[i], block.counts[1][i] }
      end)
    end
    assert.same(rows(pmc.load(paths)), rows(pmc.load(output)))
  end)
end)

describe("a Lua function's repetitions", function()
  it("begin without a collection where there is little garbage, and none is left of much", function()
    local collected = 0
    local function run(bytes)
      collected = 0
      pmc.measure(function()
        local proxy = newproxy(true)
        getmetatable(proxy).__gc = function() collected = collected + 1 end
        return ("x"):rep(bytes > 0 and bytes + math.random(1e6) or 0)
      end, { events = { "page-faults" }, repetitions = 20, warmup = 0, quiet = true })
      return collected
    end
    collectgarbage()
    assert.is_true(run(0) < 19)
    assert.is_true(run(64 * 2 ^ 20) >= 10)
  end)
end)
