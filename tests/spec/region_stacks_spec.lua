-- Calls on stacks that are not their threads': coroutines, goroutines, handlers of signals with a stack of
-- their own.

local made = require "tests.support.regions"
local follower_of = require "tests.support.follower"
local functions = require "pmclua.experiment.regions"
local support = require "tests.support"

local DURATION = 1

--- A follower of f and g in threads of process 7: a sample every 10 ns, unless it says when.
local function process(setup)
  setup = setup or {}
  local follower = follower_of { regions = setup.regions or { { name = "f" }, { name = "g" } }, events = 1,
    cpus = 1, link_register = setup.link_register }
  local time, self = 0, {}
  local function at(kind, tid, region, sp, pid)
    time = time + 10
    assert.equal(0, (follower:point { time = time, sp = sp, tid = tid, pid = pid or 7, region = region,
      kind = kind, values = { time, time, time } }))
  end
  function self.enter(...) at("entry", ...) end
  function self.leave(...) at("return", ...) end
  function self.tail(...) at("tail", ...) end
  function self.idle(ns) time = time + ns end
  function self.ends(tid) follower:ends(tid) end
  function self.lost() follower:lost(0, 1) end
  function self.finish() return follower:finish() end
  return self
end

--- How long each call of a region took, in the order of their ends.
local function durations(result, region) return result.calls:values(region or 1, DURATION) end

describe("a call on a stack that moves", function()
  it("ends on whichever thread of its process it returns on", function()
    local p = process()
    p.enter(1, 1, 5000)
    p.leave(2, 1, 5000)
    p.enter(2, 1, 5000)
    p.idle(100)
    p.leave(1, 1, 5000)
    local f = p.finish()
    assert.same({ entries = 2, calls = 2, switching = 2 }, made.facts(f[1]))
    assert.same({ 10, 110 }, durations(f))
  end)

  it("is none of another process's at the same address", function()
    local p = process()
    p.enter(1, 1, 5000, 7)
    p.leave(2, 1, 5000, 8)
    local f = p.finish()[1]
    assert.same({ entries = 1, unfinished = 1, orphans = 1 }, made.facts(f))
  end)

  it("takes turns with others on one thread, and none is taken for left", function()
    local p = process()
    p.enter(1, 1, 5000)
    p.enter(1, 1, 9000)          -- above: of another stack
    p.leave(1, 1, 5000)
    p.enter(1, 1, 5000)
    p.leave(1, 1, 9000)
    p.leave(1, 1, 5000)
    local f = p.finish()
    assert.same({ entries = 3, calls = 3, switching = 3 }, made.facts(f[1]))
    assert.same({ 20, 30, 20 }, durations(f))
  end)

  it("outlives the thread on which it began", function()
    local p = process()
    p.enter(1, 1, 5000)
    p.enter(2, 2, 800)
    p.ends(1)
    p.leave(2, 1, 5000)
    p.leave(2, 2, 800)
    local result = p.finish()
    assert.same({ entries = 1, calls = 1, switching = 1 }, made.facts(result[1]))
    assert.same({ entries = 1, calls = 1, switching = 1 }, made.facts(result[2]))
    assert.same({ 20 }, durations(result))
  end)

  it("is no later call's beginning once that one lies where it did", function()
    local p = process()
    p.enter(1, 1, 5000)          -- left unseen: its coroutine was ended
    p.idle(1000)
    p.enter(2, 1, 5000)          -- another one's, which moves to the first thread
    p.leave(1, 1, 5000)
    local f = p.finish()
    assert.same({ entries = 2, calls = 1, unwound = 1, switching = 1 }, made.facts(f[1]))
    assert.same({ 10 }, durations(f))
  end)

  it("may end in another function's call there", function()
    local p = process()
    p.enter(1, 1, 5000)
    p.tail(2, 1, 5000)
    p.enter(2, 2, 5000)
    p.leave(1, 2, 5000)
    local result = p.finish()
    assert.same({ entries = 1, tails = 1 }, made.facts(result[1]))
    assert.same({ entries = 1, calls = 1, switching = 1 }, made.facts(result[2]))
  end)

  it("is cut by records that are lost, whichever thread it is on", function()
    local p = process()
    p.enter(1, 1, 5000)
    p.enter(1, 2, 9000)
    p.lost()
    p.leave(2, 2, 9000)
    p.leave(2, 1, 5000)
    p.enter(1, 1, 5000)
    p.leave(1, 1, 5000)
    local result = p.finish()
    assert.same({ entries = 2, calls = 1, unwound = 1 }, made.facts(result[1]))
    assert.same({ entries = 1, cut = 1 }, made.facts(result[2]))
  end)

  it("leaves calls that other threads made meanwhile, but for their counts, as they are", function()
    local p = process()
    p.enter(3, 2, 700)
    p.enter(1, 1, 5000)
    p.leave(2, 1, 5000)
    p.leave(3, 2, 700)
    local result = p.finish()
    assert.same({ 30 }, durations(result, 2))
    assert.equal(1, result[2].switching)
  end)

  it("shares its stack pointer with a caller's where a link register is used", function()
    local p = process { link_register = true }
    p.enter(1, 1, 5000)
    p.enter(1, 2, 5000)
    p.leave(2, 2, 5000)
    p.leave(2, 1, 5000)
    local result = p.finish()
    assert.same({ 10 }, durations(result, 2))
    assert.same({ 30 }, durations(result, 1))
  end)
end)

