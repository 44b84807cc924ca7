-- Where threads go: likwid-pin's words on machines of several kinds, and on this one.

local parts = require "pmclua.host.parts"
local pinning = require "pmclua.workload.pinning"
local pmc = require "pmclua"
local support = require "tests.support"
local topologies = require "tests.support.topologies"
local topology = require "pmclua.host.topology"

local function order(machine, words, allowed)
  local found = pinning.order(words, parts.read(topologies[machine]()), allowed and topology.parse(allowed))
  return table.concat(found, " ")
end

local function refusal(machine, words, allowed)
  local ok, problem = pcall(order, machine, words, allowed)
  assert.is_false(ok, words)
  return problem.why
end

describe("threads are placed", function()
  it("one a core, by cores that are near each other", function()
    assert.equal("0 1 2 3 4 5 6 7", order("xeon", "cores"))
    assert.equal("0 1 2", order("xeon", "cores:3"))
    assert.equal("0 2 4 5 6 7", order("hybrid", "cores"))
    assert.equal("0 1 2 3", order("arm", "cores"))
  end)

  it("as neighbours, or apart", function()
    assert.equal("0 8 1 9 2", order("xeon", "compact:5"))
    assert.equal("0 4 1 5 2 6 3 7 8 12 9 13 10 14 11 15", order("xeon", "scatter"))
    assert.equal("0 4 1", order("xeon", "S:scatter:3"))
    assert.equal("0 4 1 5", order("epyc", "C:scatter:4"))
    assert.equal("0 1 2 3", order("arm", "scatter"))
  end)

  it("by the number within a part, the first thread of each core first", function()
    assert.equal("4 5 6 7", order("xeon", "S1:0-3"))
    assert.equal("4 12", order("xeon", "M1:0,4"))
    assert.equal("7 8 9", order("xeon", "N:7-9"))
    assert.equal("4 12", order("epyc", "C1:0,4"))
    assert.equal("2", order("xeon", "D0:2"))
    assert.equal("0 1 4 5", order("xeon", "S0:0-1@S1:0-1"))
  end)

  it("by likwid's expressions, of neighbours", function()
    assert.equal("0 8 1 9", order("xeon", "E:S0:4"))
    assert.equal("0 1 2 3", order("xeon", "E:N:4:1:2"))
    assert.equal("4 12 6 14", order("xeon", "E:M1:4:2:4"))
  end)

  it("on CPUs that the job may use, only", function()
    assert.equal("9 10 12", order("xeon", "cores", "9-10,12"))
    assert.equal("9 12 10", order("xeon", "scatter", "9-10,12"))
    assert.equal("1 9", order("xeon", "compact", "1,9"))
    assert.equal("1", order("xeon", "cores", "1,9"))
    assert.equal("10", order("xeon", "S0:1", "9-10,12"))
  end)
end)

describe("what is not possible is refused, with what is:", function()
  it("more threads than there are", function()
    assert.match("9 is not possible: this process may use 8 cores", refusal("xeon", "cores:9"))
    assert.match("S0 has no CPU 8: 8 CPUs .* counted from 0 %(0%-3,8%-11%)", refusal("xeon", "S0:6-8"))
    assert.match("5 is not possible: this process may use 4 CPUs", refusal("xeon", "E:S0:5:1:2"))
    assert.match("0 is not possible", refusal("xeon", "scatter:0"))
  end)

  it("parts that are not there", function()
    assert.match("no S2 among .* only S0 and S1", refusal("xeon", "S2:0"))
    assert.match("no M1 among .* only M0", refusal("xeon", "M1:0", "0-3"))
    assert.match("dies of CPUs are not known here: sysfs has no topology/die_id", refusal("arm", "D0:0"))
    assert.match("NUMA nodes of CPUs are not known", refusal("arm", "M0:0"))
    assert.match("'X0' names no part", refusal("xeon", "X0:0"))
  end)

  it("what is no list", function()
    for _, words in ipairs { "", "near", "cores:x", "S0:", "E:S0", "E:S0:4:2", "S0:0-1@", "cores,scatter" } do
      assert.match("is not a list of CPUs", refusal("xeon", words))
    end
    assert.match("runs backwards", refusal("xeon", "S0:3-1"))
    assert.match("chunk of 3 does not fit", refusal("xeon", "E:N:2:3:2"))
  end)

  it("cores that sysfs does not know", function()
    local bare = support.folder()
    support.write(bare .. "/devices/system/cpu/online", "0-1\n")
    local ok, problem = pcall(pinning.order, "cores", parts.read(bare))
    assert.is_false(ok)
    assert.match("which CPUs share a core is not known: sysfs has no topology/core_cpus_list", problem.why)
  end)
end)

