-- What a gate must have seen: no limit holds for want of values, and only what was counted alike is compared.

local lists = require "pmclua.base.lists"
local made = require "tests.support.results"
local result = require "pmclua.result"
local support = require "tests.support"
local add_record = require("pmclua.result").add

local HEADER = { workloads = { { name = "rows", kind = "command", per = "run" } }, factors = {},
  cells = { { workload = "rows", levels = {} } }, repetitions = 8 }

local function header_of(more) return made.header(support.merged(HEADER, more)) end

local function constant(value, count)
  return support.sequence(count or 8, function() return value end)
end

local function of(columns, more, status)
  local r = made.result(header_of(more), made.records(columns, { levels = {} }))
  r.status = status or "complete"
  return r
end

local function gate(r, limit, options) return r:gate(support.merged({ limits = { limit } }, options)) end

local function state_and_reason(checked) return checked.state, checked.results[1].reason end

local plain = of { constant(1000), constant(500), constant(7) }

describe("a gate of what is not there", function()
  local two = { factors = { { "n", { 1, 2 } } },
    cells = { { workload = "rows", levels = { n = 1 } }, { workload = "rows", levels = { n = 2 } } } }
  local one = support.merged(two, { factors = { { "n", { 1 } } }, cells = { two.cells[1] } })

  local function cells_of(more)
    local r = result.new(header_of(more))
    for number, cell in ipairs(more.cells) do
      for i = 1, 8 do
        add_record(r, made.record({ 1000, 500, 7 },
          { cell = number, levels = cell.levels, index = i, order = i }))
      end
    end
    r.status = "complete"
    return r
  end

  it("cannot check a cell that the baseline has and the new result lacks", function()
    for _, limit in ipairs { "cycles <= +1%", "cycles <= 5000" } do
      local checked = gate(cells_of(one), limit, { baseline = cells_of(two) })
      assert.same({ "uncountable", 2 }, { checked.state, #checked.results })
      assert.equal(("gate: '%s' cannot be checked, rows, n = 2: the baseline has this cell, but the new "
        .. "result does not"):format(limit), tostring(checked))
      assert.equal("pass", gate(cells_of(two), limit, { baseline = cells_of(two) }).state)
    end
  end)

  it("checks the cells that were chosen, where others were left out on purpose", function()
    local chosen = cells_of(two):only { n = 1 }
    assert.equal("pass", gate(chosen, "cycles <= +1%", { baseline = cells_of(two) }).state)
  end)

  it("cannot check a result without a cell", function()
    local empty = result.new(header_of { cells = {} })
    empty.status = "complete"
    local checked = gate(empty, "cycles <= 5")
    assert.same({ "uncountable", 77 }, { checked.state, checked:status() })
  end)

  it("cannot check a run that was cut short, and says how far it came", function()
    for status, said in pairs { unfinished = "was cut off without an end line",
        interrupted = "was interrupted", failed = "stopped at a failure" } do
      said = ("the run %s, after 2 of 8 repetitions"):format(said)
      local short = of({ constant(1000, 2), {}, {} }, nil, status)
      assert.same({ "uncountable", said }, { state_and_reason(gate(short, "cycles <= 5000")) })
    end
  end)

  it("does not say how many repetitions a run was to have that might have stopped before", function()
    local short = of({ constant(1000, 2), {}, {} }, { stop = { kind = "verdict" } }, "interrupted")
    assert.equal("the run was interrupted, after 2 repetitions",
      gate(short, "cycles <= 5000").results[1].reason)
  end)

  it("fails what a run that was cut short has shown", function()
    assert.equal("fail", gate(of({ constant(1000, 2), {}, {} }, nil, "interrupted"), "cycles <= 900").state)
  end)

  it("cannot compare with a baseline that was cut short", function()
    local short = of({ constant(1000, 6), {}, {} }, nil, "unfinished")
    local checked = gate(plain, "cycles <= +1%", { baseline = short })
    assert.same({ "uncountable", "the baseline was cut off without an end line, after 6 of 8 repetitions" },
      { state_and_reason(checked) })
    assert.equal("pass", gate(plain, "cycles <= 5000", { baseline = short }).state)
  end)

  it("cannot check a truncated file", function()
    local path = made.stored(support.folder() .. "/r.jsonl", header_of(),
      made.records({ constant(1000), constant(500), constant(7) }, { levels = {} }))
    local kept = {}
    for line in support.read(path):gmatch "[^\n]+\n" do kept[#kept + 1] = line end
    support.write(path, table.concat(kept, "", 1, 3))
    local checked = support.pmclua { "gate", path, "-l", "cycles <= 5000" }
    assert.equal(77, checked.status)
    assert.matches("cut off without an end line, after 2 of 8 repetitions", checked.out, 1, true)
  end)
end)

describe("repetitions without a value", function()
  local function failing(values, failed, kind)
    local records = made.records({ values, {}, {} }, { levels = {} })
    for i = 1, failed do
      local one = made.record({}, { index = #values + i, order = #values + i, levels = {}, outcome = kind,
        why = "timed out" })
      records[#records + 1] = one
    end
    return made.complete(header_of { on_failure = "skip" }, records)
  end

  it("decide an absolute limit where, beyond it, they would fail it", function()
    for _, kind in ipairs { "timed-out", "rejected" } do
      local checked = gate(failing({ 4, 4, 4, 6, 6 }, 4, kind), "cycles <= 5")
      assert.same({ "uncountable",
        "4 of 9 repetitions have no value, and it would fail if they were beyond the limit" },
        { state_and_reason(checked) })
      assert.equal("pass", gate(failing({ 4, 4, 4, 4, 6 }, 1, kind), "cycles <= 5").state)
    end
  end)

  it("leave nothing to compare where they are the half", function()
    local checked = gate(failing(constant(1000, 4), 4, "timed-out"), "cycles <= +1%", { baseline = plain })
    assert.same({ "uncountable", "4 of 8 repetitions have no value" }, { state_and_reason(checked) })
    checked = gate(plain, "cycles <= +1%", { baseline = failing(constant(1000, 4), 4, "timed-out") })
    assert.same({ "uncountable", "in the baseline, 4 of 8 repetitions have no value" },
      { state_and_reason(checked) })
  end)
end)

describe("a baseline of something else", function()
  local function with_how(facts, host)
    facts.workload, facts.kind, facts.cells = "rows", "command", { "" }
    return { how = { workloads = { facts } }, host = host or { cpu = "made by hand", architecture = "x64" } }
  end

  local function checked(ours, theirs, options)
    local function made_as(more) return of({ constant(1000), {}, {} }, more) end
    local row = gate(made_as(ours), "cycles <= +1%",
      support.merged({ baseline = made_as(theirs) }, options)).results[1]
    return row.state, row.reason
  end

  local here = with_how { argv = { "./new", "large.json" }, program_hash = "1" }

  it("cannot be compared with: other arguments, parameters, threads, environment or input", function()
    local argv = here.how.workloads[1].argv
    for said, facts in pairs {
        ["arguments, 'large.json' here and 'a b;' c there"] = { argv = { "x", "a b;", "c" } },
        ["arguments, 'large.json' here and none there"] = { argv = { "./new" } },
        ["environment, none here and 'A=1 B=2' there"] = { argv = argv, env = { B = "2", A = "1" } },
        ["standard input, none here and 'in' there"] = { argv = argv, stdin = "in" } } do
      said = ("the baseline was given other %s: --any-arguments accepts it"):format(said)
      assert.same({ "uncountable", said }, { checked(here, with_how(facts)) })
      assert.equal("pass", (checked(here, with_how(facts), { any_arguments = true })))
    end
    local function kernel(facts) return with_how(support.merged({ symbol = "rows" }, facts)) end
    for name, facts in pairs { parameters = { params = { n = "5" } }, threads = { threads = "2" },
        arguments = { arguments = "0.5" } } do
      local state, reason = checked(kernel {}, kernel(facts))
      assert.equal("uncountable", state)
      assert.matches("given other " .. name, reason, 1, true)
    end
  end)

  it("may be of another program, and of one that is not known", function()
    local other = with_how { argv = { "../base/old", "large.json" }, program_hash = "2" }
    assert.equal("pass", (checked(here, other)))
    assert.equal("pass", (checked(here, { how = {} })))
    assert.equal("pass", (checked(here, with_how { unknown = "it is gone" })))
  end)

  it("of another architecture cannot be compared with, unless any CPU will do", function()
    local there = with_how({ argv = here.how.workloads[1].argv }, { cpu = "another", architecture = "arm64" })
    assert.same({ "uncountable", "the baseline is of another architecture, x64 here and arm64 there" },
      { checked(here, there) })
    assert.equal("pass", (checked(here, there, { any_cpu = true })))
  end)

  it("of another architecture is found among those that a file was merged of, on either side", function()
    local folder, pmc = support.folder(), require "pmclua"
    local function stored(name, architecture)
      local more = with_how({ argv = { "x" } },
        { cpu = "unknown", hostname = "build", architecture = architecture })
      return made.stored(("%s/%s.jsonl"):format(folder, name), header_of(more),
        made.records({ constant(1000), constant(500), constant(7) }, { levels = {} }))
    end
    local own, other, again = stored("own", "x64"), stored("other", "arm64"), stored("again", "x64")
    local merged = folder .. "/merged.jsonl"
    pmc.stored.merge({ own, other, by = "none" }, merged)
    for _, files in ipairs { { merged, again }, { again, merged } } do
      local command = { "gate", files[1], files[2], "-l", "cycles <= +1%" }
      local found = support.pmclua(command)
      assert.equal(77, found.status, found.out)
      assert.matches("the baseline is of another architecture", found.out, 1, true)
      assert.equal(0, support.pmclua(lists.joined { command, { "--any-cpu" } }).status)
    end
  end)

  it("is shown with both, and known in a merged file, too", function()
    local folder, pmc = support.folder(), require "pmclua"
    local function stored(name, argument)
      local more = with_how { argv = { "x", argument } }
      return made.stored(("%s/%s.jsonl"):format(folder, name), header_of(more),
        made.records({ constant(1000), constant(500), constant(7) }, { levels = {} }))
    end
    local a, b, other = stored("a", "1"), stored("b", "1"), stored("c", "2; 3: (4)")
    local merged = folder .. "/ab.jsonl"
    pmc.stored.merge({ a, b }, merged)
    local found = support.pmclua { "gate", merged, other, "-l", "cycles <= +1%" }
    assert.equal(77, found.status)
    assert.matches("given other arguments, '2; 3: (4)' here and '1' there", found.out, 1, true)
    local accepted = { "gate", merged, other, "-l", "cycles <= +1%", "--any-arguments" }
    assert.equal(0, support.pmclua(accepted).status)
    assert.equal(0, support.pmclua({ "gate", merged, b, "-l", "cycles <= +1%" }).status)
  end)
end)

describe("counts of different things", function()
  local function with_attr(attr, more)
    return of({ constant(1000), {}, {} }, { events = { made.event("cycles", support.merged({
      attr = support.merged({ type = 0, config = 0 }, attr) }, more)), made.event "instructions",
      made.event "page-faults" } })
  end

  local function reason(one, other)
    local checked = gate(one, "cycles <= +1%", { baseline = other })
    return checked.state == "uncountable" and checked.results[1].reason or checked.state
  end

  it("are not compared: user space alone with Linux too", function()
    assert.equal("counted differently, user space and Linux here, user space only in the baseline",
      reason(plain, with_attr { exclude_kernel = 1 }))
    assert.equal("counted differently, Linux only here, user space and Linux in the baseline",
      reason(with_attr { exclude_user = 1 }, plain))
    assert.equal("pass", reason(with_attr { exclude_kernel = 1 }, with_attr { exclude_kernel = true }))
  end)

  it("are not compared: another encoding, unit, scale, PMU or filter under one name", function()
    assert.matches("config 5 here, config 0 in", reason(with_attr { config = 5 }, plain), 1, true)
    assert.matches("config 5 here, config 0 in", reason(with_attr { config = 5ULL }, plain), 1, true)
    assert.matches("unit 'J' here", reason(with_attr({}, { unit = "J" }), plain), 1, true)
    assert.matches("scale '2' here", reason(with_attr({}, { scale = 2 }), plain), 1, true)
    assert.matches("type '4' here, '0' in", reason(with_attr { type = 4 }, plain), 1, true)
    assert.matches("PMU 'a' here, 'b' in", reason(with_attr({ type = 9 }, { pmu = "a" }),
      with_attr({ type = 10 }, { pmu = "b" })), 1, true)
    assert.matches("filter 'x > 1' here", reason(with_attr { filter = "x > 1" }, plain), 1, true)
    assert.matches("tracepoint 's:read' here", reason(with_attr({ type = 2 }, { spec = "cycles = s:read" }),
      with_attr({ type = 2 }, { spec = "cycles = s:write" })), 1, true)
  end)

  it("are compared where only numbers of the day differ", function()
    assert.equal("pass", reason(with_attr({ type = 9 }, { pmu = "msr" }), with_attr({ type = 10 },
      { pmu = "msr" })))
    assert.equal("pass", reason(with_attr({ type = 2, config = 77 }, { spec = "s:read" }),
      with_attr({ type = 2, config = 91 }, { spec = "cycles = s:read:u" })))
  end)

  it("are compared where what is excluded does not matter: clocks", function()
    local clock = { type = 1, config = 1 }
    assert.equal("pass", reason(with_attr(clock), with_attr(support.merged(clock, { exclude_kernel = 1 }))))
  end)

  it("behind a metric are not compared either", function()
    local function rate(r) return gate(r, "instructions / cycles >= -1%",
      { baseline = with_attr { exclude_kernel = 1 } }).results[1].reason end
    local both = of { constant(1000), constant(500), {} }
    assert.matches("user space and Linux here", rate(both), 1, true)
    local named = both:with { metrics = "r = instructions / cycles" }
    assert.matches("user space and Linux here", rate(named), 1, true)
  end)

  it("are not compared where somebody or something else was counted", function()
    for said, more in pairs { ["who is counted none here, CPU 0 in"] = { target = "CPU 0" },
        ["the delay none here, 2 in"] = { delay = 2 }, ["inherit true here, false in"] = { inherit = false },
        ["the layout as it comes here, randomised in"] = { layouts = {} } } do
      assert.matches(said, reason(plain, of({ constant(1000), {}, {} }, more)), 1, true)
    end
    assert.equal("pass", reason(of({ constant(9), {}, {} }, { target = "process 5" }),
      of({ constant(9), {}, {} }, { target = "process 6" })))
  end)

  it("are not compared: slopes with whole repetitions, runs with iterations", function()
    local function kernel(more)
      return of({ constant(1000), {}, {} }, support.merged({ workloads = { { name = "rows", kind = "kernel",
        per = "iteration" } } }, more))
    end
    assert.matches("per run here, per iteration in", reason(plain, kernel()), 1, true)
    local fitted = result.new(header_of { iterations = "fit", workloads = { { name = "rows", kind = "kernel",
      per = "iteration" } } })
    for i = 1, 10 do
      add_record(fitted, made.record({ 100 * i, 1, 1 },
        { index = i, order = i, iterations = i, levels = {} }))
    end
    fitted.status = "complete"
    assert.matches("slopes over iterations here, whole repetitions in", reason(fitted, kernel()), 1, true)
  end)

  it("are refused by pmclua gate with 77: an ordinary user's page faults and root's", function()
    if not support.have_root() then pending("it takes root to count Linux too") return end
    local folder = support.folder()
    os.execute("chmod 777 " .. folder)
    local script = support.write(folder .. "/faults.lua", [[return require("pmclua").experiment {
      workloads = { "true" }, events = { "page-faults", "task-clock" }, repetitions = 6 }]])
    support.pmclua({ script, "--store", folder .. "/user.jsonl" }, { user = true })
    support.pmclua { script, "--store", folder .. "/root.jsonl" }
    local checked = support.pmclua { "gate", folder .. "/user.jsonl", folder .. "/root.jsonl", "-l",
      "page_faults <= +1%" }
    assert.equal(77, checked.status)
    assert.matches("user space and Linux here, user space only in the baseline", checked.out, 1, true)
    assert.not_equal(77, support.pmclua({ "gate", folder .. "/user.jsonl", folder .. "/root.jsonl", "-l",
      "task_clock <= +1%" }).status)
  end)
end)

describe("stored results of what was counted differently", function()
  local pmc = require "pmclua"

  local function file(name, attr, more)
    local events = { made.event("cycles", { attr = support.merged({ type = 0, config = 0 }, attr) }),
      made.event "instructions", made.event "page-faults" }
    return made.stored(("%s/%s.jsonl"):format(support.folder(), name), header_of(support.merged(
      { events = events, metrics = { "r = instructions / cycles" } }, more)),
      made.records({ constant(1000), constant(500), constant(7) }, { levels = {} }))
  end

  it("have no verdict on it in compare, nor on metrics of it, but on the rest", function()
    local r = pmc.load(file("user", { exclude_kernel = 1 }), file "root")
    local by_name = {}
    for _, row in ipairs(r:compare().pairs[1].rows) do by_name[row.name] = row end
    for _, name in ipairs { "cycles", "r" } do
      assert.is_nil(by_name[name].verdict)
      assert.equal("counted differently, user space and Linux in root, user space only before",
        by_name[name].why)
    end
    assert.equal("same", by_name.instructions.verdict.verdict)
  end)

  it("are not put into one cell", function()
    local host = { host = { hostname = "h" } }
    local said = support.message_of(pmc.load, { by = "host", file("user", { exclude_kernel = 1 }, host),
      file("root", nil, host) })
    assert.matches("cycles was counted differently, user space and Linux in root, user space only before",
      said, 1, true)
  end)
end)

describe("several runs of a baseline", function()
  local pmc = require "pmclua"

  -- Runs of one program at several times: each is exact, and they differ.
  local function run_of(value, folder, name, more)
    return made.stored(("%s/%s.jsonl"):format(folder, name), header_of(more),
      made.records({ constant(value), constant(500), constant(7) }, { levels = {} }))
  end

  local function three(folder)
    return run_of(1000, folder, "a"), run_of(1010, folder, "b"), run_of(990, folder, "c")
  end

  it("bring in how runs differ: what is one more of them does not fail, and a large change does", function()
    local folder = support.folder()
    local a, b, c = three(folder)
    local another, worse = run_of(1012, folder, "d"), run_of(1300, folder, "e")
    local function state(new, limit, ...)
      local checked = gate(pmc.load(new), limit, { baseline = { ... } })
      return checked.state, checked.results[1].runs
    end
    assert.same({ "fail", 1 }, { state(another, "cycles <= +0%", a) })
    assert.same({ "undecided", 3 }, { state(another, "cycles <= +0%", a, b, c) })
    assert.same({ "pass", 3 }, { state(another, "cycles <= +20%", a, b, c) })
    assert.same({ "fail", 3 }, { state(worse, "cycles <= +10%", a, b, c) })
    local found = support.pmclua { "gate", a, b, c, worse, "-l", "cycles <= +10%" }
    assert.equal(3, found.status)
    assert.matches("was 1,000, in 3 runs that differ by 1 % (+30 %", found.out, 1, true)
  end)

  it("are the same runs merged into one file", function()
    local folder = support.folder()
    local a, b, c = three(folder)
    local merged, new = folder .. "/merged.jsonl", pmc.load(run_of(1300, folder, "e"))
    pmc.stored.merge({ a, b, c }, merged)
    local one = gate(new, "cycles <= +10%", { baseline = merged }).results[1]
    local several = gate(new, "cycles <= +10%", { baseline = { a, b, c } }).results[1]
    for _, name in ipairs { "state", "runs", "low", "high", "ratio", "spread" } do
      assert.equal(several[name], one[name])
    end
    assert.equal(3, one.runs)
  end)

  it("are all of the same kind of host", function()
    local folder = support.folder()
    local function on(name, cpu)
      return run_of(1000, folder, name, { host = { hostname = name, cpu = cpu } })
    end
    local merged = folder .. "/merged.jsonl"
    pmc.stored.merge({ on("a", "X"), on("b", "Y") }, merged)
    local here = pmc.load(on("c", "X"))
    assert.matches("its cpu is 'Y', here it is 'X'",
      support.message_of(gate, here, "cycles <= +1%", { baseline = merged }), 1, true)
  end)

  it("are not one run twice", function()
    local a = run_of(1000, support.folder(), "a")
    assert.matches("a.jsonl is given twice", support.message_of(gate, plain, "cycles <= +1%",
      { baseline = { a, a } }), 1, true)
    assert.matches("a.jsonl is given twice", support.message_of(gate, plain, "cycles <= +1%",
      { baseline = { pmc.load(a), a } }), 1, true)
  end)

  it("are not the new result", function()
    local a, b = run_of(1000, support.folder(), "a"), run_of(1000, support.folder(), "b")
    assert.matches("b.jsonl is given twice", support.message_of(gate, pmc.load(b), "cycles <= +1%",
      { baseline = { a, b } }), 1, true)
  end)
end)
