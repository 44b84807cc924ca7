-- Marks that cannot be counted, or entries of them: that and why is said wherever they are shown, and nothing is
-- concluded from the rest.

local json = require "dkjson"
local lists = require "pmclua.base.lists"
local marks = require "tests.support.marks"
local pmc = require "pmclua"
local support = require "tests.support"

local build, counted, measure, program = marks.build, marks.counted, marks.measure, marks.program

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

describe("marks", function()
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

    it("in formats of times, where they have no entry", function()
      local path = support.folder() .. "/lossy.jsonl"
      measure(lossy(), support.merged(FEW, { store = path }))
      local function exported(format)
        return json.decode(support.pmclua({ "report", "--format", format, path }).out)
      end
      -- Of the run, and of "whole".
      assert.equal(2, #exported("hyperfine").results)
      local names = lists.set(lists.column(exported("benchmark").benchmarks, "run_name"))
      assert.same({ lossy = true, ["lossy/whole"] = true }, names)
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

    it("as its environment was emptied, too, though the program itself is silent", function()
      local path = program "nested"
      local why = "a program could not use the table of its marks: PMCLUA_MARKS was not in its environment"
      for script, region in pairs { [("env -i %s; %s"):format(path, path)] = "outer",
        ["exec env -u PMCLUA_MARKS " .. path] = "(lost marks)" } do
        local _, _, result = measured(script)
        assert.equal(why, result.remarks[1])
        assert.same({ "incomplete", why }, { status_of(result, region) })
        assert.equal("counted", (status_of(result)))
        assert.equal(77, result:gate { limits = "page_faults <= 100000" }:status())
      end
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
end)
