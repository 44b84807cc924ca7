-- What takes two CPUs, one of which is taken away: counts of a CPU that goes offline.

local support = require "tests.support"

local LAB = support.root .. "/tests/lab/lab.sh"

-- CPU 1 is offline for a while, and back before the end.
local AWAY = "sleep 0.1; cd /sys/devices/system/cpu/cpu1; echo 0 >online; sleep 0.1; "
  .. "echo 1 >online; sleep 0.1"

local function in_lab(script)
  return support.run({ LAB, "run", "--smp", "2", "--timeout", "120", "--", "sh", "-c", script },
    { limit_s = 150 })
end

describe("a CPU that goes offline", function()
  it("keeps what it counted by then, and is named though it is back at the end", function()
    local counted = "-a -A -x , -e %s -o - -- sh -c '" .. AWAY .. "'; echo"
    local run = in_lab("pmclua stat " .. counted:format "cpu-clock" .. "; pmclua stat "
      .. counted:format "cpu-clock,cs" .. "; pmclua monitor -I 50 " .. counted:format "cpu-clock")
    local alone, group, over_time = run.out:match "^(.-)\n\n(.-)\n\n(.-)\n\n"
    assert.truthy(over_time, run.out .. run.err)
    for _, csv in ipairs { alone, group } do
      local stayed = tonumber(csv:match "\n[^\n]-,,0,,cpu_clock,[^\n]-,(%d+),counted")
      local went = tonumber(csv:match "\n[^\n]-,,1,,cpu_clock,[^\n]-,(%d+),counted")
      assert.is_true(0 < went and went < 0.7 * stayed, csv)
    end
    assert.matches("\n[^\n]*,1,,not%-counted\n[^\n]*,all,%d+,counted\n", over_time)
    local _, said = run.err:gsub("CPU 1 went offline: counted until then, and not again\n", "")
    assert.equal(3, said, run.err)
  end)
end)
