-- Calls of a function in an unmodified program, each of known length.

local lab = require "tests.lab.support"
local pmc = require "pmclua"
local support = require "tests.support"

-- What commands/calls.S does, and the instructions that its probes add to a call.
local TURNS = { 1000, 2000, 3000, 4000 }

--- The counts of each call of `work`, in order.
local function calls_of(options)
  local words = { support.program, "regions", "--function", "work", "-e", "instructions:u,cycles:u",
    "--calls", "/dev/stdout" }
  for _, word in ipairs(options) do words[#words + 1] = word end
  words[#words + 1] = lab.built "calls"
  local run, calls = support.run(words), {}
  for instructions, cycles in run.out:gmatch "work,[^\n]*,(%d+),(%d+)\n" do
    calls[#calls + 1] = { tonumber(instructions), tonumber(cycles) }
  end
  assert.equal(0, run.status, run.err)
  return calls
end

--- True from Linux 6.12 on, where samples of inherited events can carry counts.
local function has_inherited_samples()
  local major, minor = pmc.machine().os_kernel:match "^(%d+)%.(%d+)"
  return tonumber(major) * 1000 + tonumber(minor) >= 6012
end

local function assert_known(calls)
  assert.equal(#TURNS, #calls)
  local rest = calls[1][1] - 2 * TURNS[1]
  assert.is_true(rest >= 2 and rest <= 4)      -- one before the turns, one after; the probes may add some
  for i, turns in ipairs(TURNS) do
    assert.equal(2 * turns + rest, calls[i][1])
    assert.equal(lab.CYCLES_PER_INSTRUCTION * calls[i][1], calls[i][2])
  end
end

describe("in the lab, each call of a function", function()
  lazy_setup(lab.need_lab)

  it("reads its own length, where the program's first thread is followed", function()
    assert_known(calls_of { "--one-thread", "--" })
  end)

  it("reads its own length, where all threads are followed", function()
    support.need(has_inherited_samples(), "samples of inherited events carry counts from Linux 6.12 on")
    assert_known(calls_of { "--" })
  end)
end)
