-- Marks of coroutines, which take turns on a thread or move between threads.

local pmc = require "pmclua"
local support = require "tests.support"

local built

local function program()
  support.need(support.have "cc", "no C compiler")
  built = built or support.build(support.folder() .. "/marked", "cc", "-O2", "-Wall", "-Wextra", "-Werror",
    "-DMARKS", "-I" .. support.root .. "/core", support.fixture "region/stacks.c", "-lpthread")
  return built
end

--- A shape of stacks.c with every entry a value: wall times of the mark, what clocks within and around it said, and
--- what is said of the result.
local function run(shape, n)
  local path, walls, times = support.folder() .. "/times", {}, {}
  local result = pmc.measure(pmc.command { program(), shape, tostring(n), path }, { events = "task-clock",
    regions = { "marks", entries = true }, repetitions = 1, warmup = 0, store = false, quiet = true,
    each = function(record)
      if record.region == "work" then walls[#walls + 1] = tonumber(record.wall_ns) end
    end })
  for line in io.lines(path) do
    local within, around = line:match "(%d+) (%d+)"
    times[#times + 1] = { tonumber(within), tonumber(around) }
  end
  return walls, times, (result:report():gsub("%s+", " "))
end

describe("marks of coroutines", function()
  it("that take turns on a thread have entries of their own", function()
    local walls, times, said = run("turns", 20)
    assert.equal(40, #times)
    assert.equal(#times, #walls)
    for i, wall in ipairs(walls) do assert.is_true(times[i][1] <= wall and wall <= times[i][2]) end
    assert.is_nil(said:find("never ended", 1, true))
  end)

  it("that move between threads have no numbers, and are said to", function()
    local walls, _, said = run("moves", 20)
    assert.same({}, walls)
    assert.matches("mark 'work' ended on other threads than it began on", said)
  end)
end)