describe("a stack that is copied", function()
  local go = { regions = { { name = "f", switches = true } } }

  it("makes calls doubtful that were open meanwhile, and they are not counted", function()
    local p = process(go)
    p.enter(1, 1, 5000)          -- moves to another place, where it returns
    p.enter(2, 1, 7000)          -- moves to the place of the first, and seems to be that
    p.leave(1, 1, 9000)
    p.leave(1, 1, 5000)
    p.enter(1, 1, 5000)
    p.leave(2, 1, 5000)
    local f = p.finish()
    assert.same({ entries = 3, calls = 1, orphans = 1, moved = 1, unfinished = 1, switching = 1 },
      made.facts(f[1]))
    assert.same({ 10 }, durations(f))
  end)

  it("is entered anew where a call lay that moved away, though a loop begins at the entry", function()
    local p = process { regions = { { name = "f", switches = true, loops = true } } }
    for _ = 1, 3 do
      p.enter(1, 1, 5000)
      p.enter(1, 1, 5000)        -- a turn of the loop
      p.leave(1, 1, 9000)        -- its stack has grown meanwhile
    end
    assert.same({ entries = 3, unwound = 2, unfinished = 1, orphans = 3 }, made.facts(p.finish()[1]))
  end)

  it("is known of programs of Go from the start", function()
    local p = process(go)
    p.enter(1, 1, 5000)
    p.leave(1, 1, 5000)
    assert.same({ entries = 1, calls = 1, switching = 1 }, made.facts(p.finish()[1]))
  end)
end)

-- ---- programs ----

