-- What pmclua adds to perf's grammar, where it is stricter, and what an event says of itself.

local event = require "pmclua.event"
local specs = require "tests.support.events"
local support = require "tests.support"

local column, one, parse, rejected = specs.column, specs.one, specs.parse, specs.rejected

describe("an event", function()
  it("says what it is asked, shown and called as", function()
    local e = one("L1-dcache-load-misses:u")
    assert.equal("L1-dcache-load-misses:u", e.spec)
    assert.equal("L1-dcache-load-misses:u", e.name)
    assert.equal("L1_dcache_load_misses:u", e.field)
    assert.equal("cache", e.source)
    assert.same({ type = 3, config = 0x10000, exclude_kernel = 1, exclude_hv = 1 }, e.attr)
    assert.is_nil(e.leader)
    assert.equal("", e.unit)
    assert.equal(1, e.scale)
    assert.is_true(e.verified)
  end)

  it("is named by a label, which is its field too", function()
    local e = one("mem-ops = cpu/event=0xd0,umask=0x82/u")
    assert.equal("mem-ops", e.name)
    assert.equal("mem_ops", e.field)
    assert.equal("cpu/event=0xd0,umask=0x82/u", e.spec)
    assert.equal("tsc", one("tsc=msr/tsc/").field)
    assert.same({ "a", "b" }, column(parse("{ a = cycles , b = instructions }"), "name"))
  end)

  it("is named by its name term", function()
    assert.equal("A:b=1,c", one("cycles/name='A:b=1,c'/").name)
  end)

  it("has the unit and scale that sysfs says", function()
    local e = one("energy-pkg")
    assert.equal("Joules", e.unit)
    assert.equal(2.3283064365386962890625e-10, e.scale)
    assert.equal("power", e.pmu)
    assert.equal("0", e.cpus)
    assert.is_true(one("msr/smi/").snapshot)
  end)

  it("of a clock is a number of nanoseconds, which perf prints in milliseconds", function()
    for _, spec in ipairs { "task-clock", "cpu-clock:u", "1:1", "software//", "page-faults/config=1/" } do
      local e = one(spec)
      assert.same({ "ns", 1 }, { e.unit, e.scale }, spec)
      local printed = require("dkjson").decode(event.json({ e }, spec)).events[1]
      assert.same({ "msec", 1e-6 }, { printed.unit, printed.scale }, spec)
    end
  end)

  it("is refused where its scale is there and cannot be read", function()
    local power = support.folder() .. "/bus/event_source/devices/power"
    support.write(power .. "/type", "9\n")
    support.write(power .. "/format/event", "config:0-7\n")
    support.write(power .. "/events/energy", "event=2\n")
    support.write(power .. "/events/energy.scale/folder", "")
    local root = power:match "^(.*)/bus/"
    assert.matches("cannot read .*energy.scale", support.message_of(event.parse, "power/energy/",
      { sysfs = root }))
  end)

  it("keeps a config above 2^53 exactly", function()
    assert.equal(0xffffffffffffffffULL, one("rffffffffffffffff").attr.config)
    assert.equal(0x5ff8800000000000ULL,
      one("uncore_cha_0/filter_opc0=0x40,filter_opc1=0x3ff,filter_nc=1/").attr.config1)
    assert.equal("number", type(one("r1fffffffffffff").attr.config))
  end)

  it("of the record has no attr", function()
    local e = one("max_rss")
    assert.is_nil(e.attr)
    assert.equal("max_rss_bytes", e.tool)
    assert.equal("bytes", e.unit)
    assert.equal("wall_ns", one("duration_time").tool)
  end)

  it("is verified where the OS kernel names its code, and else not", function()
    assert.is_true(one("armv8_pmuv3_0/event=0x11/", "arm64").verified)
    assert.is_false(one("armv8_pmuv3_0/event=0x3fff/", "arm64").verified)
    assert.is_true(one("armv8_pmuv3_0/cpu_cycles/", "arm64").verified)
    assert.is_true(one("cycles", "arm64").verified)
    assert.is_true(one("r11", "arm64").verified)
    assert.is_false(one("r3fff", "arm64").verified)
    assert.is_true(one("cpu/event=0xc0/").verified)
    assert.is_false(one("cpu/instructions,umask=1/").verified)
    assert.is_true(one("uprobe:/bin/true:0x10", nil, { sysfs = "/sys" }).verified)
  end)
end)

