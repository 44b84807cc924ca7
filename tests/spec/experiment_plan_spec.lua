-- Experiments before they run: what a declaration takes, in which order all is run, what the command line
-- changes.

local order = require "pmclua.experiment.order"
local pmc = require "pmclua"
local support = require "tests.support"

local message_of, run = support.message_of, support.experiment

describe("events of the command line", function()
  it("may leave out the one that decides: then the first does", function()
    local declared = pmc.experiment { workloads = "true", events = { "task-clock", "page-faults" },
      primary = "task-clock" }
    local plan = declared:override { events = { "page-faults" } }:plan()
    assert.matches("pass 1: page%-faults", plan)
    assert.matches("pag%-faults", message_of(declared.override, declared, { events = { "pag-faults" } }))
  end)
end)

describe("a declaration", function()
  it("takes several named metrics in one text, as perf stat does", function()
    local plan = pmc.experiment { events = "page-faults",
      metrics = { "cpus_utilised, system_share", "x = 2 * page_faults" }, workloads = { "true" } }
    local names = {}
    for i, metric in ipairs(plan.declaration.metrics) do names[i] = metric.name end
    assert.same({ "cpus_utilised", "system_share", "x" }, names)
  end)

  it("reports every mistake at once, each with the nearest right word", function()
    local message = message_of(pmc.experiment, {
      events = { "page-faults", "cylces", "page-faults", "cs,ipc" }, workload = {}, workloads = { "true",
        pmc.command "true" },
      repetitons = 3, factors = { { "n", { 1, 1 } } }, baseline = "tru",
      metrics = { "x = foo / page_faults" },
      warmup = -1, timeout = "5 parsecs", iterations = 0.5,
    })
    for _, part in ipairs { "'cylces'", "did you mean 'cycles'", "it is a metric",
      "would both be called page_faults",
      "'repetitons', did you mean 'repetitions'", "'workload', did you mean 'workloads'",
      "two workloads are called 'true'",
      "no workload is 'tru', did you mean 'true'", "needs 'foo'", "warmup must be a whole number",
      "5 parsecs",
      "level 1 twice", "iterations must be a whole number" } do
      assert.is_truthy(message:find(part, 1, true), part .. " in:\n" .. message)
    end
  end)

  it("is refused where what it asks for would be left undone without a word", function()
    local function mistakes(more)
      local spec = support.merged({ events = { "page-faults" }, workloads = { "true" } }, more)
      return message_of(pmc.experiment, spec)
    end
    local function nothing() end
    assert.matches("the factor on_cpu is for commands and kernels; function",
      mistakes { workloads = { nothing },
      factors = { { "on_cpu", { 0 } } } })
    assert.matches("pin is for commands and kernels", mistakes { workloads = { nothing }, pin = "0" })
    assert.matches("timeout is for commands and kernels", mistakes { workloads = { nothing }, timeout = 1 })
    assert.matches("delay and layout cannot be combined", mistakes { delay = 1, layout = "fixed" })
    assert.matches("iterations is for kernels", mistakes { iterations = 3 })
    assert.matches("margin: there is no 'page_fauts' here, did you mean 'page_faults'",
      mistakes { margin = { "1%", page_fauts = "2%" } })
    assert.matches("per x: there is no 'm' here", mistakes { per = { x = "2 * m" },
      factors = { { "n", { 1 } } } })
    local factors = { { "n", { 1 } } }
    assert.matches("only_if: there is no 'm' here", mistakes { only_if = "m > 1", factors = factors })
    assert.matches("nothing to run: only_if excludes every cell", message_of(run, {
      events = { "page-faults" }, workloads = { "true" }, only_if = "n > 1", factors = factors }))
  end)

  it("is refused where one name would be that of two things", function()
    local function mistake_of(spec)
      spec.workloads, spec.events = { "true" }, spec.events or { "page-faults" }
      local ok, problem = pcall(pmc.experiment, spec)
      return not ok and tostring(problem) or "none"
    end
    local pages = { "n = page-faults" }
    assert.matches("an event cannot be called 'values': cells have a field",
      mistake_of { events = { "values = page-faults" } })
    assert.matches("a metric cannot be called 'label': cells have",
      mistake_of { metrics = { "label = 2 * 2" } })
    assert.matches("a factor cannot be called 'kind': cells have",
      mistake_of { factors = { { "kind", { 1 } } } })
    assert.matches("an event cannot be called 'iterations': every repetition has a field of that name",
      mistake_of { events = { "iterations = page-faults" } })
    assert.matches("an event cannot be called 'n': a factor has that name",
      mistake_of { events = pages, factors = { { "n", { 1, 2 } } } })
    assert.matches("a metric cannot be called 'n': an event has", mistake_of { events = pages,
      metrics = { "n = 2 * n" } })
    assert.matches("a metric cannot be called 'x': a metric has", mistake_of { events = pages,
      metrics = { "x = 2 * n", "x = 3 * n" } })
    assert.equal("none", mistake_of { events = pages, metrics = { "x = 2 * n", "x = 2 * n" } })
  end)

  it("keeps the order of lists, and takes maps sorted by name", function()
    local seen = {}
    run { events = { "page-faults" }, workloads = { function() end }, repetitions = 1, warmup = 0,
      factors = { z = { 2, 1 }, a = { "x" } } }
    local result = run { events = { "page-faults" }, workloads = { b = "true", a = "true" },
      repetitions = 1, warmup = 0 }
    for cell in result:cells() do seen[#seen + 1] = cell.workload end
    assert.same({ "a", "b" }, seen)
  end)

  it("takes one workload under two names, and leaves it its own", function()
    local shared = pmc.command { "true", name = "own" }
    local result = run { events = { "page-faults" }, workloads = { a = shared, b = shared }, repetitions = 2 }
    local names = {}
    for cell in result:cells() do names[#names + 1] = cell.workload end
    assert.same({ "a", "b", "own" }, { names[1], names[2], shared.name })
  end)

  it("brings the events that its formulae need", function()
    local experiment = pmc.experiment { events = { "page-faults" }, workloads = { "true" },
      metrics = { "rate = page_faults / task_clock" }, reject_if = "cpu_migrations > 1000" }
    local fields = {}
    for i, event in ipairs(experiment.declaration.events) do fields[i] = event.field end
    assert.same({ "page_faults", "task_clock", "cpu_migrations" }, fields)
  end)

  it("leaves out the cells for which where does not hold", function()
    local count = 0
    local result = run { events = { "page-faults" }, workloads = { "true" }, repetitions = 1, warmup = 0,
      factors = { { "a", { 1, 2, 3 } }, { "b", { 1, 2 } } }, only_if = "a > b" }
    for _ in result:cells() do count = count + 1 end
    assert.equal(3, count)
  end)
end)

describe("the order", function()
  it("has each unit once in a block and is the same for the same seed", function()
    for _, n in ipairs { 1, 2, 3, 7 } do
      local a, b = order.blocks(n, 11), order.blocks(n, 11)
      for _ = 1, 20 do
        local block = a()
        assert.same(block, b())
        local sorted = { unpack(block) }
        table.sort(sorted)
        for i = 1, n do assert.equal(i, sorted[i]) end
      end
    end
  end)

  it("gives each unit each place equally often, and two units as ABBA or BAAB", function()
    local next_block, places = order.blocks(5, 3), {}
    for _ = 1, 5 do
      for place, unit in ipairs(next_block()) do
        places[unit .. "@" .. place] = (places[unit .. "@" .. place] or 0) + 1
      end
    end
    for _, times in pairs(places) do assert.equal(1, times) end
    local pair = order.blocks(2, 9)
    for _ = 1, 10 do
      local first, second = pair(), pair()
      assert.same({ first[2], first[1] }, second)
    end
  end)

  it("takes no more memory than its units, however many", function()
    local next_block = order.blocks(20000, 7)
    collectgarbage()
    local before = collectgarbage "count"
    local first, second = next_block(), next_block()
    assert.same({ 20000, 20000 }, { #first, #second })
    assert.is_true(collectgarbage "count" - before < 10000)
  end)

  it("differs between seeds", function()
    local function text(seed)
      local next_block, list = order.blocks(6, seed), {}
      for i = 1, 6 do list[i] = table.concat(next_block(), ",") end
      return table.concat(list, ";")
    end
    assert.not_equal(text(1), text(2))
  end)
end)

describe("the command line of an experiment", function()
  local function script(text)
    return support.write(support.folder() .. "/e.lua",
      'local pmc = require "pmclua"\nreturn pmc.experiment ' .. text)
  end
  local SIMPLE = '{ events = { "page-faults" }, workloads = { "true" }, repetitions = 3, warmup = 0 }'

  it("shows the plan and runs nothing with --plan", function()
    local folder = support.folder()
    local got = support.pmclua { script('{ events = { "page-faults" }, workloads = { "touch ' .. folder
      .. '/ran" } }'), "--plan" }
    assert.equal(0, got.status)
    assert.matches("22 runs", got.out)
    assert.is_nil(io.open(folder .. "/ran"))
  end)

  it("shows a screen of many cells with --plan, all of them with --plan-all", function()
    local levels = table.concat(support.sequence(500, tostring), ",")
    local path = script('{ events = { "page-faults" }, workloads = { "true {n}" }, '
      .. 'factors = { { "n", { ' .. levels .. " } } } }")
    local short, all = support.pmclua { path, "--plan" }, support.pmclua { path, "--plan-all" }
    assert.matches("cell 12: .-\n  … and 488 cells more: %-%-plan%-all", short.out)
    assert.is_true(select(2, short.out:gsub("\n", "")) < 24)
    assert.matches("cell 500: ", all.out, 1, true)
    assert.is_nil(all.out:find("…", 1, true))
  end)

  it("is refused before it runs where its report could not be written, or has no such format", function()
    local mark, folder = support.folder() .. "/ran", support.folder()
    local path = script('{ events = { "page-faults" }, workloads = { "touch ' .. mark .. '" } }')
    assert.equal(1, support.pmclua({ path, "--output", "/nowhere/report" }).status)
    assert.equal(2, support.pmclua({ path, "--format", "foo" }).status)
    assert.is_nil(io.open(mark))
    assert.equal(0, support.pmclua({ path, "--output", folder .. "/report", "--no-store" }).status)
    assert.matches("page%-faults", support.read(folder .. "/report"))
  end)

  it("repeats often enough to find 2 % where it compares", function()
    local function repetitions(baseline)
      return pmc.experiment({ workloads = { "true", "ls" }, baseline = baseline }).declaration.repetitions
    end
    assert.same({ 20, 30 }, { repetitions(nil), repetitions "true" })
  end)

  it("has passes, what stops it, cells and the order in the plan, 80 columns wide", function()
    local plan = pmc.experiment { events = { "page-faults", "duration_time", "no = r1:u" }, seed = 5,
      baseline = "true",
      workloads = { "true", "ls" }, factors = { { "n", { 1, 2 } } }, stop = { repetitions = 50,
        time = "2min" } }:plan()
    for _, part in ipairs { "4 cells × 1 pass × (2 warm-up + at most 50 counted) = at most 208 runs, seed 5",
      "\n  stops: when all comparisons are decided; at 50 repetitions; after 2 min 00 s\n",
      "\n  pass 1: page-faults\n",
      "\n  without a counter: duration_time\n", "\n  cell 4: ls n=2\n",
      "\n  order: randomised blocks of 4, interleaved; the first: cells " } do
      assert.is_truthy(plan:find(part, 1, true), part .. " in:\n" .. plan)
    end
    local text = require "pmclua.base.text"
    for line in plan:gmatch "[^\n]+" do assert.is_true(text.width(line) <= 80, line) end
  end)

  it("tells on a terminal how far it is and how long it will take", function()
    local progress = require "pmclua.experiment.progress"
    local step = { warmup = false, cell = { workload = { name = "rows" }, levels = { n = 256, m = 1 } } }
    local function line(state)
      state.step, state.total, state.running = step, 60, state.running or 0
      return progress.line(state)
    end
    assert.equal("1/60 · rows m=1 n=256", line { done = 0, elapsed = 0 })
    assert.equal("21/60 · rows m=1 n=256 · 20 s left", line { done = 20, elapsed = 10 })
    assert.equal("21/60 · rows m=1 n=256 · 13 s left", line { done = 20, elapsed = 10, running = 7 })
    assert.equal("21/60 · rows m=1 n=256 · 0 s left", line { done = 20, elapsed = 10, running = 70 })
    assert.equal("21/60 · rows m=1 n=256 · at most 5 s left", line { done = 20, elapsed = 10,
      rule = { seconds = 15 } })
  end)

  it("tells a line at each heartbeat where there is no terminal, and none where it is quiet", function()
    local chunk = [[
      local progress = require "pmclua.experiment.progress"
      local step = { warmup = false, cell = { workload = { name = "rows" }, levels = {} } }
      for _, shown in ipairs { progress.new(false, 0), progress.new(true, 0), progress.new(false) } do
        for order = 1, 2 do shown:begin(order, 9, step) end
        shown:clear()
      end
    ]]
    local found = support.pmclua { "-e", chunk }
    assert.same({ 0, "" }, { found.status, found.out })
    assert.matches("^pmclua: 1/9 · rows\npmclua: 2/9 · rows · [^\n]+ left\n$", found.err)
  end)

  it("says why a stop rule ended it, also of the stored file", function()
    local path = support.folder() .. "/stopped.jsonl"
    local result = run({ events = { "page-faults" }, workloads = { "true", "ls /" }, baseline = "true",
      warmup = 0,
      stop = { repetitions = 12 } }, { store = path })
    assert.matches("stopped after 10 repetitions: all comparisons are decided", tostring(result))
    assert.equal(tostring(result), tostring(pmc.load(path)))
    local limited = run { events = { "page-faults" }, workloads = { "true" }, warmup = 0,
      stop = { interval = "0.0001%", repetitions = 7 } }
    if not limited:cells()().page_faults.exact then
      local said = tostring(limited):gsub("%s+", " ")
      assert.matches("stopped at the limit of 7 repetitions, before all intervals were as narrow as asked",
        said)
    end
  end)

  it("writes results to standard output alone, and keeps it clean of the workload's", function()
    local got = support.pmclua {
      script '{ events = { "page-faults" }, workloads = { "echo noise" }, repetitions = 3 }', "--no-store" }
    assert.equal(0, got.status)
    assert.matches("page%-faults", got.out)
    assert.is_nil(got.out:find("noise\n", 1, true))
    assert.equal("", got.err)
  end)

  it("gives functions of one place names of their own", function()
    local got = support.pmclua { "-e", "print(pmc.compare(function() end, function() end, "
      .. '{ events = "page-faults", repetitions = 1, warmup = 0, quiet = true }))' }
    assert.equal("", got.err)
    assert.matches("function (command line):1 (2) against function (command line):1", got.out, 1, true)
  end)

  it("tells text from a number where it refuses a value, and a margin of several times", function()
    local got = support.pmclua { script('{ events = "page-faults", workloads = { "true" }, '
      .. 'repetitions = "20", margin = 5, baseline = "true" }') }
    assert.matches('repetitions must be a whole number from 1 to 1000000000, not "20"\n', got.err, 1, true)
    assert.matches('margin must be a percentage such as "1%", not 5: write "5%"\n', got.err, 1, true)
    local none = support.pmclua { script '{ events = "page-faults", baseline = "true" }' }
    assert.equal("pmclua: workloads is missing: what is to be run?\n", (none.err:gsub("%S+:1: ", "")))
  end)

  it("says so when a script forgets to return it, and nothing when it was planned or run", function()
    local path = support.folder() .. "/kept.lua"
    local text = 'local pmc = require "pmclua"\nlocal e = pmc.experiment ' .. SIMPLE .. "\n"
    support.write(path, text)
    local forgotten = support.pmclua { path }
    assert.equal(1, forgotten.status)
    assert.matches("end the script with `return pmc.experiment", forgotten.err, 1, true)
    support.write(path, text .. "print(e:plan())")
    assert.equal("", support.pmclua({ path }).err)
  end)

  it("exits 77 when nothing it asked for can be counted, 3 when a prediction fails, 2 for usage", function()
    local constant = '{ events = { "context-switches:u" }, workloads = { "true" }, repetitions = 1 }'
    local none = support.pmclua { script(constant), "--no-store" }
    assert.equal(77, none.status)
    assert.equal("pmclua: none of the events could be counted here: exit status 77\n", none.err)
    local times = '{ events = { "duration_time" }, workloads = { "true" }, repetitions = 1 }'
    assert.equal(0, support.pmclua({ script(times), "--no-store" }).status)
    local false_prediction = '{ events = { "page-faults" }, workloads = { "true" }, repetitions = 2, '
      .. 'expect = { "page_faults == 0" } }'
    local failed = support.pmclua { script(false_prediction), "--no-store" }
    assert.equal(3, failed.status)
    assert.matches("expect 'page_faults == 0'.*fails", failed.err)
    assert.equal(2, support.pmclua({ script(SIMPLE), "--repetitons", "3" }).status)
    assert.equal(2, support.pmclua({ script(SIMPLE), "--set", "n=3", "--no-store" }).status)
    assert.equal(2, support.pmclua({ script(SIMPLE), "--events", "cylces", "--no-store" }).status)
  end)

  it("changes events, repetitions and levels as it is told", function()
    local path = script '{ events = { "page-faults" }, workloads = { "true" }, factors = { { "n", { 1 } } } }'
    local got = support.pmclua { path, "--events", "task-clock", "--repetitions", "7", "--set", "n=4,5",
      "--format", "json", "--no-store" }
    assert.equal(0, got.status, got.err)
    local json = require("dkjson").decode(got.out)
    assert.is_table(json)
    assert.matches('"task%-clock"', got.out)
    assert.is_nil(got.out:find '"page%-faults"')
  end)

  it("has no traceback for a user's mistake, and one for a bug", function()
    local got = support.pmclua { script '{ workloads = { "no-such-command-here" } }' }
    assert.equal(1, got.status)
    assert.is_nil(got.err:find "traceback")
    assert.matches("no%-such%-command%-here", got.err)
    local bug = support.pmclua { support.write(support.folder() .. "/b.lua",
      "local function f(x) return x.y .. 1 end\nprint(f(nil))") }
    assert.equal(1, bug.status)
    assert.matches("traceback", bug.err)
  end)
end)
