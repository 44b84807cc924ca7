-- More events than a group holds, and than a process may open without asking.

local pmc = require "pmclua"
local support = require "tests.support"

local COUNT = 1500

local function specs(form)
  local list = {}
  for i = 1, COUNT do list[i] = form:format(i) end
  return list
end

local EVENTS = table.concat(specs "e%d=page-faults", ",")

-- pmclua stat under a limit of descriptors, as ulimit has it.
local function stat(limit, ...)
  support.need(select(2, require("pmclua.core.processes").descriptor_limits()) > 4 * COUNT, "few descriptors")
  support.need_unwatched("it keeps descriptors of its own, within the limit", "valgrind")
  return support.run { "sh", "-c", ("ulimit %s; exec \"$@\""):format(limit), "sh", support.program, "stat",
    "-x", ",", "-o", "-", ... }
end

-- How many rows are counted, and their values, each once.
local function counted(csv)
  local rows, values = 0, {}
  for value in csv:gmatch ",e%d+,,[^\n]-,(%d+),counted" do
    rows = rows + 1
    values[value] = true
  end
  return rows, values
end

describe("1,500 events", function()
  it("of one name are counted alike, and the command has the limit that was found", function()
    local run = stat("-Sn 256", "-e", EVENTS, "--", "sh", "-c", "ulimit -Sn; ulimit -Hn")
    local soft, hard, csv = run.out:match "^(%d+)\n(%w+)\n(.*)$"
    assert.equal("256", soft, run.err)
    assert.truthy(hard ~= soft)
    local rows, values = counted(csv)
    assert.equal(COUNT, rows)
    assert.is_nil(next(values, (next(values))))
  end)

  it("are counted on all CPUs", function()
    support.need(support.have_root(), "counting CPUs needs root")
    local run = stat("-Sn 256", "-a", "-e", EVENTS, "--", "sh", "-c", "ulimit -Sn")
    assert.matches("^256\n", run.out, 1, false)
    assert.equal(COUNT, (counted(run.out)))
  end)

  it("are counted of a kernel", function()
    support.need(support.have "cc", "no C compiler")
    local kernel = pmc.kernel { symbol = "nothing", code = [[
      #include "pmclua_kernel.h"
      void nothing(void *state, uint64_t iterations) { (void)state; pmclua_keep(iterations); }]] }
    local result = pmc.measure(kernel, { events = specs "e%d = page-faults", repetitions = 1 })
    for cell in result:cells() do assert.same({ 0, 0 }, { cell.e1.median, cell.e1500.median }) end
  end)

  it("above the hard limit are refused with the number of descriptors", function()
    local run = stat("-n 256", "-e", EVENTS, "--", "true")
    assert.equal(125, run.status)
    assert.matches("the events need 1,500 descriptors .*the limit is 256 %(hard limit 256%)", run.err)
  end)

  it("in one group are too many, with how many it holds", function()
    for _, run in ipairs { stat("-Sn 256", "-e", "{" .. EVENTS .. "}", "--", "true"),
      support.run { support.program, "-e", ([[local list = {}
        for i = 1, %d do list[i] = "e" .. i .. " = page-faults" end
        pmc.group(list)]]):format(COUNT) } } do
      assert.truthy(run.status ~= 0)
      local most = run.err:match "a group of 1,500 is too big: [^,]*, ([%d,]+) of these events; make several"
      local number = tonumber((most:gsub(",", "")))
      assert.is_true(number >= 681 and number < COUNT, run.err)
    end
  end)
end)
