-- Reports over ranks, hosts or the levels of a factor: a row for a quantity, not for each level.

local made = require "tests.support.results"
local support = require "tests.support"

-- A result of eight ranks, in each of which a run counted as many cycles as said.
local function result_of(cycles)
  local cells, records = {}, {}
  for i = 1, #cycles do cells[i] = { workload = "rows", levels = { rank = i - 1 } } end
  for i, count in ipairs(cycles) do
    for index = 1, 3 do
      records[#records + 1] = made.record({ count }, { cell = i, levels = cells[i].levels, index = index,
        order = #records + 1, iterations = 1 })
    end
  end
  local ranks = support.sequence(#cycles, function(i) return i - 1 end)
  return made.result(made.header { factors = { { "rank", ranks } }, cells = cells,
    events = { made.event "cycles" }, pass_events = { { 1 } } }, records)
end

describe("a report over ranks", function()
  local uneven = { 100, 101, 102, 103, 104, 400, 106, 107 }

  it("has the least, the median and the largest, max/mean and where the largest is", function()
    local report = result_of(uneven):report { over = "rank", width = 100 }
    assert.matches("\ncycles +8 +100 +103%.5 +400 +2%.850 +rank 5\n", report)
    assert.is_nil(report:find "\n +3 ")
  end)

  it("names outliers, by how often they are the others' median", function()
    local report = result_of(uneven):report { over = "rank" }
    assert.matches("cycles: rank 5: 3.86 times the others", report, 1, true)
    local even = result_of { 100, 101, 102, 103, 104, 105, 106, 107 }
    assert.is_nil(even:report({ over = "rank" }):find "times the others")
  end)

  it("names what differs where most are one", function()
    local report = result_of({ 5, 5, 5, 5, 5, 40, 5, 5 }):report { over = "rank" }
    assert.matches("cycles: rank 5: 8 times the others", report, 1, true)
    local halves = result_of { 5, 5, 5, 5, 5, 6, 6, 6 }
    assert.is_nil(halves:report({ over = "rank" }):find "times the others")
  end)

  it("has no place of a largest where all are one, and no outliers of few", function()
    local report = result_of({ 5, 5, 5 }):report { over = "rank" }
    assert.matches("\ncycles +3 +5 +5 +5 +1%.000 *\n", report)
    assert.is_nil(result_of({ 5, 6, 50 }):report({ over = "rank" }):find "times the others")
  end)

  it("is none over what is no factor", function()
    local result = result_of(uneven)
    local message = support.message_of(result.report, result, { over = "rnk" })
    assert.matches("there is no factor 'rnk'", message, 1, true)
  end)
end)
