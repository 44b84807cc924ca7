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
    assert.equal(3, found.status)
    assert.matches("gate: cause, new: valgrind::instructions: [%d,]+ more %(%+%d+ %%%): [%d.]+ %% of it in "
      .. "`work` %(prog%.c:[67]%), called by `parse`, 26 calls instead of 20", found.err)
    local sarif = json.decode(support.read(folder .. "/g.sarif"))
    local result = sarif.runs[1].results[1]
    local place = result.locations[1].physicalLocation
    assert.same({ "2.1.0", "error", "prog.c", "%SRCROOT%" }, { sarif.version, result.level,
      place.artifactLocation.uri, place.artifactLocation.uriBaseId })
    assert.is_true(place.region.startLine == 6 or place.region.startLine == 7)
    assert.matches("called by `parse`", result.message.text, 1, true)
  end)

  it("names the function of page faults, and says what does not fit into the budget", function()
    local found = gate("page_faults <= +1%", "--why", "--format", "json", "--", folder .. "/large")
    assert.equal(3, found.status)
    local cause = json.decode(found.out).causes[1]
    local part = cause.parts[1]
    assert.same({ "page-faults", "main", 19 }, { cause.event, part["function"], part.line })
    assert.is_true(part.low > 150 and part.high < 250)
    found = gate("page_faults <= +1%", "--why", "--budget", "1ms", "--format", "markdown", "--",
      folder .. "/large")
    assert.matches("not looked into: page-faults by function: it would take", found.out, 1, true)
  end)

  it("looks for nothing where all limits hold", function()
    local found = gate("page_faults <= +900%", "--why", "--format", "json", "--", folder .. "/slow")
    assert.same({ 0, {} }, { found.status, json.decode(found.out).causes })
  end)

  it("goes with --against, and --budget goes with it", function()
    assert.equal(2, support.pmclua({ "gate", "x.jsonl", "--why", "-l", "page_faults <= 1" }).status)
    assert.equal(2, gate("page_faults <= 1", "--budget", "1s", "--", "true").status)
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
