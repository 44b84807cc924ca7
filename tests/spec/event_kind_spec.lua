-- What each kind of event takes: terms of a PMU, breakpoints, probes, tracepoints, libpfm4's names.

local specs = require "tests.support.events"
local support = require "tests.support"
local tracepoint = require "pmclua.event.tracepoint"

local one, rejected = specs.one, specs.rejected
local perf = support.fixture "perf"

--- The sysfs of a PMU `p` of one term, whose events have these terms.
local function sysfs_with(events)
  local root = support.folder()
  local pmu = root .. "/bus/event_source/devices/p"
  support.write(pmu .. "/type", "77\n")
  support.write(pmu .. "/format/event", "config:0-7\n")
  for name, terms in pairs(events) do support.write(pmu .. "/events/" .. name, terms .. "\n") end
  return { sysfs = root }
end

describe("terms of a PMU", function()
  it("that sysfs has otherwise than it should are not understood, and stand in no other's way", function()
    for _, terms in ipairs { "=", "event=1,=", "event=x", "event=1 2", "event=18446744073709551616",
      "other=1" } do
      local sysfs = sysfs_with { broken = terms, whole = "event=5" }
      local problem = rejected("p/broken/", nil, sysfs)
      assert.matches("that sysfs gives for broken: " .. terms, problem.message, 1, true)
      assert.equal(5, one("p/whole/", nil, sysfs).attr.config)
      assert.equal(5, one("p/event=5/", nil, sysfs).attr.config)
    end
  end)

  it("of the user win over those of the alias", function()
    assert.equal(30, one("cpu/mem-loads,ldlat=30/").attr.config1)
    assert.equal(30, one("cpu/ldlat=30,mem-loads/").attr.config1)
    assert.equal(30, one("mem-loads/ldlat=30/").attr.config1)
    assert.equal(0x1d0, one("cpu/mem-loads,event=0xd0/").attr.config)
  end)

  it("are laid out in ascending bits and checked against their width", function()
    assert.equal(0xa000000bc, one("weird/split=0xabc/").attr.config)
    assert.equal(0x1234, one("weird/rev=0x1234/").attr.config)
    local problem = rejected("weird/split=0x1000,hi=1/")
    assert.equal("split is at most 0xfff", problem.message)
    assert.same({ 13, 6 }, { problem.position, problem.length })
  end)

  it("that an alias leaves open must be given", function()
    assert.equal("par needs the term rev=VALUE", rejected("weird/par/").message)
    assert.equal(0x100000027, one("weird/par,rev=5/").attr.config)
  end)

  it("may go with a config word, but not against it", function()
    assert.equal(0x101, one("cpu/config=0x100,event=1/").attr.config)
    assert.match("set the same bits to different values", rejected("cpu/config=2,event=1/").message)
    assert.match("set the same bits to different values", rejected("cpu/r1a8,umask=2/").message)
    assert.equal(0x1a8, one("cpu/r1a8,umask=1/").attr.config)
  end)

  it("are given once, for one event", function()
    assert.equal(13, rejected("cpu/event=1,event=2/").position)
    assert.equal(15, rejected("cpu/mem-loads,mem-stores/").position)
    assert.equal(7, rejected("cycles/,/").position - 1)
  end)

  it("have, for Intel PT, the defaults that its capabilities allow", function()
    -- mtc, mtc_periods, psb_cyc, psb_periods; the config that perf 6.1 has for them
    for _, case in ipairs({ { "1", "249", "1", "3f", 0x300e601 }, { "1", "9", "1", "1", 0xe601 },
      { "1", "0", "0", "0", 0x2401 }, { "0", "249", "1", "6", 0x2401 },
      { "1", "6", "1", "4", 0x200a601 } }) do
      local sysfs = support.folder()
      local place = sysfs .. "/bus/event_source/devices/intel_pt/"
      support.write(place .. "type", "26\n")
      for name, bits in pairs({ pt = "0", mtc = "9", tsc = "10", branch = "13", mtc_period = "14-17",
        psb_period = "24-27" }) do support.write(place .. "format/" .. name, "config:" .. bits .. "\n") end
      for i, name in ipairs({ "mtc", "mtc_periods", "psb_cyc", "psb_periods" }) do
        support.write(place .. "caps/" .. name, case[i] .. "\n")
      end
      assert.equal(case[5], one("intel_pt//u", nil, { sysfs = sysfs }).attr.config)
      assert.equal(0, one("intel_pt/config=0/", nil, { sysfs = sysfs }).attr.config)
    end
  end)

  it("go up to config4", function()
    assert.same({ type = 0, config = 0, config3 = 1, config4 = 2 }, one("cycles/config3=1,config4=2/").attr)
  end)
end)

