-- Allocations, counted by Valgrind's DHAT: against blocks counted by hand; where they are absent, and why.

local event = require "pmclua.event"
local heap_file = require "pmclua.simulate.heap_file"
local passes = require "pmclua.counting.passes"
local support = require "tests.support"

local NAMES = { "allocations", "allocated_bytes", "peak_heap", "unread_bytes" }
local ALL = "valgrind::allocations,valgrind::allocated-bytes,valgrind::peak-heap"
  .. ",valgrind::unread-bytes"

local function need()
  support.need(support.have "valgrind", "Valgrind is not installed")
  support.need_unwatched "what Valgrind runs is run under nothing else"
end

-- The program of fixtures/simulated/heap.c.
local function program(...)
  return support.build(support.folder() .. "/heap", "cc", "-O1", "-g",
    support.fixture "simulated/heap.c", ...)
end

local function counts(repetitions, ...)
  local result = support.pmclua { "stat", "-j", "-o", "-", "-r", repetitions, "-e", ALL, "--", ... }
  assert.equal(0, result.status, result.err)
  local values, list = require("dkjson").decode(result.out).cells[1].values, {}
  for i, name in ipairs(NAMES) do
    local value = values["valgrind_" .. name]
    assert.equal("simulated", value.status)
    list[i] = value.median
  end
  return list, values.valgrind_allocations.n, result
end

local function refusal(...)
  local result = support.pmclua { "stat", "-e", "valgrind::allocations", "--", ... }
  assert.is_nil(result.err:find("allocations +%d"), result.err)
  return (result.err:gsub("%s+", " "))
end

local function code_of(name, ...)
  local path = support.folder() .. "/" .. name
  return support.build(path, "cc", "-O1", support.write(path .. ".c", ...), "-pthread")
end

describe("allocations of a command", function()
  it("are those counted by hand, the same in two runs, which are enough", function()
    need()
    local found, n = counts("3", program(), "7")
    -- calloc 1000, malloc 3000, realloc to 5000, 7 blocks of 100: of the grown block 6000 bytes are read, 3000 of them
    -- by the copy.
    assert.same({ 10, 9700, 5000, 700 + 600 + 2000 }, found)
    assert.equal(2, n)
  end)

  it("are what a limit can be on, and a planted block is found", function()
    need()
    local path = program()
    local held = support.pmclua { "stat", "-e", "valgrind::allocations", "--limit",
      "valgrind_allocations <= 10", "--", path, "7" }
    assert.equal(0, held.status, held.err)
    local failed = support.pmclua { "gate", "-r", "2", "--against", path .. " 7", "--limit",
      "valgrind_allocations <= +0%", "--", path, "8" }
    assert.equal(3, failed.status, failed.err)
    assert.matches("11, was 10", failed.out .. failed.err)
  end)

  it("are told by the function and the line that allocates, to the last byte; A against B too", function()
    need()
    local path = program()
    local function where(...)
      local result = support.pmclua { "where", "-o", "-", "--format", "csv", "-e",
        "valgrind::allocated-bytes", ... }
      assert.equal(0, result.status, result.err)
      return result.out
    end
    local function has(rows, name, bytes)
      assert.matches("\n[^\n]*" .. name .. "[^\n]*%f[%d]" .. bytes .. "%f[%D]", rows)
    end
    local one = where("--", path, "7")
    for name, bytes in pairs { wasted = 700, partly_read = 1000, grown = 8000 } do has(one, name, bytes) end
    local lines = where("--lines", path .. " 7", path .. " 9")
    has(lines, "heap%.c:10 wasted[^\n]*,A,", 700)
    has(lines, "heap%.c:10 wasted[^\n]*,B,", 900)
  end)

  it("have call chains, which `-g` shows", function()
    need()
    local result = support.pmclua { "where", "-o", "-", "-g", "--format", "folded", "-e",
      "valgrind::allocations", "--", program(), "7" }
    assert.matches("main;wasted 7", result.out)
    assert.matches("main;grown 2", result.out)
  end)

  it("of several processes are summed, but for the peak, which is of one", function()
    need()
    local path = program()
    local function twice(more)
      return counts("1", "sh", "-c", ("%s 1; %s %d; :"):format(path, path, more))
    end
    local found, _, result = twice(1)
    assert.equal(2, twice(3)[1] - found[1])
    assert.is_true(found[3] >= 5000 and found[3] < 9000, tostring(found[3]))
    assert.matches("peak%-heap is that of the process", ((result.out .. result.err):gsub("%s+", " ")))
  end)

  it("of threads are counted, three times where they agree", function()
    need()
    local path = code_of("threads", [[
      #include <pthread.h>
      #include <stdlib.h>
      static void *run(void *unused) { free(malloc(64)); (void)unused; return 0; }
      int main(void) { pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, run, 0);
        for (int i = 0; i < 3; i++) pthread_join(t[i], 0); return 0; }
    ]])
    local rows = support.pmclua { "stat", "-j", "-o", "-", "-r", "3", "-e", "valgrind::allocations", "--",
      path }
    local value = require("dkjson").decode(rows.out).cells[1].values.valgrind_allocations
    assert.is_true(value.median >= 3)
    assert.is_true(value.n >= 3)
  end)
