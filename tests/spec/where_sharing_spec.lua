-- Which cache lines threads share, and how: of accesses that are played, and of a program whose threads share one.

local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local sharing = require "pmclua.profile.sharing"
local support = require "tests.support"
local where = require "tests.support.where"

local PID, BASE = 100, 64 * 1000

-- Accesses of threads in turn, each thread's as { offset, "write" or "read" }; `rounds` of them, or of each thread
-- all before those of the next.
local function played(threads, rounds, in_turns)
  local finder, samples = sharing.new(), 0
  local function access(number)
    local own = threads[number]
    finder:add({ pid = PID, tid = PID + number - 1, address = BASE + own[1], size = 8,
      is_write = own[2] == "write" },
      { object = "slots", place = own[1], fn = "work", source = "/src/work.c", line = 7 })
    samples = samples + 1
  end
  if in_turns then
    for number in ipairs(threads) do
      for _ = 1, rounds do access(number) end
    end
  else
    for _ = 1, rounds do
      for number in ipairs(threads) do access(number) end
    end
  end
  return finder:lines_of(samples, 1000)
end

local function kinds(...) return lists.column(played(...), "kind") end

describe("a cache line of several threads", function()
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
    local finder = sharing.new()
    for i = 1, 200 do
      local is_write = i % 5 == 0
      finder:add({ pid = PID, tid = PID + i % 2, address = BASE + (is_write and 8 or 0), size = 8,
        is_write = is_write }, { object = "node", fn = "insert" })
    end
    assert.equal("true", finder:lines_of(200, 1)[1].kind)
  end)

  it("is shared falsely where threads meet for a tenth of the time, and are alone otherwise", function()
    local finder, n = sharing.new(), 0
    local function access(thread, times)
      for _ = 1, times do
        finder:add({ pid = PID, tid = PID + thread, address = BASE + 8 * thread, size = 8, is_write = true },
          { object = "slots", fn = "work" })
        n = n + 1
      end
    end
    for _ = 1, 5 do
      for thread = 0, 1 do access(thread, 40) end
      for _ = 1, 5 do
        for thread = 0, 1 do access(thread, 1) end
      end
    end
    assert.equal("false", finder:lines_of(n, 1)[1].kind)
  end)

  it("is read-only where nobody writes, whatever they read", function()
    assert.same({ "read-only" }, kinds({ { 0, "read" }, { 0, "read" } }, 50))
    assert.same({ "read-only" }, kinds({ { 0, "read" }, { 8, "read" } }, 50))
  end)

  it("is handed over where one thread has it after the other; latent where each has its own bytes", function()
    assert.same({ "handed over" }, kinds({ { 0, "write" }, { 0, "write" } }, 50, true))
    assert.same({ "latent" }, kinds({ { 0, "write" }, { 8, "write" } }, 50, true))
  end)

  -- Accesses as { thread, offset, is_write }, in this order.
  local function kind_of(list)
    local finder = sharing.new()
    for _, access in ipairs(list) do
      finder:add({ pid = PID, tid = PID + access[1], address = BASE + access[2], size = 8,
        is_write = access[3] }, { object = "table", fn = "work" })
    end
    return finder:lines_of(#list, 1)[1].kind
  end

  it("is no shared line where one thread has filled it before others read", function()
    for _, filled in ipairs { 1, 2, 20 } do
      local list = {}
      for i = 1, filled do list[i] = { 0, 8 * (i % 8), true } end
      for i = 1, 100 do list[filled + i] = { 1 + i % 2, 8 * (i % 5), false } end
      local kind = kind_of(list)
      assert.is_true(kind ~= "false" and kind ~= "true", ("%d: %s"):format(filled, kind))
    end
  end)

  it("is handed over where threads fill all of it in turns, with few samples of each word", function()
    local list = {}
    for i = 0, 135 do list[i + 1] = { math.floor(i / 17) % 2, 8 * (i % 8), true } end
    assert.equal("handed over", kind_of(list))
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

  it("is not judged by fewer than three samples of its second thread, nor a thousandth of all", function()
    assert.same({ "cannot tell" }, kinds({ { 0, "write" }, { 8, "write" } }, 2))
    local finder = sharing.new()
    for i = 1, 40 do
      finder:add({ pid = PID, tid = PID + i % 2, address = BASE + 8 * (i % 2), size = 8, is_write = true },
        { object = "slots", fn = "work" })
    end
    assert.equal("cannot tell", finder:lines_of(40000, 1)[1].kind)
    assert.equal("false", finder:lines_of(4000, 1)[1].kind)
  end)

  it("is not one line in two processes", function()
    local finder = sharing.new()
    for i = 1, 40 do
      finder:add({ pid = PID + i % 2, tid = PID + i % 2, address = BASE, size = 8, is_write = true },
        { object = "slots", fn = "work" })
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

  -- How often both threads are on a CPU at once is Linux's to say: "latent" where they were not.
  it("names the line, the members and functions of both threads, and how it is shared", function()
    local line = lists.find(found.profiles[1].data.sharing, function(one)
      return one.parts[1].object == "slots"
    end)
    assert.is_true(line.kind == "false" or line.kind == "latent", line.kind)
    local members = lists.unique(lists.column(line.parts, "member"))
    table.sort(members)
    assert.same({ "[0].count", "[1].count" }, members)
    assert.same({ "work" }, lists.unique(lists.column(line.parts, "fn")))
  end)

  it("says so below the table, and in each format", function()
    local out = found:report { by = "data" }
    assert.matches("cache lines that threads share\n", out, 1, true)
    assert.matches("thread 2 writes slots%[%d%]%.count%s+in%s+work%s+%(sharing%.c:%d+%)", out)
    local facts = require("dkjson").decode(found:report { by = "data", format = "json" })
    assert.equal("slots", facts.sharing.a[1].label)
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