describe("a breakpoint", function()
  it("watches an address, or a symbol where a program is known", function()
    assert.same({ type = 5, config = 0, bp_type = 2, bp_addr = 0x1000, bp_len = 8 },
      one("mem:0x1000/8:w").attr)
    local known = { symbol_address = function(name)
      if name == "counter" then return 0x404028 end
      return nil, "no symbol '" .. name .. "' in prog"
    end }
    assert.equal(0x404028, one("mem:counter/8:w:u", nil, known).attr.bp_addr)
    assert.equal("no symbol 'countr' in prog", rejected("mem:countr", nil, known).message)
    assert.equal(5, rejected("mem:counter").position)
  end)

  it("is never of no length", function()
    assert.same(one("mem:0x1000:rw:u").attr, one("mem:0x1000:rwu").attr)
    assert.equal(12, rejected("mem:0x1000/0:w").position)
    assert.equal(12, rejected("mem:0x1000/1000:w").position)
  end)
end)

describe("a probe", function()
  local sysfs = support.folder()
  support.write(sysfs .. "/bus/event_source/devices/uprobe/type", "8\n")
  support.write(sysfs .. "/bus/event_source/devices/uprobe/format/retprobe", "config:0\n")
  support.write(sysfs .. "/bus/event_source/devices/uprobe/format/ref_ctr_offset", "config:32-63\n")
  support.write(sysfs .. "/bus/event_source/devices/kprobe/type", "6\n")
  local known = { sysfs = sysfs, function_offset = function(path, name)
    if path == "/usr/bin/ls" and name == "main" then return 0x4000 end
    return nil, ("no function '%s' in %s"):format(name, path)
  end }

  it("is at a function of a binary", function()
    local e = one("/usr/bin/ls:main+0x10:u", nil, known)
    assert.equal("probe", e.source)
    assert.same({ type = 8, config = 0, uprobe_path = "/usr/bin/ls", config2 = 0x4010, exclude_kernel = 1,
      exclude_hv = 1 }, e.attr)
    assert.equal(13, rejected("/usr/bin/ls:mian", nil, known).position)
    assert.same(e.attr, one("uprobe:/usr/bin/ls:main+16:u", nil, known).attr)
    assert.equal(1, one("uretprobe:/usr/bin/ls:main:u", nil, known).attr.config)
  end)

  it("is at an offset without looking anything up", function()
    assert.same({ type = 8, config = 0, uprobe_path = "./a b", config2 = 0x1234 },
      one("uprobe:'./a b':0x1234", nil, { sysfs = sysfs }).attr)
    assert.same({ type = 8, config = 1, uprobe_path = "/bin/x,y", config2 = 0x10 },
      one("uprobe/path='/bin/x,y',offset=0x10,retprobe/", nil, { sysfs = sysfs }).attr)
  end)

  it("is in the OS kernel by function or address", function()
    assert.same({ type = 6, config = 0, kprobe_func = "vfs_read", config2 = 4 },
      one("kprobe:vfs_read+4", nil, { sysfs = sysfs }).attr)
    assert.same({ type = 6, config = 1, kprobe_func = "vfs_read" },
      one("kretprobe:vfs_read", nil, { sysfs = sysfs }).attr)
    assert.same({ type = 6, config = 0, config2 = 0xffffffff81000000ULL },
      one("kprobe/addr=0xffffffff81000000/", nil, { sysfs = sysfs }).attr)
  end)

  it("needs its whole place", function()
    for _, spec in ipairs({ "uprobe/path='/bin/x'/", "uprobe/offset=1/", "kprobe/offset=1/",
      "kprobe/func=f,addr=1/", "uprobe/path='/bin/x',offset=1,config1=2/" }) do
      rejected(spec, nil, { sysfs = sysfs })
    end
  end)
end)

