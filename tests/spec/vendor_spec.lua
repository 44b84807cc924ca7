-- Vendors' events and metrics from folders of the user's, in the three forms, and from what perf prints; all of them
-- made up (tests/fixtures/vendor/README.md).

local event = require "pmclua.event"
local pmc = require "pmclua"
local support = require "tests.support"

local ICELAKE = { SYSFS_PATH = support.fixture "perf/sysfs/x86_spr", PERF_CPUID = "GenuineIntel-6-6A-6" }
local HYBRID = { SYSFS_PATH = support.fixture "perf/sysfs/hybrid", PERF_CPUID = "GenuineIntel-6-97-2" }
local ARM = { SYSFS_PATH = support.fixture "perf/sysfs/arm64", PERF_CPUID = "0x00000000411fd991" }

-- Without the installed perf: the folder's tables alone.
local function with_tables(folder, machine, check)
  local environment = { PMCLUA_VENDOR = support.fixture("vendor/" .. folder), PATH = "/nonexistent" }
  support.with_env(support.merged(machine, environment), check)
end

local function attr_of(spec)
  local events, problem = event.parse(spec)
  if not events then return problem.message end
  local attr = events[1].attr
  local rest = attr.config1 and (" 0x%x"):format(attr.config1) or ""
  return ("%d:0x%x%s%s"):format(attr.type, attr.config, rest, attr.exclude_kernel == 1 and " user" or "")
end

local function value_of(name, counts)
  local metric = assert(pmc.metrics.named(name), name)
  return metric.evaluate(counts)
end

local COUNTS = { ["TOY_LOADS.ALL"] = 10, ["TOY_LOADS.MISS"] = 2, ["TOY_OFFCORE.FAR"] = 1,
  ["TOY_OLD.NAME"] = 7, duration_time = 2e9 }

