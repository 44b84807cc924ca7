-- User and system time, of which Linux knows the sum exactly and the parts by a sample at each tick.

local core = require "pmclua.core"
local made = require "tests.support.results"
local support = require "tests.support"

local TICK_NS = 4e6
local TOO_LITTLE = "below 4.00 ms, the interval at which Linux checks whether a program is in user space"

local function tool(name, field)
  return made.event(name, { tool = field, unit = "ns", source = "tool", grain_ns = TICK_NS })
end

-- A command's result with these user and system times, ms.
local function result_of(user, system)
  local records = made.records { user }
  for i, record in ipairs(records) do
    record.counts, record.enabled, record.running = {}, {}, {}
    record.user_ns, record.system_ns = user[i] * 1e6, system[i] * 1e6
  end
  return made.result(made.header { workloads = { { name = "rows", kind = "command", per = "run" } },
    events = { tool("user_time", "user_ns"), tool("system_time", "system_ns") }, pass_events = { {} },
    host = { tick_ns = TICK_NS } }, records)
end

local function summaries(user, system)
  local cell = result_of(user, system):cells()()
  return cell.user_time, cell.system_time
end

describe("a time that Linux samples", function()
  it("is not exact though every repetition gave the same", function()
    local user, system = summaries({ 8, 8, 8, 8, 8, 8 }, { 40, 41, 40, 41, 40, 41 })
    assert.same({ 8e6, false, "sampled" }, { user.median, user.exact, user.quality })
    assert.same({ 40.5e6, "noisy" }, { system.median, system.quality })
  end)

  it("is absent where a tick is more, and never 0", function()
    local user, system = summaries({ 9, 9, 9, 9, 9, 9 }, { 0, 0, 0, 0, 0, 3.9 })
    assert.equal(9e6, user.median)
    assert.same({ 0, "not-counted", TOO_LITTLE }, { system.n, system.status, system.why })
    assert.is_nil(system.median)
  end)

  it("is absent too where half of the repetitions have less: the others are no fair choice", function()
    local _, system = summaries({ 9, 9, 9, 9 }, { 0, 0, 8, 8 })
    assert.same({ 0, TOO_LITTLE }, { system.n, system.why })
    _, system = summaries({ 9, 9, 9, 9, 9, 9, 9 }, { 0, 0, 8, 8, 8, 8, 8 })
    assert.same({ 8e6, 5, 2 }, { system.median, system.n, system.missing })
  end)

  it("makes a share of it absent", function()
    local cell = result_of({ 9, 9, 9 }, { 0, 0, 8 }):with({ metrics = { "system_share" } }):cells()()
    assert.equal(0, cell.system_share.n)
  end)

  it("is unknown to formats of times where it is less than a tick, and their sum is known", function()
    local times = require "pmclua.report.times"
    local found = times.of(result_of({ 9, 5 }, { 0, 4 }):cells()())
    assert.same({ { 9e6, 5e6 }, { false, 4e6 }, { 9e6, 9e6 } },
      { times.list(found, "user"), times.list(found, "system"), times.list(found, "cpu") })
  end)
end)

describe("user_time and system_time of a short command", function()
  local WORDS = { support.program, "stat", "-r", "6", "-e", "user_time,system_time,task-clock", "-o", "-" }

  local function stat(...)
    local words = { unpack(WORDS) }
    for _, word in ipairs { ... } do words[#words + 1] = word end
    words[#words + 1], words[#words + 2] = "--", "true"
    return support.run(words).out
  end

  it("are absent with the reason, in all formats", function()
    support.need_unwatched "it makes `true` take longer than a tick"
    local spent = require("pmclua").measure("true", { events = "task-clock", quiet = true }):cells()()
    support.need(core.tick_ns() > 2 * spent.task_clock.max, "a tick is shorter than `true` may take")
    assert.matches("user_time +–  <not counted>: below %d", stat())
    assert.matches("system_time +–  <not counted>: below %d", stat())
    assert.matches("user_time and system_time: Linux checks every [%d.]+ ms", stat())
    assert.matches(",user_time,ns,[^\n]*,not%-counted,[^\n]*below %d", stat("-x", ","))
    local json = stat("--format", "json")
    assert.matches('"user_time":{"status":"not%-counted"[^}]*"why":"below %d', json)
    assert.matches('"system_time":%[null', json)
  end)

end)
