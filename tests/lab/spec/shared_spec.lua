-- A PMU that others use, too: what they take is not counted here, and that is said; what is counted is as
-- exact as without them.

local json = require "dkjson"
local lab = require "tests.lab.support"
local pmc = require "pmclua"
local regions = require "pmclua.experiment.regions"
local support = require "tests.support"

local TURNS = lab.built "turns"
local LENGTH = 20006                     -- of commands/turns.S without arguments
local CALLS = 4                          -- of `work`, in commands/calls.S
local PERF = "/usr/bin/perf stat -o /dev/null -a -e " .. lab.ALL_COUNTERS

-- The sum stays below 2^31: beyond, each round leaves its trace (lua/README.md), and of the longer run what was counted
-- is less than the hundredth that an estimate takes.
local function work()
  local sum = 0
  for i = 1, 6e4 do sum = sum + i end
  return sum
end

local function turns() return pmc.command { TURNS, name = "turns" } end
local function kernel()
  return pmc.kernel { name = "kernel", library = lab.built "known.so", symbol = "turns_2" }
end

--- Has perf hold all counters from one repetition to another, both included; nil: from before the first.
local function measured(workload, events, from, to)
  local repetition, release = 0, not from and lab.hold_counters() or nil
  local result = pmc.experiment {
    events = events, repetitions = 8, warmup = 0, iterations = workload.kind == "kernel" and 1000 or nil,
    workloads = { workload },
    prepare = function()
      repetition = repetition + 1
      if repetition == from then release = lab.hold_counters() end
    end,
    conclude = function() if repetition == to then release() end end,
  }:run { store = false }
  if not from then release() end
  return result, result:cells()()
end

describe("in the lab, while another process holds all counters", function()
  lazy_setup(lab.need_lab)

  for _, pinned in ipairs { false, true } do
    local which = pinned and "a pinned group" or "a group"

    it(which .. " of this thread has no number, and the reason", function()
      local release = lab.hold_counters()
      local group = pmc.group { "instructions:u", pinned = pinned }
      local counts = group:count(work)
      group:close()
      release()
      assert.is_nil(counts["instructions:u"])
      local status, why = counts:status "instructions:u"
      assert.equal("not-counted", status)
      local reason = pinned and "something else was using its counters" or "something else may be using them"
      assert.matches(reason, why)
    end)

    it(which .. " that had a number has no part of it afterwards", function()
      local group = pmc.group { "instructions:u", pinned = pinned, target = pmc.self() }
      group:start()
      work()
      local before = group:read()
      assert.is_true(before["instructions:u"] > 1e5)
      local release = lab.hold_counters()
      work()
      local after = group:read()
      release()
      group:close()
      -- A pinned group stays off for good; another is an estimate from then on.
      assert.equal(pinned and "not-counted" or "scaled", (after:status "instructions:u"))
      assert.equal(pinned, after["instructions:u"] == nil)
      assert.are_not.equal("counted", ((after - before):status "instructions:u"))
    end)
  end

  for _, spec in ipairs { "instructions:u", "instructions:uD" } do
    it("an experiment has the counts that need none, and says why not " .. spec, function()
      local result, cell = measured(turns(), { "n = " .. spec, "page-faults" })
      assert.equal("not-counted", cell.n.status)
      assert.matches("something else is using the counters it needs", cell.n.why)
      assert.equal(8, cell.page_faults.n)
      assert.matches("stop that", result:report())
    end)

    for _, workload in ipairs { turns, kernel } do
      local name = workload().kind
      it(("a repetition of a %s has no %s, and the others have all of it"):format(name, spec), function()
        local result, cell = measured(workload(), { "n = " .. spec }, 3, 5)
        assert.same({ "counted", 5, 3 }, { cell.n.status, cell.n.n, cell.n.missing })
        assert.equal(cell.n.min, cell.n.max)
        if name == "command" then assert.equal(LENGTH, cell.n.min) end
        assert.matches("n never on the PMU in 3 repetitions: something else was",
          result:report { width = 200 })
      end)
    end

    it(("%s of a run that was held for a while is no exact number"):format(spec), function()
      local script = ("%s; %s -- %s; %s"):format(TURNS, PERF, TURNS, TURNS)
      local run = support.run { support.program, "stat", "-e", "n = " .. spec, "--format", "json", "-o", "-",
        "--", "/usr/bin/dash", "-c", script }
      assert.equal(0, run.status, run.err)
      local cell = json.decode(run.out).cells[1].values.n
      assert.equal(spec:find "D" and "not-counted" or "scaled", cell.status)
      assert.equal(spec:find "D" ~= nil, cell.median == nil)
    end)
  end

  it("an interval has no number, and the whole is none or an estimate", function()
    for _, spec in ipairs { "instructions:u", "instructions:uD" } do
      local monitor = pmc.monitor { target = pmc.self(), events = { spec }, interval = "5ms", count = 3 }
      local release, last
      for interval in monitor do
        release = release or lab.hold_counters()
        last = interval
        work()
      end
      release()
      assert.is_nil((last:value(spec)))
      assert.equal(spec:find "D" and "not-counted" or "scaled", (monitor:total():status(spec)))
      assert.matches("not on the PMU all the time", table.concat(monitor:remarks(), "\n"))
    end
  end)

  it("calls of a function that were not seen are no 0, and it is said that they were not", function()
    local calls = lab.built "calls"
    local script = ("%s -- %s"):format(PERF, calls)
    local function follow(text)
      return regions.measure({ "/usr/bin/dash", "-c", text },
        { regions = calls .. ":work", events = "instructions:u", calibrate = false, timeout = 60 })
    end
    local seen = follow(calls .. "; true")
    support.need(seen.path == "all threads", "children are followed from Linux 6.12 on")
    assert.same({ CALLS, 1 }, { seen[1].calls, seen.ran })
    local unseen = follow(script .. "; true")
    assert.equal("not-counted", unseen[1]:values("instructions:u").status)
    assert.is_nil(unseen[1]:values("duration").sum)
    assert.matches("not seen to be called", unseen:report())
    local some = follow(calls .. "; " .. script .. "; " .. calls)
    assert.equal(2 * CALLS, some[1].calls)
    assert.is_true(some.ran < 1)
    assert.matches("another user of the PMU had its counters.*calls%s+meanwhile%s+were%s+not%s+seen",
      some:report())
  end)
end)

