-- Calls put together from samples, by samples made by hand: what is a call, what is not, and what each took.

local facts = require("tests.support.regions").facts
local follower_of = require "tests.support.follower"

local DURATION, ENABLED, RUNNING, EVENT = 1, 2, 3, 4

--- A follower of functions f, g, … and a clock: every sample comes 10 ns after the one before, and the
--- event counts one for each sample unless `more` are counted.
local function new_thread(setup)
  setup = setup or {}
  local follower = follower_of {
    regions = setup.regions or { { name = "f" }, { name = "g" } }, events = 1, cpus = setup.cpus or 2,
    keep = setup.keep, link_register = setup.link_register, return_bytes = setup.return_bytes,
  }
  local time, on_cpu = 0, { [0] = 0, 0 }
  local thread = { follower = follower }
  local function sample(fields)
    time = time + 10
    local cpu = fields.cpu or 0
    on_cpu[cpu] = on_cpu[cpu] + (fields.counts or 1)
    fields.time, fields.tid = fields.time or time, fields.tid or 7
    fields.values = fields.values or { time, fields.running or time, on_cpu[cpu] }
    return fields
  end
  function thread.at(kind, region, sp, more)
    local fields = sample(more or {})
    fields.kind, fields.region, fields.sp = kind, region, sp
    assert.equal(0, (follower:point(fields)))
  end
  function thread.switch(more) assert.equal(0, (follower:switch(sample(more or {})))) end
  function thread.enter(region, sp, more) thread.at("entry", region, sp, more) end
  function thread.leave(region, sp, more) thread.at("return", region, sp, more) end
  function thread.finish() return follower:finish() end
  return thread
end

