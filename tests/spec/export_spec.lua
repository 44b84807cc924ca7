-- Reports for other programs: browsers, hyperfine's scripts, google/benchmark's compare.py.

local dkjson = require "dkjson"
local result = require "pmclua.result"
local support = require "tests.support"
local made = require "tests.support.results"
local add_record = require("pmclua.result").add

-- Two commands, ten repetitions, 2.0 and 1.0 ms with a little spread.
local function two_commands(names)
  names = names or { "old", "new" }
  local r = result.new(made.header {
    question = false, repetitions = 10, factors = {}, baseline = { workload = names[1] },
    primary = "duration_time", metrics = { "ipc" },
    workloads = { { name = names[1], kind = "command", per = "run" },
      { name = names[2], kind = "command", per = "run" } },
    cells = { { workload = names[1], levels = {} }, { workload = names[2], levels = {} } },
    events = { made.event("duration_time", { tool = "wall_ns", unit = "ns" }), made.event "cycles",
      made.event "instructions", made.event("stalls", { status = "unsupported", why = "no PMU <here>" }) },
    pass_events = { { 2, 3 } }, host = { hostname = "lab", cpus = 2, governor = "performance" },
  })
  for i = 1, 10 do
    for c, wall in ipairs { 2000000, 1000000 } do
      add_record(r, made.record({ [2] = 1000 * c + i, [3] = 3000 }, { cell = c, index = i, order = 2 * i + c,
        workload = names[c], levels = {}, wall_ns = wall + 100 * (i * 3 % 10), user_ns = wall / 2,
        system_ns = wall / 4, max_rss_bytes = 4096 * c, exit = 0, iterations = 0 }))
    end
  end
  r.status = "complete"
  return r
end

local function kernel()
  local records = made.records { { 100, 120 }, { 1, 1 }, { 0, 0 } }
  return made.result(made.header { repetitions = 2 }, records):only { n = 256 }
end

describe("the openmetrics format", function()
  it("has a gauge for each quantity, times in seconds, and nothing of what was not counted", function()
    local shown = two_commands({ 'say "x\\y"', "new" }):report { format = "openmetrics" }
    assert.matches("# TYPE pmclua_duration_time_seconds gauge\n# UNIT pmclua_duration_time_seconds seconds\n",
      shown, 1, true)
    assert.matches('\npmclua_duration_time_seconds{workload="say \\"x\\\\y\\"",stat="median"} 0.00200045\n',
      shown, 1, true)
    assert.matches('\npmclua_cycles{workload="new",stat="low"} %d+\n', shown)
    assert.matches('\npmclua_cycles{workload="new",stat="values"} 10\n', shown, 1, true)
    assert.matches('\npmclua_ipc{workload="new",stat="median"} 1.49', shown, 1, true)
    assert.not_matches('\npmclua_stalls{', shown)
    assert.matches("\n# EOF\n$", shown)
  end)

  it("has no label twice where a factor is called as its own is", function()
    local cell = { workload = "rows", levels = { stat = 7 } }
    local records = made.records({ { 5 } }, cell)
    local shown = made.result(made.header { factors = { { "stat", { 7 } } }, cells = { cell },
      events = { made.event "cycles" }, pass_events = { { 1 } } }, records):report { format = "openmetrics" }
    assert.matches('{workload="rows",stat_2="7",stat="median"} 0.5\n', shown, 1, true)
  end)
end)

