-- Packages, cores, caches and NUMA nodes of machines, from trees of their sysfs; what this process may use.

local lists = require "pmclua.base.lists"
local parts = require "pmclua.host.parts"
local pmc = require "pmclua"
local support = require "tests.support"
local topologies = require "tests.support.topologies"
local cpulist = require("pmclua.host.topology").format

local function caches_of(machine, level, type)
  return lists.map(machine.caches, function(cache)
    return cache.level == level and cache.type == type and cpulist(cache.cpus) or nil
  end)
end

describe("a machine's parts", function()
  it("are those of two sockets with SMT", function()
    local machine = parts.read(topologies.xeon())
    local function cpus(field, value)
      local same = lists.where(machine.cpus, function(cpu) return cpu[field] == value end)
      return cpulist(lists.column(same, "cpu"))
    end
    assert.equal("0-3,8-11", cpus("socket", 0))
    assert.equal("4-7,12-15", cpus("node", 1))
    assert.equal("0-7", cpus("thread", 1))
    assert.equal("3,11", cpus("core", machine.by_cpu[3].core))
    assert.same({ "0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15" },
      caches_of(machine, 1, "Data"))
    assert.same({ "0-3,8-11", "4-7,12-15" }, caches_of(machine, 3, "Unified"))
    assert.same({ 21, 10 }, machine.nodes[2].distances)
    assert.equal(262144 * 1024, machine.nodes[2].bytes)
    assert.same({}, machine.absent)
  end)

  it("are CCDs where the last cache is shared by some cores of a socket", function()
    local machine = parts.read(topologies.epyc())
    assert.same({ "0-3,8-11", "4-7,12-15" }, caches_of(machine, 3, "Unified"))
    assert.equal(32768 * 1024, machine.caches[#machine.caches].bytes)
  end)

  it("are not known where sysfs does not say, and the reason is there", function()
    local machine = parts.read(topologies.arm())
    assert.is_nil(machine.cpus[1].die)
    assert.match("no topology/die_id of CPU 0%-3", machine.absent.dies)
    assert.match("knows no NUMA", machine.absent.nodes)
    assert.is_nil(machine.absent.cores)
    local empty = support.folder()
    support.write(empty .. "/devices/system/cpu/online", "0-1\n")
    local bare = parts.read(empty)
    assert.equal(2, #bare.cpus)
    for _, name in ipairs { "sockets", "cores", "caches", "nodes" } do
      assert.is_string(bare.absent[name], name)
    end
    assert.is_nil(bare.cpus[1].core)
  end)

  it("are of kinds where cores differ, without those that are offline", function()
    local machine = parts.read(topologies.hybrid())
    assert.same({ 8 }, machine.offline)
    assert.equal("cpu_core", machine.by_cpu[3].kind)
    assert.equal("cpu_atom", machine.by_cpu[4].kind)
    assert.same({ "0-1", "2-3", "4-7" }, caches_of(machine, 2, "Unified"))
  end)

  it("differ by capacity on Arm", function()
    local root = topologies.arm()
    for cpu, capacity in pairs { [0] = 446, 446, 1024, 1024 } do
      support.write(("%s/devices/system/cpu/cpu%d/cpu_capacity"):format(root, cpu), capacity .. "\n")
    end
    assert.same({ "capacity 446", "capacity 446", "capacity 1024", "capacity 1024" },
      lists.column(parts.read(root).cpus, "kind"))
  end)
end)

describe("pmclua doctor --topology", function()
  it("shows a recorded machine in rows, the kinds of its cores among them", function()
    local shown = tostring(pmc.doctor.topology(topologies.hybrid()))
    for _, row in ipairs { "offline +8\n", "cpu_core +2 cores: CPUs 0%-3\n", "cpu_atom +4 cores: CPUs 4%-7\n",
        "cores +6, of 1 to 2 threads %(SMT%): 0%-1; 2%-3; 4; 5; 6; 7\n" } do
      assert.match("\n" .. row, shown)
    end
    assert.not_match("may use", shown)
    assert.is_true(support.widest(shown) <= 80)
  end)

  it("shows what this process may use of the machine", function()
    support.need(support.have "taskset", "taskset")
    local run = support.run { "taskset", "-c", "0", support.program, "doctor", "--topology", "--json" }
    local found = require("dkjson").decode(run.out)
    assert.equal(0, run.status)
    assert.same({ 0 }, found.allowed.cpus)
    assert.equal(#require("pmclua.host.topology").online(), #found.cpus)
    local both = support.pmclua { "doctor", "--topology", "--truths" }
    assert.equal(2, both.status)
    assert.match("ask one", both.err)
  end)
end)
