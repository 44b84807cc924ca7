-- Records as lines of a file: written whole, read back exactly, and short ones together.

local core = require "pmclua.core"
local store = require "pmclua.store"
local support = require "tests.support"
local made = require "tests.support.results"

local BIGGEST = 18446744073709551615ULL
local lines_of, message_of, read = support.lines_of, support.message_of, made.read

local function new_path() return support.folder() .. "/results.jsonl" end
local function write(header, records, path) return made.stored(path or new_path(), header, records) end

local function written(form, values, count)
  local buffer = require("string.buffer").new()
  core.line_write(buffer, form, values, count)
  return buffer:get()
end

describe("a line", function()
  it("is its form and its values", function()
    local line = '{"a":[1,null,18446744073709551615],"b":[],"c":"1 % \\"2\\"",'
      .. '"d":[-1,2],"e":0.5,"f":[[7],{"g":null}]}'
    local values = {}
    local form, count = core.line_scan(line, values)
    assert.equal('{"a":[%],"b":[%],"c":"1 % \\"2\\"","d":[-1,%],"e":0.5,"f":[[%],{"g":%}]}', form)
    assert.same({ 9, 3, 1, nil, BIGGEST, 0, 2, 1, 7 }, { count, unpack(values, 1, 8) })
    assert.equal(line, written(form, values, count))
  end)

  it("takes exactly the values of its form", function()
    for _, values in ipairs { {}, { 1 }, { 1, 5, 6 }, { 3, 5, 6 } } do
      assert.has_error(function() written('{"a":[%]}', values, #values) end)
    end
    assert.equal('{"a":[5]}', written('{"a":[%]}', { 1, 5 }, 2))
  end)
end)

describe("a stored record", function()
  it("reads back equal", function()
    local record = made.record({ 1204, 77, 5 }, { exit = 0, max_rss_bytes = 4096, index = 3, order = 17 })
    local records, stored = read(write(made.header(), { record }))
    assert.same({ record }, records)
    assert.equal("complete", stored.status)
    assert.same({}, stored.problems)
  end)

  it("may lack events that the plan could not count, each with its status and reason", function()
    for _, status in ipairs { "unsupported", "constant-zero", "not-counted" } do
      local cycles = made.event("cycles", { status = status, why = "it is never on the PMU" })
      local header = made.header { events = { cycles, made.event "page-faults" }, pass_events = { { 2 } } }
      local records, stored = read(write(header, { made.record { [2] = 3 } }))
      assert.same({ status, cycles.why }, { stored.header.events[1].status, stored.header.events[1].why })
      assert.same({ [2] = 3 }, records[1].counts)
    end
  end)

  it("keeps every u64 exactly", function()
    local values = { BIGGEST, 9007199254740993ULL, 9007199254740992 }
    local records = read(write(made.header(), { made.record(values, { start_ns = BIGGEST - 1ULL }) }))
    assert.same(values, records[1].counts)
    assert.equal("number", type(records[1].counts[3]))
    assert.equal(BIGGEST - 1ULL, records[1].start_ns)
  end)

  it("keeps an absent count absent, and a zero zero", function()
    local record = made.record { [2] = 0 }
    local records = read(write(made.header(), { record }))
    assert.is_nil(records[1].counts[1])
    assert.equal(0, records[1].counts[2])
    assert.is_nil(records[1].enabled[3])
  end)

  it("keeps the times of each group of its pass", function()
    local record = made.record({ 1, 2, 3 }, { enabled = { 50, 50, 70 }, running = { 50, 50, 35 } })
    assert.same(record, read(write(made.header(), { record }))[1])
  end)

  it("has counts of its pass alone", function()
    local header = made.header { pass_events = { { 1, 2 }, { 1, 3 } } }
    local record = made.record({ [1] = 10, [3] = 30 }, { pass = 2 })
    assert.same(record, read(write(header, { record }))[1])
  end)

  it("keeps how a failed repetition ended", function()
    local record = made.record({ 1, 2, 3 },
      { outcome = "signalled", signal = 11, why = "died of \"SIGSEGV\" 100%" })
    assert.same(record, read(write(made.header(), { record }))[1])
  end)

  it("keeps the counts of each thread", function()
    local thread = { counts = { 1, 2, 3 }, enabled = { 9, 9, 9 }, running = { 9, 9, 8 } }
    local record = made.record({ 2, 4, 6 }, { threads = { thread, thread } })
    assert.same(record, read(write(made.header(), { record }))[1])
  end)

  it("keeps region, thread, CPU and interval where it has them", function()
    local record = made.record({ 1, 2, 3 }, { region = "parse", thread = 4, cpu = 0, interval = 12 })
    assert.same(record, read(write(made.header(), { record }))[1])
  end)

  it("keeps levels of every kind, whatever their names hold", function()
    local levels = { ["n%"] = "100 % \"x\"\n", size = -0.5, big = 1e300, on = true, int = 4096 }
    local header = made.header {
      factors = { { "n%", { "100 % \"x\"\n" } }, { "size", { -0.5 } }, { "big", { 1e300 } },
        { "on", { true } }, { "int", { 4096 } } },
      cells = { { workload = "rows", levels = levels } },
    }
    local record = made.record({ 1, 2, 3 }, { levels = levels })
    assert.same(record, read(write(header, { record }))[1])
  end)

  it("that is not of the plan raises, and nothing is written of it", function()
    local writer = store.create(new_path(), made.header())
    assert.matches("no cell 9", message_of(writer.add, writer, made.record({ 1, 2, 3 }, { cell = 9 })))
    assert.matches("no pass 2", message_of(writer.add, writer, made.record({ 1, 2, 3 }, { pass = 2 })))
    local unknown = made.record({ 1 }, { outcome = "fine" })
    assert.matches("no outcome 'fine'", message_of(writer.add, writer, unknown))
    writer:finish "interrupted"
    assert.equal(2, #lines_of(writer.path))
  end)
end)

describe("short repetitions of kernels", function()
  local function many(count)
    local records = {}
    for i = 1, count do
      records[i] = made.record({ 1000 + i, BIGGEST, i % 7 },
        { index = i, order = i, start_ns = 5e9 + i * 1000 })
    end
    return records
  end

  it("share lines and read back equal", function()
    local records = many(5000)
    local path = write(made.header(), records)
    assert.same(records, (read(path)))
    assert.is_true(#lines_of(path) < 20)
  end)

  it("say how they were read, and share lines with those that were read alike", function()
    local records = {}
    for i = 1, 20 do
      records[i] = made.record({ i, 2, 3 }, { index = i, order = i, read = i > 10 and "toggle" or nil })
    end
    local path = write(made.header { repetitions = 20 }, records)
    local back = read(path)
    table.sort(back, function(a, b) return a.index < b.index end)
    for i, record in ipairs(back) do
      assert.same({ i, i > 10 and "toggle" or nil }, { record.index, record.read })
    end
    assert.equal(4, #lines_of(path))        -- the header, two lines of ten, the end
  end)

  it("keep what differs within the line", function()
    local records = many(20)
    records[7].counts[3], records[8].enabled[2], records[9].exit = nil, 12345, 0
    records[10].max_rss_bytes = BIGGEST
    assert.same(records, (read(write(made.header(), records))))
  end)

  it("of different cells go to lines of their own, in whatever order they ran", function()
    local records = many(40)
    for i = 2, 40, 2 do records[i].cell, records[i].levels = 2, { n = 512 } end
    local back = read(write(made.header(), records))
    table.sort(back, function(a, b) return a.order < b.order end)
    assert.same(records, back)
  end)

  it("of one cell stay in the order of time where one of them failed", function()
    local records = many(40)
    records[15].outcome, records[15].signal = "signalled", 11
    for i, record in ipairs(read(write(made.header(), records))) do assert.equal(i, record.order) end
  end)

  it("that failed have lines of their own", function()
    local records = many(20)
    records[11].outcome, records[11].why = "timed-out", "after 5 s"
    local path = write(made.header(), records)
    assert.equal(5, #lines_of(path))        -- the header, ten, the failed one, nine, the end
    assert.same(records, (read(path)))
  end)

  it("cost no more than 120 bytes each with three events", function()
    local path = write(made.header(), many(4000))
    assert.is_true(core.stat(path).bytes < 4000 * 120)
  end)

  it("of commands are lines of their own, for whoever reads them with other tools", function()
    local header = made.header { workloads = { { name = "rows", kind = "command", per = "run" } } }
    assert.equal(1 + 20 + 1, #lines_of(write(header, many(20))))
  end)
end)
