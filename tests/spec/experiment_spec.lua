-- Experiments from end to end: declared, planned, run, recorded, predicted, resumed.

local core = require "pmclua.core"
local order = require "pmclua.experiment.order"
local pmc = require "pmclua"
local support = require "tests.support"

local KERNELS = [[
#include <sys/mman.h>
#include <stdlib.h>
#include <pmclua_kernel.h>
static void touch(uint64_t n)
{
    char *m = mmap(0, n * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(m, n * 4096, MADV_NOHUGEPAGE);
    for (uint64_t i = 0; i < n; i++) m[i * 4096] = 1;
    munmap(m, n * 4096);
}
void *pages_setup(const struct pmclua_params *p) { return (void *)pmclua_u64(p, "n", 1); }
void pages(void *n, uint64_t iterations) { while (iterations--) touch((uint64_t)n); }
void empty(void *s, uint64_t iterations) {}
static int calls;
void third_crashes(void *s, uint64_t iterations) { if (++calls == 3) abort(); }
]]

local function kernel(symbol, more)
  return pmc.kernel(support.merged({ code = KERNELS, symbol = symbol }, more))
end

local message_of = support.message_of

local function run(spec, options)
  options = options or {}
  options.quiet = true
  if options.store == nil and not options.resume then options.store = false end
  return pmc.experiment(spec):run(options)
end

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
        "true" },
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
    assert.matches("delay and layout do not go together", mistakes { delay = 1, layout = "fixed" })
    assert.matches("iterations is for kernels", mistakes { iterations = 3 })
    assert.matches("margin: there is no 'page_fauts' here, did you mean 'page_faults'",
      mistakes { margin = { "1%", page_fauts = "2%" } })
    assert.matches("per x: there is no 'm' here", mistakes { per = { x = "2 * m" },
      factors = { { "n", { 1 } } } })
    assert.matches("where: there is no 'm' here", mistakes { where = "m > 1", factors = { { "n", { 1 } } } })
    assert.matches("nothing to run: where holds for no cell", message_of(run, { events = { "page-faults" },
      workloads = { "true" }, where = "n > 1", factors = { { "n", { 1 } } } }))
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
      factors = { { "a", { 1, 2, 3 } }, { "b", { 1, 2 } } }, where = "a > b" }
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

  it("differs between seeds", function()
    local function text(seed)
      local next_block, list = order.blocks(6, seed), {}
      for i = 1, 6 do list[i] = table.concat(next_block(), ",") end
      return table.concat(list, ";")
    end
    assert.not_equal(text(1), text(2))
  end)
end)

