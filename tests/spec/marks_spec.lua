-- Marks: programs that set them, with known numbers of page faults in between, are counted exactly: by
-- name, by thread, nested, overlapping, in children and in what is executed.

local json = require "dkjson"
local played = require "tests.support.played"
local pmc = require "pmclua"
local support = require "tests.support"

local HEAD = [[
#include <pmclua_mark.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
static void touch(unsigned long n)
{
    char *m = (char *)mmap(0, (n + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned long i = 0; i < n; i++) m[i * 4096] = 1;
    munmap(m, (n + 1) * 4096);
}
#define MARK(name, what) do { pmclua_mark_begin(name); what; pmclua_mark_end(name); } while (0)
]]

local PROGRAMS = {
  -- Each prints nothing; main's body.
  repeated = "for (int i = 0; i < 10; i++) MARK(\"ten\", touch(100)); MARK(\"once\", touch(7));",
  nested = [[
    pmclua_mark_begin("outer"); touch(5);
    for (int i = 0; i < 4; i++) MARK("inner", touch(20));
    touch(1); pmclua_mark_end("outer");]],
  overlapping = [[
    pmclua_mark_begin("first"); touch(1); pmclua_mark_begin("second"); touch(10);
    pmclua_mark_end("first"); touch(100); pmclua_mark_end("second");]],
  forked = [[
    pmclua_mark_begin("parent"); touch(3);
    if (fork() == 0) { MARK("child", touch(50)); pmclua_mark_end("parent"); _exit(0); }
    pmclua_mark_end("parent"); wait(0);]],
  executed = [[
    if (argc > 1) { MARK("executed", touch(9)); return 0; }
    MARK("before", touch(4));
    if (fork() == 0) execl(argv[0], argv[0], "again", (char *)0);
    wait(0);]],
  unbalanced = [[
    pmclua_mark_end("stray"); pmclua_mark_begin("open"); MARK("good", touch(2)); pmclua_mark_begin("open");]],
  deep = [[
    for (int i = 0; i < 200; i++) pmclua_mark_begin("deep");
    touch(11);
    for (int i = 0; i < 200; i++) pmclua_mark_end("deep");
    MARK("after", touch(6));]],
  many = [[
    char name[20];
    for (int i = 0; i < 2000; i++) { snprintf(name, sizeof name, "mark %d", i); MARK(name, touch(1)); }]],
  preserving = [[
    errno = 42; pmclua_mark_begin("a"); if (errno != 42) return 1; pmclua_mark_end("a");
    pmclua_mark_end("b"); if (errno != 42) return 1;
    touch(1);]],
  unmarked = "touch(1);",
}

local THREADS = [[
static void *work(void *n) { MARK("work", touch((unsigned long)n)); return 0; }
int main(void)
{
    pthread_t thread[4];
    for (unsigned long i = 0; i < 4; i++) pthread_create(&thread[i], 0, work, (void *)(10 * (i + 1)));
    for (int i = 0; i < 4; i++) pthread_join(thread[i], 0);
    for (int i = 0; i < 5000; i++) {
        pthread_create(&thread[0], 0, work, (void *)1UL);
        pthread_join(thread[0], 0);
    }
    return 0;
}
]]

-- Touches 200 pages, then 100 and 200 in two threads.
local FORTRAN = [[
program main
  use, intrinsic :: iso_c_binding
  use omp_lib
  use pmclua_mark
  implicit none
  interface
    function mmap(at, bytes, rights, flags, fd, offset) bind(c)
      import
      integer(c_intptr_t), value :: at, offset
      integer(c_size_t), value :: bytes
      integer(c_int), value :: rights, flags, fd
      type(c_ptr) :: mmap
    end function
  end interface
  call pmclua_mark_begin(repeat("n", 80))
  call pmclua_mark_end(repeat("n", 80))
  call pmclua_mark_begin("once  ")
  call touch(200)
  call pmclua_mark_end("once")
  !$omp parallel num_threads(2)
  call pmclua_mark_begin("of threads")
  call touch(100 * (omp_get_thread_num() + 1))
  call pmclua_mark_end("of threads")
  !$omp end parallel
contains
  subroutine touch(pages)
    integer, intent(in) :: pages
    integer(c_int8_t), pointer, volatile :: bytes(:)
    integer :: i
    type(c_ptr) :: memory
    memory = mmap(0_c_intptr_t, 4096_c_size_t * pages, 3, 34, -1, 0_c_intptr_t)
    call c_f_pointer(memory, bytes, [4096 * pages])
    do i = 1, pages
      bytes(4096 * i) = 1
    end do
  end subroutine
end program]]

-- The first thread touches 100 pages in two entries; the others, which are there at once, 10, 20 and 30.
local NUMBERED = [[
static pthread_barrier_t all;
static void *work(void *n)
{
    MARK("work", touch((unsigned long)n));
    pthread_barrier_wait(&all);
    return 0;
}
int main(void)
{
    pthread_t thread[3];
    pthread_barrier_init(&all, 0, 4);
    MARK("work", touch(50));
    MARK("work", touch(50));
    for (unsigned long i = 0; i < 3; i++) pthread_create(&thread[i], 0, work, (void *)(10 * (i + 1)));
    pthread_barrier_wait(&all);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], 0);
    return 0;
}]]

