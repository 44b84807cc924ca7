-- Regions in the tables of experiments: how many calls there were, and how far the largest ones reach.

local made = require "tests.support.regions"
local pmc = require "pmclua"

local function measure(shape, n, regions)
  return pmc.measure(pmc.command { made.program "pages.c", shape, tostring(n) }, { events = made.FAULTS,
    regions = regions, repetitions = 2, warmup = 0, store = false, quiet = true })
end

describe("a region's table", function()
  lazy_setup(made.need_probes)

  it("says of how many calls its sums are", function()
    local text = measure("calls", 8, { "touch" }):report { width = 100 }
    assert.matches("region touch · 2 repetitions%s[· ]*sum of a run, of 8 calls", (text:gsub("%s+", " ")))
  end)

  it("shows the 99th percentile and the largest where each call is a value", function()
    local result = measure("calls", 100, { "touch", entries = true })
    -- What is above the table is as long as the program's path.
    local of_touch = result:report({ width = 100 }):match "region touch.*"
    local head, row = of_touch:match "\n(event [^\n]*)\n([^\n]*)"
    assert.matches("^event +median +95 %% interval +99 %% +max +shape", head)
    -- 1 to 100 pages, in each of two runs.
    local cell
    for each in result:cells() do cell = each.region and each or cell end
    local values = cell:values "page_faults"
    table.sort(values)
    assert.equal(200, #values)
    assert.same({ 1, 100 }, { values[1], values[200] })
    assert.matches("page%-faults +50.50 .* 99%.01 +100 ", row)
    local markdown = result:report { format = "markdown" }
    assert.matches("| event | median | 95 % interval | 99 % | max |", markdown, 1, true)
  end)
end)
