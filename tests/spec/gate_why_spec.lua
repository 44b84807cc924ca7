-- The cause of a limit that fails, in each output; and limits of times that are tried once more.

local json = require "dkjson"
local pmc = require "pmclua"
local support = require "tests.support"

local PROGRAM = [[
#include <stdlib.h>
#include <string.h>
static volatile long sink;
__attribute__((noinline)) long work(long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += i * i ^ sink;
  return s;
}
__attribute__((noinline)) long parse(long n) {
  long s = 0;
  for (int k = 0; k < ROUNDS; k++)
    s += work(n);
  return s;
}
int main(void) {
  char *p = malloc(PAGES * 4096L);
  for (int i = 0; i < PAGES; i++)
    p[i * 4096L] = 1;
  sink = parse(2000) + work(3000) + p[0];
  return 0;
}
]]

local folder = support.folder()
support.write(folder .. "/prog.c", PROGRAM)

local function built(name, rounds, pages)
  local line = ("cd %s && cc -g -O1 -static -DROUNDS=%d -DPAGES=%d -o %s prog.c"):format(folder, rounds,
    pages, name)
  assert(os.execute(line) == 0)
  return folder .. "/" .. name
end

local function gate(limit, ...)
  return support.pmclua({ "gate", "--against", folder .. "/old", "-r", "6", "-l", limit, "--quiet", ... },
    { folder = folder })
end