--- Runs a shape of stacks.c. Returns the result, and of each call what clocks within and around it said.
local function run(shape, n, options)
  local path = support.folder() .. "/times"
  local result = functions.measure({ made.program "stacks.c", shape, tostring(n), path }, {
    regions = options or { "work", "inner" }, events = { made.FAULTS }, calibrate = false, timeout = 30 })
  assert.equal(0, result.exit)
  local times = {}
  for line in io.lines(path) do
    local within, around = line:match "(%d+) (%d+)"
    times[#times + 1] = { within = tonumber(within), around = tonumber(around) }
  end
  return result, times
end

local function assert_as_clocks_say(list, times)
  assert.equal(#times, #list)
  for i, took in ipairs(list) do
    assert.is_true(times[i].within <= took and took <= times[i].around,
      ("call %d: %d ns, not %d to %d"):format(i, took, times[i].within, times[i].around))
  end
end

describe("a program that switches stacks", function()
  lazy_setup(function()
    made.need_probes()
    local result = made.follow("calls", 1, { "touch" })
    support.need(result.path == "all threads", "threads are followed from Linux 6.12 on")
  end)

  for _, shape in ipairs { "moves", "turns" } do
    local said = shape == "moves" and "between threads" or "on one thread"
    it(said .. " has the durations of its calls, and no counts of threads for them", function()
      local result, times = run(shape, 20)
      local work = result:region "work"
      assert_as_clocks_say(work:list "duration", times)
      assert.same({ entries = #times, calls = #times, switching = #times }, made.facts(work))
      local duration, faults = work:values "duration", work:values(made.FAULTS)
      assert.is_nil(duration.sum)
      assert.is_nil(duration.share)
      assert.equal(#times, duration.n)
      assert.equal("not-counted", faults.status)
      assert.matches("a thread counted is not a call's", faults.why)
      assert.is_nil(faults.sum)
      assert.same({}, work:list(made.FAULTS))
      assert.is_nil(work:quantile(made.FAULTS, 0.5))
      assert.is_nil(work:values("duration", true).sum)
      assert.matches("how long each took is true", (result:report():gsub("%s+", " ")))
    end)
  end

  it("leaves what nobody knows empty in CSV and JSON", function()
    local result = run("moves", 4)
    for line in result:calls_csv():gmatch "work[^\n]*" do
      assert.matches("^work,%d+,%d+,,%d+,,$", line)
    end
    local read = require("dkjson").decode(result:report { format = "json" }).regions[1]
    assert.equal(4, read.switching)
    assert.is_nil(read.nested)
    assert.is_nil(read.events.duration.total)
    assert.is_nil(read.events.page_faults.total)
    assert.equal("not-counted", read.events.page_faults.status)
  end)

  it("has true durations where a handler of signals has a stack above", function()
    local result, times = run("handler", 20)
    assert_as_clocks_say(result:region("work"):list "duration", times)
    assert.same({ 20, 20 }, { result:region("work").calls, result:region("inner").calls })
  end)

  it("has no numbers of calls where one thread alone was followed", function()
    local work = run("turns", 4, { "work", threads = "one" }):region "work"
    assert.equal("not-counted", work:values("duration").status)
    assert.matches("one thread alone", work:values("duration").why)
    assert.same({}, work:list "duration")
  end)

  it("has none either where what that thread did not see shows in returns without a call", function()
    local work = run("main", 12, { "work", threads = "one" }):region "work"
    assert.is_true(work.orphans > 0)
    assert.equal("not-counted", work:values("duration").status)
    assert.matches("one thread alone", work:values("duration").why)
  end)
end)

describe("a program of Go", function()
  it("has no counts of threads for its calls, nor numbers of what is between two points", function()
    made.need_probes()
    local result = functions.measure({ made.program "go.c" }, { events = { made.FAULTS }, calibrate = false,
      regions = { "work", { from = "work", to = "work%return", name = "pair" } }, timeout = 30 })
    local work, pair = result:region "work", result:region "pair"
    assert.same({ 5, 5 }, { work.calls, pair.calls })
    assert.equal(5, work:values("duration").n)
    assert.equal("not-counted", work:values(made.FAULTS).status)
    assert.equal("not-counted", pair:values("duration").status)
    local said = result:report():gsub("%s+", " ")
    assert.matches("pair · 5 calls .* 5 calls without numbers: stacks move", said)
  end)
end)

describe("an experiment on a program that switches stacks", function()
  local function measure(shape, regions)
    made.need_probes()
    local pmc = require "pmclua"
    return pmc.measure(pmc.command { made.program "stacks.c", shape, "12", support.folder() .. "/times" },
      { events = made.FAULTS, regions = regions, repetitions = 2, warmup = 0, store = false, quiet = true })
  end

  it("has no counts of its calls, and says why", function()
    local text = measure("turns", { "work" }):report()
    assert.matches("page%-faults +– +<not counted>", text)
    assert.matches("a thread counted is not a call's", (text:gsub("%s+", " ")))
  end)

  for _, entries in ipairs { false, true } do
    local said = entries and "no calls" or "no sums"
    it("has " .. said .. " of one thread that was followed alone, and says why", function()
      local result = measure("main", { "work", threads = "one", entries = entries })
      for cell in result:cells() do assert.is_nil(cell.region) end
      assert.matches("one thread alone was followed", (result:report():gsub("%s+", " ")))
    end)
  end
end)
