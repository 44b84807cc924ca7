-- Calls of functions that callgrind counts: their sums, of code whose length is known.

local pmc = require "pmclua"
local support = require "tests.support"
local tools = require "pmclua.host.tools"

local SOURCE = [[
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
void work(uint64_t n), outer(uint64_t n), again(uint64_t n), even(uint64_t n), odd(uint64_t n), never(void);
#define FUNCTION(NAME) "\n.type " #NAME ", @function\n.globl " #NAME "\n" #NAME ":\n"
#define END(NAME) ".size " #NAME ", . - " #NAME "\n"
__asm__(".text"
    FUNCTION(work) "mov %rdi, %rcx\n1: dec %rcx\njnz 1b\nret\n" END(work)
    FUNCTION(outer) "sub $8, %rsp\ncall work\nadd $8, %rsp\nret\n" END(outer)
    FUNCTION(again) "test %rdi, %rdi\njz 1f\ndec %rdi\ncall again\n1: ret\n" END(again)
    FUNCTION(even) "test %rdi, %rdi\njz 1f\ndec %rdi\ncall odd\n1: ret\n" END(even)
    FUNCTION(odd) "test %rdi, %rdi\njz 1f\ndec %rdi\ncall even\n1: ret\n" END(odd)
    FUNCTION(never) "ret\n" END(never));
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1 && fork() == 0) { work(10); return 0; }
    if (argc > 1) wait(NULL);
    work(1000); work(2000);
    outer(100);
    again(5); again(3);
    even(4);
    if (argc > 9) never();
    puts("done");
    return 0;
}
]]

-- Instructions of all calls.
local KNOWN = { work = 2 * 3100 + 3 * 2, outer = 4 + 2 * 100 + 2, again = 5 * 5 + 3 + 3 * 5 + 3,
  even = 4 * 5 + 3, odd = 3 * 5 + 3 }

local function absent()
  if jit.arch ~= "x64" then return "the functions are those of x86-64" end
  if not support.have "gcc" then return "no C compiler" end
  if not tools.find "valgrind" then return "no Valgrind" end
  return support.watcher and "a watcher runs the program" or nil
end

local function counted(spec)
  local asked = { events = "valgrind::instructions", regions = { "work", "outer", "again", "even", "odd" },
    repetitions = 3 }
  return pmc.experiment(support.merged(asked, spec)):run()
end

local function by_region(result)
  local found = {}
  for cell in result:cells() do
    if cell.region then found[cell.region] = cell.valgrind_instructions end
  end
  return found
end

describe("calls of functions under Valgrind", function()
  local program, folder

  setup(function()
    if absent() then return end
    folder = support.folder()
    support.write(folder .. "/calls.c", SOURCE)
    program = support.build(folder .. "/calls", "gcc", "-O1", folder .. "/calls.c")
  end)
  before_each(function() support.need(not absent(), absent()) end)

  it("have the instructions of their source: once where they recur, with all that they call", function()
    local found = by_region(counted { workloads = { program } })
    for name, known in pairs(KNOWN) do
      local region = found[name]
      assert.same({ known, 2, "simulated" }, { region.median, region.n, region.status }, name)
    end
  end)

  it("are found in programs at fixed addresses, and in libraries", function()
    local fixed = support.build(folder .. "/fixed", "gcc", "-O1", "-no-pie", folder .. "/calls.c")
    local found = by_region(counted { workloads = { fixed }, regions = { "work", "libc.so.6:puts" } })
    assert.equal(KNOWN.work, found.work.median)
    assert.is_true(found.puts.median > 100)
  end)

  it("need neither a PMU nor rights", function()
    support.need(support.have_root(), "only root can become another user here")
    local chunk = ([[
      local result = pmc.experiment { workloads = { %q }, events = "valgrind::instructions",
        regions = { "work" }, repetitions = 2 }:run { store = false }
      for cell in result:cells() do print(cell.region, cell.valgrind_instructions.median) end
    ]]):format(program)
    local ran = support.run({ support.program, "-e", chunk }, { user = true, env = { HOME = "/none" } })
    assert.matches("work%s+" .. KNOWN.work, ran.out, ran.err)
  end)

  it("that never happen are told, and counted nowhere", function()
    local result = counted { workloads = { program }, regions = { "work", "never" } }
    assert.is_nil(by_region(result).never)
    assert.matches("never was never called", table.concat(result.remarks, "\n"))
  end)

  it("cost the repetition where a process forks: a child's cannot be told apart", function()
    local result = counted { workloads = { pmc.command { program, "fork" } } }
    assert.is_nil(next(by_region(result)))
    assert.matches("commands of one process", result:cells()().first_failure.why)
  end)

  it("have no single calls", function()
    local ok, why = pcall(counted, { workloads = { program }, regions = { "work", entries = true } })
    assert.is_false(ok)
    assert.matches("sums over a region's calls or entries only", tostring(why))
  end)
end)

