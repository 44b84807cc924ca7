-- Where accesses were answered, as a PMU tells it, and from which NUMA node: played, as this machine may have neither.

local core = require "pmclua.core"
local core_profile = require "pmclua.core.profile"
local data_source = require "pmclua.profile.data_source"
local ffi = require "ffi"
local profile = require "pmclua.profile.make"
local support = require "tests.support"

local OPENED, HARDWARE, PRECISE = { type = 1, config = 2 }, 4, 2

-- perf_mem_data_src from its fields (linux/perf_event.h).
local function source(fields)
  local value = 0ULL
  local lowest = { op = 0, level = 5, snoop = 19, lock = 24, tlb = 26, number = 33, remote = 37, more = 38 }
  for name, low in pairs(lowest) do
    value = value + (fields[name] or 0) * 2ULL ^ low
  end
  return value
end

describe("where an access was answered", function()
  it("is told in words as PMUs of each kind write it", function()
    local function told(value) return data_source.text(ffi.cast("uint64_t", value)) end
    -- As perf script prints them on Intel: a load from L1, from L3.
    assert.equal("L1 hit", told(0x68100142ULL))
    assert.equal("L3 hit", told(0x68100842ULL))
    assert.equal("L3 hit, modified in another cache",
      told(source { op = 2, level = 0x42, snoop = 0x10, tlb = 0x1a }))
    assert.equal("L2 miss, TLB miss", told(source { op = 2, level = 4, number = 2, tlb = 0x24 }))
    assert.equal("RAM, locked", told(source { op = 2, level = 0x82, lock = 2 }))
    assert.equal("remote RAM", told(source { op = 2, level = 2, number = 13, remote = 1 }))
    assert.equal("L2 hit, from a neighbour's cache", told(source { op = 4, level = 2, number = 2, more = 2 }))
    assert.is_nil(told(source { op = 1, level = 1, snoop = 1, lock = 1, tlb = 1 }))
    assert.is_true(data_source.is_write(source { op = 4 }))
    assert.is_false(data_source.is_write(source { op = 2 }))
  end)
end)

-- Samples of a precise hardware event of this process, for which Linux records page faults: addresses, CPUs and the place of
-- the data source are Linux's own.
local function sampled_faults(pages)
  local function play(real, attr, pid, cpu, group, flags)
    local value, copy = ffi.new "uint64_t[1]", ffi.new "struct pmclua_attr"
    ffi.copy(copy, attr, ffi.sizeof(copy))
    ffi.C.pmclua_attr_get(copy, "precise_ip", value)
    if value[0] == PRECISE then
      for name, its in pairs { type = OPENED.type, config = OPENED.config, precise_ip = 0 } do
        ffi.C.pmclua_attr_set(copy, name, its)
      end
    end
    return real(copy, pid, cpu, group, flags)
  end
  local found
  support.with_system("perf_event_open", play, function()
    local sampler = assert(core_profile.open { attr = { type = HARDWARE, config = 0x1cd, precise_ip = PRECISE,
      exclude_kernel = 1, exclude_hv = 1 }, period = 1, cpus = require("pmclua.host.topology").online(),
      tasks = { core.pid() }, data = true })
    sampler:start()
    support.touch_pages(pages)
    found = sampler:finish()
    sampler:close()
  end)
  return found
end

-- Writes what a PMU would have told into the samples: each second one was a store.
local function tell(found, loads, stores)
  local raw = ffi.cast("struct pmclua_profile *", found.block)
  local size, last = tonumber(raw.record_u64s), ffi.sizeof(found.block) / 8
  for i = 0, found.records - 1 do
    local at = ffi.cast("uint64_t *", found.block) + last - (found.records - i) * size
    local sample = ffi.cast("struct pmclua_profile_sample *", at)
    sample.data_source = i % 2 == 0 and loads or stores
  end
end

describe("samples of a PMU that tells addresses", function()
  local function lines_of(found)
    local attribution = require("pmclua.profile.attribute").new()
    local made = profile.new(found, { name = "mem-loads", unit = "", attr = {} }, attribution,
      { data = true })
    attribution:close()
    return made.data.lines
  end

  it("are in the table of objects, with their source and without a guess", function()
    local found = sampled_faults(64)
    assert.is_true(found.records >= 64)
    tell(found, source { op = 2, level = 0x42, tlb = 0xa },
      source { op = 4, level = 2, number = 13, tlb = 0x24 })
    local counts, written = {}, {}
    for _, line in ipairs(lines_of(found)) do
      for _, at in ipairs(line.at) do
        counts[at.source] = (counts[at.source] or 0) + at.count
        if at.is_write then written[at.source] = true end
      end
    end
    assert.equal(found.records, counts["L3 hit"] + counts["RAM, TLB miss"])
    assert.is_true(math.abs(counts["L3 hit"] - counts["RAM, TLB miss"]) <= 1)
    assert.same({ ["RAM, TLB miss"] = true }, written)
  end)

  it("have no source where the PMU tells none", function()
    for _, line in ipairs(lines_of(sampled_faults(8))) do
      for _, at in ipairs(line.at) do assert.is_nil(at.source) end
    end
  end)
end)

-- A machine whose CPUs are on two nodes; `all_on`: those of this one are on that node.
local function two_nodes(all_on)
  local folder = support.folder()
  local cpus = support.read("/sys/devices/system/cpu/online"):match "%S+"
  os.execute(("cd %s && mkdir -p devices/system/node/node0 devices/system/node/node1 && "
    .. "cp -r /sys/devices/system/cpu devices/system/ 2>/dev/null"):format(folder))
  support.write(folder .. "/devices/system/node/online", "0-1\n")
  support.write(folder .. "/devices/system/node/node0/cpulist", all_on == 0 and cpus .. "\n" or "\n")
  support.write(folder .. "/devices/system/node/node1/cpulist", all_on == 1 and cpus .. "\n" or "900-901\n")
  return folder
end

describe("page faults on a machine with several NUMA nodes", function()
  it("tell the node of the CPU that touched the page, and none where there is one node", function()
    local program = require("tests.support.where").program("data.c", "-O2", "-pthread")
    local words = { "where", "--data", "-e", "page-faults", "--by", "node", "--", program, "pages", "7" }
    for node = 0, 1 do
      local done = support.pmclua(words, { env = { SYSFS_PATH = two_nodes(node) } })
      assert.matches("touched, from node " .. node, done.err, 1, true)
    end
    local online = support.exists "/sys/devices/system/node/online"
      and support.read "/sys/devices/system/node/online" or "0"
    support.need(not online:find "[,-]", "this machine has several nodes")
    assert.not_matches("from node", support.pmclua(words).err)
  end)
end)
