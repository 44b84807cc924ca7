-- Counters that cannot but advance, and stand still: they do not count, as energy in a virtual machine.

local expect = require "pmclua.experiment.expect"
local ffi = require "ffi"
local reading = require "pmclua.counting.reading"
local made = require "tests.support.results"
local metric = require "pmclua.metric"
local pmc = require "pmclua"
local support = require "tests.support"

local WHY = "its counter did not move: virtual machines may show such a counter without running it; "
  .. "a run shorter than one step of the counter reads the same"

local ENERGY = made.event("energy", { spec = "power/energy-psys/", pmu = "power", unit = "Joules",
  scale = 0.5, attr = { type = 30, config = 5 } })

local function of(counts)
  local header = made.header { events = { ENERGY, made.event "page-faults" }, pass_events = { { 1, 2 } },
    metrics = { "watts = energy / (wall_ns / 1e9)" },
    cells = { { workload = "rows", levels = { n = 256 } } }, factors = { { "n", { 256 } } },
    workloads = { { name = "rows", kind = "command", per = "run" } } }
  return made.result(header, made.records { counts, { 10, 10, 10, 10 } })
end

describe("an energy counter that stands still", function()
  it("has no number in any format, nor have metrics of it", function()
    local cell = of({ 0, 0, 0, 0 }):cells()()
    assert.same({ "not-counted", 0, WHY }, { cell.energy.status, cell.energy.n, cell.energy.why })
    assert.equal(0, cell.watts.n)
    assert.matches("energy +–  <not counted>: its counter did not move", tostring(of { 0, 0, 0, 0 }))
    assert.matches('"counts":{[^}]*"energy":%[null,null', of({ 0, 0, 0, 0 }):report { format = "json" })
    assert.matches(",energy,Joules,,,,,not%-counted,", of({ 0, 0, 0, 0 }):report { format = "csv" })
  end)

  it("now and then, for a step, is absent there, and wholly where that is half of the time", function()
    local energy = of({ 4, 0, 6, 8 }):cells()().energy
    assert.same({ 3, 3, 1 }, { energy.median, energy.n, energy.missing })
    assert.equal(0, of({ 4, 0, 0, 8 }):cells()().energy.n)
  end)

  it("holds no gate and no prediction", function()
    local still = of { 0, 0, 0, 0 }
    still.status = "complete"
    assert.equal("uncountable", still:gate({ limits = { "energy <= 5" } }).state)
    local expectations = expect.new { expect = { (metric.comparison "energy <= 5") }, events = { ENERGY } }
    for _, record in ipairs(made.records { { 0, 0 } }) do expectations:take(record) end
    assert.equal("uncountable", expectations:results()[1].state)
  end)
end)

describe("a counter that must advance", function()
  it("is energy, the time stamp, or what follows the frequency", function()
    local function event(pmu, kind, config) return { pmu = pmu, attr = { type = kind, config = config } } end
    for _, config in ipairs { 0, 1, 2, 3, 5, 6 } do
      assert.is_true(reading.may_be_too_small(event("msr", 10, config)), config)
    end
    assert.is_false(reading.may_be_too_small(event("msr", 10, 4)))                         -- smi
    assert.is_false(reading.may_be_too_small(event(nil, 0, 3)))                            -- cache misses
    assert.is_false(reading.may_be_too_small(event(nil, 1, 2)))                            -- page faults
  end)
end)

-- ---- played: a machine with a PMU of energy ----

local POWER, SOFTWARE, CPU_CLOCK, DUMMY = 30, 1, 0, 9

local function sysfs()
  local root = support.folder()
  local device = root .. "/bus/event_source/devices/power"
  support.run { "mkdir", "-p", device .. "/events", device .. "/format" }
  for path, content in pairs { type = POWER, cpumask = 0, ["format/event"] = "config:0-7",
    ["events/energy-psys"] = "event=0x05", ["events/energy-psys.scale"] = "2.3283064365386962890625e-10",
    ["events/energy-psys.unit"] = "Joules" } do
    support.write(device .. "/" .. path, content .. "\n")
  end
  return root
end

-- Calls `fn` where events of that PMU are opened as this software event.
local function with_power(config, fn)
  local system = ffi.C.pmclua_system
  local real = system.perf_event_open
  local open = ffi.cast("int (*)(const struct pmclua_attr *, int32_t, int32_t, int32_t, uint32_t)",
    function(attr, pid, cpu, group, flags)
      local kind = ffi.new "uint64_t[1]"
      ffi.C.pmclua_attr_get(attr, "type", kind)
      if kind[0] ~= POWER then return real(attr, pid, cpu, group, flags) end
      local copy = ffi.new "struct pmclua_attr"
      ffi.copy(copy, attr, ffi.sizeof(copy))
      ffi.C.pmclua_attr_set(copy, "type", SOFTWARE)
      ffi.C.pmclua_attr_set(copy, "config", config)
      return real(copy, pid, cpu, group, flags)
    end)
  system.perf_event_open = open
  local ok, why = support.interpreted(fn)
  collectgarbage()
  system.perf_event_open = real
  open:free()
  if not ok then error(why, 0) end
end

local function on_machine(config, fn)
  support.need(support.have_root(), "counting CPUs needs root")
  support.with_env({ SYSFS_PATH = sysfs() }, function() with_power(config, fn) end)
end

describe("energy of a machine", function()
  local SPEC = "energy = power/energy-psys/"

  it("that does not run its counter is not counted, though its CPUs work", function()
    on_machine(DUMMY, function()
      local group = pmc.group { SPEC, target = pmc.system() }:start()
      local counts = group:read()
      assert.same({ "not-counted", WHY }, { counts:status "energy" })
      assert.is_nil(counts.energy)
      group:close()
      local result = pmc.measure("true", { events = { SPEC }, target = pmc.system(), repetitions = 2 })
      for cell in result:cells() do assert.same({ 0, WHY }, { cell.energy.n, cell.energy.why }) end
      local monitor = pmc.monitor { events = { SPEC }, target = pmc.system(), interval = "10ms", count = 1 }
      for sample in monitor do assert.same({ "not-counted", WHY }, { sample:status "energy" }) end
    end)
  end)

  it("is said to be the whole machine's where some CPUs alone are asked for", function()
    local topology = require "pmclua.host.topology"
    support.need(#topology.online() > 1, "a machine of one CPU")
    on_machine(CPU_CLOCK, function()
      local function note(target)
        return pmc.measure("true", { events = { SPEC }, target = target, repetitions = 1 }).events[1].note
      end
      assert.equal("of the whole machine or socket, not only of the CPUs asked for", note(pmc.cpus "0"))
      assert.is_nil(note(pmc.system()))
      assert.is_nil(note(pmc.cpus(topology.format(topology.online()))))
    end)
  end)

  it("that does is counted in its unit", function()
    on_machine(CPU_CLOCK, function()
      local group = pmc.group { SPEC, target = pmc.system() }:start()
      local counts = group:read()
      assert.equal("counted", (counts:status "energy"))
      assert.near(tonumber(counts.raw.energy) * 2 ^ -32, counts.energy, 1e-12)
      group:close()
    end)
  end)
end)