local MARKED = [[
#include <pmclua_mark.h>
#include <stdio.h>
#include <string.h>
void work(uint64_t n);
__asm__(".text\n.type work, @function\nwork: mov %rdi, %rcx\n1: dec %rcx\njnz 1b\nret\n");
static void within(int depth)
{
    pmclua_mark_begin("within");
    work(1000);
    if (depth > 0) within(depth - 1);
    pmclua_mark_end("within");
}
static void *turn(void *unused)
{
    pmclua_mark_begin("thread");
    pmclua_mark_end("thread");
    return unused;
}
int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    pmclua_mark_begin("one"); work(1000); pmclua_mark_end("one");
    pmclua_mark_begin("two"); work(2000); pmclua_mark_end("two");
    for (int i = 0; i < 10; i++) { pmclua_mark_begin("often"); work(100); pmclua_mark_end("often"); }
    pmclua_mark_begin("outer");
    work(500); pmclua_mark_begin("inner"); work(700); pmclua_mark_end("inner"); work(500);
    pmclua_mark_end("outer");
    pmclua_mark_begin("left"); work(300); pmclua_mark_begin("right"); work(400);
    pmclua_mark_end("left"); work(600); pmclua_mark_end("right");
    within(3);
    pmclua_mark_end("stray");
    if (strcmp(kind, "many") == 0)
        for (int i = 0; i < 1100; i++) { pmclua_mark_begin("many"); pmclua_mark_end("many"); }
    pthread_t thread;
    if (strcmp(kind, "threads") == 0 && pthread_create(&thread, NULL, turn, NULL) == 0)
        pthread_join(thread, NULL);
    pmclua_mark_begin("open");
    puts("done");
    return 0;
}
]]

-- Of each: instructions between its marks, and into how many pieces marks cut it, which add what they take.
local BETWEEN = { one = { 2002, 1 }, two = { 4002, 1 }, often = { 10 * 202, 10 }, inner = { 1402, 1 },
  outer = { 1002 + 1402 + 1002, 3 }, left = { 602 + 802, 2 }, right = { 802 + 1202, 2 },
  within = { 4 * 2002, 8 } }

local MOST_OF_A_MARK = 40               -- instructions: loads, branches and calls around it

describe("marks under Valgrind", function()
  local program

  setup(function()
    if absent() then return end
    local folder = support.folder()
    support.write(folder .. "/marked.c", MARKED)
    program = support.build(folder .. "/marked", "gcc", "-O1", "-I" .. support.root .. "/core",
      folder .. "/marked.c", "-lpthread")
  end)
  before_each(function() support.need(not absent(), absent()) end)

  it("have what lies between them, nested, overlapping or within themselves, and hardly more", function()
    local result = counted { workloads = { program }, regions = "marks" }
    local found = by_region(result)
    for name, known in pairs(BETWEEN) do
      local above = found[name].median - known[1]
      assert.is_true(above >= 0 and above <= known[2] * MOST_OF_A_MARK, ("%s: %d"):format(name, above))
    end
    assert.equal(2000, found.two.median - found.one.median)
    local said = table.concat(result.remarks, "\n")
    assert.matches("mark 'open': 1 begun but never ended", said)
    assert.matches("mark 'stray': 1 ended without a begin", said)
    assert.is_nil(found.open)
  end)

  it("are counted beside real events, of which they are told apart", function()
    local result = counted { workloads = { program }, regions = "marks",
      events = { "valgrind::instructions", "page-faults" } }
    for cell in result:cells() do
      if cell.region == "two" then
        local statuses = { cell.valgrind_instructions.status, cell.page_faults.status }
        assert.same({ "simulated", "counted" }, statuses)
      end
    end
  end)

  it("cost the repetition where threads have them, and where there are too many", function()
    local function why(kind)
      local result = counted { workloads = { pmc.command { program, kind } }, regions = "marks" }
      assert.is_nil(next(by_region(result)))
      return result:cells()().first_failure.why
    end
    assert.matches("its marks are in several threads", why "threads")
    assert.matches("more than 1,000 entries", why "many")
  end)
end)