-- 1700 threads with three marks each are there at once, and 5100 entries of four slots each.
local CROWD = [[
#include <sys/resource.h>
static pthread_barrier_t all;
static void *work(void *unused)
{
    MARK("a", touch(1)); MARK("b", touch(2)); MARK("c", touch(3));
    pthread_barrier_wait(&all);
    return unused;
}
int main(void)
{
    enum { THREADS = 1700 };
    static pthread_t thread[THREADS];
    struct rlimit most;
    getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_barrier_init(&all, 0, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], &small, work, 0)) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], 0);
    return 0;
}
]]

-- Two threads, of which the second has no descriptors for its events.
local LOSSY = [[
#include <sys/resource.h>
static void *work(void *unused)
{
    for (int i = 0; i < 10; i++) MARK("work", touch(1));
    return unused;
}
int main(void)
{
    pthread_t thread;
    MARK("whole", touch(3));
    work(0);
    struct rlimit few = { 3, 3 };
    setrlimit(RLIMIT_NOFILE, &few);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return 0;
}
]]

local RECURSION = [[
static void recurse(int n)
{
    pmclua_mark_begin("recurse");
    touch(1);
    if (n > 1) recurse(n - 1);
    pmclua_mark_end("recurse");
}
int main(void) { recurse(30); recurse(10); return 0; }
]]

-- Two C files and one of C++ with the same marks, and a shared library.
local FILES = {
  ["one.c"] = HEAD .. "extern void two(void), three(void), four(void);\n"
    .. "int main(void) { MARK(\"shared\", touch(1)); two(); three(); four(); return 0; }",
  ["two.c"] = HEAD .. 'void two(void) { MARK("shared", touch(10)); }',
  ["three.cc"] = HEAD .. 'extern "C" void three(void) { pmclua::mark here("shared"); touch(100); }',
  ["four.c"] = HEAD .. 'void four(void) { MARK("shared", touch(1000)); MARK("library", touch(5)); }',
}

local built = {}

local function cc(words)
  local run = support.run(words)
  assert(run.status == 0, run.err)
end

local function build(name, source)
  if built[name] then return built[name] end
  support.need(support.have "cc", "no C compiler")
  local folder = support.folder()
  support.write(folder .. "/" .. name .. ".c", HEAD .. source)
  cc { "cc", "-O1", "-Wall", "-Wextra", "-Werror", "-I" .. support.root .. "/core",
    "-o", folder .. "/" .. name, folder .. "/" .. name .. ".c", "-lpthread" }
  built[name] = folder .. "/" .. name
  return built[name]
end

