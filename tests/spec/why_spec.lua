-- What the difference between two cells consists of.

local pmc = require "pmclua"
local why = require "tests.support.why"
local support = require "tests.support"

local function need()
  support.need(support.have "cc", "no C compiler")
  support.need(support.have_root() and support.have_tracefs(), "system calls take root's rights")
  support.need_unwatched "a watcher takes most of the time"
end

-- Chance, and what else runs here, may hide a line once.
local function names_it(name, scale)
  local found
  for _ = 1, 3 do
    found = why.find(name, { repetitions = 14, scale = scale, budget = 60 })
    if why.is_right(name, found) then return true end
  end
  return false, found.sentence
end

describe("the ledger names first what was planted:", function()
  teardown(function() why.clean_up() end)

  for _, planted in ipairs { { "instructions", 40 }, { "calls", 40 }, { "sleep", 60 },
    { "libraries", 20 } } do
    it(planted[1], function()
      need()
      assert.is_true(names_it(planted[1], planted[2]))
    end)
  end
end)

describe("a ledger of two commands", function()
  local found, path

  setup(function()
    if not (support.have "cc" and support.have_root()) then return end
    path = support.folder() .. "/why.jsonl"
    -- On a busy machine too many ticks of a clock may be missing.
    for _ = 1, 3 do
      os.remove(path)
      found = why.find("calls", { repetitions = 10, scale = 30, store = path, budget = 60 })
      if #found.absent <= 3 then break end
    end
  end)

  it("has times that add up to the duration of each run, to the nanosecond", function()
    need()
    assert.same({}, found.time.rest)
    for i, duration in ipairs(found.time.total.line.a) do
      local sum = 0
      for _, row in ipairs(found.time.lines) do sum = sum + row.line.a[i] end
      assert.equal(duration, sum)
    end
  end)

  it("has lines that add up to the total, with what is not attributed", function()
    need()
    local sum = 0
    for _, rows in ipairs { found.ledger.lines, found.ledger.rest } do
      for _, row in ipairs(rows) do sum = sum + row.difference end
    end
    local difference = found.ledger.total.difference
    assert.is_true(math.abs(sum - difference) < 1e-6 * math.abs(found.ledger.total.b))
  end)

  it("is of a result whose functions can still be asked for", function()
    need()
    assert.equal("cpu-clock", found.result:where().event)
  end)

  it("says in its plan which pass is for what", function()
    need()
    local plan = pmc.experiment { workloads = { "true" }, events = "page-faults", sample = "cpu-clock",
      system_calls = true }:plan()
    assert.matches("cpu%-clock, sampled\n.*system calls, each traced\n", plan)
  end)

  it("knows how often each system call was made", function()
    need()
    for _, row in ipairs(found.ledger.lines) do
      if row.line.call == "getppid" then
        assert.same({ a = 30, b = 6000 }, row.line.count)
        return
      end
    end
    error "there is no line of getppid"
  end)

  it("is the same of the stored result", function()
    need()
    local again = pmc.load(path):why()
    assert.equal(found.sentence, again.sentence)
    assert.equal(found.ledger.total.difference, again.ledger.total.difference)
    -- Why something was not measured is not stored.
    local function without_reasons(text) return (text:gsub("\nnot measured: .-\n\n", "\n\n")) end
    assert.equal(without_reasons(found:report { width = 100 }), without_reasons(again:report { width = 100 }))
  end)

  it("ends in the same sentence in every format, JSON with all lines", function()
    need()
    local sentence = found.sentence
    assert.matches(sentence:sub(1, 20), found:report { width = 500 }, 1, true)
    assert.matches(sentence:sub(1, 20), found:report { format = "html", plots = {} }, 1, true)
    assert.matches("^%*%*b takes", found:report { format = "markdown" })
    local read = require("dkjson").decode(found:report { format = "json" })
    assert.equal(sentence, read.sentence)
    assert.equal(#found.ledger.lines, #read.ledger.lines)
    assert.same({ "a", "b" }, { read.a, read.b })
  end)

  it("shows lines that do not differ as one, unless all are asked for", function()
    need()
    assert.matches("other lines?: not told from chance", found:report { width = 200 })
    assert.matches("\n%d+ other lines? ", found:report { width = 200 })
    assert.no.matches("\nmix ", found:report { width = 200 })
    local all = found:report { width = 200, all = true }
    assert.matches("\nmix ", all)
    assert.is_nil(all:find("--all shows", 1, true))
  end)

  it("has nothing that no line has but what Linux did outside of calls and faults", function()
    need()
    for _, row in ipairs(found.ledger.rest) do
      assert.is_true(row.high >= 0 or row.low <= 0 or row.key == "brought", row.label)
    end
  end)

  it("shows a table that adds up", function()
    need()
    local read = require("dkjson").decode(found:report { format = "json" })
    local sum = 0
    for _, rows in ipairs { read.ledger.lines, read.ledger.rest } do
      for _, row in ipairs(rows) do sum = sum + row.difference end
    end
    assert.is_true(math.abs(sum - read.ledger.total.difference) < 1e-6 * read.ledger.total.b)
  end)
end)

describe("what is not there costs its ledger, with a line of reason:", function()
  local function absent(found)
    local said = {}
    for _, one in ipairs(found.absent) do said[one.what] = one.why end
    return said
  end

  it("system calls, of a result without them", function()
    local result = pmc.compare("true", "true --version", { repetitions = 10,
      events = "duration_time,on_cpu_time,wait_time,off_cpu_time,page-faults" })
    local found = result:why()
    assert.equal(10, found.n)
    assert.same({}, found.time.rest)
    assert.matches("system_calls = true", absent(found)["system calls"], 1, true)
    assert.matches("sample", absent(found).functions, 1, true)
  end)

  it("system calls, for an ordinary user, who sees how long it slept", function()
    support.need(support.have_root() and support.have "setpriv", "it takes root to become an ordinary user")
    local run = support.run { "setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "env",
      "TMPDIR=/tmp", support.program, "why", "--quiet", "--budget", "20", "--no-simulate", "--format", "json",
      "true", "sleep 0.05" }
    local is_refused = run.status ~= 0 and run.err:find "ermission denied"
    support.need(not is_refused, "an ordinary user cannot run this build")
    local found = require("dkjson").decode(run.out)
    assert.equal("asleep or blocked", found.ledger.lines[1].label)
    assert.matches("asleep or blocked", found.sentence)
    assert.equal("system calls", found.absent[1].what)
  end)

  it("times, of a result that has none of them", function()
    local found = pmc.compare("true", "sleep 0", { repetitions = 6, events = "page-faults" }):why()
    assert.is_nil(found.time)
    assert.matches("on_cpu_time", absent(found).time, 1, true)
    assert.matches("was not measured", found.sentence, 1, true)
  end)

  it("what only commands have, of kernels", function()
    support.need(support.have "cc", "no C compiler")
    local code = [[
      #include <stdint.h>
      void less(void *state, uint64_t n) { (void)state; for (volatile uint64_t i = 0; i < n; i++) ; }
      void more(void *state, uint64_t n) { (void)state; for (volatile uint64_t i = 0; i < 3 * n; i++) ; }]]
    local less = pmc.kernel { symbol = "less", code = code }
    local more = pmc.kernel { symbol = "more", code = code }
    local found = pmc.why(less, more, { repetitions = 12, quiet = true, simulate = false })
    assert.equal("only commands are sampled", absent(found).functions)
    assert.equal("only the system calls of commands are traced", absent(found)["system calls"])
    assert.matches("more takes", found.sentence)
  end)

  it("what does not fit into the budget, and the slowest pass first", function()
    local collect = require "pmclua.why.collect"
    local all = { sample = true, trace = true, simulate = true }
    local roomy, tight = collect.plan(all, 0.1, 600), collect.plan(all, 0.1, 20)
    assert.same({ 30, true, true, true }, { roomy.pairs, roomy.sample, roomy.trace, roomy.simulate })
    assert.same({ 20, true, true, false }, { tight.pairs, tight.sample, tight.trace, tight.simulate })
    assert.is_true(tight.seconds <= 20)
    assert.matches("left out: it does not fit into 20 s", tight.left_out.simulate, 1, true)
    local none = collect.plan(all, 10, 20)
    assert.same({ 10, false, false }, { none.pairs, none.sample, none.trace })
  end)
end)

describe("two cells of a result", function()
  it("may be of two files, by workload where there are several", function()
    local files = {}
    for i = 1, 2 do
      files[i] = ("%s/%d.jsonl"):format(support.folder(), i)
      pmc.compare("true", "sleep 0", { repetitions = 3, store = files[i], quiet = true,
        events = "duration_time,on_cpu_time,wait_time,off_cpu_time" })
    end
    local run = support.run { support.program, "why", files[1], files[2] }
    assert.equal(2, run.status)
    assert.matches("is not one cell of this result", run.err, 1, true)
    run = support.run { support.program, "why", files[1], files[2], "true" }
    assert.equal(0, run.status)
    assert.matches("fewer than 10 pairs", (run.out:gsub("\n", " ")), 1, true)
  end)

  it("are said by their levels, and by nothing that is not one cell", function()
    local result = pmc.experiment { events = "duration_time,on_cpu_time,wait_time,off_cpu_time",
      workloads = { "sleep {t}" }, factors = { { "t", { 0, 0.001, 0.002 } } }, repetitions = 3 }
      :run { store = false, quiet = true }
    local found = result:why { a = "t=0", b = "t=0.002" }
    assert.same({ 0, 0.002 }, { found.a.t, found.b.t })
    assert.matches("say which two", support.message_of(result.why, result), 1, true)
    local said = support.message_of(result.why, result, { a = "t=0", b = "t=9" })
    assert.matches("is not one cell", said, 1, true)
  end)
end)
