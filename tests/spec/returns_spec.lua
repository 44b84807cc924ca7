-- Returns of functions as events: counted by probes that leave the program's stack as it is.

local made = require "tests.support.regions"
local pmc = require "pmclua"
local support = require "tests.support"

--- The program counted once; its cell, and what is said of the result.
local function count(...)
  local result = pmc.measure(pmc.command { made.program("leaves.cc", "-fno-optimize-sibling-calls") },
    { events = { ... }, repetitions = 1, warmup = 0, store = false, quiet = true })
  return result:cells()(), (result:report():gsub("%s+", " "))
end

local function of(name, form) return (form or "%s:%s%%return"):format(made.program "leaves.cc", name) end

local function problem_of(spec)
  local ok, problem = pcall(count, spec)
  assert.is_false(ok)
  return tostring(problem)
end

describe("a function's returns", function()
  lazy_setup(made.need_probes)

  it("are counted, however deep its calls are within each other", function()
    local cell, said = count(of "deep")
    local sum = 0
    for _, event in ipairs(cell.result.events) do sum = sum + cell:summary(event.field).median end
    assert.equal(1000, sum)
    if #cell.result.events > 1 then assert.matches("its returns are the sum of their counts", said) end
  end)

  it("do not abort a program that throws through it, and exceptions are none of them", function()
    local cell = count("x = " .. of "thrower")
    assert.is_nil(cell.first_failure)
    assert.equal(10, cell.x.median)
  end)

  it("are said to be fewer where a jump on a condition leaves it, too", function()
    support.need(jit.arch == "x64", "the function is of x86-64")
    local cell, said = count("x = " .. of "leaps")
    assert.equal(5, cell.x.median)
    assert.matches("left by a conditional or indirect jump, which is not counted", said)
  end)

  it("are refused where there is no return, with what a return probe does", function()
    local said = problem_of(of "never")
    assert.matches("'never' has no return instruction", said)
    assert.matches("uretprobe:.* aborts C%+%+ programs", said)
    assert.matches("returns of an address cannot be found", problem_of(of "0x1000"))
    assert.matches("no offset", problem_of(of("deep", "%s:%s+4%%return")))
  end)

  it("are counted by a return probe only where it is asked for, which is said", function()
    local _, said = count("x = " .. of("deep", "uretprobe:%s:%s"))
    assert.matches("C%+%+ exception through the function aborts the program", said)
    assert.matches("beyond 64 nested calls are missed", said)
  end)

  it("are counted so by a script's own attr, too, and the script is told", function()
    local offset = assert(require("pmclua.event.functions").offset(made.program "leaves.cc", "deep"))
    local spec = ("x = uprobe/path='%s',offset=0x%x,retprobe/"):format(made.program "leaves.cc", offset)
    local _, said = count(spec)
    assert.matches("C%+%+ exception through the function aborts the program", said)
    local number = io.open "/sys/bus/event_source/devices/uprobe/type"
    local type = number:read "*n"
    number:close()
    local script = ("pmc.open{ type = %d, config = 1, uprobe_path = %q, config2 = %d }:close()"):format(type,
      made.program "leaves.cc", offset)
    local told = support.pmclua({ "-e", script })
    assert.matches("C%+%+ exception", (told.err):gsub("%s+", " "))
  end)
end)