describe("in the lab, beside perf", function()
  lazy_setup(lab.need_lab)

  local BESIDE = {
    ["perf stat"] = { "stat", "-o", "/dev/null", "-a", "-e", "cycles,instructions,instructions:u" },
    ["perf record"] = { "record", "-q", "-o", "/dev/null", "-a", "-e", "instructions:u", "-c", "100003" },
    ["perf record of us"] = { "record", "-q", "-o", "/dev/null", "-e", "instructions:u", "-c", "100003" },
  }

  for name, words in pairs(BESIDE) do
    it(name .. ", counts are to the instruction what they are without it", function()
      local script = ([[
        local pmc = require "pmclua"
        local cell = pmc.measure(pmc.command { %q }, { events = { "n = instructions:u", "c = cycles:u" },
          repetitions = 6, warmup = 0, store = false }):cells()()
        print(cell.n.status, cell.n.min, cell.n.max, cell.c.min, cell.c.max)]]):format(TURNS)
      local argv = { "/usr/bin/perf", unpack(words) }
      for _, word in ipairs { "--", support.program, "-e", script } do argv[#argv + 1] = word end
      local run = support.run(argv)
      local cycles = lab.CYCLES_PER_INSTRUCTION * LENGTH
      assert.equal(("counted\t%d\t%d\t%d\t%d\n"):format(LENGTH, LENGTH, cycles, cycles), run.out, run.err)
    end)
  end

  it("that holds four counters, what is left is counted in more passes, each exactly", function()
    local script = ([[
      local pmc = require "pmclua"
      local events = {}
      for i = 1, 5 do events[i] = ("e%%d = instructions:u"):format(i) end
      local result = pmc.measure(pmc.command { %q }, { events = events, repetitions = 6, warmup = 0,
        store = false })
      local cell = result:cells()()
      print(#result.header.pass_events, cell.e1.min, cell.e5.status, cell.e5.min, cell.e5.max)]])
      :format(TURNS)
    local run = support.run { "/usr/bin/perf", "stat", "-o", "/dev/null", "-a", "-e",
      "instructions:D,instructions:D,instructions:D,instructions:D", "--", support.program, "-e", script }
    assert.matches(("^[2-9]\t%d\tcounted\t%d\t%d\n$"):format(LENGTH, LENGTH, LENGTH), run.out, 1, false)
  end)
end)
