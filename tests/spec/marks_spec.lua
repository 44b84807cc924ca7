-- Marks: programs that set them, with known numbers of page faults in between, are counted exactly: by
-- name, by thread, nested, overlapping, in children and in what is executed.

local json = require "dkjson"
local marks = require "tests.support.marks"
local played = require "tests.support.played"
local pmc = require "pmclua"
local support = require "tests.support"

local build, counted, measure, program = marks.build, marks.counted, marks.measure, marks.program

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
