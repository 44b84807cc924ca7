-- Experiments run: what is counted and recorded, and what happens where something fails.

local core = require "pmclua.core"
local pmc = require "pmclua"
local support = require "tests.support"

local kernel = require("tests.support.kernels").pages
local message_of, run = support.message_of, support.experiment

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

  it("ends where its own stop rule says so, asked after each block, or at the limit", function()
    local looks = {}
    local function ended_by(rule, repetitions)
      return run { events = { "page-faults" }, workloads = { a = function() end, b = function() end },
        stop = rule, repetitions = repetitions, warmup = 1, baseline = "a" }
    end
    local result = ended_by(function(so_far)
      looks[#looks + 1] = so_far:cells()().page_faults.n
      return #looks == 3
    end)
    assert.same({ 1, 2, 3 }, looks)
    assert.equal("complete", result.status)
    for cell in result:cells() do assert.equal(3, cell.page_faults.n) end
    assert.matches("by the script's own rule after 3 repetitions", tostring(result), 1, true)
    result = ended_by(function() end, 4)
    assert.matches("stopped at the limit of 4 repetitions", tostring(result), 1, true)
    assert.equal(4, result:cells()().page_faults.n)
  end)

  it("keeps what was measured where its own stop rule raises, as where a hook does", function()
    local result = run { events = { "page-faults" }, workloads = { function() end }, warmup = 0,
      stop = function(so_far)
        if so_far:cells()().page_faults.n == 2 then error { code = "mine" } end
      end }
    assert.equal("failed", result.status)
    assert.matches("stop failed: ", tostring(result.problem), 1, true)
    assert.equal("mine", result.problem.value.code)
    assert.equal(2, result:cells()().page_faults.n)
  end)

  it("refuses a stop rule that is neither a table nor a function, and levels that are not finite", function()
    assert.matches('or a function, not "1%"', support.message_of(function()
      pmc.experiment { workloads = { "true" }, stop = "1%" }
    end), 1, true)
    assert.matches("a factor's name must be a word, not 'nil'", support.message_of(function()
      pmc.experiment { workloads = { "true" }, metrics = "m = page_faults / 2", factors = { {} } }
    end))
    for _, level in ipairs { 0 / 0, 1 / 0, -1 / 0 } do
      assert.matches("factor n: %-?%a+ is not a level", support.message_of(function()
        pmc.experiment { workloads = { "true" }, factors = { n = { 1, level } } }
      end))
    end
  end)

  it("says of a failure which levels it had, and shows no table where nothing was measured", function()
    local result = run { events = { "page-faults" }, repetitions = 1, factors = { { "n", { 3 } } },
      workloads = { pmc.command { "exit {n}", shell = true, name = "it" } } }
    assert.matches("^! it, n = 3: exit status 3; [^\n]*on_failure", tostring(result))
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

  it("looks for a program in the command's folder, whatever its own has", function()
    local folder = support.folder()
    local function problem(cwd)
      return message_of(run, { workloads = { pmc.command { "./pmclua", cwd = cwd } } })
    end
    assert.matches(("cannot execute '%s/./pmclua': there is no such file"):format(folder), problem(folder), 1,
      true)
    assert.matches("cannot run in the folder '/nowhere': there is no such file", problem "/nowhere")
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
end)

describe("counts that the OS kernel drops", function()
  -- Measures a program that may be executed but not read, as an ordinary user.
  local function measure_unreadable(options)
    support.need(support.have_root(), "needs root to become an ordinary user")
    local folder = support.folder()
    os.execute(("cp /bin/ls '%s/xonly' && chmod 0711 '%s/xonly'"):format(folder, folder))
    local got = support.pmclua({ "-e", ([[
      local r = pmc.measure(pmc.command { "%s/xonly", "-R", "/usr/lib" }, { events = { "page-faults" },
        repetitions = 2, warmup = 0, %s })
      print(r.status, r.problem, r:cells()().page_faults.median)
    ]]):format(folder, options) }, { user = true, env = { HOME = folder } })
    assert.equal(0, got.status, got.err)
    return got.out
  end

  it("are absent, with the reason, where a program may be executed but not read (J)", function()
    support.need_unwatched("it executes nothing that it may not read", "valgrind")
    assert.matches("^failed.*gains rights or may not be read.*nil", measure_unreadable "")
    assert.matches("^failed.*gains rights or may not be read.*nil", measure_unreadable "inherit = false")
  end)

  it("are not those of a first thread that leaves the work to its children", function()
    local busy = "dd if=/dev/zero of=/dev/null bs=1M count=2000 2>&1; true"
    local result = pmc.measure(pmc.command { "sh", "-c", busy }, { events = { "page-faults" },
      repetitions = 1, warmup = 0, inherit = false, store = false, quiet = true })
    assert.is_true(result:cells()().page_faults.median > 0)
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

  it("takes sizes as reports print them", function()
    local layout = require "pmclua.experiment.layout"
    local function of(name, level)
      return layout.of({ factors = { { name = name } } }, { cell = { levels = { [name] = level } } })
    end
    assert.same({ padding = 4096 }, of("environment_bytes", "4 KiB"))
    assert.same(of("stack_offset", 512), of("stack_offset", "0.5 KiB"))
    assert.matches('a level must be a number of bytes below 1 MiB, or "4 KiB", not 0.3 B',
      message_of(pmc.experiment,
        { workloads = { "true" }, factors = { { "environment_bytes", { "0.3 B" } } } }))
  end)

  it("checks the levels of its factors", function()
    assert.matches("factor on_cpu: there is no CPU 999 to run on here", message_of(pmc.experiment,
      { workloads = { "true" }, factors = { { "on_cpu", { 999 } } } }))
    assert.matches("pin: 'x' is not a list of CPUs", message_of(pmc.experiment, { workloads = { "true" },
      pin = "x" }))
    assert.matches("factor numa_node: there is no NUMA node 999", message_of(pmc.experiment,
      { workloads = { "true" }, factors = { { "numa_node", { 999 } } } }))
    assert.matches('factor stack_offset: a level must be a number of bytes below 65536, or "4 KiB", not x',
      message_of(pmc.experiment,
      { workloads = { "true" }, factors = { { "stack_offset", { "x" } } } }))
  end)
end)

describe("records", function()
  it("hold exact counts to 2^64-1 when threads are summed", function()
    local record = require "pmclua.experiment.record"
    local big = 9223372036854775808ULL
    local step = { cell = { index = 1, workload = { name = "w" }, levels = {} }, pass = 1, index = 1,
      order = 1 }
    local made = record.new(step, { outcome = "done", exit = 0, signal = 0, threads = 2, readings = { 1, 1,
      big, 1, 1, big - 1ULL } },
      { groups = { { events = { 1 } } }, events = { 1 } }, { {} })
    assert.equal("18446744073709551615", core.decimal(made.counts[1]))
  end)

  it("have no number for what never ran", function()
    local record = require "pmclua.experiment.record"
    local step = { cell = { index = 1, workload = { name = "w" }, levels = {} }, pass = 1, index = 1,
      order = 1 }
    local made = record.new(step, { outcome = "done", exit = 0, signal = 0, threads = 1, readings = { 1000, 0,
      0 } },
      { groups = { { events = { 1 } } }, events = { 1 } }, { {} })
    assert.is_nil(made.counts[1])
    assert.equal(0, made.running[1])
  end)
end)
