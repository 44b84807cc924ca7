-- The processes that repetitions of kernels run in: what varies between them is in the verdicts.

local json = require "dkjson"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local processes = require "pmclua.experiment.processes"
local results = require "tests.support.results"
local support = require "tests.support"

-- A kernel whose work is drawn once in each process; and one that writes its process's number down.
local SOURCE = [[
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/random.h>
#include <pmclua_kernel.h>
void *drawn_setup(const struct pmclua_params *params)
{
    static unsigned char byte;
    if (getrandom(&byte, 1, 0) != 1) return pmclua_fail(params, "no random number");
    return &byte;
}
void drawn(void *state, uint64_t n)
{
    uint64_t sum = 0;
    while (n--) for (int i = 0; i < 100 + *(unsigned char *)state; i++) pmclua_keep(sum += i);
}
void placed(void *state, uint64_t n)
{
    int cpu = sched_getcpu();
    cpu_set_t may;
    sched_getaffinity(0, sizeof may, &may);
    FILE *file = fopen(getenv("TOLD"), "a");
    (void)state;
    fprintf(file, "%d %d\n", cpu, CPU_COUNT(&may));
    while (n--) pmclua_keep(n);
    fclose(file);
}
void *longer_setup(const struct pmclua_params *params) { return drawn_setup(params); }
void longer(void *state, uint64_t n) { drawn(state, 50 * n); }
void told(void *state, uint64_t n)
{
    FILE *file = fopen(getenv("TOLD"), "a");
    (void)state;
    fprintf(file, "%d %lu\n", (int)getpid(), (unsigned long)n);
    fclose(file);
}
]]

local function kernel(name, symbol)
  return pmc.kernel { name = name, code = SOURCE, symbol = symbol or "drawn" }
end

local function compare(options, b)
  return pmc.compare(kernel "a", b or kernel "b",
    support.merged({ events = "duration_time", quiet = true, store = false, iterations = 100 }, options))
end

local function need() support.need(support.have "cc", "no C compiler") end

-- The processes of a cell's repetitions, in their order.
local function processes_of(cell)
  local block = cell.columns.passes[1]
  return support.sequence(block.n, function(i) return block.process and block.process[i] or 0 end)
end