describe("an experiment", function()
  it("counts kernels per iteration exactly, over factors", function()
    support.need(support.have "cc", "no C compiler")
    local result = run { events = { "page-faults" }, workloads = { kernel "pages", kernel "empty" },
      factors = { { "n", { 1, 10, 100 } } }, repetitions = 6, iterations = 3 }
    for cell in result:cells() do
      local expected = cell.workload == "pages" and cell.n or 0
      assert.equal(expected, cell.page_faults.median)
      assert.equal("exact", cell.page_faults.quality)
    end
  end)

  it("counts the same for each of several iteration counts", function()
    support.need(support.have "cc", "no C compiler")
    local seen = {}
    local result = run({ events = { "page-faults" }, workloads = { kernel("pages", { params = { n = 7 } }) },
      repetitions = 10, warmup = 0, iterations = { 1, 2, 3, 4, 5 } },
      { each = function(record) seen[record.iterations] = (seen[record.iterations] or 0) + 1 end })
    assert.same({ 2, 2, 2, 2, 2 }, seen)
    assert.equal("complete", result.status)
  end)

  it("interleaves workloads in randomised blocks that the seed replays", function()
    local function sequence(seed)
      local list = {}
      run({ events = { "page-faults" }, workloads = { a = "true", b = "true", c = "true" }, repetitions = 4,
        warmup = 1,
        seed = seed }, { each = function(record) list[#list + 1] = record.workload end })
      return table.concat(list)
    end
    local first = sequence(5)
    assert.equal(15, #first)
    assert.equal(first, sequence(5))
    assert.not_equal(first, sequence(6))
    for block = 0, 4 do
      local letters = {}
      for letter in first:sub(block * 3 + 1, block * 3 + 3):gmatch "." do letters[letter] = true end
      assert.same({ a = true, b = true, c = true }, letters)
    end
  end)

  it("records warm-ups, marked, and leaves them out of summaries", function()
    local warm, counted = 0, 0
    local result = run({ events = { "page-faults" }, workloads = { "true" }, repetitions = 5, warmup = 3 },
      { each = function(record) if record.warmup then warm = warm + 1 else counted = counted + 1 end end })
    assert.equal(3, warm)
    assert.equal(5, counted)
    assert.equal(5, result:cells()().page_faults.n)
  end)

  it("fills factor levels into commands, and shows its order in the plan", function()
    local folder = support.folder()
    run { events = { "page-faults" }, workloads = { pmc.command { "cp", "/dev/null", folder .. "/{name}" } },
      factors = { { "name", { "x", "y" } } }, repetitions = 1, warmup = 0 }
    assert.is_truthy(io.open(folder .. "/x"))
    assert.is_truthy(io.open(folder .. "/y"))
  end)

  it("stops at a workload that fails, keeps what was measured, and says what happened", function()
    support.need(support.have "cc", "no C compiler")
    local result = run { events = { "page-faults" }, workloads = { kernel "third_crashes" },
      repetitions = 10, warmup = 0,
      iterations = 1 }
    assert.equal("failed", result.status)
    assert.matches("third_crashes was ended by SIGABRT", tostring(result.problem))
    assert.equal(2, result:cells()().page_faults.n)
  end)

  it("goes on with what fails where the script says skip or keep", function()
    local function tally(on_failure)
      local outcomes = {}
      local result = run({ events = { "page-faults" }, workloads = { pmc.command { "exit 3",
        shell = true } }, repetitions = 3,
        warmup = 0, on_failure = on_failure },
          { each = function(record) outcomes[#outcomes + 1] = record.outcome end })
      return outcomes, result
    end
    local skipped, without = tally "skip"
    assert.same({ "rejected", "rejected", "rejected" }, skipped)
    assert.matches("3 repetitions left out, the first: exit status 3", tostring(without))
    local kept, result = tally "keep"
    assert.same({ "done", "done", "done" }, kept)
    assert.equal(3, result:cells()().page_faults.n)
  end)

  it("kills a repetition at its timeout and says so", function()
    local result = run { events = { "page-faults" }, workloads = { "sleep 60" }, repetitions = 1,
      warmup = 0, timeout = "100ms" }
    assert.matches("killed at its time limit", tostring(result.problem))
  end)

  it("refuses before anything runs what cannot run: a command, a source, a symbol's source", function()
    local folder = support.folder()
    assert.matches("no%-such%-command", message_of(run, { events = { "page-faults" }, repetitions = 1,
      workloads = { pmc.command { "touch", folder .. "/ran" }, "no-such-command -x" } }))
    assert.is_nil(io.open(folder .. "/ran"))
    assert.matches("nowhere.c", message_of(run, { events = { "page-faults" },
      workloads = { pmc.kernel { source = "nowhere.c",
      symbol = "f" } } }))
    local broken = message_of(run, { events = { "page-faults" },
      workloads = { pmc.kernel { code = "void f(void) { return x; }",
      symbol = "f" } } })
    assert.matches("does not compile.*f%.c:1:23: error: .*undeclared", broken)
  end)

  it("says what it was that kept a command from starting: its folder, its input", function()
    local function problem(spec)
      return tostring(run { events = { "page-faults" }, workloads = { pmc.command(spec) } }.problem)
    end
    assert.matches("/nowhere", problem { "true", cwd = "/nowhere" })
    assert.matches("/nowhere", problem { "true", stdin = "/nowhere" })
  end)

  it("says how a missing compiler can be had", function()
    assert.matches("no C compiler 'no%-such%-cc'.*apt%-get install gcc", message_of(run,
      { events = { "page-faults" },
      workloads = { kernel("empty", { cc = "no-such-cc" }) } }))
  end)

  it("runs hooks around repetitions, never counted", function()
    local calls = {}
    local function hook(name) return function(levels) calls[#calls + 1] = name .. levels.n end end
    run { events = { "page-faults" }, workloads = { "true" }, factors = { { "n", { 1 } } }, repetitions = 2,
      warmup = 0,
      setup = hook "setup", prepare = hook "prepare", conclude = hook "conclude", cleanup = hook "cleanup" }
    assert.equal("setup1 prepare1 conclude1 prepare1 conclude1 cleanup1", table.concat(calls, " "))
  end)

  it("keeps what was measured where a hook fails later", function()
    local file = support.write(support.folder() .. "/there", "")
    local result = run { events = { "page-faults" }, workloads = { pmc.command { "true" } },
      repetitions = 9, warmup = 0,
      seed = 1, prepare = pmc.command { "cat", file },
      conclude = function() if io.open(file) then os.remove(file) end end }
    assert.equal("failed", result.status)
    assert.matches("prepare 'cat .*' failed: exit status 1", tostring(result.problem))
    assert.equal(1, result:cells()().repetitions)
  end)

  it("measures Lua functions in this process, labelled as such", function()
    local result = pmc.measure(function() for _ = 1, 100 do end end, { events = { "page-faults" },
      repetitions = 5 })
    assert.matches("function experiment_spec.lua:%d+", result:cells()().workload)
  end)

  it("counts several threads, each on its own and in sum", function()
    support.need(support.have "cc", "no C compiler")
    local last
    local result = run({ events = { "page-faults" }, workloads = { kernel("pages", { threads = 3,
      params = { n = 20 } }) },
      repetitions = 3, iterations = 1 }, { each = function(record) last = record end })
    assert.equal(60, result:cells()().page_faults.median)
    assert.equal(3, #last.threads)
    for _, thread in ipairs(last.threads) do assert.equal(20, thread.counts[1]) end
  end)

  it("calls any C function by its declaration, with buffers", function()
    support.need(support.have "cc", "no C compiler")
    local result = pmc.measure(pmc.call { declaration = "void *memset(void *p, int c, unsigned long n)",
      args = { pmc.buffer { "char", count = "n" }, 0, 4096 } }, { events = { "page-faults" },
      factors = { { "n", { 4096 } } },
      repetitions = 3 })
    assert.equal(0, result:cells()().page_faults.median)
    assert.matches("undeclared", message_of(pmc.measure, pmc.call { declaration = "int f(undeclared x)",
      args = { 1 } },
      { events = { "page-faults" } }))
  end)
end)

describe("counts that the OS kernel drops", function()
  it("are absent, with the reason, where a program may be executed but not read (J)", function()
    support.need(support.have_root(), "needs root to become an ordinary user")
    local folder = support.folder()
    os.execute(("cp /bin/ls '%s/xonly' && chmod 0711 '%s/xonly'"):format(folder, folder))
    local got = support.pmclua({ "-e", ([[
      local r = pmc.measure(pmc.command { "%s/xonly", "-R", "/usr/lib" }, { events = { "page-faults" },
        repetitions = 2, warmup = 0 })
      print(r.status, r.problem, r:cells()().page_faults.median)
    ]]):format(folder) }, { user = true, env = { HOME = folder } })
    assert.equal(0, got.status, got.err)
    assert.matches("^failed.*may be executed but not read.*nil", got.out)
  end)
end)

describe("reject_if", function()
  it("repeats what it rejects, and records it as rejected", function()
    local tries, outcomes = 0, {}
    local result = run({ events = { "page-faults", "wanted = task-clock" }, repetitions = 2, warmup = 0,
      workloads = { pmc.command { "true" } }, prepare = function() tries = tries + 1 end,
      reject_if = "wanted < 0" }, { each = function(record) outcomes[#outcomes + 1] = record.outcome end })
    assert.equal(2, tries)
    assert.same({ "done", "done" }, outcomes)
    assert.equal("complete", result.status)
  end)

  it("gives up after a bounded number of tries, says so, and keeps what was measured", function()
    local result = run { events = { "page-faults" }, repetitions = 3, warmup = 0, workloads = { "true",
      "false" },
      on_failure = "keep", factors = { { "n", { 1, 2 } } }, reject_if = "n == 2" }
    assert.equal("failed", result.status)
    assert.matches("20 repetitions in a row were rejected", tostring(result.problem))
    local rejected = 0
    for cell in result:cells() do rejected = rejected + cell.rejected end
    assert.equal(20, rejected)
    assert.matches("20 repetitions rejected by 'n == 2', and repeated", tostring(result))
  end)
end)

describe("expect", function()
  local function expectation(prediction)
    return run({ events = { "page-faults" }, workloads = { kernel("pages", { params = { n = 5 } }) },
      repetitions = 4,
      iterations = 3, expect = { prediction } }).expectations[1]
  end

  it("holds where a prediction is true of every repetition", function()
    support.need(support.have "cc", "no C compiler")
    assert.equal("pass", expectation("page_faults == 5 * iterations").state)
  end)

  it("fails with what was observed and expected, and where", function()
    support.need(support.have "cc", "no C compiler")
    local result = expectation "page_faults == 5 * iterations + 1"
    assert.equal("fail", result.state)
    assert.equal(15, result.observed)
    assert.equal(16, result.expected)
    assert.equal(1, result.index)
    assert.matches("fails: repetition 1: observed 15, expected 16 %(fails in 4 of 4%)",
      require("pmclua.experiment.expect").line(result))
  end)
end)

describe("layout", function()
  it("fixed gives a command the same page faults in every run", function()
    local result = run { events = { "page-faults" }, workloads = { "true" }, repetitions = 10,
      layout = "fixed" }
    assert.equal("exact", result:cells()().page_faults.quality)
  end)

  it("puts a kernel's stack where the factor says", function()
    support.need(support.have "cc", "no C compiler")
    local source = [[
#include <stdio.h>
#include <stdlib.h>
#include <pmclua_kernel.h>
void place(void *s, uint64_t i) { int x; FILE *f = fopen(getenv("PLACE_FILE"), "a"); fprintf(f, "%lu\n",
  (unsigned long)&x); fclose(f); }
]]
    local file = support.folder() .. "/places"
    support.with_env({ PLACE_FILE = file }, function()
      run { events = { "page-faults" }, workloads = { pmc.kernel { code = source, symbol = "place" } },
        iterations = 1,
        factors = { { "stack_offset", { 0, 64, 4096 } }, { "aslr", { false } } }, repetitions = 2,
          warmup = 0 }
    end)
    local places, distinct = {}, 0
    for line in io.lines(file) do
      local place = tonumber(line)
      if not places[place] then distinct = distinct + 1 end
      places[place] = (places[place] or 0) + 1
    end
    assert.equal(3, distinct)
    for _, times in pairs(places) do assert.equal(2, times) end
  end)

  it("gives commands the addresses that their level says, whatever kernels beside them have", function()
    support.need(support.have "cc", "no C compiler")
    local folder, seen = support.folder(), { fixed = 0, free = 0 }
    local result = run { events = { "page-faults" }, repetitions = 4, warmup = 0, iterations = 1,
      factors = { { "aslr", { true, false } } }, workloads = { kernel "empty",
        pmc.command { ("cat /proc/self/personality >> %s/{aslr}"):format(folder), shell = true,
          name = "cat" } } }
    assert.equal("complete", result.status)
    for line in io.lines(folder .. "/true") do if line == "00000000" then seen.free = seen.free + 1 end end
    for line in io.lines(folder .. "/false") do if line == "00040000" then seen.fixed = seen.fixed + 1 end end
    assert.same({ fixed = 4, free = 4 }, seen)
  end)

  it("checks the levels of its factors", function()
    assert.matches("factor on_cpu: there is no CPU 999 to run on here", message_of(pmc.experiment,
      { workloads = { "true" }, factors = { { "on_cpu", { 999 } } } }))
    assert.matches("pin: 'x' is no list of CPUs", message_of(pmc.experiment, { workloads = { "true" },
      pin = "x" }))
    assert.matches("factor numa_node: there is no NUMA node 999", message_of(pmc.experiment,
      { workloads = { "true" }, factors = { { "numa_node", { 999 } } } }))
    assert.matches("factor stack_offset: a level is a number of bytes below 65536, not x",
      message_of(pmc.experiment,
      { workloads = { "true" }, factors = { { "stack_offset", { "x" } } } }))
  end)
end)

describe("a stored experiment", function()
  local function spec(seed)
    return { events = { "page-faults" }, workloads = { a = "true", b = "true" }, repetitions = 6,
      warmup = 1, seed = seed }
  end

  it("can be read again, with the same numbers", function()
    local path = support.folder() .. "/r.jsonl"
    local result = run(spec(4), { store = path })
    local loaded = pmc.load(path)
    assert.equal("complete", loaded.status)
    assert.same(result:values("page_faults", { workload = "a" }), loaded:values("page_faults",
      { workload = "a" }))
  end)

  it("says on which machine and by what plan it was measured", function()
    local path = support.folder() .. "/r.jsonl"
    run(spec(4), { store = path })
    local header = pmc.load(path).header
    assert.is_string(header.host.hostname)
    assert.equal(4, header.seed)
    assert.is_string(header.identity)
  end)

  --- Runs until `after` records and is then cut off as by a kill: the file ends without an end line.
  local function cut_off(after)
    local path = support.folder() .. "/r.jsonl"
    local full = {}
    run(spec(4), { store = path, each = function(record) full[#full + 1] = record.workload
      .. record.index end })
    local lines = {}
    for line in io.lines(path) do lines[#lines + 1] = line end
    support.write(path, table.concat(lines, "\n", 1, 1 + after) .. "\n" .. lines[2 + after]:sub(1, 20))
    return path, full
  end

  it("is resumed with exactly the missing repetitions, in the same order", function()
    local path, full = cut_off(5)
    local rest = {}
    local result = run(spec(4), { resume = path, each = function(record) rest[#rest + 1] = record.workload
      .. record.index end })
    assert.same({ unpack(full, 6) }, rest)
    assert.equal("complete", result.status)
    local loaded = pmc.load(path)
    assert.equal(6, #loaded:values("page_faults", { workload = "a" }))
    assert.equal(6, #loaded:values("page_faults", { workload = "b" }))
    assert.equal("complete", loaded.status)
  end)

  it("takes the seed of the file it resumes", function()
    local path, full = cut_off(5)
    local rest = {}
    run(spec(nil), { resume = path, each = function(record) rest[#rest + 1] = record.workload
      .. record.index end })
    assert.same({ unpack(full, 6) }, rest)
  end)

  it("refuses the file of another experiment, and of another host", function()
    local path = cut_off(3)
    local other = spec(4)
    other.workloads = { a = "true", b = "false" }
    assert.matches("it is of another experiment", message_of(run, other, { resume = path }))
    other = spec(4)
    other.inherit = false
    assert.matches("it is of another experiment", message_of(run, other, { resume = path }))
    local text = support.read(path):gsub('"hostname":"[^"]*"', '"hostname":"elsewhere"', 1)
    support.write(path, text)
    assert.matches("it was measured elsewhere", message_of(run, spec(4), { resume = path }))
    text = text:gsub('"hostname":"elsewhere"', '"hostname":"unknown"', 1)
    support.write(path, text)
    assert.equal("complete", run(spec(4), { resume = path }).status)
  end)

  it("keeps every finished repetition when it is killed, and ends well on SIGINT and SIGTERM", function()
    local folder = support.folder()
    local script = support.write(folder .. "/slow.lua", [[
      local pmc = require "pmclua"
      return pmc.experiment { events = { "page-faults" }, workloads = { "sleep 0.05" }, repetitions = 400,
        warmup = 0 }
    ]])
    for signal, status in pairs { INT = 130, TERM = 143, KILL = 137 } do
      local path = ("%s/%s.jsonl"):format(folder, signal)
      -- In the foreground it sends one signal; else two, and the second ends pmclua while it reports.
      local result = support.run { "timeout", "--preserve-status", "--foreground", "-s", signal, "1.2",
        support.program, script, "--store", path, "--quiet", "--output", folder .. "/out" }
      assert.equal(status, result.status, signal .. result.err)
      local loaded = pmc.load(path)
      local kept = #loaded:values "page_faults"
      assert.is_true(kept >= 5, kept)
      assert.equal(signal == "KILL" and "unfinished" or "interrupted", loaded.status)
      if signal ~= "KILL" then assert.matches("page%-faults", support.read(folder .. "/out")) end
    end
  end)
end)

describe("a stored repetition", function()
  it("is in the file while the next one still runs", function()
    local folder = support.folder()
    local path = folder .. "/r.jsonl"
    local script = support.write(folder .. "/slow.lua", [[
      local pmc = require "pmclua"
      return pmc.experiment { events = { "page-faults" }, workloads = { pmc.command { "[ -e ]] .. folder ..
      [[/ran ] && exec sleep 30; touch ]] .. folder .. [[/ran", shell = true, name = "w" } },
        repetitions = 2, warmup = 0 }
    ]])
    local got = support.run { "timeout", "--preserve-status", "-s", "KILL", "2", support.program, script,
      "--store", path }
    assert.equal(137, got.status)
    assert.equal(1, #pmc.load(path):values "page_faults")
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
    for line in plan:gmatch "[^\n]+" do assert.is_true(require("pmclua.text").width(line) <= 80, line) end
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

  it("exits 77 when nothing it asked for can be counted, 3 when a prediction fails, 2 for usage", function()
    local constant = '{ events = { "context-switches:u" }, workloads = { "true" }, repetitions = 1 }'
    local none = support.pmclua { script(constant), "--no-store" }
    assert.equal(77, none.status)
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

describe("records", function()
  it("hold exact counts to 2^64-1 when threads are summed", function()
    local record = require "pmclua.experiment.record"
    local big = 9223372036854775808ULL
    local step = { cell = { index = 1, workload = { name = "w" }, levels = {} }, pass = 1, index = 1,
      order = 1 }
    local made = record.new(step, { outcome = "done", exit = 0, signal = 0, threads = 2, words = { 1, 1,
      big, 1, 1, big - 1ULL } },
      { groups = { { events = { 1 } } }, events = { 1 } }, { {} })
    assert.equal("18446744073709551615", core.decimal(made.counts[1]))
  end)

  it("have no number for what never ran", function()
    local record = require "pmclua.experiment.record"
    local step = { cell = { index = 1, workload = { name = "w" }, levels = {} }, pass = 1, index = 1,
      order = 1 }
    local made = record.new(step, { outcome = "done", exit = 0, signal = 0, threads = 1, words = { 1000, 0,
      0 } },
      { groups = { { events = { 1 } } }, events = { 1 } }, { {} })
    assert.is_nil(made.counts[1])
    assert.equal(0, made.running[1])
  end)
end)