local CODE = [[
  #define _GNU_SOURCE
  #include <sched.h>
  #include <stdint.h>
  #include <stdio.h>
  void where(void *state, uint64_t iterations) {
    (void)state;
    (void)iterations;
    printf("%d\n", sched_getcpu());
    fflush(stdout);
  }]]

-- The CPU of each thread, in a file that the runner's standard output goes to.
local function cpus_of_threads(pin, threads)
  local folder = support.folder()
  support.write(folder .. "/e.lua", ([[
    local pmc = require "pmclua"
    return pmc.experiment { events = "page-faults", repetitions = 1, iterations = 1, pin = %q,
      workloads = { pmc.kernel { symbol = "where", threads = %d, stdout = "inherit", code = %q } } }
  ]]):format(pin, threads, CODE))
  return support.run({ support.program, folder .. "/e.lua", "--store", folder .. "/r.jsonl", "--output",
    folder .. "/report" }, { folder = folder }), folder
end

describe("on this machine", function()
  it("the threads of a kernel are on the CPUs in the order in which they are written", function()
    support.need(#topology.online() > 1 and #(parts.allowed().cpus or {}) > 1, "two CPUs")
    local run, folder = cpus_of_threads("1,0", 1)
    assert.equal(0, run.status, run.err)
    assert.match("^[1\n]+$", run.out)
    local how = support.pmclua { "report", "--how", folder .. "/r.jsonl" }
    assert.match("CPUs +1,0\n", how.out)
  end)

  it("a kernel that asks for more cores than there are is refused before it runs", function()
    local cores = #assert(pinning.cpus "cores")
    local run = cpus_of_threads("cores", cores + 1)
    assert.equal(1, run.status)
    assert.match("cannot have a core each: this process may use " .. cores .. " core", run.err)
  end)

  it("a command runs on the CPUs, and OpenMP gets their order where that is asked for", function()
    local function run(pin)
      return support.pmclua { "stat", "-e", "page-faults", "--pin", pin, "--", "sh", "-c",
        "grep Cpus_allowed_list /proc/self/status; echo $OMP_PLACES $OMP_PROC_BIND" }
    end
    local first = assert(pinning.cpus "cores:1")[1]
    assert.match(("Cpus_allowed_list:%%s+%d\n%%s*\n"):format(first), run("cores:1").out)
    assert.match(("\n{%d} true\n"):format(first), run("omp:cores:1").out)
    local refused = run "scatter"
    assert.equal(125, refused.status)
    assert.match("say how many %(scatter:4%), or omp:scatter", refused.err)
  end)

  it("CPUs that this process may not use are refused, by name", function()
    support.need(#topology.online() > 1 and support.have "taskset", "two CPUs and taskset")
    local run = support.run { "taskset", "-c", "0", support.program, "stat", "--pin", "0,1", "--", "true" }
    assert.equal(125, run.status)
    assert.match("this process may not use CPU 1, only 0", run.err)
    assert.matches("pin: 'near' is not a list of CPUs", support.message_of(pmc.experiment,
      { workloads = { "true" }, events = "page-faults", pin = "near" }), 1, true)
  end)
end)
