-- Entries of marks one by one, and marks thread by thread.

local ffi = require "ffi"
local json = require "dkjson"
local marks = require "tests.support.marks"
local marks_table = require "pmclua.workload.marks"
local pmc = require "pmclua"
local support = require "tests.support"

local build, measure, program = marks.build, marks.measure, marks.program

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

describe("marks", function()
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

  -- Writes words into a table at an offset.
  local function put(file, offset, ...)
    local count = select("#", ...)
    file:seek("set", offset)
    file:write(ffi.string(ffi.new("uint64_t[?]", count, ...), 8 * count))
  end

  -- A mark that one thread had, as its slot is in the file.
  local function put_mark(file, at, name, ended, uncounted)
    put(file, at, 1, 0)
    file:write(name)
    put(file, at + 80, 1, ended, ended, 0, 0, uncounted)
  end

  it("beyond those that can be kept leave a mark of which all were asked for without numbers", function()
    local mine = marks_table.new { entries = true }
    mine:prepare { { attrs = { { type = 1, config = 2 } } } }
    local layout, file = mine.layout, assert(io.open(mine.path, "r+b"))
    -- Three slots are taken. The log is full: of the first mark it has the one entry.
    put(file, 9 * 8, 1, 3, 0, layout.log_words + 8 * (2 + layout.reading_u64s))
    put_mark(file, layout.slots_at, "first", 1, 0)
    put_mark(file, layout.slots_at + layout.slot_bytes, "second", 9000, 0)
    put_mark(file, layout.slots_at + 2 * layout.slot_bytes, "third", 4, 4)
    put(file, layout.log_at, 1, 55, 10, 10, 7)
    file:close()
    local read, facts = mine:read()
    local remarks = marks_table.remarks(read, facts, { "page-faults" })
    mine:close()
    local why = "of 9,000 entries, 9,000 could not be kept one by one"
    assert.same({ false, why, "of 4 entries, 4 could not be counted" },
      { read[1].incomplete or false, read[2].incomplete, read[3].incomplete })
    assert.equal("mark 'second': " .. why, remarks[1])
  end)

  it("are values, however many", function()
    local path = build("often", "int main(void) { for (int i = 0; i < 8100; i++) MARK(\"one\", touch(1)); }")
    local result = measure(path, { events = "page-faults", regions = { "marks", entries = true } })
    local counts = {}
    for cell in result:cells() do counts[cell.region or "run"] = cell.page_faults.n end
    assert.same({ run = 1, one = 8100, ["(empty mark)"] = 8 }, counts)
  end)

  it("are left out, slots and entries, where their thread was killed while it wrote them", function()
    local table_of_marks = marks_table.new { entries = 4 }
    table_of_marks:prepare { { attrs = { { type = 1, config = 2 } } } }
    local layout, file = table_of_marks.layout, assert(io.open(table_of_marks.path, "r+b"))
    -- Two slots are taken and one is filled; of two entries the second is.
    put(file, 9 * 8, 1, 2, 0, 2 * (2 + layout.reading_u64s))
    put_mark(file, layout.slots_at + layout.slot_bytes, "done", 1, 0)
    put(file, layout.log_at + 8 * (2 + layout.reading_u64s), 2, 55, 10, 10, 7)
    file:close()
    local read = table_of_marks:read()
    table_of_marks:close()
    assert.equal(1, #read)
    assert.same({ "done", 1 }, { read[1].name, #read[1].entries })
    assert.same({ 10, 10, 7 }, read[1].entries[1].reading)
  end)
end)