describe("a tracepoint", function()
  it("may be filtered by the OS kernel", function()
    local e = one("sched:sched_switch/filter='prev_prio < 100'/k")
    assert.equal("prev_prio < 100", e.filter)
    assert.same({ type = 2, config = 372, exclude_user = 1, exclude_hv = 1 }, e.attr)
    assert.equal(20, rejected("sched:sched_switch/nr=1/").position)
  end)

  it("that is not there is told from a system that is not", function()
    local problem = rejected("sched:sched_swich")
    assert.same({ 7, "sched_switch" }, { problem.position, problem.hint })
    problem = rejected("shed:sched_switch")
    assert.same({ 1, "sched" }, { problem.position, problem.hint })
  end)

  it("is read from files that may have no end", function()
    local tracefs = support.folder()
    support.write(tracefs .. "/events/a/b/format", "field:char name[16];\nfield:__data_loc char[] other;\n")
    assert.same({ "name", "other" }, tracepoint.fields(tracefs, "a:b"))
    for _, name in ipairs { "id", "format", "../../../available_events" } do
      os.execute(("ln -sf /dev/zero %s/events/a/b/%s"):format(tracefs, name))
    end
    assert.matches("no tracepoint 'a:b'", rejected("a:b", nil, { tracefs = tracefs }).message, 1, true)
    assert.same({}, tracepoint.fields(tracefs, "a:b"))
    assert.same({}, tracepoint.all(tracefs))
  end)

  it("needs tracefs, and says so", function()
    local problem = rejected("sched:sched_switch", nil, { tracefs = "/nowhere" })
    assert.match("not mounted at /nowhere", problem.message)
  end)
end)

describe("a libpfm4 name", function()
  -- In a process of its own: libpfm4 reads LIBPFM_ENCODE_INACTIVE when it is first used.
  local function pfm(code)
    local run = support.pmclua({ "-e", [[
      local event = require "pmclua.event"
      local options = { sysfs = "]] .. perf .. [[/sysfs/x86_intel", tracefs = "]] .. perf .. [[/tracefs" }
      local function show(spec)
        local events, problem = event.parse(spec, options)
        if not events then
          print(problem.position, problem.length, problem.hint or "-", problem.message)
          return
        end
        local e, keys = events[1], {}
        for field, value in pairs(e.attr) do
          keys[#keys + 1] = ("%s=%s"):format(field, ("0x%x"):format(value))
        end
        table.sort(keys)
        print(e.source, e.pmu, table.concat(keys, " "))
      end ]] .. code }, { env = { LIBPFM_ENCODE_INACTIVE = "1" } })
    assert.equal("", run.err)
    return run.out
  end

  it("is encoded with its unit masks and attributes", function()
    assert.equal("pfm\tcpu\tconfig=0xc5 type=0x4\n"
      .. "pfm\tcpu\tconfig=0x18001c5 exclude_kernel=0x1 type=0x4\n"
      .. "pfm\tcpu\tconfig1=0x5 config=0x1cd precise_ip=0x2 type=0x4\n", pfm [[
      show "skl::BR_MISP_RETIRED:ALL_BRANCHES"
      show "skl::BR_MISP_RETIRED.CONDITIONAL:u:c=1:i=1:t=0"
      show "skx::MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=5:precise=2"]])
  end)

  it("that it misreads or refuses is rejected at the place", function()
    assert.equal("34\t3\t-\tlibpfm4 misreads 'u=0' on its own: name what is to be counted instead\n"
      .. "22\t11\tCONDITIONAL\tlibpfm4 knows no such unit mask or attribute of this event\n"
      .. "34\t5\t-\tthe target says which CPU is counted\n", pfm [[
      show "skl::BR_MISP_RETIRED:CONDITIONAL:u=0"
      show "skl::BR_MISP_RETIRED:CONDITIONNL"
      show "skl::BR_MISP_RETIRED:CONDITIONAL:cpu=1"]])
  end)

  it("is not asked of libpfm4's own perf PMU", function()
    for _, spec in ipairs({ "perf::CYCLES", "cycles.u", "Page-Faults", "CPU-CYCLES", "perf_raw::r1a8" }) do
      rejected(spec)
    end
  end)
end)
