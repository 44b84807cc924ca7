-- The machine's clock is set by hours, forwards and back, in the middle of what is measured: no time, limit or
-- order goes by it.

local core = require "pmclua.core"
local json = require "dkjson"
local lab = require "tests.lab.support"
local pmc = require "pmclua"
local regions = require "pmclua.experiment.regions"
local session = require "pmclua.workload.session"
local support = require "tests.support"

local DATE = "/usr/bin/date"
local JUMP = { forwards = "+5 hours", back = "-5 hours" }
local HOUR_NS = 3600e9

local function set(way) os.execute(("%s -s '%s' >/dev/null"):format(DATE, JUMP[way])) end
local function setting(way) return pmc.command { DATE, "-s", JUMP[way], name = way } end
local function is_short(ns) return ns > 0 and ns < HOUR_NS end

local function repetitions_of(path)
  local list = {}
  for line in io.lines(path) do
    local value = json.decode(line)
    if value.kind == "repetition" then list[#list + 1] = value end
  end
  return list
end

describe("in the lab, while the clock is set", function()
  lazy_setup(lab.need_lab)

  it("repetitions take what they take, one after the other", function()
    local path, before = support.folder() .. "/stored.jsonl", 0
    local cell = pmc.compare(setting "forwards", setting "back",
      { events = { "duration_time", "page-faults" }, repetitions = 6, store = path }):cells()()
    assert.is_true(is_short(cell.duration_time.max))
    for _, record in ipairs(repetitions_of(path)) do
      assert.is_true(is_short(record.wall_ns) and is_short(record.start_ns - before), record.start_ns)
      before = record.start_ns
    end
  end)

  it("an experiment that was killed is resumed to the same plan", function()
    local folder = support.folder()
    local path = folder .. "/stored.jsonl"
    local script = support.write(folder .. "/killed.lua", ([[
      local pmc, ended = require "pmclua", 0
      return pmc.experiment {
        events = { "page-faults" }, repetitions = 6, warmup = 0, seed = 1, workloads = { "/usr/bin/true" },
        conclude = function()
          ended = ended + 1
          if ended == 3 then os.execute "%s -s '-5 hours' >/dev/null; sleep 0.3; kill -9 $PPID" end
        end }]]):format(DATE))
    local run, kills = support.pmclua { script, "--store", path }, 0
    while run.status == 137 and kills < 6 do
      kills = kills + 1
      run = support.pmclua { script, "--resume", path }
    end
    for _ = 1, kills do set "forwards" end
    assert.is_true(kills > 0)
    assert.equal(0, run.status, run.err)
    local seen = {}
    for _, record in ipairs(repetitions_of(path)) do seen[record.order] = true end
    assert.equal(6, #seen)
  end)

  it("a time limit is neither cut short nor put off", function()
    local runner = session.new()
    local function outcome(script, timeout_ns)
      local id = runner:workload(function(message)
        message:text("argument", "/usr/bin/dash"):text("argument", "-c"):text("argument", script)
        message:number("output", core.OUTPUT["null"])
      end)
      return runner:run({ workload = id, timeout_ns = timeout_ns }).outcome
    end
    local forwards = outcome(DATE .. " -s '+5 hours'", 60e9)
    local back = outcome(DATE .. " -s '-5 hours'; exec /usr/bin/sleep 600", 2e8)
    runner:close()
    assert.same({ "done", "timed-out" }, { forwards, back })
  end)

  it("intervals go on, and end when they are to", function()
    local count, last = 0, nil
    for interval in pmc.monitor { target = pmc.self(), events = { "task-clock" }, interval = "20ms",
      duration = "100ms" } do
      count, last = count + 1, interval
      assert.is_true(is_short(interval.seconds * 1e9) and is_short(interval.time * 1e9), interval.time)
      set(count % 2 == 1 and "forwards" or "back")
    end
    if count % 2 == 1 then set "back" end
    assert.is_true(count >= 1 and last.time >= 0.1)
  end)

  it("the calls of a function take what they take", function()
    local calls = lab.built "calls"
    local words = ("%s; %s -s '+5 hours'; %s; %s -s '-5 hours'; %s"):format(calls, DATE, calls, DATE, calls)
    local work = regions.measure({ "/usr/bin/dash", "-c", words },
      { regions = calls .. ":work", events = "page-faults", calibrate = false, timeout = 60 })
    support.need(work.path == "all threads", "children are followed from Linux 6.12 on")
    assert.equal(12, work[1].calls)
    assert.is_true(is_short(work[1]:values("duration").sum) and is_short(work.wall_ns))
  end)
end)