describe("kernels that are compared", function()
  it("run in 15 processes each, the same number of repetitions in each", function()
    need()
    local r = compare { repetitions = 30 }
    for cell in r:cells() do
      assert.same(support.sequence(30, function(i) return math.ceil(i / 2) end), processes_of(cell))
      assert.same({ 15, "processes" }, { cell:clusters() })
    end
    assert.matches("30 pairs in 15 processes, interleaved", tostring(r), 1, true)
  end)

  it("run in as many as the script says, one included, and the report has its doubts of one", function()
    need()
    local three = compare { repetitions = 6, processes = 3 }
    assert.same({ 1, 1, 2, 2, 3, 3 }, processes_of(three:list()[1]))
    local one = compare({ repetitions = 6, processes = 1 }, kernel("b", "longer"))
    assert.is_nil((one:list()[1]:clusters()))
    assert.matches("all repetitions of a kernel are of one process", tostring(one), 1, true)
    assert.matches("slower", tostring(one), 1, true)
    assert.is_nil(tostring(one):find "SLOWER")
  end)

  it("are of another process once a run is resumed, or files with the same kernel are merged", function()
    need()
    local folder = support.folder()
    local function measured(count, name, resume)
      local path = ("%s/%s.jsonl"):format(folder, name)
      return support.experiment({ events = "duration_time", workloads = kernel "a", seed = 5, warmup = 0,
        iterations = 100, repetitions = count }, { [resume and "resume" or "store"] = path }), path
    end
    local once, path = measured(4, "a")
    assert.is_nil((once:list()[1]:clusters()))
    local twice = measured(7, "a", true)
    assert.same({ 0, 0, 0, 0, 1, 1, 1 }, processes_of(twice:list()[1]))
    assert.matches("7 repetitions in 2 processes", tostring(twice), 1, true)
    local merged, _, other = folder .. "/merged.jsonl", measured(2, "b")
    pmc.stored.merge({ by = "none", path, other }, merged)
    assert.same({ 3, "processes" }, { pmc.load(merged):list()[1]:clusters() })
  end)

  it("have an unrecorded run first in each process, with as many iterations", function()
    need()
    local file = support.folder() .. "/told"
    support.with_env({ TOLD = file }, function()
      pmc.compare(kernel("a", "told"), kernel("b", "told"), { events = "duration_time", repetitions = 6,
        warmup = 0, iterations = 3, quiet = true, store = false })
    end)
    local runs = {}
    for pid, iterations in support.read(file):gmatch "(%d+) (%d+)" do
      runs[pid] = (runs[pid] or 0) + 1
      assert.equal("3", iterations)
    end
    assert.equal(12, #lists.keys(runs))
    for _, count in pairs(runs) do assert.equal(2, count) end
  end)

  it("are not told apart by what their processes happened to draw", function()
    need()
    support.need_unwatched "times are compared"
    -- One of 20 intervals may miss: of repetitions instead of processes, 92 of 100 did.
    local misses = 0
    for seed = 1, 3 do
      local compared = compare { repetitions = 30, iterations = 5000, seed = seed }:compare()
      local found = compared.pairs[1].rows[1].verdict
      assert.is_true(found.high / found.low > 1.02)
      if found.low < 1 and found.high > 1 then break end
      misses = misses + 1
    end
    assert.is_true(misses < 3)
  end)

  -- The CPUs on which the runs of two kernels began, those of a pair of processes in one list.
  local function places_of(cpus)
    local file = support.folder() .. "/placed"
    support.with_env({ TOLD = file }, function()
      pmc.compare(kernel("a", "placed"), kernel("b", "placed"), { events = "duration_time", repetitions = 32,
        processes = 8, warmup = 0, iterations = 3, quiet = true, store = false })
    end)
    local places = {}
    for cpu, may in support.read(file):gmatch "(%d+) (%d+)" do
      places[#places + 1] = cpu
      assert.equal(cpus, tonumber(may))
    end
    -- One unrecorded run of each kernel, and four that are recorded.
    assert.equal(8 * 10, #places)
    return support.sequence(8, function(pair) return { unpack(places, 10 * pair - 8, 10 * pair) } end)
  end

  it("begin on one CPU in each pair of processes, and may leave it", function()
    need()
    local cpus = #require("pmclua.host.parts").allowed().cpus
    support.need(cpus > 1, "one CPU")
    -- What is preempted as it begins may go on elsewhere.
    for try = 1, 3 do
      local are_together = lists.all(places_of(cpus), function(pair)
        return #lists.keys(lists.set(pair)) == 1
      end)
      if are_together then return end
      assert.is_true(try < 3, "in three experiments processes of a pair began on two CPUs")
    end
  end)

  it("each keep their process where one alone is measured", function()
    need()
    local r = pmc.measure(kernel "a",
      { events = "duration_time", repetitions = 12, quiet = true, store = false })
    assert.is_nil((r:cells()():clusters()))
  end)

  it("are of one process where a limit is relative to one of them, and the gate says so", function()
    need()
    local function gate_of(count, limit)
      local r = compare { repetitions = 8, processes = count }
      return r:gate { limits = { limit }, against = "a" }
    end
    local limits = { ["duration_time <= +900%"] = "holds: ", ["duration_time <= -90%"] = "fails: " }
    for limit, words in pairs(limits) do
      local gate = gate_of(1, limit)
      assert.matches(words .. ".*; all repetitions of a kernel are of one process: ", tostring(gate))
      assert.same({ tostring(gate):match "all repetitions.*" }, gate.results[1].doubts)
      assert.same(gate.results[1].doubts, json.decode(gate:report { format = "json" }).limits[1].doubts)
      assert.is_nil(gate_of(8, limit).results[1].doubts)
    end
  end)

  it("say how many processes they had where they are in two files, too", function()
    need()
    local folder = support.folder()
    local function stored(count)
      local path = ("%s/%d.jsonl"):format(folder, count)
      compare { repetitions = 8, processes = count, store = path }
      return path
    end
    local one, four, eight = stored(1), stored(4), stored(8)
    local again = compare { repetitions = 8, processes = 4, store = folder .. "/again.jsonl" }
    local function assert_title(title, ...)
      assert.matches(title .. ", not interleaved", (tostring(pmc.load { ... })))
    end
    assert_title("8 in 8 processes against 8 repetitions in 4 processes", four, eight)
    assert_title("8 in 8 processes against 8 repetitions in one process", one, eight)
    assert_title("8 repetitions each in 4 processes", four, again.path)
  end)

  -- A run is cut off after so many records, and resumed.
  local function check_resumed(records)
    local path = support.folder() .. "/r.jsonl"
    local experiment = pmc.experiment { events = "duration_time", workloads = { kernel "a", kernel "b" },
      baseline = "a", processes = 15, seed = 1 }
    local count = 0
    pcall(experiment.run, experiment, { quiet = true, store = path, each = function()
      count = count + 1
      if count == records then error "enough" end
    end })
    local cut = pmc.load(path)
    local planned = cut.header.repetitions
    assert.is_true(planned > 30 and planned <= 300)
    local whole = experiment:run { quiet = true, resume = path }
    assert.equal(planned, whole.header.repetitions)
    assert.equal(planned, pmc.load(path).header.repetitions)
    for cell in whole:cells() do assert.equal(planned, cell.repetitions) end
  end

  it("go on where a run of short repetitions was cut off, and say how many there are", function()
    need()
    check_resumed(60)
  end)

  it("go on where it was cut off in its first processes", function()
    need()
    check_resumed(10)
  end)

  it("begin new processes where a stored run is resumed", function()
    need()
    local path, experiment = support.folder() .. "/r.jsonl", nil
    local function run(options)
      experiment = pmc.experiment { events = "duration_time", workloads = { kernel "a", kernel "b" },
        baseline = "a", repetitions = 8, warmup = 1, seed = 1, iterations = 10 }
      return experiment:run(support.merged({ quiet = true }, options))
    end
    run { store = path }
    local text = support.read(path)
    local kept = {}
    for line in text:gmatch "[^\n]+\n" do
      if not line:find('"index":[5-8]') and not line:find '"kind":"end"' then kept[#kept + 1] = line end
    end
    support.write(path, table.concat(kept))
    local whole = run { resume = path }
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8 }, processes_of(whole:list()[1]))
  end)
end)

describe("how many processes there are", function()
  local function plan(count)
    local cells = support.sequence(count, function(i)
      return { index = i, workload = { in_runner = true }, levels = {} }
    end)
    return { cells = cells, passes = { {} } }
  end

  -- Repetitions of one process, where a process takes so long to start and set up, and a run so long.
  local function size_of(most, start_ns, length_ns, declaration)
    local session = { renew = function() end, start_ahead = function() end, runner_of = function() end }
    local planned = plan(2)
    local drawn = processes.new(declaration or {}, planned, most, session)
    if not drawn then return nil end
    for _, cell in ipairs(planned.cells) do drawn:note_trial(cell, start_ns, length_ns, 1) end
    local step, job = { cell = planned.cells[1], index = most }, { workload = 1 }
    drawn:enter(step, job)
    return most / step.process
  end

  it("is 15 where that takes little time, whatever the number of repetitions", function()
    assert.same({ 2, 6, 1 }, { size_of(30, 1e6, 1e6), size_of(90, 1e6, 1e6), size_of(12, 1e6, 1e6) })
  end)

  it("is less where setting up takes long, and one where too few could be drawn", function()
    assert.equal(3, size_of(30, 250e6, 1e6))
    assert.equal(30, size_of(30, 2e9, 1e6))
    assert.equal(2, size_of(30, 2e9, 1e6, { processes = 15 }))
  end)

  -- Pairs that are made of cells whose longest repetition takes so long.
  local function pairs_of(length_ns, declaration, workload, levels)
    local session = { renew = function() end, start_ahead = function() end, runner_of = function() end }
    local planned = plan(3)
    planned.cells[3].levels = levels or {}
    for key, value in pairs(workload or {}) do planned.cells[3].workload[key] = value end
    declaration = support.merged({ baseline = "a", is_count_open = true, repetitions = 30 }, declaration)
    local drawn = processes.new(declaration, planned, 30, session)
    for i, each in ipairs(planned.cells) do
      drawn:note_trial(each, 1e6, 1e9, 8)
      drawn:note_trial(each, 1e6, length_ns / i, 16)
      drawn:note_trial(each, 1e6, 1e9, 16)          -- of several with as many iterations the fastest counts
    end
    drawn:enter({ cell = planned.cells[1], index = 1 }, { workload = 1 })
    return 30 + drawn:more()
  end

  it("holds more pairs of short repetitions where the script leaves their number open", function()
    assert.same({ 300, 240, 120, 60, 30, 30 },
      { pairs_of(1e4), pairs_of(2.5e5), pairs_of(5e5), pairs_of(1e6), pairs_of(2e6), pairs_of(1e9) })
    assert.equal(30, pairs_of(1e4, { is_count_open = false }))
    assert.equal(30, pairs_of(1e4, { iterations = 100 }))
    assert.equal(310, pairs_of(1e4, { processes = 310 }))
    assert.equal(30, pairs_of(1e4, { sample = { "cycles" } }))
    assert.equal(30, pairs_of(1e4, { layout = "randomise", layout_runs = 2 }))
    assert.equal(30, pairs_of(1e4, nil, { thread_count = function() return 2 end }))
    assert.equal(30, pairs_of(1e4, nil, { in_runner = false }))
  end)

  it("holds more pairs where limits are relative to a cell of the run, too", function()
    assert.equal(300, pairs_of(1e4, { baseline = false, against = "a" }))
    assert.equal(30, pairs_of(1e4, { baseline = false }))
  end)

  it("does not where each repetition takes what is done before and after it", function()
    local function hook() end
    assert.equal(300, pairs_of(1e4, { setup = hook, cleanup = hook }))
    assert.equal(30, pairs_of(1e4, { prepare = hook }))
    assert.equal(30, pairs_of(1e4, { conclude = hook }))
    assert.equal(300, pairs_of(1e4, nil, nil, { cold_caches = false }))
    assert.equal(30, pairs_of(1e4, nil, nil, { cold_caches = true }))
  end)

  it("is one of kernels with too few repetitions for an interval", function()
    assert.is_nil(size_of(5, 1e6, 1e6))
  end)
end)

describe("a stored repetition", function()
  it("says its process, packed or not", function()
    local header = results.header { repetitions = 40 }
    local records = results.records { support.sequence(40, function(i) return 1000 + i end) }
    for i, record in ipairs(records) do record.process = math.ceil(i / 20) end
    local path = support.folder() .. "/p.jsonl"
    local writer = require("pmclua.store").create(path, header)
    for _, record in ipairs(records) do writer:add(record) end
    writer:finish "complete"
    local read = {}
    require("pmclua.store").open(path).each(function(record) read[record.index] = record.process end)
    assert.same(lists.column(records, "process"), read)
  end)
end)