describe("a quantile of calls that were not kept", function()
  -- What a run of a region with these values, one bucket each, looks like to calls.lua.
  local function region_of(values)
    local buckets = {}
    for i, value in ipairs(values) do buckets[i] = { low = value, next_low = value + 1, count = 1 } end
    local spread = { n = #values, min = values[1], max = values[#values], buckets = buckets }
    local found = { { name = "f", notes = {}, is_pair = false, total = { spread }, threads = {} },
      path = "all threads", target_ended = 0, observed_ns = 0, columns = {}, costs = {}, remarks = {},
      skipped = {}, calls = { values = function() return {} end } }
    return require("pmclua.result.regions").new("c", {},
      { { outcome = "done", wall_ns = 1, enabled = {}, running = {}, counts = {}, followed = found } })[1]
  end

  it("lies between two buckets as it would between two values", function()
    assert.same({ 3, true }, { region_of({ 1, 5 }):quantile("duration", 0.5) })
    assert.same({ 5, true }, { region_of({ 1, 5, 7 }):quantile("duration", 0.5) })
    assert.same({ 2, true }, { region_of({ 1, 5 }):quantile("duration", 0.25) })
    assert.same({ 7, true }, { region_of({ 1, 5, 7 }):quantile("duration", 1) })
  end)
end)

describe("what calls took of an event", function()
  -- Two calls that took 5 each, in a run of which `readings` are enabled, running and the event's count.
  local function region_of(event, outermost, readings)
    local spread = { n = 2, min = 5, max = 5, sum = 10, buckets = { { low = 5, next_low = 6, count = 2 } } }
    local region = { name = "f", notes = {}, is_pair = false, calls = 2, nested = 0, entries = 2,
      orphans = 0, threads = {}, outermost = outermost, total = { spread, spread, spread, spread } }
    event.name, event.field = "e", "e"
    local found = { region, path = "all threads", target_ended = 0, observed_ns = 0, width = 4,
      columns = { e = 4 }, costs = {}, remarks = {}, skipped = {},
      calls = { values = function() return {} end } }
    return require("pmclua.result.regions").new("c", { event }, { { outcome = "done", wall_ns = 400,
      enabled = { readings[1] }, running = { readings[2] }, counts = { readings[3] }, followed = found } })[1]
  end

  it("is a share of estimates where both were counted part of the time", function()
    local values = region_of({}, { 100, 100, 50, 10 }, { 400, 100, 10 }):values "e"
    assert.same({ "scaled", 20, 0.5 }, { values.status, values.sum, values.share })
  end)

  it("is not scaled where it is of one kind of core", function()
    local values = region_of({ core_cpus = "0-3" }, { 100, 100, 50, 10 }, { 400, 100, 10 }):values "e"
    assert.same({ "placed", 10 }, { values.status, values.sum })
  end)

  it("has no quantiles either where the whole run's 0 is no count", function()
    local region = region_of({ verified = false }, { 100, 100, 100, 0 }, { 400, 400, 0 })
    assert.equal("unverified", region:values("e").status)
    assert.is_nil(region:quantile("e", 0.5))
    assert.same({}, region:histogram "e")
    assert.same({}, region:list "e")
    region = region_of({ verified = false }, { 100, 100, 100, 0 }, { 400, 400, 7 })
    assert.same({ 0, 5 }, { region:values("e").sum, (region:quantile("e", 0.5)) })
  end)

  it("is counted where calls took no time at all", function()
    local values = region_of({}, { 0, 0, 0, 0 }, { 400, 400, 7 }):values "e"
    assert.same({ "counted", 0 }, { values.status, values.sum })
  end)
end)

describe("a call", function()
  it("is what is between an entry and a return at the same stack pointer", function()
    local t = new_thread()
    t.enter(1, 1000)
    t.leave(1, 1000, { counts = 42 })
    local result = t.finish()
    assert.same({ entries = 1, calls = 1 }, facts(result[1]))
    assert.equal("f", result[1].name)
    assert.equal(42, result[1].total[EVENT].sum)
    assert.equal(10, result[1].total[DURATION].sum)
    assert.equal(42, result[1].outermost[EVENT])
    assert.same({}, facts(result[2]))
    assert.is_nil(result[2].total[EVENT].min)
    assert.same({ 42 }, result.calls:values(1, EVENT))
    assert.same({ region = 1, tid = 7, start_ns = 10, level = 0 }, result.calls:at(1))
  end)

  it("holds its callees, and is itself without them", function()
    local t = new_thread()
    t.enter(1, 1000)
    t.enter(2, 900, { counts = 5 })
    t.leave(2, 900, { counts = 100 })
    t.enter(2, 800, { counts = 5 })
    t.leave(2, 800, { counts = 200 })
    t.leave(1, 1000, { counts = 5 })
    local f, g = unpack(t.finish())
    assert.equal(315, f.total[EVENT].sum)
    assert.equal(15, f.self[EVENT].sum)
    assert.equal(30, f.self[DURATION].sum)
    assert.equal(300, g.total[EVENT].sum)
    assert.equal(300, g.self[EVENT].sum)
    assert.equal(100, g.total[EVENT].min)
    assert.equal(200, g.total[EVENT].max)
  end)

  it("of itself nests, and the outermost alone is in the sum", function()
    local t = new_thread()
    for level = 1, 1000 do t.enter(1, 100000 - 16 * level) end
    for level = 1000, 1, -1 do t.leave(1, 100000 - 16 * level) end
    local f = t.finish()[1]
    assert.same({ entries = 1000, calls = 1000, nested = 999 }, facts(f))
    assert.equal(1999, f.outermost[EVENT])
    assert.equal(1999, f.self[EVENT].sum)
    assert.equal(1, f.total[EVENT].min)
    assert.equal(1999, f.total[EVENT].max)
    assert.equal(1000 * 1000, f.total[EVENT].sum)
  end)

  it("that is left by longjmp or an exception is none, and spoils no other", function()
    local t = new_thread()
    t.enter(1, 1000)
    t.enter(2, 900)
    t.enter(2, 800)
    t.leave(1, 1000)                       -- out of both at once
    t.enter(2, 900)
    t.leave(2, 900)
    local f, g = unpack(t.finish())
    assert.same({ entries = 1, calls = 1, unsure = 1 }, facts(f))
    assert.equal(3, f.total[EVENT].sum)
    -- All since the first g may be g's.
    assert.same({ 3, 2, 0 }, { f.threads[1].self[EVENT], f.unsure_sums[EVENT], f.self[EVENT].n })
    assert.same({ entries = 3, calls = 1, unwound = 2 }, facts(g))
    assert.equal(1, g.total[EVENT].sum)
  end)

  it("that was left unseen does not make a later one look nested", function()
    local t = new_thread()
    t.enter(1, 1000)                       -- throws; the handler calls f again from further down
    t.enter(1, 900)
    t.leave(1, 900, { counts = 50 })
    t.enter(2, 2000)                       -- its caller calls g: the first f is long gone
    t.leave(2, 2000)
    local f = t.finish()[1]
    assert.same({ entries = 2, calls = 1, unwound = 1 }, facts(f))
    assert.equal(50, f.outermost[EVENT])
    assert.equal(50, f.threads[1].outermost[EVENT])
  end)

  it("that ends by a tail call is told apart, and in no sum", function()
    local t = new_thread()
    t.enter(1, 1000)
    t.at("tail", 1, 1000, { counts = 30 })
    t.enter(2, 1000)
    t.leave(2, 1000, { counts = 7 })
    local f, g = unpack(t.finish())
    assert.same({ entries = 1, tails = 1 }, facts(f))
    assert.equal(0, f.outermost[EVENT])
    assert.same({ entries = 1, calls = 1 }, facts(g))
    assert.equal(7, g.total[EVENT].sum)
  end)

  it("is not begun again by a loop to its first instruction", function()
    local t = new_thread { regions = { { name = "f", loops = true } } }
    for _ = 1, 2 do
      t.enter(1, 1000)
      t.enter(1, 1000)
      t.enter(1, 1000)
      t.leave(1, 1000)
    end
    local f = t.finish()[1]
    assert.same({ entries = 2, calls = 2 }, facts(f))
    assert.equal(6, f.total[EVENT].sum)
  end)

  it("of one instruction takes nothing", function()
    local t = new_thread()
    t.enter(1, 1000)
    for _ = 1, 3 do t.at("whole", 2, 900) end
    t.leave(1, 1000)
    local f, g = unpack(t.finish())
    assert.same({ entries = 3, calls = 3 }, facts(g))
    assert.equal(0, g.total[EVENT].max)
    assert.equal(4, f.self[EVENT].sum)
  end)

  it("is matched to a return probe, which sees the stack without the return address", function()
    local t = new_thread { return_bytes = 8 }
    t.enter(1, 1000)
    t.at("return_probe", 1, 1008)
    assert.same({ entries = 1, calls = 1 }, facts(t.finish()[1]))
  end)

  it("may share its stack pointer with its caller where a link register is used", function()
    local t = new_thread { link_register = true }
    t.enter(1, 1000)
    t.enter(2, 1000)
    t.leave(2, 1000)
    t.leave(1, 1000)
    local f, g = unpack(t.finish())
    assert.same({ entries = 1, calls = 1 }, facts(f))
    assert.same({ entries = 1, calls = 1 }, facts(g))
    assert.equal(2, f.self[EVENT].sum)
  end)

  it("whose entry was not seen, or that never returns, is said to be so", function()
    local t = new_thread()
    t.leave(1, 1000)
    t.enter(2, 900)
    local f, g = unpack(t.finish())
    assert.same({ orphans = 1 }, facts(f))
    assert.same({ entries = 1, unfinished = 1 }, facts(g))
  end)

  it("ends with its thread, or when the process becomes another program", function()
    local t = new_thread()
    t.enter(1, 1000)
    t.follower:ends(7)
    t.enter(1, 1000, { values = { 1, 1, 1 } })
    t.follower:name(7, "other", true)
    t.leave(1, 1000, { values = { 2, 2, 2 } })
    assert.same({ entries = 2, unfinished = 2, orphans = 1 }, facts(t.finish()[1]))
  end)
end)

describe("a region between two points", function()
  it("is open once at most, and closes whatever the stack", function()
    local t = new_thread()
    t.at("from", 1, 0)
    t.enter(2, 900)
    t.at("to", 1, 0, { counts = 20 })
    t.leave(2, 900)
    t.at("from", 1, 0)
    t.at("from", 1, 0)
    t.at("to", 1, 0, { counts = 3 })
    t.at("to", 1, 0)
    local f, g = unpack(t.finish())
    assert.same({ entries = 3, calls = 2, unwound = 1, orphans = 1 }, facts(f))
    assert.equal(21 + 3, f.outermost[EVENT])
    assert.same({ entries = 1, calls = 1 }, facts(g))
    assert.equal(21, g.self[EVENT].sum)
  end)
end)

describe("counts of a thread", function()
  it("are summed over the CPUs that it was on, so that a call may migrate", function()
    local t = new_thread()
    t.enter(1, 1000, { values = { 100, 100, 100 } })
    t.switch { values = { 200, 200, 151 } }                                  -- 51 on CPU 0
    t.switch { cpu = 1, values = { 400, 200, 50 } }                          -- 50 on CPU 1
    t.leave(1, 1000, { values = { 500, 300, 351 } })                         -- 200 more on CPU 0
    local f = t.finish()[1]
    assert.equal(51 + 50 + 200, f.total[EVENT].sum)
    assert.equal(400, f.total[ENABLED].sum)
    assert.equal(400, f.total[RUNNING].sum)
    assert.equal(0, f.partial)
  end)

  it("of a call during which they were not on the PMU are partial, and in no distribution", function()
    local t = new_thread()
    t.enter(1, 1000, { values = { 1000000, 1000000, 5 } })
    t.leave(1, 1000, { values = { 2000000, 1400000, 9 } })
    local f = t.finish()[1]
    assert.same({ entries = 1, calls = 1, partial = 1 }, facts(f))
    assert.equal(0, f.total[EVENT].n)
    assert.equal(4, f.outermost[EVENT])
    assert.equal(1000000, f.outermost[ENABLED])
    assert.equal(400000, f.outermost[RUNNING])
  end)

  it("stay apart from other threads', by tid and name", function()
    local t = new_thread()
    t.follower:name(7, "first", false)
    t.follower:fork(9, 7)
    t.enter(1, 1000)
    t.enter(1, 1000, { tid = 8, values = { 1, 1, 1 } })
    t.leave(1, 1000, { tid = 8, values = { 2, 2, 1001 } })
    t.leave(1, 1000)
    t.follower:name(8, "second", false)
    t.enter(1, 1000, { tid = 9, values = { 1, 1, 1 } })
    t.leave(1, 1000, { tid = 9, values = { 2, 2, 2 } })
    local threads = t.finish()[1].threads
    table.sort(threads, function(a, b) return a.tid < b.tid end)
    assert.equal(3, #threads)
    assert.equal("first", threads[3].name)              -- of the one that started it
    assert.same({ 7, "first", 3 }, { threads[1].tid, threads[1].name, threads[1].outermost[EVENT] })
    assert.same({ 8, "second", 1000 }, { threads[2].tid, threads[2].name, threads[2].outermost[EVENT] })
  end)
end)

describe("lost records", function()
  it("cut the calls that are open, of every thread, and no later one", function()
    local t = new_thread()
    t.enter(1, 1000)
    t.enter(1, 1000, { tid = 8 })
    t.follower:lost(0, 5)
    t.leave(1, 1000)
    t.leave(1, 1000, { tid = 8 })
    t.enter(1, 1000)
    t.leave(1, 1000)
    local result = t.finish()
    assert.same({ entries = 3, calls = 1, cut = 2 }, facts(result[1]))
    assert.equal(5, result.lost)
  end)

  it("cut a call in which the counts of the lost ones arrive late", function()
    local t = new_thread()
    t.enter(1, 1000, { cpu = 1, values = { 10, 10, 10 } })
    t.leave(1, 1000, { cpu = 1, values = { 20, 20, 20 } })
    t.follower:lost(1, 1)                                       -- it went on counting on CPU 1, unseen
    t.enter(1, 1000, { values = { 500, 10, 10 } })
    t.switch { cpu = 1, values = { 600, 400, 400 } }
    t.leave(1, 1000, { values = { 700, 20, 20 } })
    t.enter(1, 1000, { values = { 800, 30, 30 } })
    t.leave(1, 1000, { values = { 810, 40, 40 } })
    local f = t.finish()[1]
    assert.same({ entries = 3, calls = 2, cut = 1 }, facts(f))
    assert.equal(10, f.total[EVENT].max)
  end)

  it("do not let a new thread inherit an old one's counts by its tid", function()
    local t = new_thread()
    t.enter(1, 1000, { values = { 900, 900, 900 } })
    t.follower:lost(0, 3)
    t.enter(1, 1000, { values = { 5, 5, 5 } })
    t.leave(1, 1000, { values = { 6, 6, 8 } })
    assert.equal(3, t.finish()[1].total[EVENT].max)
  end)
end)

describe("what is kept of calls", function()
  it("is each of the first ones, and all of them in a histogram within 1/64", function()
    local t = new_thread { keep = 3, regions = { { name = "f" } } }
    local values = { 0, 1, 127, 128, 129, 1000, 123456789, 2 ^ 52 + 12345 }
    for _, value in ipairs(values) do
      t.enter(1, 1000, { counts = 0 })
      t.leave(1, 1000, { counts = value })
    end
    local result = t.finish()
    assert.same({ 0, 1, 127 }, result.calls:values(1, EVENT))
    local buckets = result[1].total[EVENT].buckets
    local count = 0
    for _, value in ipairs(values) do
      for _, bucket in ipairs(buckets) do
        if value >= bucket.low and value < bucket.next_low then
          count = count + 1
          local width = bucket.next_low - bucket.low
          assert.is_true(value < 128 and bucket.low == value or width <= bucket.low / 64)
        end
      end
    end
    assert.equal(#values, count)
    assert.equal(#values, result[1].total[EVENT].n)
  end)

  it("is bounded for threads: beyond 4,096 they share a row", function()
    local t = new_thread { regions = { { name = "f" } } }
    for tid = 1, 4200 do
      t.enter(1, 1000, { tid = tid, values = { 1, 1, 1 } })
      t.leave(1, 1000, { tid = tid, values = { 2, 2, 3 } })
      t.follower:ends(tid)
    end
    local f = t.finish()[1]
    assert.equal(4097, #f.threads)
    assert.equal(0, f.threads[4097].tid)
    assert.equal(104, f.threads[4097].calls)
    assert.equal(8400, f.outermost[EVENT])
  end)
end)