describe("a folder of Linux's pmu-events", function()
  it("gives events by name, in either case, with modifiers, terms and groups", function()
    with_tables("linux", ICELAKE, function()
      assert.equal("'z' is not a modifier; modifiers are ukhGHIpPDSWeb", attr_of "toy_loads.all:z")
      assert.equal("4:0x81d0", attr_of "toy_loads.all")
      assert.equal("4:0x81d0 user", attr_of "TOY_LOADS.ALL:u")
      assert.equal("4:0x18410d1", attr_of "TOY_LOADS.MISS")
      assert.equal("4:0x20081d0", attr_of "cpu/TOY_LOADS.ALL,cmask=2/")
      assert.equal("4:0x20081d0", attr_of "TOY_LOADS.ALL/cmask=2/")
      local group = assert(event.parse "{toy_loads.all,toy_loads.miss}:u")
      assert.equal(1, group[2].leader)
      assert.equal("toy_loads.miss", group[2].name)
    end)
  end)

  it("says codes as perf does: registers, fixed counters, 64 bits", function()
    with_tables("linux", ICELAKE, function()
      assert.equal("4:0x1b7 0x10003c0001", attr_of "toy_offcore.far")
      assert.equal("4:0x1cd 0x8", attr_of "toy_latency.gt_8")
      assert.equal("4:0x3c", attr_of "cpu_clk_unhalted.thread")
      assert.equal("4:0xc0", attr_of "inst_retired.any")
    end)
  end)

  it("gives an uncore event of each of its PMUs, in its unit", function()
    with_tables("linux", ICELAKE, function()
      local events = assert(event.parse "unc_toy_reads")
      assert.equal(2, #events)
      assert.equal("unc_toy_reads", events[1].part_of)
      assert.equal(64, events[1].scale)
      assert.equal("Bytes", events[1].unit)
    end)
  end)

  it("is of the CPUs that its mapfile names, and no others", function()
    with_tables("linux", ICELAKE, function()
      assert.is_nil(event.parse "other_event")
    end)
    with_tables("linux", support.merged(ICELAKE, { PERF_CPUID = "GenuineIntel-6-55-3" }), function()
      assert.equal("4:0x99", attr_of "other_event")
      assert.is_nil(event.parse "toy_loads.all")
    end)
    with_tables("linux", support.merged(ICELAKE, { PERF_CPUID = "GenuineIntel-6-55-7" }), function()
      assert.is_nil(event.parse "other_event")
    end)
  end)

  it("has no event whose code is too wide for the PMU, as perf has none", function()
    with_tables("linux", ICELAKE, function()
      assert.equal("TOY_WIDE is umask=0x1ff, and the PMU cpu has umask up to 0xff", attr_of "TOY_WIDE")
      assert.equal("the event 'TOY_ELSEWHERE.X' is of the PMU uncore_nowhere, which is not here",
        attr_of "TOY_ELSEWHERE.X")
    end)
  end)

  it("costs what is broken in a broken file, and names it", function()
    with_tables("linux", ICELAKE, function()
      assert.equal("4:0x21", attr_of "toy_before")
      assert.equal("4:0x23", attr_of "toy_after")
      assert.is_nil(event.parse "toy_broken")
      local problems = table.concat(require("pmclua.vendor").tables().problems, "\n")
      assert.is_truthy(problems:find "broken.json: no valid JSON %(.*; one of its entries is lost")
      assert.is_truthy(problems:find "broken.json: TOY_NO_CODE has no code")
    end)
  end)

  it("takes an architecture's standard events from the files beside the mapfile", function()
    with_tables("linux", ARM, function()
      assert.is_truthy(attr_of "cpu_cycles:u":find ":0x11 user")
      assert.equal(0.5, value_of("toy_ipc", { INST_RETIRED = 1, CPU_CYCLES = 2 }))
      local problems = table.concat(require("pmclua.vendor").tables().problems, "\n")
      assert.is_truthy(problems:find "there is no standard event NOT_STANDARD")
    end)
  end)
end)

describe("the language of formulae", function()
  -- TOY_LOADS.ALL is 10, TOY_LOADS.MISS is 2; times are nanoseconds for whoever asks and seconds in formulae.
  local VALUES = {
    toy_miss_share = 0.2, toy_far = 0.1, toy_if = 20, toy_constant_if = 10, toy_logic = 110,
    toy_precedence = 13,
    toy_functions = 22, toy_numbers = 1018, toy_time = 10 / 1e6 / 2, toy_has = 2, toy_cpuid = 10,
    ["TOY_OLD.NAME"] = 14,
  }
  for name, value in pairs(VALUES) do
    it(("has the value of %s"):format(name), function()
      with_tables("linux", ICELAKE, function() assert.equal(value, value_of(name, COUNTS)) end)
    end)
  end

  it("adds terms, modifiers and PMUs to names, and joins what a name has already", function()
    with_tables("linux", ICELAKE, function()
      assert.same({ "cpu/TOY_LOADS.ALL,cmask=2/", "TOY_LOADS.ALL/cmask=3/", "TOY_LOADS.ALL:u",
        "cpu/event=0xd0,umask=0x81/k" }, pmc.metrics.named("toy_terms").events)
      assert.same({ "cpu/TOY_LOADS.MISS,umask=0x11/" }, pmc.metrics.named("toy_joined").events)
      assert.same({ "topdown-retiring", "msr/tsc/" }, pmc.metrics.named("toy_sysfs").events)
      assert.same({ "tsc" }, pmc.metrics.named("toy_upper").events)
    end)
  end)

  it("counts an uncore event on all of its PMUs, without the scale that formulae do not know", function()
    with_tables("linux", ICELAKE, function()
      local metric, counts = pmc.metrics.named "toy_bytes", {}
      for i, one in ipairs(event.parse(metric.events[1])) do
        assert.equal(1, one.scale)
        counts[one.field] = 100 * i
      end
      assert.equal((100 + 200) * 64 / 2, metric.evaluate(counts))
    end)
  end)

  it("knows over how many counters an uncore event is added up; of others the target decides that", function()
    with_tables("linux", ICELAKE, function()
      local function each(count) return function() return count end end
      assert.equal(100, value_of("toy_counters", each(100)))              -- (100 + 100) / 2
      local value, why = value_of("toy_cpus", each(100))
      assert.is_nil(value)
      assert.equal("no formula knows how many CPUs are counted: aggr_nr(TOY_LOADS.ALL) asks for it", why)
    end)
  end)

  it("takes formulae of any length, as Intel writes them", function()
    local expression = require "pmclua.metric.expression"
    local sum = ("(a+a*a)+"):rep(1900) .. "0"
    local product = ("(%s)*"):format(sum):rep(40) .. "1"
    assert.is_true(#product > 500000)
    assert.is_truthy(expression.parse(product))
    local _, why = expression.parse(("a+"):rep(2000) .. "0")
    assert.equal("more than 2000 of its operators stand above each other", why.message)
  end)

  it("has no value where it divides by 0, lacks an event or is no formula, and says why", function()
    with_tables("linux", ICELAKE, function()
      local function why(name)
        local value, reason = value_of(name, COUNTS)
        assert.is_nil(value)
        return reason
      end
      assert.equal("TOY_LOADS.MISS - TOY_LOADS.MISS is 0", why "toy_division")
      assert.equal("there is no event 'TOY_NOTHING' here", why "toy_absent")
      assert.is_truthy(why("toy_mistake"):find "not understood: expected a value, at byte 18")
      assert.equal("toy_cycle_a is defined by itself", why "toy_cycle_a")
    end)
  end)

  it("opens no event of a branch that a constant decides", function()
    with_tables("linux", ICELAKE, function()
      assert.same({ "TOY_LOADS.ALL" }, pmc.metrics.named("toy_constant_if").events)
      assert.same({ "TOY_LOADS.MISS" }, pmc.metrics.named("toy_has").events)
    end)
  end)

  it("knows whether a value is a problem", function()
    with_tables("linux", ICELAKE, function()
      local threshold = pmc.metrics.named("toy_far").threshold
      assert.equal("toy_far > 0.05 & toy_miss_share > 0.2", threshold.text)
      assert.is_false(threshold.evaluate(COUNTS))                      -- the share is 0.2, not above
      local more = support.merged(COUNTS, { ["TOY_LOADS.MISS"] = 3, ["TOY_OFFCORE.FAR"] = 2 })
      assert.is_true(threshold.evaluate(more))
      assert.is_nil((threshold.evaluate { ["TOY_LOADS.ALL"] = 10 }))
    end)
  end)

  it("is stored as data that needs no table", function()
    local stored, text
    with_tables("linux", ICELAKE, function()
      local metric = pmc.metrics.named "toy_far"
      stored, text = metric.stored, metric.source
      assert.equal("toy_miss_share", metric.parent)
      assert.is_true(metric.apart)
    end)
    for _, metric in ipairs { pmc.metrics.restore(stored), assert(pmc.metrics.parse(text)) } do
      assert.equal(0.1, metric.evaluate(COUNTS))
      assert.equal("%", metric.unit)
      assert.is_false(metric.threshold.evaluate(COUNTS))
    end
  end)
end)

describe("a folder of intel/perfmon", function()
  it("gives its events, and its metrics in perf's names and language", function()
    with_tables("perfmon", ICELAKE, function()
      assert.equal("4:0x81d0", attr_of "toy_loads.all")
      local metric = pmc.metrics.named "misses_per_cycle"
      assert.same({ "TOY_LOADS.MISS/cmask=2,inv=1/", "CPU_CLK_UNHALTED.THREAD:k", "duration_time" },
        metric.events)
      assert.equal("per cycle", metric.unit)
      assert.equal(1.5, metric.evaluate { ["TOY_LOADS.MISS/cmask=2,inv=1/"] = 5,
        ["CPU_CLK_UNHALTED.THREAD:k"] = 10, duration_time = 1e9 })
      assert.is_nil(pmc.metrics.named "of_another")
    end)
  end)

  it("gives percentages as shares, with thresholds in percent, and leads shares of slots by slots", function()
    with_tables("perfmon", ICELAKE, function()
      local bound = pmc.metrics.named "tma_toy_bound"
      local counts = { topdown_be_bound = 1, topdown_retiring = 3, slots = 4, ["TOY_LOADS.MISS"] = 2,
        ["TOY_LOADS.ALL"] = 10 }
      assert.equal(0.25, bound.evaluate(counts))
      assert.is_true(bound.threshold.evaluate(counts))
      assert.same({ "topdown-be-bound", "topdown-retiring", "slots" }, bound.events)
      local misses = pmc.metrics.named "tma_toy_misses"
      assert.equal(0.1, misses.evaluate(counts))
      assert.equal("tma_toy_bound", misses.parent)
      assert.is_true(misses.threshold.evaluate(counts))
      assert.same({ "tma_toy_bound" }, pmc.metrics.group "topdownl1")
    end)
  end)

  it("gives the tree by its levels and parents, without the facts and bottlenecks beside it", function()
    with_tables("perfmon", ICELAKE, function()
      local tree = require "pmclua.metric.tree"
      assert.same({ "tma_toy_bound" }, tree.roots(pmc.metrics))
      assert.same({ "tma_toy_misses" }, tree.children(pmc.metrics, "tma_toy_bound"))
      assert.same({ "tma_bottleneck_toys", "tma_toy_bound" }, pmc.metrics.group "BvToy")
    end)
  end)

  it("gives what its own words mean: no filter, the first of two masks, one unit of many", function()
    with_tables("perfmon", ICELAKE, function()
      assert.equal("4:0x1b7 0x10", attr_of "toy_offcore.near")
      assert.same({}, require("pmclua.vendor").tables().problems)
      assert.equal(2, #assert(event.parse "UNC_TOY_READS"))
      assert.same({ "uncore_imc_0/UNC_TOY_READS/", "UNC_TOY_READS/thresh=1/",
        "UNC_TOY_READS/config1=0x4043200000000/", "msr/tsc/", "duration_time" },
        pmc.metrics.named("tma_info_toys").events)
    end)
  end)

  it("has tables for each kind of core of a hybrid CPU", function()
    with_tables("perfmon", HYBRID, function()
      local events = assert(event.parse "toy_loads.all")
      assert.equal(2, #events)
      local metric = pmc.metrics.named "toy_loads"
      assert.same({ "cpu_core/TOY_LOADS.ALL/" }, metric.events)
      assert.equal("cpu_atom", metric.variants[2].where)
      local small = pmc.metrics.named "cpu_atom/toy_loads/"
      assert.same({ "cpu_atom/TOY_LOADS.ALL/" }, small.events)
      assert.equal(6, small.evaluate { ["cpu_atom/TOY_LOADS.ALL/"] = 3 })
    end)
  end)

  it("has a metric of each kind of core where one is asked for by its name alone, none lost", function()
    with_tables("perfmon", HYBRID, function()
      local asked = require "pmclua.counting.asked"
      local function events_by_name(...)
        local found = {}
        for _, metric in ipairs(asked.metrics({ ... }, error)) do
          found[metric.name] = table.concat(metric.events, " ")
          assert.equal(metric.name, assert(pmc.metrics.parse(metric.source)).name)
        end
        return found
      end
      local core, atom = "cpu_core/TOY_LOADS.ALL/", "cpu_atom/TOY_LOADS.ALL/"
      local both = { cpu_core_Toy_Loads = core, cpu_atom_Toy_Loads = atom }
      assert.same(both, events_by_name "toy_loads")
      assert.same(both, events_by_name("cpu_core/toy_loads/", "cpu_atom/toy_loads/", "toy_loads"))
      assert.same({ cpu_atom_Toy_Loads = atom }, events_by_name "cpu_atom/toy_loads/")
    end)
  end)
end)

describe("a folder of Arm's telemetry-solution", function()
  it("gives the events, metrics, groups and tree of this CPU alone", function()
    with_tables("arm", ARM, function()
      assert.is_truthy(attr_of "stall_backend":find ":0x24$")
      assert.is_nil(event.parse "only_n8")
      local root = pmc.metrics.named "backend_stalled_cycles"
      assert.equal("%", root.unit)
      assert.equal(0.25, root.evaluate { STALL_BACKEND = 1, CPU_CYCLES = 4 })
      assert.equal(1, root.level)
      assert.same({ "l1d_cache_mpki" }, root.children)
      local below = pmc.metrics.named "l1d_cache_mpki"
      assert.equal("backend_stalled_cycles", below.parent)
      assert.equal("MPKI", below.unit)
      assert.same({ "backend_stalled_cycles" }, pmc.metrics.group "Topdown_L1")
    end)
  end)
end)

describe("a broken file", function()
  -- The fixture with `from` replaced in it, in a folder of its own.
  local function broken(fixture, from, to)
    local folder = support.folder()
    local text, count = support.read(support.fixture("vendor/" .. fixture)):gsub(from, to)
    assert.equal(1, count)
    support.write(folder .. "/" .. fixture:match "[^/]*$", text)
    return folder
  end

  local function with_folder(folder, machine, check)
    support.with_env(support.merged(machine, { PMCLUA_VENDOR = folder, PATH = "/nonexistent" }), check)
  end

  it("of Arm costs the event or metric that is broken", function()
    local folder = broken("arm/data/pmu/cpu/toy-n9.json", '"code": "0x0008"', '"code" "0x0008"')
    -- A name that libpfm4 has for no machine: it knows the one that this runs on.
    local path = folder .. "/toy-n9.json"
    support.write(path, (support.read(path):gsub("INST_RETIRED", "TOY_RETIRED")))
    with_folder(folder, ARM, function()
      assert.is_truthy(attr_of "cpu_cycles":find ":0x11$")
      assert.is_nil(event.parse "TOY_RETIRED")
      assert.equal(0.25, value_of("backend_stalled_cycles", { STALL_BACKEND = 1, CPU_CYCLES = 4 }))
      local value, why = value_of("ipc_toy", { CPU_CYCLES = 4 })
      assert.is_nil(value)
      assert.is_truthy(why:find "there is no event 'TOY_RETIRED' here")
      assert.is_truthy(require("pmclua.vendor").tables().problems[1]:find "toy%-n9.json: no valid JSON")
    end)
  end)

  it("of perfmon costs the metric that is broken", function()
    local folder = broken("perfmon/TOY/metrics/toylake_metrics.json", '"MetricName": "Misses',
      '"MetricName" "Misses')
    with_folder(folder, ICELAKE, function()
      assert.is_nil(pmc.metrics.named "misses_per_cycle")
      assert.is_truthy(pmc.metrics.named "tma_toy_bound")
    end)
  end)

  it("of any types costs the entries that are no texts and numbers", function()
    local folder = support.folder()
    support.write(folder .. "/odd.json", [=[[ null, 7,
      { "EventName": "A.NUMBER", "EventCode": 5, "UMask": 3 },
      { "EventName": "A.LIST", "EventCode": ["0x5"] }, { "MetricName": ["m"], "MetricExpr": "1" },
      { "EventName": "A.NULL", "EventCode": "0x6", "Deprecated": null, "BriefDescription": true } ]]=])
    local other = folder .. "/other.json"
    support.write(other, '{"Header":1,"Events":5,"Metrics":[{"MetricName":"b","Formula":"a",'
      .. '"Events":[{"Name":5,"Alias":6},7],"Constants":{"x":1},"Threshold":{"Formula":[]},"Level":{}}]}')
    with_folder(folder, ICELAKE, function()
      assert.equal("4:0x305", attr_of "a.number")
      assert.equal("4:0x6", attr_of "a.null")
      assert.is_nil(event.parse "a.list")
      assert.is_truthy(pmc.metrics.named "b")
      local problems = require("pmclua.vendor").tables().problems
      assert.same({ folder .. "/odd.json: A.LIST: EventCode is no text",
        folder .. "/odd.json: an entry: MetricName is no text" }, problems)
    end)
  end)

  it("that ends in its middle costs what is behind", function()
    local folder = broken("linux/x86/toy/core.json", '"TOY_LOADS.MISS", "EventCode": "0xd1".*$', "")
    with_folder(folder, ICELAKE, function()
      assert.equal("4:0x81d0", attr_of "toy_loads.all")
      assert.is_nil(event.parse "toy_loads.miss")
    end)
  end)
end)

describe("what perf prints", function()
  local function read(reader, file)
    local collection = require("pmclua.vendor.collect").new "perf"
    reader(support.read(support.fixture("vendor/" .. file)), collection)
    return collection
  end

  local function by_name(list)
    local found = {}
    for _, one in ipairs(list) do found[one.name] = one end
    return found
  end

  it("is understood as the text of perf before 6.2", function()
    local collection = read(function(text, collection)
      require("pmclua.vendor.perf_text").read(text, collection:takers())
    end, "perf.txt")
    local events, metrics = by_name(collection.events), by_name(collection.metrics)
    assert.equal("event=0xd0,umask=0x81", events["toy_loads.all"].terms)
    assert.equal("Loads of toys [in many words that go over more than one line, with brackets] and so on "
      .. "(Must be precise)", events["toy_loads.long_description"].description)
    assert.equal("event=0xd0,umask=0x82,ldlat=0x3", events["toy_loads.long_description"].terms)
    assert.equal("uncore_imc", events.unc_toy_reads.pmu)
    assert.is_nil(events["cpu-clock"])
    assert.equal("UNC_TOY_READS * 64.", metrics.unc_toy_bytes.expression)
    assert.equal("Toy;TopdownL1", metrics.toy_miss_share.groups)
    assert.equal("cpu_core", metrics.toy_miss_share.pmu)
    assert.equal("Share of loads that miss [of all]", metrics.toy_miss_share.description)
    assert.equal("1000 * toy_loads.all / duration_time", metrics.toy_bare.expression)
    assert.equal(3, #collection.metrics)
  end)

  it("is understood as the JSON of perf since 6.2", function()
    local collection = read(function(text, collection)
      local rows = require("pmclua.vendor.json_file").read_text(text)
      for _, row in ipairs(rows) do require("pmclua.vendor.perf_json").row(row, collection:takers()) end
    end, "perf.json")
    local events, metrics = by_name(collection.events), by_name(collection.metrics)
    assert.equal("event=0xd0,umask=0x81", events["toy_loads.all"].terms)
    assert.equal("64Bytes", events.unc_toy_reads.scale)
    assert.is_nil(events["cpu-clock"])
    assert.equal("Toy;TopdownL1", metrics.toy_miss_share.groups)
    assert.equal("toy_miss_share > 0.2", metrics.toy_miss_share.threshold)
    assert.equal("100%", metrics.toy_miss_share.scale)
    assert.equal(1, #collection.metrics)
  end)
end)

describe("without the installed perf and without a folder", function()
  it("an unknown name is refused with what would help", function()
    support.with_env(support.merged(ICELAKE, { PATH = "/nonexistent" }), function()
      local _, problem = event.parse "toy_loads.all"
      assert.is_truthy(problem.message:find "perf, whose tables name this CPU's events, is not installed")
      assert.is_nil(pmc.metrics.named "toy_metric")
    end)
  end)
end)
