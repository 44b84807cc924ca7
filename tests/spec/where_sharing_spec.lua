-- Which cache lines threads share, and how: of accesses that are played, and of a program whose threads share one.

local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local sharing = require "pmclua.profile.sharing"
local support = require "tests.support"
local where = require "tests.support.where"

local PID, BASE = 100, 64 * 1000

-- Takes accesses, one at a time, as { thread, offset, is_write }; `others` run as well and access nothing.
local function take(finder, list, others)
  for i, access in ipairs(list) do
    local tid, time = PID + access[1], access.time or i
    for _, other in ipairs(others or {}) do
      if PID + other ~= tid then finder:saw { pid = PID, tid = PID + other, time = time } end
    end
    local sample = { pid = PID, tid = tid, time = time, address = BASE + access[2], size = 8,
      is_write = access[3] }
    finder:saw(sample)
    finder:add(sample, { object = "slots", place = access[2] - (access.start or 0), fn = "work",
      source = "/src/work.c", line = 7 })
  end
  return finder
end

-- The lines of accesses that are played.
local function lines_of(list, others) return take(sharing.new(), list, others):lines_of(#list, 1000) end

local function kind_of(list, others) return lines_of(list, others)[1].kind end

-- Accesses of threads, each thread's as { offset, "write" or "read" }: `rounds` of them in turn, or of each thread all
-- before those of the next, while the others run or not.
local function played(threads, rounds, in_turns, are_running)
  local list, others = {}, {}
  for i = 1, rounds * #threads do
    local number = in_turns and math.ceil(i / rounds) or (i - 1) % #threads + 1
    list[i] = { number - 1, threads[number][1], threads[number][2] == "write" }
  end
  for number in ipairs(threads) do others[number] = number - 1 end
  return lines_of(list, are_running and others)
end

local function kinds(...) return lists.column(played(...), "kind") end

describe("a cache line of several threads", function()
  it("names bytes by their member, or by their place where that is not exact", function()
    local function name(member, place)
      return sharing.name_of { object = "records", member = member, place = place }
    end
    assert.same({ "records[3].hits", "records +24" }, { name("[3].hits", 24), name(nil, 24) })
    assert.same({ "records[].hits +24", "records (padding) +24" },
      { name("[].hits", 24), name(" (padding)", 24) })
    assert.equal("records", name())
  end)

  it("is shared falsely where each thread writes bytes of its own", function()
    assert.same({ "false" }, kinds({ { 0, "write" }, { 8, "write" } }, 50))
    assert.same({ "false" }, kinds({ { 0, "write" }, { 8, "read" } }, 50))
    assert.same({ "false" }, kinds({ { 0, "write" }, { 8, "write" }, { 16, "write" }, { 56, "read" } }, 20))
  end)

  it("is shared truly where they have the same bytes, and one writes", function()
    assert.same({ "true" }, kinds({ { 0, "write" }, { 0, "write" } }, 50))
    assert.same({ "true" }, kinds({ { 0, "write" }, { 0, "read" } }, 50))
    assert.same({ "true" }, kinds({ { 0, "write" }, { 4, "read" } }, 50))
  end)

  it("is shared truly where they have the same members, whichever of them waits", function()
    local list = {}
    for i = 1, 200 do list[i] = { i % 2, i % 5 == 0 and 8 or 0, i % 5 == 0 } end
    assert.equal("true", kind_of(list))
  end)

  it("is not shared falsely where a thread shows nothing of what the other writes by chance", function()
    local list = {}
    for i = 1, 46 do list[i] = { i % 2, 16, false } end
    for i = 1, 3 do list[14 * i][2], list[14 * i][3] = 24, true end
    assert.equal("cannot tell", kind_of(list))
    for i = 1, 11 do list[4 * i][2], list[4 * i][3] = 24, true end
    assert.equal("false", kind_of(list))
  end)

  it("is shared falsely where threads meet for a tenth of the time, and run alone otherwise", function()
    local list, now = {}, 0
    local function access(thread, pause)
      now = now + pause
      list[#list + 1] = { thread, 8 * thread, true, time = now }
    end
    for i = 0, 449 do
      if i % 90 < 80 then access(i % 90 < 40 and 0 or 1, 1) else access(i % 2, 0.5) end
    end
    assert.equal("false", kind_of(list))
  end)

  it("is read-only where nobody writes, whatever they read", function()
    assert.same({ "read-only" }, kinds({ { 0, "read" }, { 0, "read" } }, 50))
    assert.same({ "read-only" }, kinds({ { 0, "read" }, { 8, "read" } }, 50))
  end)

  it("is handed over where one has it after the other and both run; latent if each has its bytes", function()
    local same, apart = { { 0, "write" }, { 0, "write" } }, { { 0, "write" }, { 8, "write" } }
    assert.same({ "handed over" }, kinds(same, 50, true, true))
    assert.same({ "latent" }, kinds(apart, 50, true, true))
  end)

  it("is not judged where threads never ran at the same time, as on a busy machine", function()
    for _, second in ipairs { { 0, "write" }, { 8, "write" } } do
      assert.same({ "cannot tell" }, kinds({ { 0, "write" }, second }, 50, true))
    end
  end)

  it("is no shared line where one thread has filled it before others read", function()
    for _, filled in ipairs { 1, 2, 20 } do
      local list = {}
      for i = 1, filled do list[i] = { 0, 8 * (i % 8), true } end
      for i = 1, 100 do list[filled + i] = { 1 + i % 2, 8 * (i % 5), false } end
      for _, others in ipairs { {}, { 0, 1, 2 } } do
        local kind = kind_of(list, others)
        assert.is_true(kind ~= "false" and kind ~= "true", ("%d: %s"):format(filled, kind))
      end
    end
  end)

  it("is handed over where threads fill all of it in turns, with few samples of each word", function()
    local list = {}
    for i = 0, 135 do list[i + 1] = { math.floor(i / 17) % 2, 8 * (i % 8), true } end
    assert.equal("handed over", kind_of(list, { 0, 1 }))
  end)

  it("is shared falsely by tasks that each move between threads with bytes of their own", function()
    local list = {}
    for i = 0, 399 do
      local thread, slice = i % 2, math.floor(i / 50)
      list[i + 1] = { thread, 8 * ((thread + slice) % 2), true }
    end
    assert.equal("false", kind_of(list))
  end)

  it("is not judged where a few samples may as well be of one thread after the other", function()
    local list = {}
    for i = 1, 6 do list[i] = { i <= 3 and 0 or 1, i <= 3 and 0 or 8, true } end
    assert.equal("cannot tell", kind_of(list))
  end)

  it("is latent where two threads write on either side of the border of two lines", function()
    assert.same({ "latent" }, kinds({ { 56, "write" }, { 64, "write" } }, 50))
    assert.same({}, kinds({ { 0, "write" }, { 64, "write" } }, 50))
    assert.same({}, kinds({ { 56, "read" }, { 64, "write" } }, 50))
  end)

  it("is not latent where two blocks of one place in the source meet at the border", function()
    local list = {}
    for i = 1, 100 do list[i] = { i % 2, i % 2 == 0 and 56 or 64, true } end
    assert.equal("latent", kind_of(list))
    for i = 1, 99, 2 do list[i].start = 64 end
    assert.same({}, lines_of(list))
  end)

  it("is not judged by fewer than three samples of its second thread, nor a thousandth of all", function()
    assert.same({ "cannot tell" }, kinds({ { 0, "write" }, { 8, "write" } }, 2))
    local list = {}
    for i = 1, 40 do list[i] = { i % 2, 8 * (i % 2), true } end
    local finder = take(sharing.new(), list)
    assert.equal("cannot tell", finder:lines_of(40000, 1)[1].kind)
    assert.equal("false", finder:lines_of(4000, 1)[1].kind)
  end)

  it("is not one line in two processes", function()
    local finder = sharing.new()
    for i = 1, 40 do
      local pid = PID + i % 2
      local sample = { pid = pid, tid = pid, time = i, address = BASE, size = 8, is_write = true }
      finder:saw(sample)
      finder:add(sample, { object = "slots", fn = "work" })
    end
    assert.same({}, finder:lines_of(40, 1))
  end)

  it("has the parts of each thread, the process's first one being thread 1", function()
    local line = played({ { 0, "write" }, { 8, "read" } }, 50)[1]
    assert.equal(100, line.samples)
    assert.equal(100000, line.count)
    local function part(thread, offset, is_write)
      return { thread = thread, offset = offset, size = 8, is_write = is_write, object = "slots",
        place = offset, fn = "work", source = "/src/work.c", line = 7, samples = 50 }
    end
    assert.same({ part(1, 0, true), part(2, 8, false) }, line.parts)
  end)
end)

describe("where --data of threads that share a line", function()
  local found

  local function command(how)
    return pmc.command { where.program("sharing.c", "-O2", "-g", "-pthread"), how }
  end

  setup(function()
    local ok, measured = pcall(pmc.where, command "apart",
      { data = true, event = "cpu-clock:u", seed = 5, store = support.folder() .. "/shared.jsonl" })
    support.need(ok or not tostring(measured):find "cannot be found here", tostring(measured))
    assert(ok, measured)
    found = measured
  end)

  -- How often both threads are on a CPU at once is Linux's to say: "cannot tell" where they were not.
  it("names the line, the members and functions of both threads, and how it is shared", function()
    local line = lists.find(found.profiles[1].data.sharing, function(one)
      return one.parts[1].object == "slots"
    end)
    assert.is_true(line.kind == "false" or line.kind == "cannot tell", line.kind)
    local members = lists.unique(lists.column(line.parts, "member"))
    table.sort(members)
    assert.same({ "[0].count", "[1].count" }, members)
    assert.same({ "work" }, lists.unique(lists.column(line.parts, "fn")))
  end)

  it("says so below the table, and in each format", function()
    local out = found:report { by = "data" }
    assert.matches("cache lines that threads share\n", out, 1, true)
    assert.matches("thread%s+2%s+writes%s+slots%[%d%]%.count%s+in%s+work%s+%(sharing%.c:%d+%)", out)
    local facts = require("dkjson").decode(found:report { by = "data", format = "json" })
    assert.equal("slots", facts.sharing.a[1].label)
    local rows = found:report { by = "data", format = "csv" }
    for _, number in ipairs { 0, 1 } do
      local place = ("write,%d,8,slots,%%[%d%%].count,%d,[%%d-]*\n"):format(8 * number, number, 8 * number)
      local line = "\nsharing,slots,work,,[^\n]*sharing.c,%d+,A,[^\n]*,1,%d+,ns,[a-z ]+,[23],"
      assert.matches(line .. place, rows)
    end
    assert.is_nil(found:report { by = "function", format = "csv" }:find "\nsharing,")
  end)

  it("tells blocks of one place in the source apart, in a line and in several", function()
    local shown = require "pmclua.report.where.sharing"
    local function part(thread, offset, place)
      return { thread = thread, offset = offset, size = 8, is_write = true, object = "heap from main",
        member = " (x.c:4)", place = place, fn = "work", samples = 50 }
    end
    local function line(...) return { kind = "false", samples = 100, count = 100, parts = { ... } } end
    local rows = shown.rows { { total = 200,
      data = { sharing = { line(part(2, 8, 0), part(3, 40, 0)), line(part(2, 8, 0), part(3, 16, 8)) } } } }
    assert.same({ "heap from main", "heap from main (2)" }, lists.column(rows, "label"))
    local two, one = unpack(shown.notes(rows))
    assert.matches("writes block 1 of heap from main (x.c:4) +0 in work; thread 3 writes block", two, 1, true)
    assert.is_nil(one:find "block")
  end)

  it("reads back from a stored result as it was", function()
    local read = pmc.load(found.result.path):where()
    assert.same(found.profiles[1].data.sharing, read.profiles[1].data.sharing)
  end)

  it("says which bytes padding would separate: those that overlap stay together", function()
    local apart = require("pmclua.report.where.sharing").apart
    local function part(thread, offset, size) return { thread = thread, offset = offset, size = size } end
    assert.same({ { from = 0, to = 7, threads = { 1 } }, { from = 8, to = 15, threads = { 2 } } },
      apart { part(2, 8, 8), part(1, 0, 8) })
    assert.same({ { from = 0, to = 11, threads = { 1 } }, { from = 16, to = 23, threads = { 2, 3 } } },
      apart { part(1, 0, 4), part(3, 16, 8), part(1, 8, 4), part(2, 20, 4) })
    local facts = require("dkjson").decode(found:report { by = "data", format = "json" }).sharing.a[1]
    assert.same(facts.sharing == "false" and 2 or 0, #(facts.apart or {}))
  end)

  it("is refused from a stored result that has nonsense of it", function()
    local before, shared = support.read(found.result.path):match '^(.*"sharing":)(.*)$'
    for pattern, nonsense in pairs { ['"kind":"[^"]*"'] = '"kind":"falsely"', ['"line":%d+'] = '"row":1',
        ['"parts":%['] = '"parts":[],"more":[', ['"count":%d+'] = '"count":0' } do
      local damaged, count = shared:gsub(pattern, nonsense, 1)
      assert.equal(1, count, pattern)
      local path = support.folder() .. "/damaged.jsonl"
      support.write(path, before .. damaged)
      local refused = support.message_of(function() return pmc.load(path):where() end)
      assert.matches("is not what it should be", refused, 1, true)
    end
  end)

  it("finds nothing where each thread has a line of its own", function()
    local padded = pmc.where(command "padded",
      { data = true, event = "cpu-clock:u", seed = 5 })
    for _, line in ipairs(padded.profiles[1].data.sharing) do
      assert.is_true(line.kind ~= "false" and line.kind ~= "latent", line.kind)
    end
  end)
end)