local function program(name)
  return build(name, "int main(int argc, char **argv)\n{ (void)argc; (void)argv;" .. PROGRAMS[name]
    .. "; return 0; }")
end

local function measure(path, options)
  local settings = { events = { "page-faults", "task-clock" }, regions = "marks", repetitions = 1, warmup = 0,
    timeout = "30s" }
  for key, value in pairs(options or {}) do settings[key] = value end
  return pmc.measure(path, settings)
end

-- By region: page faults, and entries.
local function regions_of(records)
  local faults, entries = {}, {}
  for _, record in ipairs(records) do
    if record.region and record.region ~= "(empty mark)" then
      faults[record.region], entries[record.region] = record.counts[1], record.iterations
    end
  end
  return faults, entries
end

local function counted(path, options)
  local records = {}
  options = options or {}
  options.each = function(record) records[#records + 1] = record end
  local result = measure(path, options)
  local faults, entries = regions_of(records)
  return faults, entries, result, records
end

describe("marks", function()
  it("are counted exactly by name, with the number of entries", function()
    local faults, entries = counted(program "repeated")
    assert.same({ ten = 1000, once = 7 }, faults)
    assert.same({ ten = 10, once = 1 }, entries)
  end)

  it("may be nested: the outer has what the inner ones have", function()
    local faults, entries = counted(program "nested")
    assert.same({ outer = 86, inner = 80 }, faults)
    assert.same({ outer = 1, inner = 4 }, entries)
  end)

  it("may overlap", function()
    assert.same({ first = 11, second = 110 }, (counted(program "overlapping")))
  end)

  it("within themselves are summed once, and every entry is counted", function()
    local faults, entries = counted(build("recursion", RECURSION))
    -- The memory of frames and slots is made beforehand, so that nothing but the 40 pages faults.
    assert.same({ recurse = 40 }, faults)
    assert.same({ recurse = 40 }, entries)
  end)

  it("are shown thread by thread, in the order in which they were made, where that is asked for", function()
    local path = build("numbered", NUMBERED)
    local run = support.pmclua { "stat", "--marks", "--per-thread", "-r", "2", "--json", "-e", "page-faults",
      "--", path }
    assert.equal(0, run.status, run.err)
    local faults, entries = {}, {}
    for _, cell in ipairs(assert(json.decode(run.err)).cells) do
      if cell.region == "work" then
        faults[cell.thread] = cell.values.page_faults.median
        entries[cell.thread] = cell.values.entries.median
      end
    end
    assert.same({ ["0"] = 100, ["1"] = 10, ["2"] = 20, ["3"] = 30 }, faults)
    assert.same({ ["0"] = 2, ["1"] = 1, ["2"] = 1, ["3"] = 1 }, entries)
  end)

  it("have entries of each thread, one by one", function()
    local result = pmc.measure(build("numbered", NUMBERED), { events = "page-faults", repetitions = 1,
      regions = { "marks", entries = true, by = "thread" } })
    local values = {}
    for cell in result:cells() do
      if cell.region == "work" then values[cell.thread] = cell:values "page-faults" end
    end
    assert.same({ ["0"] = { 50, 50 }, ["1"] = { 10 }, ["2"] = { 20 }, ["3"] = { 30 } }, values)
  end)

  it("are those of Fortran programs, OpenMP's threads among them", function()
    support.need(support.have "gfortran" and support.have "cc", "gfortran (tests/packages others)")
    local folder, core = support.folder(), support.root .. "/core"
    support.write(folder .. "/marks.c", "#include <pmclua_mark.h>\n")
    support.write(folder .. "/program.f90", FORTRAN)
    cc { "cc", "-O2", "-I" .. core, "-c", "-o", folder .. "/marks.o", folder .. "/marks.c" }
    cc { "gfortran", "-O2", "-Wall", "-Werror", "-std=f2008", "-fopenmp", "-J" .. folder, "-o",
      folder .. "/program", core .. "/pmclua_mark.f90", folder .. "/program.f90", folder .. "/marks.o" }
    local faults, entries, _, records = counted(folder .. "/program")
    assert.same({ once = 200, ["of threads"] = 300, [("n"):rep(63)] = 0 }, faults)
    assert.same({ once = 1, ["of threads"] = 2, [("n"):rep(63)] = 1 }, entries)
    for _, record in ipairs(records) do
      if record.region == "of threads" then
        assert.equal(2, #record.threads)
        assert.equal(100, math.min(record.threads[1].counts[1], record.threads[2].counts[1]))
      end
    end
  end)

  it("belong to their thread, however many come and go, and are summed", function()
    local faults, entries, result, records = counted(build("threads", THREADS))
    assert.equal(5004, entries.work)
    assert.equal(5100, faults.work)
    local of_threads = 0
    for _, record in ipairs(records) do
      if record.region == "work" then
        assert.is_true(#record.threads > 4)
        for _, thread in ipairs(record.threads) do of_threads = of_threads + thread.counts[1] end
      end
    end
    assert.equal(5100, of_threads)
    -- What else is said may be of so many threads that programs could not be looked at.
    for _, remark in ipairs(result.remarks) do assert.is_nil(remark:find "mark", remark) end
  end)

  it("of a forked child are its own, and its parent's go on", function()
    local faults, _, result = counted(program "forked")
    assert.equal(50, faults.child)
    assert.is_true(faults.parent >= 3 and faults.parent < 50)
    assert.same({ "mark 'parent': 1 ended without a begin: not counted" }, result.remarks)
  end)

  it("of what is executed are counted too", function()
    local faults = counted(program "executed")
    assert.same({ before = 4, executed = 9 }, faults)
  end)

  it("that do not match count nothing, and are said", function()
    local faults, _, result = counted(program "unbalanced")
    assert.same({ good = 2 }, faults)
    assert.same({ "mark 'stray': 1 ended without a begin: not counted",
      "mark 'open': 2 begun but never ended: not counted" }, result.remarks)
  end)

  it("too deep within each other have no numbers, which is said, and what is around them is right", function()
    local faults, entries, result = counted(program "deep")
    assert.same({ deep = 11, after = 6 }, faults)
    assert.same({ deep = 128, after = 1 }, entries)
    assert.same({ "mark 'deep': 72 nested in more than 128 others: not counted" }, result.remarks)
  end)

  it("may be as many as a thread likes", function()
    local faults, entries, result = counted(program "many")
    for i = 0, 1999 do
      assert.same({ 1, 1 }, { faults["mark " .. i], entries["mark " .. i] })
    end
    assert.same({}, result.remarks)
  end)

  it("of more threads at once than the table had room for are all counted", function()
    local machine = require "pmclua.host.machine"
    local _, most = machine.limit(machine.text "/proc/self/limits", "Max open files")
    support.need(most >= 4000, "fewer than 4000 descriptors may be open")
    local faults, entries, result = counted(build("crowd", CROWD), { timeout = "60s" })
    assert.same({ a = 1700, b = 3400, c = 5100 }, faults)
    assert.same({ a = 1700, b = 1700, c = 1700 }, entries)
    for _, remark in ipairs(result.remarks) do assert.is_nil(remark:find "mark", remark) end
  end)

  describe("of which entries are lost have no number, and the reason, wherever they are shown", function()
    local FEW = { events = { "page-faults", "task-clock" }, repetitions = 6 }

    -- The second thread has no descriptors left.
    local function lossy() return pmc.command { build("lossy", LOSSY), name = "lossy" } end

    local function cell_of(result, region)
      for cell in result:cells() do
        if cell.region == region then return cell end
      end
    end

    it("in the result", function()
      local records = {}
      local result = measure(lossy(), support.merged(FEW, { each = function(record)
        records[#records + 1] = record
      end }))
      local faults = cell_of(result, "work").page_faults
      assert.same({ "incomplete", 0, 6 }, { faults.status, faults.n, faults.missing })
      assert.equal("of 20 entries, 10 could not be counted", faults.why)
      assert.equal("counted", cell_of(result, "whole").page_faults.status)
      assert.equal("mark 'work': of 20 entries, 10 could not be counted", result.remarks[1])
      for _, record in ipairs(records) do
        if record.region == "work" then
          assert.same({ 10, 20, faults.why }, { record.counts[1], record.iterations, record.incomplete })
        end
      end
    end)

    it("in a stored one, merged, resumed or stored again, and in every report of it", function()
      local folder = support.folder()
      local a, b, copy = folder .. "/a.jsonl", folder .. "/b.jsonl", folder .. "/copy.jsonl"
      local both = folder .. "/both.jsonl"
      measure(lossy(), support.merged(FEW, { store = a }))
      measure(lossy(), support.merged(FEW, { store = b })):store(copy)
      measure(lossy(), FEW):store(folder .. "/memory.jsonl")
      pmc.stored.merge({ a, b }, both)
      for _, path in ipairs { a, copy, both, folder .. "/memory.jsonl" } do
        assert.equal("incomplete", cell_of(pmc.load(path), "work").page_faults.status, path)
      end
      for _, format in ipairs { "table", "markdown", "html", "json", "csv" } do
        local shown = support.pmclua({ "report", "--format", format, a }).out
        assert.matches("of 20 entries, 10 could not be counted", shown, 1, true, format)
      end
    end)

    it("entry by entry, too", function()
      local result = measure(lossy(), support.merged(FEW, { regions = { "marks", entries = true } }))
      assert.same({ "incomplete", 0 }, { cell_of(result, "work").page_faults.status,
        cell_of(result, "work").page_faults.n })
      assert.equal(6, cell_of(result, "whole").page_faults.n)
      assert.matches("<incomplete>", result:report { width = 200 })
    end)

    it("in metrics, comparisons, predictions and limits, which conclude nothing", function()
      local result = pmc.experiment { events = FEW.events, regions = "marks", repetitions = 6, baseline = "a",
        metrics = { "rate = page_faults / task_clock", "entries = iterations" }, on_failure = "keep",
        workloads = { pmc.command { build("lossy", LOSSY), name = "a" },
          pmc.command { build("lossy", LOSSY), name = "b" } } }:run { store = false, quiet = true }
      local cell = cell_of(result, "work")
      for _, name in ipairs { "rate", "entries" } do
        assert.same({ "incomplete", 0 }, { cell:summary(name).status, cell:summary(name).n }, name)
      end
      for _, pair in ipairs(result:compare().pairs) do
        local row = pair.rows[1]
        if pair.cell.region == "whole" then assert.is_table(row.verdict) end
        if pair.cell.region == "work" then
          assert.is_nil(row.verdict)
          assert.equal("of 20 entries, 10 could not be counted", row.why)
        end
      end
      local gate = result:gate { limits = "page_faults <= 100000" }
      assert.equal(77, gate:status())
      assert.matches("of 20 entries, 10 could not be counted", tostring(gate), 1, true)
    end)
  end)

  it("count in place of the whole run where they take counters, and its row says so", function()
    local on = played.machine { counters = 4, events = { ["0 1"] = { 20 } } }
    local marked = support.build(on.folder .. "/marked", "cc", "-O1", "-I" .. support.root .. "/core",
      support.root .. "/tests/support/played/marked.c")
    local run = on.pmclua { "stat", "--marks", "--json", "-o", "-", "-e", "instructions,page-faults", "--",
      marked }
    local whole, parse = unpack(assert(json.decode(run.out), run.err).cells)
    assert.equal(60000, parse.values.instructions.median)
    assert.equal("not-counted", whole.values.instructions.status)
    assert.matches("^it is counted between marks only", whole.values.instructions.why)
  end)

  it("of several files, of C++ and of a shared library are one program's", function()
    support.need(support.have "c++", "no C++ compiler")
    local folder = support.folder()
    for name, text in pairs(FILES) do support.write(folder .. "/" .. name, text) end
    local include = "-I" .. support.root .. "/core"
    cc { "cc", "-shared", "-fPIC", include, "-o", folder .. "/libfour.so", folder .. "/four.c" }
    for _, name in ipairs { "one.c", "two.c", "three.cc" } do
      cc { name:find "cc$" and "c++" or "cc", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", include,
        "-c", "-o", folder .. "/" .. name .. ".o", folder .. "/" .. name }
    end
    cc { "c++", "-o", folder .. "/all", folder .. "/one.c.o", folder .. "/two.c.o", folder .. "/three.cc.o",
      "-L" .. folder, "-lfour", "-Wl,-rpath," .. folder, "-lpthread" }
    local faults, entries = counted(folder .. "/all")
    assert.same({ shared = 1111, library = 5 }, faults)
    assert.same({ shared = 4, library = 1 }, entries)
  end)

  it("are values one by one where entries are asked for", function()
    local result = measure(program "nested", { regions = { "marks", entries = true }, repetitions = 2 })
    local found = {}
    for cell in result:cells() do
      if cell.region then found[cell.region] = cell:values "page-faults" end
    end
    assert.same({ 86, 86 }, found.outer)
    assert.same({ 20, 20, 20, 20, 20, 20, 20, 20 }, found.inner)
    local shown = result:report { width = 200, utf8 = true }
    assert.matches("region outer · 2 entries · each a value", shown, 1, true)
  end)

  it("are compared with those of another program, entry by entry numbered in each", function()
    local nested = program "nested"
    local result = pmc.experiment { events = { "page-faults" }, regions = { "marks", entries = true },
      workloads = { pmc.command { nested, name = "a" }, pmc.command { nested, name = "b" } },
      repetitions = 3, warmup = 1, baseline = "a" }:run { store = false, quiet = true }
    for _, pair in ipairs(result:compare().pairs) do
      if pair.cell.region == "inner" then
        assert.same({ false, 12, "same" }, { pair.paired, pair.pairs, pair.rows[1].verdict.verdict })
        assert.is_number(pair.cell:values_by_block("page-faults")[12])
      end
    end
    assert.matches("12 entries, unpaired", result:report { width = 200 }, 1, true)
  end)

  it("beyond the entries that are kept are said", function()
    local result = measure(program "repeated", { regions = { "marks", entries = 12 } })
    local found = {}
    for cell in result:cells() do
      if cell.region then found[cell.region] = #cell:values "page-faults" end
    end
    assert.same({ ten = 4, ["(empty mark)"] = 8 }, found)
    assert.matches("7 later ones are not$", result.remarks[1])
  end)

  it("are left out, slots and entries, where their thread was killed while it wrote them", function()
    local ffi = require "ffi"
    local table_of_marks = require("pmclua.workload.marks").new { entries = 4 }
    table_of_marks:prepare { { attrs = { { type = 1, config = 2 } } } }
    local layout, file = table_of_marks.layout, assert(io.open(table_of_marks.path, "r+b"))
    local function put(offset, bytes) file:seek("set", offset) file:write(bytes) end
    local function words(...)
      local count = select("#", ...)
      return ffi.string(ffi.new("uint64_t[?]", count, ...), 8 * count)
    end
    -- Two slots are taken and one is filled; of two entries the second is.
    put(9 * 8, words(1, 2, 0, 2 * (2 + layout.reading_u64s)))
    put(layout.slots_at + layout.slot_bytes, words(1, 0) .. "done" .. ("\0"):rep(60) .. words(1, 1, 1))
    put(layout.log_at + 8 * (2 + layout.reading_u64s), words(2, 55, 10, 10, 7))
    file:close()
    local marks = table_of_marks:read()
    table_of_marks:close()
    assert.equal(1, #marks)
    assert.same({ "done", 1 }, { marks[1].name, #marks[1].entries })
    assert.same({ 10, 10, 7 }, marks[1].entries[1].reading)
  end)

  it("show what a mark itself costs", function()
    local _, _, _, records = counted(program "repeated")
    local last = records[#records]
    assert.equal("(empty mark)", last.region)
    assert.equal(8, last.iterations)
    assert.equal(0, last.counts[1])
    assert.is_true(last.wall_ns > 0)
  end)

  it("have times of their own beside those of the whole run", function()
    local _, _, result = counted(program "repeated", { events = { "page-faults", "duration_time" } })
    local whole, inside
    for cell in result:cells() do
      if not cell.region then whole = cell end
      if cell.region == "ten" then inside = cell end
    end
    assert.is_true(inside.duration_time.median < whole.duration_time.median)
    assert.is_true(whole.page_faults.median > 1007)
  end)

  it("leave the program's errno alone", function()
    assert.equal("complete", measure(program "preserving").status)
  end)

  it("that were never reached are said, with the reason", function()
    local _, _, result = counted "true"
    assert.same({ "no mark was reached: no program built with this pmclua's pmclua_mark.h has run" },
      result.remarks)
    _, _, result = counted(program "unmarked")
    assert.same({ "no mark was reached" }, result.remarks)
  end)

  it("whose events cannot be opened are entries and times without counts, with the reason", function()
    local path = program "repeated"
    local faults, entries, result = counted(pmc.command { "sh", "-c", "ulimit -n 4; exec " .. path })
    assert.same({}, faults)
    assert.same({ ten = 10, once = 1 }, entries)
    assert.equal("mark 'ten': of 10 entries, 10 could not be counted", result.remarks[1])
    assert.equal("a thread could not open 'task-clock' for its marks: Too many open files",
      result.remarks[#result.remarks])
  end)

  it("are set from other languages through a shared library of the header alone", function()
    support.need(support.have "cc" and support.have "luajit", "no C compiler or no luajit")
    local folder = support.folder()
    support.write(folder .. "/marks.c", "#include <pmclua_mark.h>\n")
    cc { "cc", "-shared", "-fPIC", "-I" .. support.root .. "/core", "-o", folder .. "/libpmclua_mark.so",
      folder .. "/marks.c" }
    local script = support.write(folder .. "/script.lua", ([[
      local ffi = require "ffi"
      ffi.cdef "void pmclua_mark_enter(const char *name); void pmclua_mark_leave(const char *name);"
      local marks = ffi.load "%s/libpmclua_mark.so"
      for _ = 1, 3 do marks.pmclua_mark_enter "lua" marks.pmclua_mark_leave "lua" end]]):format(folder))
    local _, entries = counted("luajit " .. script)
    assert.same({ lua = 3 }, entries)
    assert.equal(0, support.run({ "luajit", script }).status)
  end)

  it("do nothing outside pmclua, but that a table which cannot be used is said once", function()
    for _, name in ipairs { "repeated", "unbalanced", "deep", "forked" } do
      local alone = support.run { program(name) }
      assert.same({ 0, "" }, { alone.status, alone.err })
      for path, why in pairs { ["/nowhere"] = "No such file or directory",
        ["/etc/passwd"] = "it is that of another version, or none" } do
        local run = support.run({ program(name) }, { env = { PMCLUA_MARKS = path } })
        local form = "pmclua: the marks of '%s' are not counted: it cannot use their table, %s: %s\n"
        assert.same({ 0, form:format(name, path, why) }, { run.status, run.err })
      end
    end
  end)

  describe("of a program that cannot reach their table", function()
    local function measured(script, options)
      return counted(pmc.command { "sh", "-c", script, name = "it" }, options)
    end

    local function status_of(result, region)
      for cell in result:cells() do
        if cell.region == region then return cell.page_faults.status, cell.page_faults.why end
      end
    end

    it("make all of that run incomplete: which entries are missing is not known", function()
      local path = program "nested"
      local _, _, result = measured(("PMCLUA_MARKS=/nowhere %s; %s"):format(path, path))
      local why = "a program could not use the table of its marks: No such file or directory"
      assert.equal(why, result.remarks[1])
      assert.same({ "incomplete", why }, { status_of(result, "outer") })
      assert.equal("counted", (status_of(result)))
    end)

    it("are said to be lost where there are no others", function()
      local _, _, result = measured("PMCLUA_MARKS=/nowhere " .. program "nested")
      assert.equal("incomplete", (status_of(result, "(lost marks)")))
      assert.equal(77, result:gate { limits = "page_faults <= 100000" }:status())
    end)

    for name, before in pairs { ["another mount namespace"] = "mount -t tmpfs x /dev/shm; exec",
      ["another user"] = "exec setpriv --reuid=65534 --regid=65534 --clear-groups" } do
      it("are known to be missing in " .. name, function()
        support.need(support.have_root() and support.run({ "unshare", "-m", "true" }).status == 0,
          "not root, or no mount namespaces")
        local path = program "nested"
        os.execute("chmod 755 " .. path:match "^(.*)/" .. " " .. path)
        local result = select(3, support.with_env({ XDG_RUNTIME_DIR = false }, function()
          return counted(pmc.command { "unshare", "-m", "sh", "-c", before .. " " .. path })
        end))
        assert.equal("incomplete", (status_of(result, "(lost marks)")))
      end)
    end

    it("are known to be missing where the run as a whole is not counted, too", function()
      local marking = require "pmclua.experiment.marking"
      local session = require("pmclua.workload.session").new()
      local mine = marking.new({ kind = "marks" }, {}, {})
      local words = { "sh", "-c", "PMCLUA_MARKS=/nowhere " .. program "nested" }
      local command = mine:workload(require("pmclua.workload.command").new(words))
      local result = session:run_only(function(message)
        command:define(message, {}, { session = session })
      end)
      session:close()
      mine:close()
      assert.equal("No such file or directory", result.unreached)
    end)
  end)

  it("survive being stored and loaded", function()
    local path = support.folder() .. "/result.jsonl"
    local result = measure(program "nested", { store = path, repetitions = 3 })
    local labels, again = {}, {}
    for cell in result:cells() do labels[#labels + 1] = cell:label() .. cell.page_faults.median end
    for cell in pmc.load(path):cells() do again[#again + 1] = cell:label() .. cell.page_faults.median end
    assert.equal(4, #labels)
    assert.same(labels, again)
  end)

  it("leave no table behind", function()
    local folder = support.folder()
    support.with_env({ XDG_RUNTIME_DIR = folder }, function() counted(program "repeated") end)
    assert.equal("", support.run({ "ls", "-A", folder }).out)
  end)

  it("have their table elsewhere where the user's folder is another's", function()
    local folder = support.folder() .. "/nowhere"
    support.with_env({ XDG_RUNTIME_DIR = folder }, function()
      local table = require("pmclua.workload.marks").new()
      assert.is_nil(table.path:find(folder, 1, true))
      table:close()
    end)
  end)

  it("count for an ordinary user", function()
    support.need(support.have_root(), "only root can become an ordinary user")
    local path = program "repeated"
    local script = ([[
      local r = pmc.measure(%q, { events = { "page-faults" }, regions = "marks", repetitions = 1,
        warmup = 0 })
      for cell in r:cells() do print(cell.region, cell.page_faults.median) end]]):format(path)
    local run_by_user = support.pmclua({ "-e", script }, { user = true, env = { XDG_RUNTIME_DIR = false } })
    assert.matches("\nten\t1000\n", run_by_user.out)
  end)

  it("are refused where they make no sense", function()
    for message, options in pairs {
      ["regions has no 'entreis'"] = { regions = { "marks", entreis = true } },
      ["regions.entries must be true"] = { regions = { "marks", entries = 0 } },
      ["cannot go with a target"] = { target = pmc.system() },
    } do
      local ok, problem = pcall(measure, "true", options)
      assert.is_false(ok)
      assert.matches(message, tostring(problem))
    end
    local ok, problem = pcall(measure, function() end)
    assert.is_false(ok)
    assert.matches('regions = "marks" is for commands', tostring(problem))
  end)
end)