describe("pmclua gate --why", function()
  built("old", 20, 100)
  built("slow", 26, 100)
  built("large", 20, 300)

  it("names function, line and caller of simulated instructions, in every format", function()
    support.need("valgrind", require("pmclua.simulate.valgrind").path())
    local words = { "--simulate", "--why", "--output", folder .. "/g.sarif", "--", folder .. "/slow" }
    local found = gate("valgrind_instructions <= +1%", unpack(words))
    assert.equal(3, found.status, found.out .. found.err)
    assert.matches("gate: cause, new: valgrind::instructions: [%d,]+ more %(%+%d+ %%%): [%d.]+ %% of it in "
      .. "`parse` %(prog%.c:13%), which calls `work` 26 times instead of 20, called by `main`", found.err)
    local sarif = json.decode(support.read(folder .. "/g.sarif"))
    local result = sarif.runs[1].results[1]
    local place = result.locations[1].physicalLocation
    assert.same({ "2.1.0", "error", "prog.c", "%SRCROOT%" }, { sarif.version, result.level,
      place.artifactLocation.uri, place.artifactLocation.uriBaseId })
    assert.equal(13, place.region.startLine)
    assert.matches("called by `main`", result.message.text, 1, true)
  end)

  -- What is said of a change from one text of a program to another.
  local function told_of(before, after, flags)
    support.need("valgrind", require("pmclua.simulate.valgrind").path())
    for name, code in pairs { small = before, big = after } do
      support.write(("%s/%s/p.c"):format(folder, name), code)
      assert(os.execute(("cd %s/%s && cc -g -O1 %s -o p p.c"):format(folder, name, flags or "-static")) == 0)
    end
    local found = support.pmclua({ "gate", "--against", "small/p", "--simulate", "--why", "--quiet", "-l",
      "valgrind_instructions <= +1%", "--", "big/p" }, { folder = folder })
    assert.equal(3, found.status, found.out .. found.err)
    return (found.out .. found.err):match "%% of it in ([^\n;]*)"
  end

  local COPIED = [[
static volatile long sink;
static inline void inner(long n) {
  for (long i = 0; i < n; i++)
    sink += i;
}
__attribute__((noinline)) void outer(long n) {
  sink = n;
  inner(n);
}
int main(void) { outer(3000L); return 0; }
]]

  it("names a function that was copied into its caller, as the source has it", function()
    assert.equal("`inner (inlined)` (p.c:4), called by `outer`",
      told_of(COPIED, (COPIED:gsub("sink %+= i;", "sink += i * sink %% 7;"))))
  end)

  it("leads what functions are given more to do by back to who gives it", function()
    assert.equal("`main` (p.c:10), whose calls of `outer` cost more",
      told_of(COPIED, (COPIED:gsub("3000L", "9000L"))))
  end)

  local GROWING = [[
#include <stdlib.h>
static char *text;
static long room, used;
__attribute__((noinline)) void grow(void) {
  room = room * 2 + 16;
  text = realloc(text, room);
}
__attribute__((noinline)) void append(char c) {
  if (used == room)
    grow();
  text[used++] = c;
}
int main(void) {
  for (int i = 0; i < 4000; i++)
    append('a');
  return text[9] != 'a';
}
]]

  it("names the program's function where it has no debug information", function()
    assert.equal("`append`, which calls `grow` 250 times instead of 8, called by `main`",
      told_of(GROWING, (GROWING:gsub("room %* 2", "room")), "-g0"))
  end)

  it("leads what a library's functions cost back to the line of the program that makes it", function()
    assert.matches("^`grow` %(p.c:5%), which calls `realloc` 250 times instead of 8, called by `append`$",
      told_of(GROWING, (GROWING:gsub("room %* 2", "room"))))
    local steady = GROWING:gsub("room %* 2 %+ 16", "room + 64")
    assert.matches("^`append` %(p.c:9%), which calls `grow` 500 times instead of 63, called by `main`$",
      told_of(steady, (steady:gsub("used == room", "used %% 8 == 0"))))
  end)

  it("names the function of page faults, and says what does not fit into the budget", function()
    local found = gate("page_faults <= +1%", "--why", "--format", "json", "--", folder .. "/large")
    assert.equal(3, found.status, found.out .. found.err)
    local cause = json.decode(found.out).causes[1]
    local part = cause.parts[1]
    assert.same({ "page-faults", "main", 19 }, { cause.event, part["function"], part.line })
    assert.is_true(part.low > 150 and part.high < 250)
    found = gate("page_faults <= +1%", "--why", "--budget", "1ms", "--format", "markdown", "--",
      folder .. "/large")
    assert.matches("not looked into: page-faults by function: it would take", found.out, 1, true)
  end)

  it("says what cannot be told of kernels", function()
    support.need(support.have "cc", "no C compiler")
    local code = [[
      #include <stdint.h>
      static void spin(uint64_t n) { for (volatile uint64_t i = 0; i < n; i++) ; }
      void less(void *state, uint64_t n) { (void)state; spin(n); }
      void more(void *state, uint64_t n) { (void)state; spin(3 * n); }]]
    local less = pmc.kernel { symbol = "less", code = code }
    local experiment = pmc.experiment { events = "task-clock", gate = { "task_clock <= +50%" },
      against = "less", workloads = { less, pmc.kernel { symbol = "more", code = code } } }
    local failed = experiment:gate(experiment:run { quiet = true, store = false },
      { why = true, budget = "20s", quiet = true })
    assert.same({ "fail", { "valgrind::instructions by function: Valgrind tells that of commands alone" } },
      { failed.state, failed.causes[1].absent })
  end)

  it("looks for nothing where all limits hold", function()
    local found = gate("page_faults <= +900%", "--why", "--format", "json", "--", folder .. "/slow")
    assert.same({ 0, {} }, { found.status, json.decode(found.out).causes })
  end)

  it("is what --budget and --old-program go with", function()
    assert.equal(2, gate("page_faults <= 1", "--budget", "1s", "--", "true").status)
    assert.equal(2, gate("page_faults <= 1", "--why", "--old-program", "old", "--", "true").status)
    local stored = { "gate", "a.jsonl", "b.jsonl", "--old-program", "old", "-l", "page_faults <= 1" }
    assert.equal(2, support.pmclua(stored).status)
  end)

  it("looks at the programs of a layout where the build draws them, and leaves these there", function()
    support.need("valgrind", require("pmclua.simulate.valgrind").path())
    for name, rounds in pairs { a = 20, b = 26 } do
      require("lfs").mkdir(folder .. "/" .. name)
      support.write(folder .. "/" .. name .. "/rounds.h",
        ("#define ROUNDS %d\n#define PAGES 1\n"):format(rounds))
    end
    local build = "cc -g -O1 -static -include rounds.h -falign-functions=$(expr 16 + {seed} % 3 '*' 16) "
      .. "-o prog ../prog.c"
    local found = support.pmclua({ "gate", "--against-dir", "../a", "--build", build, "-r", "6", "--quiet",
      "-l", "valgrind_instructions <= +1%", "--why", "--", "./prog" }, { folder = folder .. "/b" })
    assert.equal(3, found.status, found.out .. found.err)
    assert.matches("`parse` %(prog.c:13%), which calls `work` 26 times instead of 20.*"
      .. "these are the programs of the layout that differs most, seed %d+", found.out)
  end)

  describe("with stored results", function()
    support.need("valgrind", require("pmclua.simulate.valgrind").path())
    local function count(name, file)
      assert.equal(0, support.pmclua({ "instructions", "--name", "p", "--store", folder .. "/" .. file, "--",
        "./" .. name }, { folder = folder }).status)
    end
    local function told(...)
      return support.pmclua({ "gate", folder .. "/old.jsonl", folder .. "/new.jsonl", "-l",
        "valgrind_instructions <= +1%", "--why", ... }).out
    end
    local cause = "`parse` %(prog.c:13%), which calls `work` 26 times instead of 20, called by `main`"

    it("runs both programs where they are what was counted, or where a copy is", function()
      built("prog", 20, 1)
      count("prog", "old.jsonl")
      assert.equal(0, os.execute(("cd %s && cp prog kept"):format(folder)))
      built("prog", 26, 1)
      count("prog", "new.jsonl")
      assert.matches("counted with %S*/prog of hash %x+, which is another program now %(%x+%); keep "
        .. "it, and say where it is: %-%-old%-program FILE", told())
      local found = told("--old-program", folder .. "/kept")
      assert.matches(cause, found)
      assert.is_nil(found:find("to the byte", 1, true))
      built("other", 20, 2)
      found = told("--old-program", folder .. "/other")
      assert.matches(cause, found)
      assert.matches("other is not, to the byte, the program that the baseline was counted with", found, 1,
        true)
      assert.matches("nothing: there is no such file", told("--old-program", "nothing"), 1, true)
      os.remove(folder .. "/prog")
      assert.matches("the new result was counted with %S* of hash %x+, which is no longer there; count again",
        told("--old-program", folder .. "/kept"))
    end)

    it("takes what `pmclua stat` counted, which passes its own input on", function()
      for name, rounds in pairs { old = 20, new = 26 } do
        require("lfs").mkdir(folder .. "/" .. name .. "-side")
        built(name .. "-side/prog", rounds, 1)
        support.pmclua({ "stat", "-e", "valgrind::instructions", "-r", "2", "--store", folder .. "/" .. name
          .. "-stat.jsonl", "--", "./prog" }, { folder = folder .. "/" .. name .. "-side" })
      end
      assert.matches(cause, support.pmclua({ "gate", folder .. "/old-stat.jsonl", folder .. "/new-stat.jsonl",
        "-l", "valgrind_instructions <= +1%", "--why" }).out)
    end)
  end)
end)