describe("names that OpenMetrics would have twice", function()
  it("are told apart: those of quantities, with and without a unit, and those of factors", function()
    local cell = { workload = "rows", levels = { ["a-b"] = 1, ["a.b"] = 2, ["2x"] = 3 } }
    local function event(field, unit) return made.event(field, { field = field, unit = unit }) end
    local shown = made.result(made.header { cells = { cell }, pass_events = { { 1, 2, 3, 4 } },
      factors = { { "a-b", { 1 } }, { "a.b", { 2 } }, { "2x", { 3 } } },
      events = { event "my_event", event "my.event", event("t", "ns"), event "t_seconds" } },
      made.records({ { 2 }, { 4 }, { 6 }, { 8 } }, cell)):report { format = "openmetrics" }
    local names = {}
    for name in shown:gmatch "# TYPE (%S+)" do names[#names + 1] = name end
    assert.same({ "pmclua_my_event", "pmclua_my_event_2", "pmclua_t_seconds", "pmclua_t_seconds_2" }, names)
    assert.matches('{workload="rows",_2x="3",a_b="1",a_b_2="2",stat="median"}', shown, 1, true)
  end)
end)

describe("the hyperfine format", function()
  local function exported(r) return dkjson.decode(r:report { format = "hyperfine" }).results end

  it("has what hyperfine 1 exports, in seconds", function()
    local entry = exported(two_commands())[1]
    for key, kind in pairs { command = "string", mean = "number", stddev = "number", median = "number",
      user = "number", system = "number", min = "number", max = "number", times = "table",
      exit_codes = "table", memory_usage_byte = "table" } do
      assert.equal(kind, type(entry[key]), key)
    end
    assert.same({ "old", 10, 0 }, { entry.command, #entry.times, entry.exit_codes[10] })
    assert.near(0.00200045, entry.mean, 1e-12)
    assert.near(0.00200045, entry.median, 1e-12)
    assert.same({ 0.002, 0.0020009 }, { entry.min, entry.max })
    assert.same({ 0.001, 0.0005 }, { entry.user, entry.system })
  end)

  it("has levels as parameters and kernels per iteration", function()
    local entry = exported(kernel())[1]
    assert.same({ n = "256" }, entry.parameters)
    assert.same({ 0.0001, 0.0001 }, entry.times)
  end)

  it("has null for times that nobody knows, not 0", function()
    assert.matches('"user":null,"system":null', kernel():report { format = "hyperfine" }, 1, true)
  end)
end)

describe("the google/benchmark format", function()
  local function exported(r) return dkjson.decode(r:report { format = "benchmark" }) end

  it("has an entry a repetition and aggregates, counts as counters", function()
    local data = exported(two_commands())
    local first, mean = data.benchmarks[1], data.benchmarks[11]
    assert.equal(2 * (10 + 4), #data.benchmarks)
    assert.same({ "old", "iteration", 10, 0, "ns" },
      { first.name, first.run_type, first.repetitions, first.repetition_index, first.time_unit })
    assert.same({ 2000300, 1500000, 1001 }, { first.real_time, first.cpu_time, first.cycles })
    assert.same({ "old_mean", "aggregate", "mean" }, { mean.name, mean.run_type, mean.aggregate_name })
    assert.near(2000450, mean.real_time, 1e-6)
    assert.same({ "lab", 2, false }, { data.context.host_name, data.context.num_cpus,
      data.context.cpu_scaling_enabled })
  end)

  it("has no counter for what was not counted", function()
    for _, entry in ipairs(exported(two_commands()).benchmarks) do assert.is_nil(entry.stalls) end
  end)

  it("names levels as arguments", function()
    assert.equal("rows/n:256", exported(kernel()).benchmarks[1].name)
  end)

  it("is taken by google/benchmark's own compare.py", function()
    local script = "/usr/share/benchmark/compare.py"
    local file = io.open(script)
    if not file then return pending "compare.py is not here (tests/packages others)" end
    file:close()
    local folder = support.folder()
    support.write(folder .. "/r.json", two_commands():report { format = "benchmark" })
    local run = support.run { "/usr/bin/python3", script, "--no-color", "filters", folder .. "/r.json",
      "old", "new" }
    assert.equal(0, run.status, run.err)
    assert.matches("old vs%. new%]_pvalue", run.out)
    assert.matches("%-0%.50", run.out)
  end)
end)

describe("the HTML report", function()
  local function page(r, options)
    options = options or {}
    options.format = "html"
    return r:report(options)
  end

  local function without_style(html) return (html:gsub("<style>.-</style>", "")) end

  it("says the verdict first, then the tables, the plan and how numbers were obtained", function()
    local html, last = page(two_commands()), 0
    for _, id in ipairs { "verdicts", "tables", "notes", "plan", "host", "obtained" } do
      local at = html:find(('<section id="%s">'):format(id), 1, true)
      assert.is_true(at ~= nil and at > last, id)
      last = at
    end
    assert.matches("new: <strong>FASTER 0.500</strong> <span class=\"dim\">[0.5000", html, 1, true)
    assert.matches("&lt;not supported&gt;: no PMU &lt;here&gt;", html, 1, true)
  end)

  it("runs nothing and fetches nothing", function()
    local html = without_style(page(two_commands()))
    assert.matches("default-src 'none'", html, 1, true)
    for _, bad in ipairs { "<script", "http:", "https:", "<link", "<iframe", "@import", "javascript:" } do
      assert.is_nil(html:lower():find(bad, 1, true), bad)
    end
  end)

  it("has warnings before plots, a caption above each, and plots that follow the dark", function()
    local svg = '<svg width="8"><rect fill="#ffffff"/></svg>'
    local html = page(two_commands(), { plots = { { title = "a plot", svg = svg } } })
    assert.is_true(html:find('id="notes"', 1, true) < html:find('id="plots"', 1, true))
    assert.matches("<figure><figcaption>a plot</figcaption><img", html, 1, true)
    assert.matches("prefers%-color%-scheme", (html:match 'src="data:image/svg%+xml,(.-)"':gsub("%%2D", "-")))
  end)

  it("has a list of contents where it is long", function()
    local html = page(two_commands())
    assert.is_nil(html:find("<nav", 1, true))
    assert.matches('<figure class="table" id="table-1">', html, 1, true)
  end)

  it("escapes whatever names hold", function()
    local html = page(two_commands { "<script>alert(1)</script>", "\"><img src=x onerror='x()'>\27[2J" })
    assert.is_nil(html:find("<script", 1, true))
    assert.is_nil(html:find("<img src", 1, true))      -- plots have their text first
    assert.is_nil(html:find "[%z\1-\9\11-\31\127]")
    assert.matches("&lt;script&gt;alert(1)&lt;/script&gt;", html, 1, true)
  end)

  it("shows plots as images, whatever is in them", function()
    local plots = { { title = "run <order>", svg = "<svg xmlns='x'><script>evil()</script></svg>" } }
    local html = page(two_commands(), { plots = plots })
    assert.matches('<img alt="run &lt;order&gt;" src="data:image/svg+xml,%3Csvg', html, 1, true)
    assert.is_nil(html:find("<script", 1, true))
  end)

  it("is rendered by Chromium without a complaint", function()
    if not support.have "chromium" then return pending "chromium is not here (tests/packages others)" end
    local folder = support.folder()
    local file = support.write(folder .. "/r.html", page(two_commands()))
    local run = support.run({ "chromium", "--headless", "--no-sandbox", "--disable-gpu",
      "--enable-logging=stderr", "--user-data-dir=" .. folder .. "/profile", "--dump-dom",
      "file://" .. file }, { limit_s = 60 })
    assert.equal(0, run.status, run.err)
    assert.matches("<td>cycles</td>", run.out, 1, true)
    assert.is_nil(run.err:find("CONSOLE", 1, true), run.err)
  end)
end)
