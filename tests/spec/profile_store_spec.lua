-- Profiles in result files and in results: stored, read back, merged, resumed, paired.

local made = require "tests.support.results"
local profiles = require "tests.support.profiles"
local results = require "pmclua.result.files"
local store = require "pmclua.store"
local support = require "tests.support"

local header, lines_of, message_of, record = profiles.header, support.lines_of, support.message_of,
  profiles.record

local function new_path() return support.folder() .. "/results.jsonl" end

local function profile(f, g, more)
  return profiles.profile({ profiles.line("f", f, { lines = { [3] = f } }), profiles.line("g", g) }, more)
end

local function pairs_of(n)
  local records = {}
  for i = 1, n do
    records[#records + 1] = record(1, i, profile(100 + i, 50))
    records[#records + 1] = record(2, i, profile(110 + i, 50))
  end
  return records
end

local function read_all(path)
  local list = {}
  store.open(path).each(function(own) list[#list + 1] = own end)
  return list
end

describe("a profile", function()
  it("is stored before its repetition, and reads back equal", function()
    local own = profile(7, 5, { rest = { lost = 3 }, chains = { ["main;f"] = 7 }, period = 1, unit = "ns",
      iterations = 4 })
    own.lines[1].at[1].inlined = { { fn = "inner", line = 4 } }
    own.lines[1].at[1].source = "/home/u/inner.h"
    own.lines[2].at[1] = { address = 0xffffffff81000010ULL, count = 5, samples = 5 }
    own.lines[2].kind, own.lines[2].nameless = "kernel", true
    own.lines[1].code = { { from = 4096, bytes = "\0\xc3\n\"", machine = "x64" } }
    local path = made.stored(new_path(), header(), { record(1, 1, own) })
    local lines = lines_of(path)
    assert.matches('^{"kind":"profile","cell":1,"pass":1,"index":1,', lines[2])
    assert.matches('^{"kind":"repetition",', lines[3])
    own.lines[2].at[1].source = "/home/u/parse.c"
    assert.same({ own }, read_all(path)[1].profiles)
  end)

  it("reads back with what Linux was entered for, and beside traced system calls", function()
    local own = profile(7, 5)
    local file, id = "/lib/libc.so.6", "bb"
    own.entries = {
      { kind = "call", name = "read", file = file, build_id = id, address = 4660, samples = 3 },
      { kind = "fault", name = "huge", file = file, build_id = id, address = 17, samples = 2 },
      { kind = "other", samples = 1 } }
    own.threads = { ["2"] = { burn = 4 }, ["3"] = { ["f (a.c)"] = 2, read = 1 } }
    local sampled, traced, bare = record(1, 1, own), record(1, 2, own), record(2, 1, own)
    traced.profiles, bare.profiles = nil, nil
    traced.system_calls = { lost = 2, sites = { { name = "read", place = 564, count = 3 } },
      chains = { { name = "read", thread = 2, what = "work", place = 0, ns = 60, is_process = false,
        is_end = true } },
      rows = { { name = "read", is_first = true, count = 3, blocked_ns = 70, waited_ns = 1 } } }
    local back = read_all(made.stored(new_path(), header(), { sampled, traced, bare }))
    assert.same({ own }, back[1].profiles)
    assert.same(traced.system_calls, back[2].system_calls)
    for _, one in ipairs { back[1].system_calls or 0, back[2].profiles or 0, back[3].system_calls or 0 } do
      assert.equal(0, one)
    end
  end)

  it("is refused with an entry of no known kind, and so are calls that are not counted", function()
    local own = profile(7, 5)
    own.entries = { { kind = "nothing", samples = 1 } }
    local function refused(of) return message_of(read_all, made.stored(new_path(), header(), { of })) end
    assert.matches("'entries'", refused(record(1, 1, own)), 1, true)
    own.entries, own.threads = nil, { ["2"] = { burn = "4" } }
    assert.matches("'threads'", refused(record(1, 1, own)), 1, true)
    local traced = record(1, 1, profile(1, 1))
    traced.system_calls = { lost = 0, sites = {}, chains = {},
      rows = { { name = "read", is_first = true, count = -1, blocked_ns = 0, waited_ns = 0 } } }
    assert.matches("'count'", refused(traced), 1, true)
  end)

  it("of many instructions is several lines, and still reads back equal", function()
    local lines = {}
    for f = 1, 30 do
      local line = profiles.line("f" .. f, 0, { at = {}, samples = 400, count = 400 })
      for i = 1, 400 do
        line.at[i] = { address = f * 1000 + i, line = i, count = 1, samples = 1, source = line.source }
      end
      lines[f] = line
    end
    local own = profiles.profile(lines)
    local path = made.stored(new_path(), header(), { record(1, 1, own), record(2, 1, profile(1, 2)) })
    local stored = lines_of(path)
    assert.equal(8, #stored)
    for i = 2, 3 do assert.matches('"more":true', stored[i], 1, true) end
    local back = read_all(path)
    assert.same({ own }, back[1].profiles)
    assert.equal(3, back[2].profiles[1].total)
  end)

  it("without its repetition is ignored: the run was killed between them, and resumed", function()
    local path = made.stored(new_path(), header(), pairs_of(2))
    local lines = lines_of(path)
    support.write(path, table.concat({ lines[1], lines[2], lines[3], lines[4] }, "\n") .. "\n")
    local writer = store.append(path)
    writer:add(record(2, 1, profile(777, 1)))
    writer:finish "complete"
    local back = read_all(path)
    assert.equal(2, #back)
    assert.same({ 151, 778 }, { back[1].profiles[1].total, back[2].profiles[1].total })
  end)

  it("that is damaged is refused with its line", function()
    local path = made.stored(new_path(), header(), { record(1, 1, profile(7, 5)) })
    local lines = lines_of(path)
    local function damaged(from, to)
      local line, n = lines[2]:gsub(from, to, 1)
      assert.equal(1, n)
      support.write(path, table.concat({ lines[1], line, lines[3], lines[4] }, "\n") .. "\n")
      return message_of(read_all, path)
    end
    assert.matches("line 2.*do not add up to its total", damaged('"total":12', '"total":13'))
    assert.matches("line 2.*'fn' of a profile", damaged('"fn":"f"', '"fn":{}'))
    assert.matches("line 2.*'at' of a profile", damaged('"at":%[', '"at":7,"x":['))
    assert.matches("line 2.*'functions' of a profile", damaged('"files":%[', '"files":[[],'))
    assert.matches("line 2.*'address' of a profile", damaged('%[4144,', '[{},'))
  end)
end)

describe("a result with profiles", function()
  it("is a code ledger of the baseline and the other cell, the same when it was stored and loaded", function()
    local result = made.result(header(), pairs_of(12))
    local loaded = results.load(made.stored(new_path(), header(), pairs_of(12)))
    for _, own in ipairs { result, loaded } do
      local code = own:where()
      local found = code:ledger()
      assert.same({ "old", "new", "page-faults", 12 },
        { code.baseline.workload, code.cell.workload, code.event, found.n })
      local row = found.lines[1]
      assert.same({ "f", 10, "more" }, { row.label, row.difference, row.verdict })
      assert.equal("parse.c:3 f", code:ledger("line").lines[1].label)
    end
  end)

  it("keeps them where it is stored from memory", function()
    local path = new_path()
    made.result(header(), pairs_of(3)):store(path)
    assert.equal(3, results.load(path):where():ledger().n)
  end)

  it("pairs what ran in one block, and says how much has no partner", function()
    local records = pairs_of(5)
    table.remove(records, 4)
    local code = made.result(header(), records):where()
    assert.same({ 4, 1 }, { #code.a, code.missing })
    assert.same({ 154, 164 }, { code.a[3].total, code.b[3].total })
  end)

  it("leaves out warm-ups and repetitions that failed", function()
    local records = pairs_of(3)
    records[1].warmup, records[3].exit = true, 1
    assert.equal(1, #made.result(header(), records):where().a)
  end)

  it("of several files compares them unpaired", function()
    local one = { workloads = { { name = "old", kind = "command", per = "run" } },
      cells = { { workload = "old", levels = {} } }, baseline = false }
    local function file(n, f)
      local records = {}
      for i = 1, n do records[i] = record(1, i, profile(f + i % 3, 50)) end
      local own = header(one)
      own.baseline = nil
      return made.stored(new_path(), own, records)
    end
    local code = results.load(file(11, 100), file(13, 200)):where()
    local found = code:ledger()
    assert.same({ false, 11, 13 }, { code.paired, found.n, found.n_b })
    assert.same({ "f", "more" }, { found.lines[1].label, found.lines[1].verdict })
  end)

  it("says so where nothing was sampled, or not that event", function()
    local plain = made.result(header(), { made.record({ 5 }, { workload = "old", levels = {}, exit = 0 }) })
    assert.matches("no event was sampled", message_of(plain.where, plain))
    local result = made.result(header(), pairs_of(2))
    assert.matches("'cycles' was not sampled, only page%-faults", message_of(result.where, result, "cycles"))
  end)
end)
