-- Kernels counted by Valgrind, in experiments. What is expected was read off the kernels' source
-- (fixtures/simulated/known.S) and agrees with single steps (simulated_runner_spec.lua).

local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"
local tools = require "pmclua.host.tools"

-- Why kernels cannot be simulated here; nil where they can.
local function absent()
  if jit.arch ~= "x64" then return "the kernels' source is for x86-64" end
  if not support.have "gcc" then return "no C compiler" end
  if not tools.find "valgrind" then return "no Valgrind" end
  return support.watcher and "a watcher runs the runner" or nil
end

local folder, library

-- A number of iterations is repeated in a process of its own, which takes long: so after the warm-up there are fewer
-- repetitions than numbers, where one of each is enough.

local function known(symbol, more)
  return pmc.kernel(support.merged({ library = library, symbol = symbol }, more))
end

local function measure(workload, events, more)
  local asked = { events = events, iterations = 1000, repetitions = 1 }
  return pmc.measure(workload, support.merged(asked, more))
end

local HEADERS = "#include <pmclua_kernel.h>\n#include <pthread.h>\n#include <sys/wait.h>\n"
  .. "#include <unistd.h>\n"

local function compiled(symbol, code)
  return pmc.kernel { code = HEADERS .. code, symbol = symbol, cflags = "-O1", libs = "-lpthread" }
end

local function only_cell(result) return result:cells()() end

-- What the first repetition without a count says of it.
local function first_failure(result) return only_cell(result).first_failure.why end

-- ---- counts known by hand ----

local EVENTS = { "instructions", "loads", "stores", "branches", "indirect_branches" }

local KNOWN = {
  turns =       { "3 * n + 5", "1", "0", "n", "0" },
  one_more =    { "4 * n + 5", "1", "0", "n", "0" },
  calls =       { "4 * n + 2", "n + 1", "n", "n", "0" },
  pointers =    { "4 * n + 5", "n + 1", "n", "n", "n" },
  alternating = { "4 * n + n / 2 + 3", "1", "0", "2 * n", "0" },
  few_lines =   { "1028 * n + 3", "256 * n + 1", "0", "257 * n", "0" },
  stores =      { "4100 * n + 3", "1", "1024 * n", "1025 * n", "0" },
}

local function expectations(formulae)
  local list = {}
  for i, formula in ipairs(formulae) do
    -- A formula with the iterations is of the whole repetition.
    local whole = formula:gsub("%f[%w]n%f[%W]", "iterations") .. " + 0 * iterations"
    list[i] = ("valgrind_%s == %s"):format(EVENTS[i], whole)
  end
  return list
end

local function event_list()
  local list = {}
  for i, event in ipairs(EVENTS) do list[i] = "valgrind::" .. event:gsub("_", "-") end
  return list
end

