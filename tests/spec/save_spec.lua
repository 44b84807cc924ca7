-- r:store: a result that was stored nowhere, or only in part, in a file that tells the same.

local made = require "tests.support.results"
local pmc = require "pmclua"
local support = require "tests.support"

local BIGGEST = 18446744073709551615ULL

-- A result in memory, of these records. `more` replaces fields of the header.
local function of(records, more)
  return made.complete(made.header(more), records)
end

local function stored(result)
  local path = support.folder() .. "/kept.jsonl"
  assert.equal(result, result:store(path))
  return pmc.load(path), path
end

-- All that is derived from records is the same, line by line; only one of them has a file.
local function same_told(expected, found)
  found.path = nil
  for _, format in ipairs { "json", "csv" } do
    local next_line = found:report({ format = format }):gmatch "[^\n]+"
    for line in expected:report({ format = format }):gmatch "[^\n]+" do assert.equal(line, next_line()) end
    assert.is_nil(next_line())
  end
end

local message_of, records_of = support.message_of, made.read

describe("a result that is stored from memory", function()
  it("tells the same when it is read back", function()
    local records = made.records { { 10, BIGGEST, 30, 7, 8, 9, 2, 4, 6 }, { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, {} }
    local result = of(records, { metrics = { "ipc" } })
    same_told(result, stored(result))
  end)

  it("keeps what was scaled, what never ran, warm-ups, and failures", function()
    local records = made.records { { 10, 20, 30, 40, 50, 60, 70, 80 }, { 1, 2, 3, 4, 5, 6, 7, 8 } }
    records[2].running[1], records[3].running[1] = 495000, 0
    records[1].warmup = true
    records[4].outcome, records[4].why = "rejected", "reject_if: cycles > 30"
    records[8].outcome, records[8].signal, records[8].why = "signalled", 9, "killed by SIGKILL"
    records[6].outcome, records[6].warmup = "timed-out", true
    for _, on_failure in ipairs { "skip", "keep" } do
      local result = of(records, { on_failure = on_failure })
      local back, path = stored(result)
      same_told(result, back)
      assert.equal(#records, #records_of(path))
      assert.equal("killed by SIGKILL", back:cells()().first_failure.why)
    end
  end)

  it("keeps what a command used, and how long it was counted", function()
    local records = made.records { { 10, 20, 30 } }
    for _, record in ipairs(records) do record.exit, record.max_rss_bytes, record.iterations = 0, 4096, 0 end
    local result = of(records, { workloads = { { name = "rows", kind = "command", per = "run" } },
      events = { made.event "cycles", made.event "instructions",
        made.event("max_rss", { tool = "max_rss_bytes" }) },
      pass_events = { { 1, 2 } } })
    local back = stored(result)
    same_told(result, back)
    assert.equal(4096, back:cells()().max_rss.median)
    assert.same(result:cells()().columns.passes[1].resources, back:cells()().columns.passes[1].resources)
  end)

  it("says what it lacks, and makes none of it up", function()
    local _, path = stored(of(made.records { { 10, 20, 30 } }))
    local lacks = {}
    for _, name in ipairs(require("pmclua.store").open(path).header.lacks) do lacks[name] = true end
    assert.is_true(lacks.start_ns and lacks.threads and lacks.minor_faults)
    for _, record in ipairs(records_of(path)) do
      assert.is_nil(record.start_ns)
      assert.is_nil(record.minor_faults)
    end
  end)

  it("of a view has its cells, metrics and primary", function()
    local records = made.records { { 10, 20, 30, 40 }, { 1, 2, 3, 4 } }
    for _, record in ipairs(records) do record.cell, record.levels = 2, { n = 512 } end
    local view = of(records):only({ n = 512 }):with { metrics = "ipc", primary = "instructions" }
    local back = stored(view)
    same_told(view, back)
    assert.equal(1, #back.header.cells)
  end)

  it("is never written over a file, and leaves nothing where it cannot be written", function()
    local result, folder = of(made.records { { 1, 2 } }), support.folder()
    result:store(folder .. "/a.jsonl")
    assert.matches("there already", message_of(result.store, result, folder .. "/a.jsonl"))
    result.parts[1].columns.passes[1].n = 3
    assert.is_false((pcall(result.store, result, folder .. "/b.jsonl")))
    assert.is_nil(io.open(folder .. "/b.jsonl"))
    assert.matches("path must be a path", message_of(result.store, result))
  end)
end)

describe("a result that has a file", function()
  it("is stored with every record as it was", function()
    local path = support.folder() .. "/first.jsonl"
    local result = pmc.measure("true", { events = "page-faults", repetitions = 6, quiet = true,
      store = path })
    local _, copy = stored(result)
    assert.same(records_of(path), (records_of(copy)))
    assert.is_nil(require("pmclua.store").open(copy).header.lacks)
  end)
end)

describe("a result that was stored nowhere", function()
  it("can be resumed and compared from its file as if it had been", function()
    local result = pmc.measure("true", { events = "page-faults", repetitions = 6, quiet = true })
    local back = stored(result)
    assert.same(result:values "page-faults", back:values "page-faults")
    assert.equal(result.header.identity, back.header.identity)
    assert.equal(pmc.machine().cpu, back.header.host.cpu)
  end)
end)
