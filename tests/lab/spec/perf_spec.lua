-- The same counts by a program that is not ours: Debian's perf stat, to the instruction.

local lab = require "tests.lab.support"
local support = require "tests.support"

local RANDOMIZE = "/proc/sys/kernel/randomize_va_space"

describe("in the lab, perf stat", function()
  local environment, randomize

  lazy_setup(function()
    lab.need_lab()
    environment = lab.perf_environment()
    -- Where the stack begins decides how some string functions go about their work.
    randomize = support.read(RANDOMIZE)
    support.write(RANDOMIZE, "0")
  end)
  lazy_teardown(function() if randomize then support.write(RANDOMIZE, randomize) end end)

  local function assert_agrees(command)
    local theirs = lab.perf_stat("{instructions:u,cycles:u}", command)
    local group = { lab.instructions { inherit = 1 }, lab.cycles { inherit = 1 } }
    local ours = lab.count_once(lab.command(command, environment), { group }).values[1]
    assert.equal(theirs["instructions:u"], ours[1])
    assert.equal(theirs["cycles:u"], ours[2])
  end

  it("counts what we count of programs without libc, with their children and threads", function()
    assert_agrees { lab.built "turns", "two" }
    assert_agrees { lab.built "children", "one", "two" }
    assert_agrees { lab.built "thread" }
  end)

  it("counts what we count of programs of Debian's", function()
    assert_agrees { "/usr/bin/true" }
    assert_agrees { "/usr/bin/env", "/usr/bin/true" }
    assert_agrees { "/usr/bin/dash", "-c", "/usr/bin/true; /usr/bin/true" }
  end)

  it("counts what pmclua stat counts", function()
    local command = { "/usr/bin/dash", "-c", "/usr/bin/true; /usr/bin/true" }
    local words = { "env", "-i" }
    local function append(list) for _, word in ipairs(list) do words[#words + 1] = word end end
    append(environment)
    append { support.program, "stat", "-e", "instructions:u,cycles:u", "--format", "csv", "--" }
    append(command)
    local report = support.run(words).err
    for name, count in pairs(lab.perf_stat("{instructions:u,cycles:u}", command)) do
      assert.matches((",%s,,1,1,1,%d,counted,"):format(name, count), report, 1, true)
    end
  end)
end)
