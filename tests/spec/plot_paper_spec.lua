-- Plots for paper: staircases, scatters and forests, and series that are told apart without colours.

local gnuplot = require "pmclua.report.plot.gnuplot"
local lists = require "pmclua.base.lists"
local made = require "tests.support.results"
local made_sizes = require "tests.support.sizes"
local plot = require "pmclua.report.plot"
local support = require "tests.support"

local message_of = support.message_of
local REPETITIONS, sizes = made_sizes.REPETITIONS, made_sizes.result

local function chart(r, kind, options)
  options = options or {}
  options.kind = kind
  return plot.new(r, options).chart
end

describe("a chart", function()
  it("of a staircase has a plateau about each level, which meet between them", function()
    local panel = chart(sizes(), "staircase").panels[1]
    local steps, medians = unpack(panel.series)
    assert.same({ 6, 3, "rows" }, { #steps.data, #medians.data, medians.title })
    for i, row in ipairs(medians.data) do
      local from, to = steps.data[2 * i - 1], steps.data[2 * i]
      assert.is_true(from[1] < row[1] and row[1] < to[1])
      assert.same({ row[2], row[2] }, { from[2], to[2] })
    end
    assert.is_true(math.abs(steps.data[2][1] - math.sqrt(8 * 64)) < 1e-9)
    assert.equal(steps.data[2][1], steps.data[3][1])
    assert.same({ steps.data[1][1], steps.data[6][1] }, { panel.x.low, panel.x.high })
  end)

  it("of a scatter has every value, and the curve where levels are enough", function()
    local few = chart(sizes(), "scatter")
    assert.matches("every value$", few.subtitle)
    assert.same({ 2, 3 * REPETITIONS }, { #few.panels[1].series, #few.panels[1].series[1].data })
    local header = made_sizes.header { factors = { { "n", { 8, 16, 64, 512 } } } }
    header.cells = {}
    for i, n in ipairs { 8, 16, 64, 512 } do header.cells[i] = { workload = "rows", levels = { n = n } } end
    local r = made.result(header, made_sizes.records(header))
    r.status = "complete"
    local curve, points = unpack(chart(r, "scatter").panels[1].series)
    assert.same({ "curve", "points", 4 * REPETITIONS }, { curve.style, points.style, #points.data })
    assert.matches("^rows: .*n", points.title)
  end)

  it("of a scatter leaves none of the extremes out of more values than there is room for", function()
    local header, records = made_sizes.header(), {}
    for i = 1, 1000 do
      for c, cell in ipairs(header.cells) do
        records[#records + 1] = made.record({ i == 500 and 9e6 or 900 + i % 7, 50, 0 }, { cell = c, index = i,
          order = #records + 1, iterations = 1, workload = cell.workload, levels = cell.levels })
      end
    end
    local dense = chart(made.result(header, records), "scatter")
    assert.matches("of neighbours the smallest and the largest", dense.subtitle, 1, true)
    local count, largest = 0, 0
    for _, series in ipairs(dense.panels[1].series) do
      for _, point in ipairs(series.style == "points" and series.data or {}) do
        count, largest = count + 1, math.max(largest, point[2])
      end
    end
    assert.is_true(count > 1000 and count <= 2000 + 2 * #header.cells, tostring(count))
    assert.is_true(largest >= 9)
  end)

  it("of a forest has every ratio with its interval, and a line at 1", function()
    local forest = chart(sizes { baseline = "rows" }, "forest")
    local panel, seen = forest.panels[1], 0
    assert.same({ { 1, 0.4 }, { 1, #panel.y.tics + 0.6 } }, panel.series[1].data)
    for _, series in ipairs { unpack(panel.series, 2) } do
      for _, row in ipairs(series.data) do
        seen = seen + 1
        assert.is_true(row[3] <= row[1] and row[1] <= row[4])
      end
    end
    assert.equal(#panel.y.tics, seen)
    assert.equal("cycles, n 8", panel.y.tics[1][1])
    local one = chart(sizes { baseline = "rows" }, "forest", { name = "cycles" })
    assert.same({ "n 8", "n 64", "n 512" }, lists.column(one.panels[1].y.tics, 1))
    assert.equal("more", one.panels[1].series[2].title)
    assert.matches("there is no ratio to plot", message_of(chart, sizes(), "forest"), 1, true)
  end)
end)

describe("a plot", function()
  before_each(function() support.need(gnuplot.program(), "no gnuplot") end)

  it("tells series apart without colours", function()
    local eight = lists.map({ 1, 2, 3, 4, 5, 6, 7, 8 }, function(i)
      return { style = "steps", colour = i, title = "s" .. i, data = { { 1, i }, { 2, i } } }
    end)
    local panel = { x = { label = "x" }, y = { label = "y" }, series = eight }
    local commands = gnuplot.commands({ title = "t", subtitle = "s", panels = { panel } }, "svg", "o",
      { width = 800, height = 400 })
    local dashes = lists.collect(commands:gmatch "dt (%S+) lc")
    assert.same({ 8, 8 }, { #dashes, #lists.unique(dashes) })
    local drawn = sizes():plot("factor"):render "text"
    assert.matches("  o rows    x columns", drawn, 1, true)
    assert.is_nil(drawn:find "[#$@&=*]")
  end)

  it("has no names of places on each other in a picture", function()
    local close = { { "one", 1 }, { "2,048", 2048 }, { "2,050", 2050 }, { "4,096", 4096 } }
    local panel = { x = { label = "n", tics = close, low = 0, high = 4200 }, y = { label = "y" },
      series = { { style = "points", colour = 1, data = { { 1, 1 }, { 4096, 2 } } } } }
    local commands = gnuplot.commands({ title = "t", subtitle = "s", panels = { panel } }, "png", "o",
      { width = 800, height = 400 })
    assert.matches("'2,048' 2048, '' 2050, '4,096' 4096", commands, 1, true)
  end)
end)