end)

describe("allocations that DHAT cannot see", function()
  it("are absent with the reason: static programs, replaced ones, forked children", function()
    need()
    assert.matches("is a static program", refusal(program("-static")))
    assert.matches("executes .-heap in place of another program", refusal("env", program()))
    assert.matches("forks a child that executes no program", refusal("sh", "-c", "(:); :"))
  end)

  it("are refused before anything runs: of kernels, of regions, of a target", function()
    local function said(fields)
      return support.message_of(function()
        require("pmclua").experiment(support.merged({ name = "x", events = { "valgrind::allocations" },
          workloads = { require("pmclua").command { "true" } } }, fields))
      end)
    end
    assert.matches("counts the allocations of commands", said {
      workloads = { require("pmclua").snippet { name = "s", c = "x++;", init = "int x = 0;" } } })
    assert.matches("is of whole runs, not of regions", said { regions = { "f" } })
    assert.matches("target", said { target = require("pmclua").self() })
  end)

  it("are refused without Valgrind, with the package to install", function()
    local folder = support.folder()
    for _, name in ipairs { "env", "timeout" } do
      assert(os.execute(("ln -s $(command -v %s) %s"):format(name, folder)))
    end
    local result = support.pmclua({ "stat", "-e", "valgrind::allocations", "--", "/bin/true" },
      { env = { PATH = folder } })
    assert.matches("apt%-get install valgrind", result.err)
  end)
end)

describe("a pass in which DHAT counts", function()
  it("is one of its own beside that of simulated counts", function()
    need()
    local events = assert(event.parse "valgrind::allocations,valgrind::Ir,valgrind::peak-heap")
    local plan = passes.plan(events, "rerun")
    local function shape(pass) return { pass.events, pass.simulated.heap } end
    assert.same({ { { 2 } }, { { 1, 3 }, true } }, { shape(plan[#plan - 1]), shape(plan[#plan]) })
  end)
end)

describe("a file of DHAT's", function()
  local FILE = [[
{"dhatFileVersion":2
,"cmd":"./a \"b\""
,"pps":
 [{"tb":10,"tbk":1
  ,"gb":10,"gbk":1
  ,"rb":30,"wb":8192
  ,"acc":[-500,1,-500,0]
  ,"fs":[1,2,3,4]
  }
 ,{"tb":1000,"tbk":2
  ,"gb":0,"gbk":0
  ,"rb":500,"wb":0
  ,"fs":[1,5]
  }
 ]
,"ftbl":
 ["[root]"
 ,"0x1: malloc (in /usr/libexec/valgrind/vgpreload_dhat-amd64-linux.so)"
 ,"0x2: inner (/src/a (1).c:7)"
 ,"0x2: outer (/src/a.c:9)"
 ,"0x3: main (/src/a.c:20)"
 ,"0x4: say (in /usr/lib/\"x\".so)"
 ]
}
]]

  it("gives counts by chain; an inlined function stands under the one that it was copied into", function()
    local file = assert(heap_file.parse(FILE))
    assert.same({ tbk = 3, tb = 1010, gb = 10, unread = 500 }, file.summary)
    local first, second = file.lines[1], file.lines[2]
    assert.same({ "outer", "/src/a (1).c", 7 }, { first.fn, first.file, first.line })
    assert.same({ "say", '/usr/lib/"x".so' }, { second.fn, second.object })
    assert.same({ ["main;outer"] = 1, say = 2 }, heap_file.chains({ file }, { "tbk" }))
  end)

  it("that was cut off anywhere is refused", function()
    for length = 0, #FILE - 4 do
      local file, why = heap_file.parse(FILE:sub(1, length))
      assert.is_nil(file)
      assert.equal("it was cut off", why)
    end
  end)
end)
