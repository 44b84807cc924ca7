-- Where the probe of a function's entry stands: at an instruction that Linux emulates, if every call passes it once.

local functions = require "pmclua.workload.functions"
local made = require "tests.support.regions"
local regions = require "pmclua.experiment.regions"
local support = require "tests.support"

-- Bytes behind the entry; where a probe is stepped, 0.
local PLACES = { at_once = 0, behind_test = 2, behind_endbr = 6, at_branch = 2, loops_to_entry = 2,
  loops_within = 0, loops_by_count = 0, reads_first = 0, moves_stack = 0, through_pointer = 0, has_inner = 0,
  jumped_into = 0, stepped = 0 }

local NAMES = require("pmclua.base.lists").keys(PLACES)

local function program()
  support.need(support.have "cc", "no C compiler")
  support.need(jit.arch == "x64", "what Linux emulates differs by machine")
  return made.program "entries.S"
end

describe("the probe of an entry", function()
  it("stands at the first instruction that Linux emulates, where that is as good as the entry", function()
    local path = program()
    for _, name in ipairs(NAMES) do
      local region = functions.find(name, { program = path })[1]
      local start = assert(require("pmclua.event.functions").offset(path, name))
      assert.equal(PLACES[name], region.points[1].offset - start, name)
      local said = table.concat(region.notes, "\n")
      assert.equal(PLACES[name] ~= 0, said:find("stands at +" .. PLACES[name], 1, true) ~= nil, name)
      local is_stepped = PLACES[name] == 0 and name ~= "at_once"
      assert.equal(is_stepped, said:find("Linux steps the instruction", 1, true) ~= nil, name)
    end
  end)

  it("sees each call and nothing else, whatever jumps and loops there are", function()
    local path = program()
    made.need_probes()
    local result = regions.measure({ path }, { regions = NAMES, events = { made.FAULTS }, calibrate = false,
      timeout = 30 })
    assert.equal(0, result.exit)
    for i, name in ipairs(NAMES) do
      assert.equal(name, result[i].name)
      assert.equal(10, result[i].calls, name)
    end
  end)
end)
