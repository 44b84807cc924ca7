-- Plots: what charts hold, and that gnuplot draws them, whatever names are in them.

local gnuplot = require "pmclua.report.plot.gnuplot"
local made = require "tests.support.results"
local made_sizes = require "tests.support.sizes"
local plot = require "pmclua.report.plot"
local pmc = require "pmclua"
local support = require "tests.support"

local REPETITIONS, sizes_header, records_of = made_sizes.REPETITIONS, made_sizes.header, made_sizes.records
local sizes, stored = made_sizes.result, made_sizes.stored

local function chart(r, kind, options)
  options = options or {}
  options.kind = kind
  return plot.new(r, options).chart
end

local message_of = support.message_of

describe("a chart", function()
  it("of a distribution has every value, and quartiles and extremes, one colour a workload", function()
    local panel = chart(sizes(), "distribution").panels[1]
    assert.equal(12, #panel.series)                  -- a box and points for each cell
    assert.equal(6, #panel.x.tics)
    assert.same({ "rows, n 8", 1 }, panel.x.tics[1])
    local box, points = panel.series[1], panel.series[2]
    assert.equal(REPETITIONS, #points.data)
    assert.is_true(box.data[1][2] < box.data[1][3] and box.data[1][4] < box.data[1][6])
    assert.equal(panel.series[1].colour, panel.series[5].colour)
    assert.are_not.equal(panel.series[1].colour, panel.series[3].colour)
  end)

  it("of an ECDF rises to 1 at the largest value", function()
    for _, series in ipairs(chart(sizes(), "ecdf").panels[1].series) do
      assert.equal(0, series.data[1][2])
      assert.equal(1, series.data[#series.data][2])
    end
  end)

  it("of a factor says how many of its medians have no interval", function()
    local header, few = sizes_header(), {}
    for i, record in ipairs(records_of(header)) do
      if i <= 3 * #header.cells then
        record.counts[1] = record.counts[1] + i
        few[i] = record
      end
    end
    assert.matches("95 % intervals (6 cells without one)", chart(made.result(header, few), "factor").subtitle,
      1, true)
    assert.is_nil(chart(sizes(), "factor").subtitle:find("without", 1, true))
  end)

  it("of a factor has medians with intervals, logarithmic where levels are", function()
    local panel = chart(sizes(), "factor").panels[1]
    assert.equal("n", panel.x.label)
    assert.is_true(panel.x.log)
    assert.same({ "rows", "columns" }, { panel.series[1].title, panel.series[2].title })
    local x, median, low, high = unpack(panel.series[1].data[2])
    assert.equal(64, x)
    assert.is_true(low <= median and median <= high)
  end)

  it("of a regression has counts, their line, and residuals about 0", function()
    local fit = chart(sizes({ iterations = "fit" }):only { n = 8 }, "regression")
    assert.equal(2, fit.columns)
    local line, points, residuals = fit.panels[1].series[1], fit.panels[1].series[2], fit.panels[3].series[1]
    assert.same({ REPETITIONS, 2 }, { #points.data, #line.data })
    assert.is_true(fit.panels[3].y.zero)
    local below, above = 0, 0
    for _, point in ipairs(residuals.data) do
      if point[2] < 0 then below = below + 1 elseif point[2] > 0 then above = above + 1 end
    end
    assert.is_true(below > 3 and above > 3)
  end)

  it("in the order of measuring has the place in time", function()
    local data = chart(sizes(), "order").panels[1].series[2].data
    assert.same({ 2, 8 }, { data[1][1], data[2][1] })
  end)

  it("of a histogram counts each value once", function()
    local count = 0
    for _, bar in ipairs(chart(sizes():only { n = 8 }, "histogram").panels[1].series[1].data) do
      count = count + bar[2]
    end
    assert.equal(REPETITIONS, count)
  end)

  it("of a histogram of whole numbers has bars of equally many of them", function()
    local header = made.header { workloads = { { name = "rows", kind = "command", per = "run" } } }
    local r = made.result(header, made.records { { 99, 100, 101, 101, 103 }, {}, {} })
    r.status = "complete"
    r = r:only { n = 256 }
    assert.same({ { 99, 1, 1 }, { 100, 1, 1 }, { 101, 2, 1 }, { 102, 0, 1 }, { 103, 1, 1 } },
      chart(r, "histogram").panels[1].series[1].data)
  end)

  it("has counts as people write them where its axis is logarithmic", function()
    local records, header = {}, sizes_header()
    for i, record in ipairs(records_of(header)) do
      record.counts[1] = record.counts[1] * (record.levels.n == 512 and 1e4 or 1)
      records[i] = record
    end
    local y = chart(made.result(header, records), "factor").panels[1].y
    assert.same({ "cycles per iteration", true }, { y.label, y.log })
    local labels = require("pmclua.base.lists").column(y.tics, 1)
    local shown = table.concat(labels, " ")
    assert.truthy(shown:find("1,000 10,000 100,000 1 M", 1, true), shown)
  end)

  it("is headed by what ran where there is no question", function()
    assert.equal("rows and columns", chart(sizes { question = false }, "ecdf").title)
  end)

  it("names quantity and unit on its axes", function()
    local header = { events = { made.event("time", { unit = "ns" }), made.event "instructions",
      made.event "page-faults" }, primary = "time" }
    assert.equal("time per iteration (µs)", chart(sizes(header), "distribution").panels[1].y.label)
    assert.equal("instructions per iteration",
      chart(sizes(), "ecdf", { name = "instructions" }).panels[1].x.label)
  end)

  it("says how many cells it has no room for", function()
    local cells, levels = {}, {}
    for i = 1, 20 do cells[i], levels[i] = { workload = "rows", levels = { n = i } }, i end
    local many = sizes { cells = cells, factors = { { "n", levels } } }
    assert.matches("the first 8 of 20 cells", chart(many, "ecdf").subtitle, 1, true)
  end)

  it("is of the kind that fits, where none is asked for", function()
    assert.equal("factor", plot.new(sizes()).kind)
    assert.equal("regression", plot.new(sizes({ iterations = "fit", factors = { { "n", { 8 } } },
      cells = { { workload = "rows", levels = { n = 8 } } } })).kind)
    local one = sizes { factors = {}, cells = { { workload = "rows", levels = {} } } }
    assert.equal("distribution", plot.new(one).kind)
  end)

  it("that cannot be is refused with the reason", function()
    local r = sizes()
    assert.matches("did you mean 'ecdf'", message_of(r.plot, r, "ecfd"), 1, true)
    assert.matches("has no line", message_of(r.plot, r, "regression"), 1, true)
    assert.matches("nothing here is called 'cycle'", message_of(r.plot, r, { name = "cycle" }), 1, true)
    local absent = sizes { events = { made.event("cycles", { status = "unsupported", why = "no PMU here" }),
      made.event "instructions", made.event "page-faults" }, pass_events = { { 2, 3 } } }
    assert.matches("no PMU here", message_of(absent.plot, absent, { name = "cycles" }), 1, true)
    assert.is_truthy(plot.new(absent).chart)           -- of what was counted instead
  end)
end)

describe("gnuplot's commands", function()
  local NAMES = { "`touch broken`", "'; system('touch broken'); '", "$(touch broken)",
    "a\nset output 'broken'\n",
    "EOD", "@A", "x^{2}_{3}", "<script>alert(1)</script>", "\27[31mred" }

  it("hold names only in single quotes, on one line", function()
    for _, name in ipairs(NAMES) do
      local header = sizes_header { question = name,
        workloads = { { name = name, kind = "command", per = "run" } }, factors = {},
        cells = { { workload = name, levels = {} } } }
      local shown = plot.new(made.result(header, records_of(header)), "distribution").chart
      local commands = gnuplot.commands(shown, "svg", "out", { width = 9, height = 9 })
      local bare = commands:gsub("'[^'\n]*'", "")
      assert.is_nil(bare:find("touch", 1, true), name)
      assert.is_nil(bare:find("broken", 1, true), name)
      assert.is_nil(bare:find("[`@\27]"), name)
    end
  end)

  it("run nothing that names say", function()
    support.need(gnuplot.program(), "no gnuplot")
    local folder = support.folder()
    for _, name in ipairs(NAMES) do
      local header = { question = name, factors = {}, cells = { { workload = name, levels = {} } },
        workloads = { { name = name, kind = "command", per = "run" } } }
      local path = stored(header)
      local drawn = support.pmclua({ "plot", path, "--format", "svg" }, { folder = folder })
      assert.same({ 0, "" }, { drawn.status, drawn.err })
      assert.is_nil(io.open(folder .. "/broken"))
      assert.is_nil(drawn.out:find("<script", 1, true))
    end
  end)
end)

describe("a plot", function()
  before_each(function() support.need(gnuplot.program(), "no gnuplot") end)

  it("is SVG, PNG or text", function()
    for _, kind in ipairs { "distribution", "ecdf", "factor", "staircase", "scatter", "forest", "order",
      "histogram" } do
      local drawn = sizes({ baseline = "rows" }):plot(kind)
      assert.matches("^<%?xml.-</svg>%s*$", drawn:render "svg")
      assert.equal("\137PNG", drawn:render("png"):sub(1, 4))
      assert.matches("^What grows%?\n", drawn:render "text")
    end
    assert.matches("residual", tostring(sizes({ iterations = "fit" }):only({ n = 8 }):plot "regression"))
  end)

  it("in a text leaves names of places out that would stand on each other", function()
    local close = { { "one", 1 }, { "2,048", 2048 }, { "2,050", 2050 }, { "4,096", 4096 } }
    local axis = { label = "n", tics = close, low = 0, high = 4200 }
    local picture = gnuplot.draw({ title = "t", subtitle = "s", panels = { { x = axis, y = { label = "y" },
      series = { { style = "points", colour = 1, data = { { 1, 1 }, { 4096, 2 } } } } } } }, "text")
    assert.matches("one +2,048 +4,096", picture)
    assert.is_nil(picture:find("2,050", 1, true))
  end)

  it("in a text numbers the cells whose names do not fit, and says which is which", function()
    local picture = sizes():plot("distribution"):render "text"
    assert.matches(" 1 +2 +3 +4 +5 +6\n +1  rows, n 8\n +2  columns, n 8\n", picture)
    assert.matches("\n +6  columns, n 512\n$", picture)
  end)

  it("in a narrow text names its series whole", function()
    assert.matches("\n  o rows    x columns\n$", sizes():plot({ kind = "factor", width = 40 }):render "text")
    local lines = sizes():only({ n = "<=64" }):plot({ kind = "ecdf", width = 40 }):render "text"
    for _, name in ipairs { "*** rows, n 8", "### columns, n 8", "$$$ rows, n 64", "%%% columns, n 64" } do
      assert.truthy(lines:find("  " .. name, 1, true), lines)
    end
  end)

  it("in a text shows every value, those at the ends of its axes too", function()
    local header = made.header { factors = { { "n", { 1, 2 } } }, repetitions = 3, primary = "cycles",
      cells = { { workload = "w", levels = { n = 1 } }, { workload = "w", levels = { n = 2 } } },
      workloads = { { name = "w", kind = "kernel", per = "run" } } }
    local list = {}
    for i = 1, 6 do
      local c = i % 2 + 1
      list[i] = made.record({ i * 10 ^ (c * 8), 3, 0 }, { cell = c, index = i, order = i, iterations = 1,
        workload = "w", levels = { n = c } })
    end
    local r = made.result(header, list)
    r.status = "complete"
    local function marks(kind, letters, height)
      local count = 0
      for line in r:plot({ kind = kind, height = height }):render("text"):gmatch "|([^\n]*)" do
        count = count + select(2, line:gsub(letters, ""))
      end
      return count
    end
    for _, height in ipairs { 12, 22 } do assert.equal(6, marks("order", "[ox]", height)) end
    assert.equal(2, marks("distribution", "#"))
    assert.is_true(chart(r, "distribution").panels[1].y.log)         -- two cells, far apart
    assert.equal("cycles (×10⁶)", chart(r, "histogram").panels[1].x.label)
    assert.equal("cycles (×10¹⁵)", chart(r, "histogram").panels[2].x.label)
  end)

  it("is written to a file by the end of its name", function()
    local folder = support.folder()
    for _, name in ipairs { "a.svg", "a.png", "a.pdf", "a.eps", "a.txt" } do
      local drawn = sizes():plot { kind = "ecdf", output = folder .. "/" .. name }
      assert.equal("written to " .. folder .. "/" .. name, tostring(drawn))
    end
    assert.matches("<svg", support.read(folder .. "/a.svg"), 1, true)
    assert.equal("\137PNG", support.read(folder .. "/a.png"):sub(1, 4))
    assert.equal("%PDF", support.read(folder .. "/a.pdf"):sub(1, 4))
    assert.equal("%!PS", support.read(folder .. "/a.eps"):sub(1, 4))
    sizes():plot { output = folder .. "/A.SVG" }
    assert.matches("<svg", support.read(folder .. "/A.SVG"), 1, true)
    local r, nowhere = sizes(), folder .. "/no/a.svg"
    assert.matches("written as .svg, .png, .pdf, .eps or .txt, not as .gif", message_of(r.plot, r,
      { output = folder .. "/a.gif" }), 1, true)
    assert.is_false(support.exists(folder .. "/a.gif"))
    r:plot { output = folder .. "/a.gif", format = "text" }
    assert.matches("cannot write", message_of(r.plot, r, { output = nowhere }), 1, true)
  end)

  it("as text is no wider than asked for", function()
    for line in sizes():plot({ kind = "ecdf", width = 60 }):render("text"):gmatch "[^\n]+" do
      assert.is_true(require("pmclua.base.text").width(line) <= 60, line)
    end
  end)

  it("has a size in which there is something to be seen", function()
    local r = sizes()
    for _, size in ipairs { { width = 0 }, { width = -80 }, { width = 80.5 }, { height = 1 } } do
      assert.matches("must be a whole number from", message_of(r.plot, r, size), 1, true)
    end
  end)

  it("leaves nothing in the temporary folder, whatever that is called", function()
    local folder, left = support.folder() .. "/it's `here`", {}
    require("lfs").mkdir(folder)
    support.with_env({ TMPDIR = folder }, function() sizes():plot("ecdf"):render "svg" end)
    for name in require("lfs").dir(folder) do left[#left + 1] = name:match "^[^.].*" end
    assert.same({}, left)
    assert.matches("<svg", support.with_env({ TMPDIR = folder .. "/nowhere" }, function()
      return sizes():plot("ecdf"):render "svg"
    end))
  end)

  it("is in an HTML page, as data", function()
    local page = sizes():report { format = "html" }
    assert.equal(3, select(2, page:gsub('src="data:image/svg%+xml', "")))
    assert.matches("medians with 95 % intervals", page, 1, true)
  end)
end)

describe("without gnuplot", function()
  local function without(fn) return support.with_env({ PATH = "/nowhere" }, fn) end

  it("one line says what to install", function()
    without(function()
      local r = sizes()
      assert.equal("plots need gnuplot, which is not installed; apt-get install gnuplot-nox, or its like",
        message_of(function() return r:plot("ecdf"):render() end))
    end)
  end)

  it("an HTML page has no plots, and all else", function()
    without(function()
      local page = sizes():report { format = "html" }
      assert.is_nil(page:find("data:image", 1, true))
      assert.matches("Tables", page, 1, true)
    end)
  end)
end)

describe("pmclua plot", function()
  before_each(function() support.need(gnuplot.program(), "no gnuplot") end)

  local function monitored(time, faults, ipc)
    return require("pmclua.base.json").encode({ time_s = time, seconds = 0.1, missed = 0,
      events = { page_faults = { value = faults, per_second = faults, status = "counted" } },
      metrics = { ipc = { value = ipc, status = "counted" } } }, { order = { "time_s" } }) .. "\n"
  end
  local absent = require("pmclua.base.json").null
  local MONITOR = monitored(0.1, 750, 1.5) .. monitored(0.2, absent, absent) .. monitored(0.3, 200, 1.25)
  local function file(name, content) return support.write(support.folder() .. "/" .. name, content) end

  it("shows a stored result in the terminal, or writes a picture", function()
    local path = stored()
    local shown = support.pmclua { "plot", path, "--kind", "ecdf", "--only", "n=8" }
    assert.same({ 0, "" }, { shown.status, shown.err })
    assert.matches("^What grows%?\nn = 8 · share of repetitions", shown.out)
    local picture = support.folder() .. "/p.png"
    assert.equal(0, support.pmclua({ "plot", path, "-o", picture }).status)
    assert.equal("\137PNG", support.read(picture):sub(1, 4))
  end)

  it("draws what pmclua monitor wrote over time, with gaps where nothing was counted", function()
    local path = file("monitor.json", MONITOR)
    local time = pmc.plot(path).chart
    assert.same({ "page_faults per second", "ipc" }, { time.panels[1].y.label, time.panels[2].y.label })
    local gap = time.panels[1].series[1].data[2][2]
    assert.is_true(gap ~= gap)
    assert.equal(0, support.pmclua({ "plot", path, "--kind", "time", "--format", "svg" }).status)
  end)

  it("says so where a monitor counted nothing", function()
    local nothing = file("nothing.json", monitored(0.1, absent, absent))
    assert.matches("nothing was counted in it", support.pmclua({ "plot", nothing }).err, 1, true)
  end)

  it("refuses what makes no sense", function()
    local path = stored()
    assert.equal(2, support.pmclua({ "plot", path, "--kind", "pie" }).status)
    assert.equal(2, support.pmclua({ "plot", path, "--kind", "time" }).status)
    assert.equal(2, support.pmclua({ "plot", path, "--name", "cylces" }).status)
    assert.equal(2, support.pmclua({ "plot", path, "--only", "n" }).status)
    assert.equal(1, support.pmclua({ "plot", "/nowhere.jsonl" }).status)
    assert.equal(1, support.pmclua({ "plot", path, "--kind", "regression" }).status)
    for _, content in ipairs { '{"time_s":1}', '{"time_s":', '{"kind":"regions","regions":[{}]}' } do
      local refused = support.pmclua { "plot", file("odd.json", content) }
      assert.equal(1, refused.status, content)
      assert.is_nil(refused.err:find("traceback", 1, true), refused.err)
    end
  end)
end)
