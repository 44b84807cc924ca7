-- CPUs as target: whoever runs there is counted, CPU by CPU or in sum, with what sysfs says of the machine.

local caller = require "tests.support.caller"
local core = require "pmclua.core"
local ffi = require "ffi"
local pmc = require "pmclua"
local support = require "tests.support"
local topology = require "pmclua.host.topology"

local CALLS, parts_of = caller.CALLS, caller.parts_of
local message_of = support.message_of

describe("CPUs as target", function()
  it("are counted whoever runs there, and sum to the whole", function()
    caller.need()
    local all = pmc.system { by = "cpu" }
    local group = pmc.group { "calls = " .. CALLS, "context-switches", target = all }:start()
    local running = caller.start(3, 100)
    running.go()
    running.finish()
    local counts, calls, switches = group:read(), 0, 0
    for _, part in counts:parts() do
      calls, switches = calls + part.calls, switches + part.context_switches
    end
    assert.is_true(counts.calls >= 400)
    assert.equal(counts.calls, calls)
    assert.equal(counts.context_switches, switches)
    group:close()
  end)

  it("count what is pinned there and not what is pinned elsewhere", function()
    caller.need()
    support.need(#topology.online() > 1, "a machine of one CPU")
    local group = pmc.group { "calls = " .. CALLS, target = pmc.cpus { "0,1", by = "cpu" } }
    local running = caller.start(0, 500, "taskset -c 1")
    group:start()
    running.go()
    local parts = parts_of(group:read(), "calls")
    running.finish()
    group:close()
    assert.same({ 0, 1 }, { parts[1][1], parts[2][1] })
    assert.is_true(parts[2][2] >= 500)
    assert.is_true(parts[1][2] < 500)
  end)

  it("give records of each and of all in an experiment", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local records = {}
    pmc.measure("true", { events = { "page-faults" }, target = pmc.system { by = "cpu" },
      repetitions = 2, warmup = 0, each = function(record) records[#records + 1] = record end })
    local cpus = #topology.online()
    assert.equal(2 * (1 + cpus), #records)
    local sum = 0
    for i = 2, 1 + cpus do
      assert.equal(topology.online()[i - 1], records[i].cpu)
      sum = sum + records[i].counts[1]
    end
    assert.is_nil(records[1].cpu)
    assert.equal(records[1].counts[1], sum)
  end)

  it("survive being stored and loaded", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local path = support.folder() .. "/result.jsonl"
    local result = pmc.measure("true", { events = { "page-faults" }, target = pmc.system { by = "core" },
      repetitions = 1, warmup = 0, store = path })
    local loaded, labels, again = pmc.load(path), {}, {}
    for cell in result:cells() do labels[#labels + 1] = cell:label() .. cell.page_faults.median end
    for cell in loaded:cells() do again[#again + 1] = cell:label() .. cell.page_faults.median end
    assert.is_true(#labels > 1)
    assert.same(labels, again)
    local shown = loaded:report { width = 80, utf8 = true }
    assert.matches("true · 1 repetition · counted: all CPUs", shown, 1, true)
  end)

  it("that are not there or offline are named", function()
    local sysfs = support.folder()
    support.write(sysfs .. "/devices/system/cpu/online", "0,2-3\n")
    support.write(sysfs .. "/devices/system/cpu/present", "0-3\n")
    support.with_env({ SYSFS_PATH = sysfs }, function()
      assert.matches("there is no CPU 7 here, only 0%-3",
        message_of(pmc.group, { "page-faults", target = pmc.cpus "0-1,7" }))
      assert.matches("CPU 1 is offline; online: 0,2%-3",
        message_of(pmc.group, { "page-faults", target = pmc.cpus "0-1" }))
    end)
  end)

  it("are all that run programs, also where there is no sysfs", function()
    local all = topology.online()
    support.with_env({ SYSFS_PATH = support.folder() }, function()
      assert.same(all, topology.online())
      assert.same(all, topology.present())
    end)
  end)

  it("that go offline while they are counted are named", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local group = pmc.group { "page-faults", target = pmc.cpus "0" }:start()
    assert.same({}, group:remarks())
    local sysfs = support.folder()
    support.write(sysfs .. "/devices/system/cpu/online", "1-3\n")
    support.with_env({ SYSFS_PATH = sysfs }, function()
      assert.same({ "CPU 0 went offline: counted only until then" }, group:remarks())
    end)
    group:close()
    assert.equal(1, #group:remarks())                -- it may be back, its events are not
  end)

  it("keep their sum when one of them can no longer be read", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local group = pmc.group { "page-faults", "context-switches", target = pmc.system() }:start()
    os.execute "true"
    local before = group:read()
    local after
    support.with_system("read", function(real, fd, buffer, bytes)
      local got = real(fd, buffer, bytes)
      ffi.cast("uint64_t *", buffer)[0] = 1          -- its siblings were taken off with the CPU
      return got
    end, function() after = group:read() end)
    assert.equal(0, (after - before).page_faults or 0)
    assert.is_true((group:read() - before).page_faults >= 0)
    group:close()
  end)

  it("have gone offline where an enabled event's time stands still, if no witness watches them", function()
    local hotplug = require "pmclua.counting.target.hotplug"
    local function has_stopped(kind, before, now)
      return hotplug.new({ kind = kind }, {}):has_stopped(before, now)
    end
    assert.same({ true, false, false }, { has_stopped("cpus", 5, 5), has_stopped("cpus", 5, 6),
      has_stopped("cpus", 0, 0) })
    assert.is_false(has_stopped("cgroup", 5, 5))
  end)

  it("are summed by core, die, socket and node as sysfs has them", function()
    local sysfs = support.folder()
    for cpu, place in pairs { [0] = { 0, 0, 0 }, { 0, 0, 0 }, { 0, 1, 4 }, { 1, 0, 0 } } do
      local folder = ("%s/devices/system/cpu/cpu%d/topology/"):format(sysfs, cpu)
      support.write(folder .. "physical_package_id", place[1] .. "\n")
      support.write(folder .. "die_id", place[2] .. "\n")
      support.write(folder .. "core_id", place[3] .. "\n")
    end
    support.write(sysfs .. "/devices/system/node/online", "0-1\n")
    support.write(sysfs .. "/devices/system/node/node0/cpulist", "0-2\n")
    support.write(sysfs .. "/devices/system/node/node1/cpulist", "3\n")
    support.with_env({ SYSFS_PATH = sysfs }, function()
      local function parts(kind)
        local list = {}
        for cpu = 0, 3 do list[cpu + 1] = topology.part(cpu, kind) end
        return list
      end
      assert.same({ 0, 1, 2, 3 }, parts "cpu")
      assert.same({ "S0-D0-C0", "S0-D0-C0", "S0-D1-C4", "S1-D0-C0" }, parts "core")
      assert.same({ "S0-D0", "S0-D0", "S0-D1", "S1-D0" }, parts "die")
      assert.same({ "S0", "S0", "S0", "S1" }, parts "socket")
      assert.same({ "N0", "N0", "N0", "N1" }, parts "node")
    end)
  end)

  it("are read from lists as people write them", function()
    assert.same({ 0, 2, 3, 4, 7 }, topology.parse "2-4,7,0,3")
    assert.equal("0,2-4,7", topology.format { 0, 2, 3, 4, 7 })
    for _, wrong in ipairs { "", "a", "1-", "-1", "3-1", "1,,2", "1 2", "99999999" } do
      assert.is_nil((topology.parse(wrong)), wrong)
    end
  end)

  it("are counted for an uncore PMU on that PMU's own CPUs alone", function()
    support.need(support.have_root() and io.open "/sys/bus/event_source/devices/power/cpumask",
      "no PMU with CPUs of its own here")
    local energy = "energy = power/energy-psys/"
    local group = pmc.group { "page-faults", energy, target = pmc.system { by = "cpu" } }:start()
    local counts, with_energy = group:read(), 0
    assert.not_equal("unsupported", (counts:status "energy"))
    assert.equal("counted", (counts:status "page_faults"))
    for _, part in counts:parts() do with_energy = with_energy + (part:share "energy" and 1 or 0) end
    assert.equal(1, with_energy)
    group:close()
    local of_task = pmc.group { "page-faults", energy, target = pmc.pid(core.pid()) }
    assert.equal("unsupported", (of_task:read():status "energy"))
    of_task:close()
  end)

  it("are not for an ordinary user, who is told what would help", function()
    support.need(support.have_root(), "only root can become an ordinary user")
    local script = 'local g = pmc.group { "page-faults", target = pmc.system() } print(g:read())'
    local run = support.pmclua({ "-e", script }, { user = true })
    assert.equal(0, run.status)
    assert.matches("unsupported.*counting a whole CPU needs CAP_PERFMON", run.out)
  end)
end)