describe("a kernel under Valgrind", function()
  setup(function()
    if absent() then return end
    folder = support.folder()
    library = support.build(folder .. "/known.so", "gcc", "-nostdlib", "-shared",
      support.fixture "simulated/known.S")
  end)
  before_each(function() support.need(not absent(), absent()) end)

  it("counts what its source says, whatever the iterations", function()
    for symbol, formulae in pairs(KNOWN) do
      local result = measure(known(symbol), event_list(), { iterations = { 2, 10, 1000, 2000, 20000 },
        repetitions = 4, expect = expectations(formulae) })
      for _, checked in ipairs(result.expectations) do
        assert.equal("pass", checked.state, ("%s: %s"):format(symbol, checked.text))
        assert.equal(4, checked.n)
      end
    end
  end)

  it("has exactly its slope where a line is fitted", function()
    for symbol, slope in pairs { turns = 3, one_more = 4, alternating = 4.5, many_lines = 4100 } do
      local cell = only_cell(measure(known(symbol), "valgrind::instructions", { iterations = "fit",
        repetitions = 4 }))
      assert.equal(slope, cell.valgrind_instructions.median, symbol)
    end
  end)

  it("misses in a cold cache what it touches, and in a warm one what does not fit", function()
    local events = { "valgrind::l1d-load-misses", "valgrind::l1d-store-misses", "valgrind::ll-load-misses" }
    local function misses(symbol, is_cold, iterations)
      local cell = only_cell(pmc.experiment { workloads = { known(symbol) }, events = events, repetitions = 4,
        iterations = iterations, factors = { { "cold_caches", { is_cold } } } }:run())
      return { cell.valgrind_l1d_load_misses.median, cell.valgrind_l1d_store_misses.median,
        cell.valgrind_ll_load_misses.median }
    end
    -- The kernel's code is a line, too. The return reads a line of the stack, which 1024 others have pushed out.
    assert.same({ 256, 0, 256 + 1 }, misses("few_lines", true, 1))
    assert.same({ 1024 + 1, 0, 1024 + 1 }, misses("many_lines", true, 1))
    assert.same({ 1, 1024, 1 }, misses("stores", true, 1))
    local list = { 10, 20, 30, 40, 50 }                                 -- then values are slopes
    assert.same({ 0, 0, 0 }, misses("few_lines", false, list))
    assert.same({ 1024, 0, 0 }, misses("many_lines", false, list))
    assert.same({ 0, 1024, 0 }, misses("stores", false, list))
  end)

  it("is told from one with an instruction an iteration more, and not from itself", function()
    local times = tonumber(os.getenv "PMCLUA_TEST_COMPARISONS") or 1
    for i = 1, times do
      local result = pmc.compare(known("turns", { name = "a" }), known("turns", { name = "again" }),
        known("one_more", { name = "more" }), { events = "valgrind::instructions", repetitions = 3,
          seed = i })
      local verdicts = {}
      for _, pair in ipairs(result:compare().pairs) do
        verdicts[pair.cell.workload] = pair.rows[1].verdict.verdict
      end
      assert.same({ again = "same", more = "more" }, verdicts)
    end
  end)

  -- Loops as often as its setup has drawn.
  local function drawing()
    return compiled("draws", [[
      #include <stdlib.h>
      #include <sys/random.h>
      void *draws_setup(const struct pmclua_params *params)
      {
          uint32_t *n = malloc(sizeof *n);
          return n && getrandom(n, sizeof *n, 0) == sizeof *n ? (*n %= 100000, n) : pmclua_fail(params, "no");
      }
      void draws(void *n, uint64_t iterations)
      {
          for (uint64_t i = 0; i < iterations * *(uint32_t *)n; i++) __asm__ volatile ("");
      }
      void draws_teardown(void *n) { free(n); }
    ]])
  end

  it("has a process for each repetition, so that what its setup draws shows", function()
    local cell = only_cell(measure(drawing(), "valgrind::instructions", { iterations = 1, repetitions = 5 }))
    local counts = cell:values "valgrind_instructions"
    assert.equal(5, #lists.unique(counts), table.concat(counts, " "))
    local fixed = only_cell(measure(drawing(), "valgrind::instructions", { iterations = 1, repetitions = 5,
      simulation = { random = "fixed" } }))
    assert.equal(2, #fixed:values "valgrind_instructions")
    assert.is_true(fixed.valgrind_instructions.exact)
  end)

  it("varies where its calls do, in whichever process", function()
    local cell = only_cell(measure(compiled("grows", [[
      void grows(void *state, uint64_t n)
      {
          static uint64_t calls; (void)state; (void)n;
          calls++;
          for (uint64_t i = 0; i < 1000 * calls; i++) __asm__ volatile ("");
      }]]), "valgrind::instructions", { iterations = 1, warmup = 0, repetitions = 3 }))
    local counts = cell:values "valgrind_instructions"
    assert.equal(3, #counts)
    assert.is_true(counts[1] < counts[2] and counts[2] < counts[3], table.concat(counts, " "))
  end)

  it("has a line through one process where others agree, and through several where they do not", function()
    local asked = { iterations = { 1, 2, 3 }, repetitions = 9 }
    local cell = only_cell(measure(drawing(), "valgrind::instructions", asked))
    assert.is_false(cell.valgrind_instructions.exact)
    local same = only_cell(measure(known "turns", "valgrind::instructions", asked))
    assert.is_true(same.valgrind_instructions.exact)
  end)

  it("is counted apart from what is measured for real", function()
    local result = measure(known "turns", { "valgrind::instructions", "duration_time" }, { repetitions = 4,
      expect = { "valgrind_instructions == 3 * iterations + 5", "duration_time > 0" } })
    local cell = only_cell(result)
    assert.same({ "pass", 2, "pass", 4 }, { result.expectations[1].state, result.expectations[1].n,
      result.expectations[2].state, result.expectations[2].n })
    assert.equal(2, #result.header.pass_events)
    assert.equal(4, cell.duration_time.n)
    assert.equal(2, cell.valgrind_instructions.n)
    assert.equal("simulated", cell.valgrind_instructions.status)
    assert.equal(3.005, cell.valgrind_instructions.median)
  end)

  it("may be a snippet, or the call of a function", function()
    local function slope(workload)
      return only_cell(measure(workload, "valgrind::instructions", { iterations = "fit",
        repetitions = 10 })).valgrind_instructions.median
    end
    assert.equal(12, slope(pmc.snippet { asm = "add rax, rbx", unroll = 10 }))
    assert.equal(10, slope(pmc.snippet { asm = "nop", unroll = 18 }) - slope(pmc.snippet { asm = "nop",
      unroll = 8 }))
    local call = slope(pmc.call { declaration = "int abs(int n)", args = { -3 } })
    assert.equal(0, call % 1)
    assert.is_true(call >= 3)
  end)

  it("has as many iterations on every machine: they are found by instructions, not by time", function()
    local result = pmc.measure(known "turns", { events = "valgrind::instructions", repetitions = 3 })
    assert.equal((3 * 2 ^ 19 + 5) / 2 ^ 19, only_cell(result).valgrind_instructions.median)
  end)

  it("is counted with its threads", function()
    local asked = measure(known("turns", { threads = 2 }), "valgrind::instructions", {
      expect = "valgrind_instructions == 2 * (3 * iterations + 5)" })
    assert.equal("pass", asked.expectations[1].state)
    local own = measure(compiled("starts", [[
      static void *turn(void *n) { for (volatile uint64_t i = *(uint64_t *)n; i; i--) ; return n; }
      void starts(void *state, uint64_t n)
      {
          pthread_t one; (void)state;
          if (pthread_create(&one, NULL, turn, &n) == 0) pthread_join(one, NULL);
      }]]), "valgrind::instructions", { iterations = 100000 })
    assert.is_true(only_cell(own).valgrind_instructions.median > 3)
    assert.matches("several threads", table.concat(own.remarks, "\n"))
  end)

  it("has no count, with the reason, where it starts a process", function()
    local result = measure(compiled("forks", [[
      void forks(void *state, uint64_t n)
      {
          (void)state; (void)n;
          if (fork() == 0) _exit(0);
          wait(NULL);
      }]]), "valgrind::instructions,duration_time", { iterations = 1, repetitions = 2 })
    assert.is_nil(only_cell(result).valgrind_instructions.median)
    assert.equal(2, only_cell(result).duration_time.n)
    assert.matches("started a process, which callgrind does not count", first_failure(result))
  end)

  it("has a count again in the repetition after one that started a process", function()
    local result = measure(compiled("once", [[
      void once(void *state, uint64_t n)
      {
          static int calls; (void)state; (void)n;
          if (++calls == 3) { if (fork() == 0) _exit(0); wait(NULL); }
      }]]), "valgrind::instructions", { iterations = 1, warmup = 1, repetitions = 6 })
    assert.is_true(only_cell(result).valgrind_instructions.n >= 2)
    assert.matches("started a process", first_failure(result))
  end)

  it("loses the repetition alone to an instruction that Valgrind lacks", function()
    local result = measure(compiled("rare", [[
      void rare(void *state, uint64_t n)
      {
          unsigned short segment = 0x2b; (void)state; (void)n;
          __asm__ volatile("verr %0" : : "r"(segment) : "cc");
      }]]), "valgrind::instructions,duration_time", { iterations = 1, repetitions = 2 })
    assert.equal("complete", result.status)
    assert.equal(2, only_cell(result).duration_time.n)
    assert.is_nil(only_cell(result).valgrind_instructions.median)
    assert.matches("Valgrind [%d.]+ lacks an instruction of the kernel rare, in rare%+0x%x+ of %w",
      first_failure(result))
  end)

  it("loses the repetition to its time limit, and to a Valgrind that does not start", function()
    local endless = compiled("endless", "void endless(void *s, uint64_t n) { (void)s; (void)n; for (;;) ; }")
    local slow = measure(endless, "valgrind::instructions", { timeout = "0.3s" })
    assert.matches("reached its time limit under Valgrind", first_failure(slow))
    local fake = support.folder()
    support.write(fake .. "/valgrind", "#!/bin/sh\n")
    support.write(fake .. "/valgrind.bin", "#!/bin/sh\nexit 9\n")
    os.execute("chmod +x " .. fake .. "/*")
    local refused = support.with_env({ PATH = fake .. ":" .. os.getenv "PATH" }, function()
      return measure(known "turns", "valgrind::instructions")
    end)
    assert.matches("Valgrind unknown did not start: it ended with status 9", first_failure(refused))
  end)

  it("is counted where the folder for temporary files has a name like an option of Valgrind's", function()
    local odd = support.folder() .. "/%p and %q{HOME}"
    support.write(odd .. "/x", "")
    support.with_env({ TMPDIR = odd }, function()
      local result = measure(known "turns", "valgrind::instructions")
      assert.equal(3.005, only_cell(result).valgrind_instructions.median)
    end)
    os.remove(odd .. "/x")
    assert.is_true(os.remove(odd))
  end)

  it("crashes as it does by itself", function()
    local kernel = compiled("wrong", [[
      void wrong(void *state, uint64_t n) { (void)state; *(volatile uint64_t *)8 = n; }]])
    local ok, why = pcall(measure, kernel, "valgrind::instructions")
    assert.matches("SIGSEGV at address 0x8, in wrong", tostring(ok and why.problem or why))
  end)
end)

describe("the simulated counts of a kernel", function()
  before_each(function() support.need(not absent(), absent()) end)

  local SCRIPT = [[
    local pmc = require "pmclua"
    local kernel = pmc.kernel { source = "sort.c", symbol = "sort", params = { n = 200 } }
    local result = pmc.measure(kernel, { repetitions = 3, iterations = 3,
      events = "valgrind::instructions,valgrind::loads,valgrind::l1d-misses,valgrind::ll-misses,"
        .. "valgrind::branches,valgrind::branch-misses" })
    local cell = result:cells()()
    for _, event in ipairs(result.header.events) do print(event.name, cell[event.field].median) end
  ]]

  local SORT = [[
    #include <stdlib.h>
    #include <pmclua_kernel.h>
    struct state { uint64_t n; uint32_t *x; };
    void *sort_setup(const struct pmclua_params *params)
    {
        struct state *s = malloc(sizeof *s);
        s->n = pmclua_u64(params, "n", 100);
        s->x = malloc(s->n * sizeof *s->x);
        return s;
    }
    void sort_reset(void *state, uint64_t iterations)
    {
        struct state *s = state; (void)iterations;
        for (uint64_t i = 0, x = 7; i < s->n; i++) {
            x = x * 6364136223846793005u + 1;
            s->x[i] = (uint32_t)(x >> 40);
        }
    }
    void sort(void *state, uint64_t iterations)
    {
        struct state *s = state;
        for (; iterations; iterations--)
            for (uint64_t i = 1; i < s->n; i++)
                for (uint64_t k = i; k && s->x[k - 1] > s->x[k]; k--) {
                    uint32_t x = s->x[k]; s->x[k] = s->x[k - 1]; s->x[k - 1] = x;
                }
    }
  ]]

  local function counted(where, options)
    support.write(where .. "/sort.c", SORT)
    support.write(where .. "/script.lua", SCRIPT)
    local ran = support.run({ support.program, where .. "/script.lua" }, options)
    assert.equal("", ran.err)
    assert.matches("instructions%s+%d", ran.out)
    return ran.out
  end

  it("are the same in another folder, with another environment, under load", function()
    local place = support.folder()
    local first = counted(place)
    local long = place .. "/a/" .. ("longer"):rep(12)
    assert.equal(first, counted(long, { folder = long, env = { LANG = "C.UTF-8", LD_BIND_NOW = "1",
      MORE = ("x"):rep(3000), HOME = support.folder() } }))
    local hogs = support.output_of [[for i in 1 2 3 4 5 6 7 8; do
      timeout 30 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!; done]]
    local loaded = counted(place)
    for pid in hogs:gmatch "%d+" do os.execute("kill " .. pid) end
    assert.equal(first, loaded)
  end)
end)
