-- Events that take a PMU, or an OS kernel with kprobes: groups that do not fit, probes of the OS kernel.

local ffi = require "ffi"
local lab = require "tests.lab.support"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"

ffi.cdef "int pmclua_lab_getppid(void) __asm__(\"getppid\");"

local CALLS = 100

-- "{cycles:u,n1=instructions:u,…}" with `others` events beside cycles.
local function group(others, modifiers)
  local members = { "cycles:u" }
  for i = 1, others do members[i + 1] = ("n%d = instructions:u"):format(i) end
  return ("{%s}%s"):format(table.concat(members, ","), modifiers or "")
end

local function measure(events)
  local workload = pmc.kernel { library = lab.built "known.so", symbol = "turns_2" }
  return pmc.measure(workload, { events = events, iterations = { 1000, 2000, 3000 }, repetitions = 9,
    store = false, quiet = true })
end

describe("in the lab, a group", function()
  lazy_setup(lab.need_lab)

  it("of cycles and six more is counted as it is", function()
    local cell = measure(group(6)):cells()()
    for i = 1, 6 do assert.same({ "counted", 2 }, { cell["n" .. i].status, cell["n" .. i].median }) end
  end)

  it("of cycles and eight more is refused, and with W counted in parts, each exactly", function()
    assert.equal("unsupported", measure(group(8)):cells()().n1.status)
    local result = measure(group(8, ":W"))
    local cell = result:cells()()
    for i = 1, 8 do assert.same({ "counted", 2 }, { cell["n" .. i].status, cell["n" .. i].median }) end
    assert.equal(2, #result.header.pass_events)
    assert.match("counted apart from its group, which does not fit", (tostring(result):gsub("%s+", " ")))
  end)
end)

describe("in the lab, a probe of the OS kernel", function()
  lazy_setup(lab.need_lab)

  it("counts each call and each return", function()
    local g = pmc.group { "calls = kprobe:__arm64_sys_getppid",
      "returns = kprobe:__arm64_sys_getppid%return" }
    local counts = g:count(function()
      for _ = 1, CALLS do ffi.C.pmclua_lab_getppid() end
    end)
    g:close()
    assert.same({ CALLS, CALLS }, { counts.calls, counts.returns })
  end)

  it("of a function that is not there is refused with the reason", function()
    local g = pmc.group { "kprobe:no_such_function" }
    local status, why = g:start():read():status "kprobe:no_such_function"
    assert.equal("unsupported", status)
    assert.match("Linux has no such function", why)
    g:close()
  end)
end)

describe("in the lab, a code that the PMU has not", function()
  lazy_setup(lab.need_lab)

  -- ASE_SPEC is a code of this kind of CPU alone; perf's table and libpfm4 know it.
  for _, spec in ipairs { "r3:u", "r3fff:u", "4:0x10", "armv8_pmuv3/event=0x3/u", "arm_n1::ASE_SPEC",
    "ase_spec:u" } do
    it("reads no 0 as a count: " .. spec, function()
      local g = pmc.group { "x = " .. spec, "instructions:u" }
      local counts = g:count(function() for i = 1, 1000 do local _ = i end end)
      g:close()
      assert.equal("unverified", counts:status "x")
      assert.is_nil(counts.x)
      assert.equal(0, counts.raw.x)
      assert.is_true(counts["instructions:u"] > 0)
    end)
  end

  -- Events of Arm's architecture, which Linux names in sysfs where a PMU has them.
  for _, spec in ipairs { "br_retired:u", "BR_MIS_PRED_RETIRED:u", "arm_n1::BR_MIS_PRED" } do
    it("is refused by a name that Linux would have for it: " .. spec, function()
      local explained = pmc.events.explain(spec)[1]
      assert.equal("unsupported", explained.status)
      assert.match("this PMU lacks it", explained.reason)
      assert.is_false(pmc.events.available(spec))
    end)
  end

  it("is not listed among vendors' events that are available", function()
    local listed = pmc.events.list { source = "vendor", available = true }
    assert.same({ "cpu_cycles", "inst_retired", "stall_backend", "stall_frontend" },
      lists.column(listed, "name"))
  end)

  -- The PMU looks at the lower 16 bits alone: instructions by a code that sysfs does not have.
  it("is told from one that nothing vouches for and that counts", function()
    local g = pmc.group { "x = r10008:u" }
    local counts = g:count(function() for i = 1, 1000 do local _ = i end end)
    g:close()
    assert.equal("counted", counts:status "x")
    assert.is_true(counts.x > 0)
  end)

  it("is explained as unverified", function()
    local explained = pmc.events.explain("r3:u")[1]
    assert.same({ "unverified", "it opens" }, { explained.status, explained.reason })
  end)
end)