describe("experiment:gate", function()
  -- Another seed, another answer: what a limit of times must survive.
  local function experiment(seed, cost)
    local calls = 0
    local e = pmc.experiment { workloads = { old = "true", new = "true" }, events = "duration_time",
      gate = "duration_time <= +3%", against = "old", seed = seed, repetitions = 6, warmup = 0 }
    local made = require "tests.support.results"
    local function played(factor)
      local header = made.header { workloads = { { name = "old", kind = "command", per = "run" },
        { name = "new", kind = "command", per = "run" } }, factors = {},
        cells = { { workload = "old", levels = {} }, { workload = "new", levels = {} } },
        events = { made.event("duration_time", { unit = "ns", tool = "wall_ns" }) }, pass_events = { {} },
        against = { workload = "old" }, gate = { "duration_time <= +3%" } }
      local records = {}
      for i = 1, 6 do
        for cell, name in ipairs { "old", "new" } do
          records[#records + 1] = made.record({}, { workload = name, levels = {}, cell = cell, index = i,
            order = #records + 1, wall_ns = (cell == 2 and factor or 1) * (1000000 + i) })
        end
      end
      return made.complete(header, records)
    end
    local experiments = require "pmclua.experiment"
    local override = experiments.override
    experiments.override = function(_, changes)
      calls = calls + 1
      assert.equal(seed + 1, changes.seed)
      return { run = function() return played(cost) end }
    end
    local ok, found = pcall(function() return e:gate(played(1.1), { quiet = true }) end)
    experiments.override = override
    e:plan()
    assert(ok, found)
    return found, calls
  end

  it("fails by times only where a second run says so too, and shows both", function()
    local found, calls = experiment(3, 1.2)
    assert.same({ "fail", 3, 1 }, { found.state, found:status(), calls })
    assert.matches("fails: 1.10 ms, was 1.00 ms (+10 %, interval +10 % … +10 %); and again, tried once more: "
      .. "1.20 ms, was", found:summary(), 1, true)
  end)

  it("is undecided where the second run holds, which --strict fails", function()
    local found = experiment(4, 1.0)
    assert.same({ "undecided", 0, 3 }, { found.state, found:status(), found:status(true) })
    assert.matches("undecided: it failed at first: 1.10 ms, was 1.00 ms (+10 %, interval +10 % … +10 %); "
      .. "and not again, "
      .. "tried once more: holds: ", found:summary(), 1, true)
    assert.equal("pass", json.decode(found:report { format = "json" }).limits[1].again.state)
  end)
end)