describe("a spec that stands for several events", function()
  it("names each by its own PMU", function()
    local events = parse("uncore_imc/clockticks/")
    assert.same({ "uncore_imc_0/clockticks/", "uncore_imc_1/clockticks/" }, column(events, "name"))
    assert.same({ "0", "0" }, column(events, "cpus"))
    assert.same(column(events, "name"), column(parse("clockticks"), "name"))
    assert.same(column(events, "name"), column(parse("uncore_imc_*/clockticks/"), "name"))
    assert.same({ "uncore_imc_0/cas_count_read/k", "uncore_imc_1/cas_count_read/k" },
      column(parse("cas_count_read:k"), "name"))
    assert.same({ "uncore_imc_0/x/", "uncore_imc_1/x/" }, column(parse("x = clockticks"), "name"))
    assert.same({ "uncore_imc_0_x", "uncore_imc_1_x" }, column(parse("x = clockticks"), "field"))
  end)

  it("takes of the PMUs that a glob matches those that have the terms", function()
    assert.same({ "msr" }, column(parse("*/smi,name=t/"), "pmu"))
    assert.equal("the PMU breakpoint has no term or event 'nosuch'; its terms are config, config1 and so on",
      rejected("*/nosuch/").message)
  end)

  it("has, of one of several, a name in formulae, and that of which it is a part", function()
    assert.same({ "cpu_atom_cycles", "cpu_core_cycles" }, column(parse("cycles", "hybrid"), "field"))
    assert.same({ "cycles", "cycles" }, column(parse("cycles", "hybrid"), "part_of"))
    assert.same({ "reads", "reads" }, column(parse("reads = uncore_imc/cas_count_read/"), "part_of"))
    assert.same({ false }, column(parse("cycles"), "part_of"))
  end)

  it("is, on a hybrid CPU, an event of each core PMU", function()
    local events = parse("cycles:u", "hybrid")
    assert.same({ "cpu_atom", "cpu_core" }, column(events, "pmu"))
    assert.same({ "cpu_atom/cycles/u", "cpu_core/cycles/u" }, column(events, "name"))
    assert.same({ "1", "0" }, column(events, "core_cpus"))
    assert.same({ 0xa00000000, 0x400000000 }, { events[1].attr.config, events[2].attr.config })
    assert.same({ 10, 4 }, { parse("r1a", "hybrid")[1].attr.type, parse("r1a", "hybrid")[2].attr.type })
    assert.equal(1, #parse("page-faults", "hybrid"))
  end)

  it("becomes a group for each PMU, and what counts anywhere goes with the first", function()
    local events = parse("{cycles,instructions,page-faults}", "hybrid")
    assert.same({ "cpu_atom/cycles/", "cpu_atom/instructions/", "page-faults", "cpu_core/cycles/",
      "cpu_core/instructions/" }, column(events, "name"))
    assert.same({ false, 1, 1, false, 4 }, column(events, "leader"))
    events = parse("{uncore_imc/clockticks/,uncore_imc/cas_count_read/}:D")
    assert.same({ false, 1, false, 3 }, column(events, "leader"))
    assert.same({ 1, nil, 1, nil }, { events[1].attr.pinned, nil, events[3].attr.pinned, nil })
  end)

  it("is every tracepoint that a glob matches, by id", function()
    assert.same({ "sched:sched_process_exec", "sched:sched_process_fork", "sched:sched_process_exit" },
      column(parse("sched:sched_process_*"), "name"))
    assert.same({ "raw_syscalls:sys_exit:k" }, column(parse("raw*:*exit:k"), "name"))
    assert.same({ "raw_syscalls:sys_enter" }, column(parse("*:sys_enter"), "tracepoint"))
    assert.same({ "sched:sched_process_exec", "sched:sched_process_exit" },
      column(parse("sched:sched_process_[a-e]*"), "name"))
    assert.same({ "sched:sched_process_fork" }, column(parse("sched:sched_process_[!e]*:"), "tracepoint"))
  end)

  it("cannot have one label for tracepoints", function()
    assert.equal(1, rejected("x = sched:sched_process_*").position)
  end)
end)

describe("a group", function()
  it("gives its leader alone what is the leader's", function()
    local events = parse("g{cycles,instructions}:DeW")
    assert.same({ 1, 1, true }, { events[1].attr.pinned, events[1].attr.exclusive, events[1].weak })
    assert.same({}, { events[2].attr.pinned, events[2].attr.exclusive, events[2].weak })
    assert.same({ "g", "g" }, column(events, "group"))
  end)

  it("adds its modifiers to those of its events", function()
    local events = parse("{cycles:k,instructions:pp}:up")
    assert.same({ nil, nil, 1 }, { events[1].attr.exclude_user, events[1].attr.exclude_kernel,
      events[1].attr.exclude_hv })
    assert.equal(3, events[2].attr.precise_ip)
    assert.equal(19, rejected("{cycles,cs:ppp}:ukp").position)
  end)

  it("puts what is read from the record behind it", function()
    local events = parse("{duration_time,cycles,instructions},cs")
    assert.same({ "cycles", "instructions", "duration_time", "cs" }, column(events, "name"))
    assert.same({ false, 1, false, false }, column(events, "leader"))
  end)

  it("does not mix what counts a task with what counts a CPU", function()
    assert.match("cannot form one group", rejected("{cycles,uncore_imc_0/clockticks/}").message)
    assert.match("cannot form one group", rejected("{power/energy-pkg/,cstate_core/c6-residency/}").message)
    assert.equal(2, #parse("{uncore_imc_0/clockticks/,page-faults}"))
  end)
end)

describe("a mistake", function()
  local function points(spec, position, length, hint)
    local problem = rejected(spec)
    assert.same({ position, length, hint }, { problem.position, problem.length, problem.hint }, spec)
  end

  it("is pointed at, with the nearest word", function()
    points("cylces", 1, 6, "cycles")
    points("Page-Faults", 1, 11, "page-faults")
    points("instructions,branch-mises:u", 14, 12, "branch-misses")
    points("cpu/evnt=1/", 5, 4, "event")
    points("cpu/mem-load/", 5, 8, "mem-loads")
    points("uncore_imc_3/clockticks/", 1, 12, "uncore_imc_0")
    points("L1-dcache-lods", 11, 4, "loads")
    points("syscall:sys_enter_read", 1, 7, "syscalls")
    points("cycles/confg=1/", 8, 5, "config")
    points("durationtime", 1, 12, "duration_time")
  end)

  it("is answered with the spelling that is right", function()
    points("r0x3c", 1, 5, "r3c")
    points("PERF_COUNT_HW_CPU_CYCLES", 1, 24, "cpu-cycles")
    points("llc-misses:u", 1, 10, "LLC-misses")
    points("L1_DCACHE_LOAD_MISSES", 1, 21, "L1-dcache-load-misses")
    points("cpu/cycles/", 5, 6, "cpu-cycles")
    points("nopmu/x/", 1, 5, "there are breakpoint, cpu, cstate_core, intel_pt, msr, power, software, "
      .. "tracepoint, uncore_cha_0, uncore_imc_0, uncore_imc_1 and weird")
  end)

  it("has no hint where all that is asked is whether there is such an event", function()
    local events, problem = event.parse("cylces", { is_unexplained = true })
    assert.same({ nil, 1, 6, nil }, { events, problem.position, problem.length, problem.hint })
    assert.equal(1, #event.parse("page-faults:u", { is_unexplained = true }))
    assert.is_true(event.available "page-faults")
    assert.is_false(event.available "page-fautls")
  end)

  it("is no system of tracepoints only because these may not be read", function()
    support.need(support.have_root(), "only root can become another user")
    local folder = support.folder()
    os.execute(("mkdir -m 755 %s/tracing; mkdir -m 700 %s/tracing/events"):format(folder, folder))
    local result = support.pmclua({ "stat", "-e", "page-fautls", "true" },
      { user = true, env = { TRACEFS_PATH = folder .. "/tracing" } })
    assert.matches("did you mean 'page%-faults'", result.err)
  end)

  it("is said in the words of who made it", function()
    local function says(spec, message, fixture)
      assert.match(message, rejected(spec, fixture).message, 1, true)
    end
    says("msr", "'msr' is a PMU; its events are written as msr/aperf/")
    says("cpu:event=0x3c", "'cpu' is a PMU; its events are written as cpu/")
    says("tracepoint:sched:sched_switch", "its events are written as SYSTEM:NAME")
    says("uprobe/path='/bin/ls',offset=1/", "this Linux has no uprobe PMU")
    says("cpu/cycles/", "no PMU can be seen here: there is no ", "none")
    says("NOWHERE_RETIRED.ANY", "nor a CPU's PMU that could have it", "none")
    says("sched", "'sched' is a system of tracepoints, which are written as sched:NAME")
    says("sched:", "all of them as sched:*")
    says("mem", "a breakpoint is written as mem:ADDRESS/LENGTH:rwx")
    says("weird/par=3/", "'par' is an event of the PMU weird: it takes no value")
    says("cpu/event=1/:u", "modifiers come right after the second '/'")
    says("{cycles,instructions}u", "expected ':' and modifiers, or ',', instead of 'u'")
    says("cycles instructions", "expected ',' instead of 'i'")
    says("sched:sched_switch --filter x==1", "a filter is written SYSTEM:NAME/filter='CONDITION'/")
    says("sched:sched_switch/filter=\"x==1\"/", "in quotes (')")
    says("perf::CYCLES", "have perf's own names: use those")
    says("nosuch::EVENT", "libpfm4 knows no PMU 'nosuch'")
  end)

  it("is pointed at by characters, whatever bytes they are", function()
    points("cyclés", 5, 2)
    assert.equal("unexpected 'é'", rejected("cyclés").message)
    assert.equal("expected an event instead of '\\xff'", rejected("\255").message)
  end)

  it("is the first one, wherever it is", function()
    points("cycles:uu,nosuch", 9, 1)
    points("{cycles,instructions", 1, 1)
    points("{cycles,{a}}", 9, 1)
    points("cycles,,b", 8, 1)
    points("cpu/event=1", 4, 1)
    points("cpu/name='x/", 10, 1)
    points("cycles;", 7, 1)
    points("mem:0x1000:rwz", 14, 1)
    points("L1-dcache-loads-stores", 17, 6)
    points("L1-icache-stores", 11, 6)
    points("4294967296:0", 1, 10)
    points("duration_time:u", 15, 1)
    points("cycles::u", 9, 1)
    points("cycles:u:k", 10, 1)
    points("cpu/event=1/:u", 13, 1)
    points("r10000000000000000", 1, 18)
  end)
end)

describe("written down", function()
  it("an event is the plainest spec that is encoded alike", function()
    for spec, plain in pairs({
      ["cycles"] = "cpu-cycles",
      ["l1d-misses:u"] = "L1-dcache-load-misses:u",
      ["cpu/mem-loads,ldlat=30/upp"] = "cpu/config=0x1cd,config1=0x1e/upp",
      ["mem:4096:x:k"] = "mem:0x1000/8:x:k",
      ["sched:sched_switch:k"] = "sched:sched_switch:k",
      ["duration_time"] = "duration_time",
      ["r1A8/config1=3/"] = "r1a8/config1=0x3/",
      ["99:7"] = "99:0x7",
    }) do assert.equal(plain, event.format(one(spec))) end
  end)

  it("a list keeps its groups", function()
    assert.equal("g{cpu-cycles:D,instructions},page-faults,{cpu-clock,dummy}",
      event.format_list(parse("g{cycles,instructions}:D,faults,{cpu-clock,dummy}")))
  end)
end)

describe("as JSON", function()
  it("an event has every field, 64-bit words as text", function()
    assert.equal('{"spec":"x = rffffffffffffffff:upD","events":[{"name":"x","type":4,'
      .. '"config":"0xffffffffffffffff","config1":"0x0","config2":"0x0","config3":"0x0","bp_type":null,'
      .. '"bp_addr":null,"bp_len":null,"exclude_user":0,"exclude_kernel":1,"exclude_hv":1,"exclude_idle":0,'
      .. '"exclude_guest":0,"exclude_host":0,"precise_ip":1,"pinned":1,"exclusive":0,"leader":null,"unit":"",'
      .. '"scale":1,"pmu":"cpu","cpus":null}]}', event.json(parse("x = rffffffffffffffff:upD"),
        "x = rffffffffffffffff:upD"))
  end)

  it("leaders count from 0, breakpoints have their own fields, the record's events none", function()
    local decode = require("dkjson").decode
    local made = decode(event.json(parse("{cs,mem:0x1000/8:rw},duration_time,energy-pkg"), "…")).events
    assert.same({ nil, 0 }, { made[1].leader, made[2].leader })
    assert.same({ 3, "0x1000", 8 }, { made[2].bp_type, made[2].bp_addr, made[2].bp_len })
    assert.is_nil(made[2].config1)
    assert.is_nil(made[3].type)
    assert.same({ "Joules", 2.3283064365386963e-10, "power", "0" },
      { made[4].unit, made[4].scale, made[4].pmu, made[4].cpus })
  end)
end)

describe("blanks", function()
  it("may stand between any two parts, and not inside one", function()
    for spaced, plain in pairs {
      [" { cycles , instructions } : u "] = "{cycles,instructions}:u",
      ["cpu / event = 0x3c , umask=1 / u"] = "cpu/event=0x3c,umask=1/u",
      ["LLC-loads : k"] = "LLC-loads:k", ["tsc  =  msr / tsc /"] = "tsc=msr/tsc/",
    } do
      local one_list, other = parse(spaced), parse(plain)
      assert.equal(#other, #one_list)
      for i, event_of_plain in ipairs(other) do
        assert.same(event_of_plain.attr, one_list[i].attr)
        assert.equal(event_of_plain.leader, one_list[i].leader)
      end
    end
    assert.equal(8, rejected("cycles u").position)
    assert.equal(11, rejected("cpu/event 1/").position)
    assert.equal(12, rejected("mem:0x1000 :w").position)
  end)
end)

describe("an event of all CPUs' PMU", function()
  it("is bound to no CPUs; of one kind of several it is", function()
    local root = support.folder()
    local function write(name, text) support.write(root .. "/" .. name, text .. "\n") end
    write("devices/system/cpu/online", "0-3")
    for name, cpus in pairs { all = "0-3", some = "2-3" } do
      write(("bus/event_source/devices/%s/type"):format(name), "9")
      write(("bus/event_source/devices/%s/cpus"):format(name), cpus)
    end
    assert.is_nil(event.parse("all/config=1/", { sysfs = root })[1].core_cpus)
    assert.equal("2-3", event.parse("some/config=1/", { sysfs = root })[1].core_cpus)
  end)
end)

describe("what a generic event costs", function()
  local function traced(spec)
    support.need_unwatched "a watcher opens files of its own"
    local run = support.run({ "strace", "-f", "-qq", "-e", "trace=openat,open", support.program, "-e",
      ("require('pmclua.event').parse '%s'"):format(spec) })
    if run.status ~= 0 then pending("strace cannot be used here") end
    return run.err
  end

  it("is no look at libpfm4, at tracefs or into a PMU", function()
    local calls = traced "cycles,LLC-loads:u,page-faults,duration_time,mem:0x1000"
    assert.is_nil(calls:find("libpfm", 1, true))
    assert.is_nil(calls:find("/tracing", 1, true))
    for path in calls:gmatch('"([^"]*event_source[^"]*)"') do assert.match("/cpu_%a+/cpus$", path) end
    assert.match("msr/type", traced "msr/tsc/")
  end)
end)
