-- Calls on stacks that are not their threads', on a machine where a call leaves the stack pointer alone.

local lab = require "tests.lab.support"
local regions = require "pmclua.experiment.regions"
local support = require "tests.support"

--- A shape of stacks.c followed; and of each call what clocks within and around it said.
local function run(shape, n)
  local path = support.folder() .. "/stacks"
  local built = support.run { "cc", "-O2", "-o", path, support.fixture "region/stacks.c", "-lpthread" }
  assert(built.status == 0, built.err)
  local result = regions.measure({ path, shape, tostring(n), path .. ".times" }, { regions = { "work" },
    events = { "instructions:u" }, calibrate = false, timeout = 60 })
  assert.equal(0, result.exit)
  local times = {}
  for line in io.lines(path .. ".times") do
    local within, around = line:match "(%d+) (%d+)"
    times[#times + 1] = { tonumber(within), tonumber(around) }
  end
  return result:region "work", times, result.path == "all threads"
end

describe("in the lab, calls on stacks that switch", function()
  lazy_setup(lab.need_lab)

  for _, shape in ipairs { "moves", "turns" } do
    local sentence = "have durations and no counts, and nothing where one thread is followed (%s)"
    it(sentence:format(shape), function()
      local work, times, is_all = run(shape, 20)
      if not is_all then
        assert.is_nil(work:values("instructions:u").sum)
        return assert.same({}, work:list "duration")
      end
      local list = work:list "duration"
      assert.equal(#times, #list)
      for i, took in ipairs(list) do assert.is_true(times[i][1] <= took and took <= times[i][2]) end
      assert.equal("not-counted", work:values("instructions:u").status)
    end)
  end
end)
