-- Shared cache lines watched with breakpoints: of lines as samples would have them, in programs that share one.

local confirm = require "pmclua.experiment.confirm"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local shown = require "pmclua.report.where.sharing"
local support = require "tests.support"
local where = require "tests.support.where"
local workload = require "pmclua.workload"

local function part(thread, object, place)
  return { thread = thread, offset = place, size = 8, is_write = true, object = object, place = place,
    fn = "work", samples = 50 }
end

local function command(name, how)
  return workload.from { where.program(name, "-O2", "-g", "-pthread"), how }
end

-- What breakpoints count at a line that samples say is shared in this way.
local function confirmed(program, how, kind, parts)
  local line = { kind = kind, samples = 100, count = 100, parts = parts }
  local one = confirm.of({ line }, command(program, how))[1]
  support.need(not (one.why or ""):find "breakpoint", one.why)
  return one
end

local function notes(one) return shown.confirmation(one).notes[1] end

describe("where --data --confirm", function()
  it("counts each thread's accesses at words of its own, which is false sharing", function()
    local one = confirmed("sharing.c", "apart", "false", { part(2, "slots", 0), part(3, "slots", 8) })
    assert.equal("false", one.counted, one.why)
    assert.equal(0, one.words[1].accesses[3])
    assert.equal(0, one.words[2].accesses[2])
    assert.is_true(one.words[1].accesses[2] > 0 and one.words[2].accesses[3] > 0)
    assert.equal("false sharing: confirmed", notes(one))
  end)

  it("takes back false sharing where both threads have the word", function()
    local one = confirmed("together.c", "variable", "false", { part(1, "both", 0), part(2, "both", 0) })
    assert.equal("true", one.counted, one.why)
    assert.equal("false sharing: taken back: by its words it is true", notes(one))
  end)

  it("confirms latent sharing by the words alone", function()
    local one = confirmed("sharing.c", "apart", "latent", { part(2, "slots", 0), part(3, "slots", 8) })
    assert.equal("latent sharing: confirmed", notes(one))
  end)

  it("finds blocks of the heap where they are allocated, also of a child, and stores it", function()
    support.need_unwatched("it brings an allocator of its own", "asan")
    support.need_unwatched("the watcher allocates", "valgrind")
    local path = support.folder() .. "/confirmed.jsonl"
    local child = support.quote(where.program("blocks.c", "-O2", "-g", "-pthread")) .. "; true"
    local found = pmc.where(pmc.command { "sh", "-c", child }, { data = true, heap = true, confirm = true,
      event = "cpu-clock", store = path })
    support.need(found.confirmed[1], "the threads had too few samples")
    local one = found.confirmed[1]
    support.need(not (one.why or ""):find "breakpoint", one.why)
    assert.equal("false", one.counted, one.why)
    assert.matches("^heap from main %(blocks%.c", one.words[1].name)
    assert.same({ one.kind, one.counted, one.label },
      { pmc.load(path):where().confirmed[1].kind, "false", one.label })
    assert.equal(found:report { by = "data" }, pmc.load(path):where():report { by = "data" })
  end)

  it("says why a line is not confirmed: no symbol, no second thread, nobody there", function()
    local heap = confirmed("together.c", "heap", "true", { part(1, "heap from main", 0) })
    assert.matches("nothing tells where 'heap from main' is in another run", notes(heap), 1, true)
    local missing = confirmed("together.c", "variable", "true", { part(1, "neither", 0) })
    support.need(not missing.why:find "no second thread", "the program ended before it was looked at")
    assert.matches("no single symbol tells where 'neither' is", notes(missing), 1, true)
    local alone = confirm.of({ { kind = "true", parts = { part(1, "both", 0) } } }, workload.from "true")[1]
    assert.matches("it had no second thread", notes(alone), 1, true)
    local elsewhere = confirmed("together.c", "heap", "true", { part(1, "both", 0), part(2, "both", 0) })
    assert.matches("not confirmed: no two threads accessed it while", notes(elsewhere), 1, true)
  end)

  it("watches two lines at most, and none of those that are not shared at the same time", function()
    local lines = lists.map({ "read-only", "handed over", "cannot tell" }, function(kind)
      return { kind = kind, count = 1, parts = { part(1, "both", 0) } }
    end)
    assert.same({}, confirm.of(lines, workload.from "true"))
    local untold = { kind = "cannot tell", count = 1, parts = lines[3].parts }
    local one = confirm.of({ untold }, workload.from "true", { total = 100 })[1]
    assert.equal("samples cannot tell how it is shared, nor breakpoints: it had no second thread while it "
      .. "was watched", notes(one))
    for i = 1, 3 do lines[i].kind = "true" end
    assert.equal(2, #confirm.of(lines, workload.from "true"))
  end)

  it("is for the data of one command", function()
    for _, options in ipairs { { confirm = true }, { confirm = true, data = true, target = pmc.pid(1) } } do
      local message = support.message_of(function() pmc.where("true", options) end)
      assert.matches("confirm is for the data of one command", message, 1, true)
    end
    local done = support.pmclua { "where", "--data", "--confirm", "stored.jsonl" }
    assert.equal(125, done.status)
    assert.matches("--confirm runs the command again: a stored result has what", done.err, 1, true)
  end)
end)
