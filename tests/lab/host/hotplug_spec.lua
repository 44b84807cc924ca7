-- What takes two CPUs, one of which is taken away or brought: counts of a CPU that goes offline or comes online.

local support = require "tests.support"

local LAB = support.root .. "/tests/lab/lab.sh"

-- CPU 1 is offline for a while, and back before the end.
local AWAY = "sleep 0.1; cd /sys/devices/system/cpu/cpu1; echo 0 >online; sleep 0.3; "
  .. "echo 1 >online; sleep 0.3"

local function in_lab(script)
  return support.run({ LAB, "run", "--smp", "2", "--timeout", "120", "--", "sh", "-c", script },
    { limit_s = 150 })
end

describe("a CPU that goes offline", function()
  it("keeps what it counted by then, and counts on when it is back", function()
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
    for _, said in ipairs { "CPU 1 went offline: counted only until then\n",
      "CPU 1 came online: counted only from when this was noticed\n" } do
      assert.equal(3, select(2, run.err:gsub(said, "")), run.err)
    end
  end)
end)

-- What is counted: the system calls of a program that makes so many.
local CALLS = "calls=syscalls:sys_enter_getppid"
local CALLER = support.root .. "/build/lab/caller"             -- by lab.mk, of fixtures/target/caller.c
local BEFORE = "mkdir -p /sys/fs/cgroup/a; cd /sys/devices/system/cpu/cpu1; "
local STAT = "pmclua stat -x , -o - -e " .. CALLS .. " %s -- sh -c '%s'; "

local function call(count, before)
  return ("echo go | %s %s 0 %d; "):format(before or "", CALLER, count)
end
local function times(text, said) return select(2, text:gsub(said .. "\n", "")) end

local CAME = "CPU 1 came online: counted only from when this was noticed"
local APART = "CPU 1 came online: included in the sum only, from when this was noticed"
local WENT = "CPU 1 went offline: counted only until then"

describe("a CPU that is back", function()
  it("is counted again, of all CPUs and of itself, once; and no limit holds", function()
    local pinned = "echo 1 >online; sleep 0.5; " .. call(500, "taskset -c 1")
    local away = call(1000, "taskset -c 0") .. "echo 0 >online; sleep 0.3; " .. pinned
    local quick = call(1000) .. "sleep 0.3; echo 0 >online; " .. pinned
    local limited = STAT:gsub("%-x , %-o %-", "--limit 'calls <= 5000'")
    local run = in_lab(BEFORE .. STAT:format("-a", away) .. "echo; " .. STAT:format("-C 1", away) .. "echo; "
      .. STAT:format("-a", quick):gsub("stat", "monitor -I 100") .. "echo; "
      .. limited:format("-a", away):gsub("; $", " >/dev/null; echo $?"))
    local all, own, over_time, status = run.out:match "^(.-)\n\n(.-)\n\n(.-)\n\n(%d+)\n$"
    assert.truthy(status, run.out .. run.err)
    assert.matches(",calls,[^\n]*,1501,counted", all)
    assert.matches(",calls,[^\n]*,50[01],counted", own)
    local total = 0
    for count in over_time:gmatch ",(%d+),counted" do total = total + tonumber(count) end
    assert.equal(1501, total, over_time)
    assert.equal("77", status)
    assert.equal(4, times(run.err, WENT), run.err)
    assert.equal(4, times(run.err, CAME), run.err)
  end)
end)

describe("a CPU that comes online", function()
  it("is counted too, and named: from when it was noticed", function()
    -- The shell itself makes one.
    local command = call(1000) .. "echo 1 >online; sleep 0.5; " .. call(500, "taskset -c 1")
    local run = in_lab(BEFORE .. "echo 0 >online; " .. STAT:format("-a", command)
      .. "echo; echo 0 >online; " .. STAT:format("-a -A", command)
      .. "echo; echo 0 >online; " .. STAT:format("-a", command):gsub("stat", "monitor -I 100"))
    local sum, divided, over_time = run.out:match "^(.-)\n\n(.-)\n\n(.*)$"
    assert.truthy(over_time, run.out .. run.err)
    assert.matches(",calls,[^\n]*,1501,counted", sum)
    assert.matches(",,,,,calls,[^\n]*,1501,counted", divided)
    assert.is_nil(divided:find(",,1,,calls", 1, true), divided)
    local total = 0
    for count in over_time:gmatch ",(%d+),counted" do total = total + tonumber(count) end
    assert.equal(1501, total, over_time)
    assert.equal(2, times(run.err, CAME), run.err)
    assert.equal(1, times(run.err, APART), run.err)
  end)

  it("and is offline again before that was noticed is named", function()
    local script = support.write(support.folder() .. "/briefly.lua", [[
      local pmc = require "pmclua"
      local function set(online)
        local file = assert(io.open("/sys/devices/system/cpu/cpu1/online", "w"))
        file:write(online)
        file:close()
      end
      set "0"
      local group = pmc.group { "cpu-clock", target = pmc.system() }:start()
      print(#group:remarks())
      set "1"
      set "0"
      group:stop()
      print(table.concat(group:remarks(), ";"))
      group:close()]])
    local run = support.run({ LAB, "script", "--smp", "2", "--timeout", "120", "--", script },
      { limit_s = 150 })
    assert.equal("0\nCPU 1 was online for a while: what ran there is not counted\n", run.out, run.err)
  end)
end)

describe("a CPU that goes offline while a cgroup is counted", function()
  it("is named, though it is back at the end and the cgroup never ran there", function()
    local command = "echo $$ >/sys/fs/cgroup/a/cgroup.procs; " .. call(1000, "taskset -c 0") .. "%s"
    local away = command:format "echo 0 >online; sleep 0.1; echo 1 >online; sleep 0.1"
    local run = in_lab(BEFORE .. STAT:format("-G a", away) .. STAT:format("-G a", command:format "sleep 0.1"))
    assert.equal(1, times(run.err, WENT), run.out .. run.err)
    assert.equal(2, select(2, run.out:gsub(",calls,[^\n]*,100[01],counted", "")), run.out)
  end)
end)

describe("a profile of CPUs", function()
  it("keeps what one had before it went offline, says so, and is not exact", function()
    local where = ("pmclua where -e syscalls:sys_enter_getppid -a -o - -- sh -c '%s'"):format(
      call(1000, "taskset -c 1") .. "echo 0 >online; sleep 0.3; echo 1 >online; sleep 0.2")
    local run = in_lab(BEFORE .. where)
    local row = run.out:match "\n(total[^\n]*)"
    assert.truthy(row, run.out .. run.err)
    assert.matches(" 1,%d%d%d ", row)
    assert.not_matches("=", row)
    assert.matches(WENT, run.out)
  end)
end)
