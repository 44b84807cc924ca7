-- Gates without a script: limits of `pmclua stat` and `pmclua compare`, and what they store.

local lists = require "pmclua.base.lists"
local made = require "tests.support.results"
local pmc = require "pmclua"
local support = require "tests.support"

local function run(...) return support.pmclua { ... } end

describe("pmclua gate", function()
  it("has one baseline: a history beside another one is refused", function()
    for _, other in ipairs { "--against=true", "--against-dir=/" } do
      local found = run("gate", "--history", "/", other, "-l", "page_faults <= +1%", "--", "true")
      assert.equal(2, found.status)
      assert.matches("--against, --against-dir or --history: give only one", found.err, 1, true)
    end
  end)

  it("says before it runs anything that few repetitions decide little, except of simulated counts", function()
    local function said(limit, repetitions)
      local found = run("gate", "--against", "false", "-r", repetitions, "-l", limit, "--", "true")
      return found.err:find("of " .. repetitions .. " repetitions only counts that are equal", 1, true) ~= nil
    end
    assert.same({ true, false, false }, { said("page_faults <= +1%", "5"), said("page_faults <= +1%", "6"),
      said("page_faults <= 9", "5") })
    if require("pmclua.host.tools").find "valgrind" then
      assert.is_false(said("valgrind_instructions <= +1%", "5"))
    end
  end)
end)

describe("pmclua stat", function()
  local folder = support.folder()

  it("stores what it counts, with notes, for gate and compare", function()
    local path = folder .. "/stat.jsonl"
    local found = run("stat", "-e", "page-faults", "-r", "6", "--store", path, "--note", "commit=1a",
      "--note", "branch = x=y ", "--", "true")
    assert.equal(0, found.status)
    local r = pmc.load(path)
    assert.same({ 6, "complete", { commit = "1a", branch = "x=y" } }, { r:cells()().repetitions, r.status,
      r.header.notes })
    assert.matches("noted: branch = x=y, commit = 1a", r:report(), 1, true)
    assert.equal("1a", require("dkjson").decode(r:report { format = "json" }).notes.commit)
    assert.equal(0, run("gate", path, "-l", "page_faults <= 100000").status)
  end)

  it("counts what its limits name, and exits 3 where one fails, 77 where one cannot be checked", function()
    local found = run("stat", "-e", "task-clock", "--limit", "page_faults <= 100000", "--", "true")
    assert.equal(0, found.status)
    assert.matches("gate: the limit holds\n$", found.err)
    assert.equal(3, run("stat", "--limit", "page_faults <= 1", "--", "true").status)
    found = run("stat", "--limit", "page_faults <= +1%", "--", "true")
    assert.equal(77, found.status)
    assert.matches("it is relative, and there is no baseline", found.err, 1, true)
  end)

  it("exits as the command did where this failed, whatever limits say", function()
    assert.equal(7, run("stat", "--limit", "page_faults <= 1", "--", "sh", "-c", "exit 7").status)
  end)

  it("compares with stored runs, and writes what limits conclude", function()
    local path = folder .. "/before.jsonl"
    run("stat", "-e", "page-faults", "-r", "6", "--store", path, "--", "true")
    local found = run("stat", "-r", "6", "--limit", "page_faults <= +90%", "--gate", path, "--gate-output",
      folder .. "/gate.md", "--", "true")
    assert.equal(0, found.status)
    assert.matches("\ngate: the limit holds\n", found.err, 1, true)
    local written = support.read(folder .. "/gate.md")
    assert.matches("| page\\_faults &lt;= +90% | true | holds | ", written, 1, true)
    local other = { "-r", "6", "--limit", "page_faults <= +90%", "--gate", path, "--", "true", "x" }
    found = run("stat", unpack(other))
    assert.equal(77, found.status)
    assert.matches("the baseline has this cell, but the new result does not", found.err, 1, true)
    found = run("stat", "--name", "true", unpack(other))
    assert.equal(77, found.status)
    assert.matches("the baseline was given other arguments, 'x' here and none there", found.err, 1, true)
    assert.equal(0, run("stat", "--name", "true", "--any-arguments", unpack(other)).status)
  end)

  it("runs nothing where a baseline cannot be read, or what limits conclude cannot be written", function()
    local mark = folder .. "/ran"
    local limit = { "--limit", "page_faults <= 1", "--" }
    for _, words in ipairs { { "stat", "--gate", folder .. "/none" },
        { "stat", "--gate-output", folder .. "/no/x" },
        { "gate", "--against", "touch " .. mark, "--output", folder .. "/no/x" } } do
      local refused = run(unpack(lists.joined { words, limit, { "touch", mark } }))
      assert.matches("No such file or directory", refused.err)
      assert.is_nil(require("lfs").attributes(mark))
    end
  end)

  it("refuses what does not go together", function()
    for _, words in ipairs { { "--store", "-" }, { "--strict", "-i" }, { "--gate", "x" },
        { "-I100", "--store=x" } } do
      assert.equal(125, run("stat", words[1], words[2], "--", "true").status)
    end
  end)
end)

describe("pmclua compare --limit", function()
  it("exits 3 where a command is beyond the first, in the blocks that they share", function()
    local found = run("compare", "true", "ls /", "-r", "8", "-e", "duration_time", "--quiet",
      "--limit", "page_faults <= +3%", "--limit", "page_faults <= 100000")
    assert.equal(3, found.status)
    assert.matches("gate: 'page_faults <= +3%', ls /: fails: ", found.err, 1, true)
    assert.matches("ls / against true (baseline)", found.out, 1, true)
    local function status(repetitions, limit)
      return run("compare", "true", "ls /", "-r", repetitions, "--limit", limit, "--quiet").status
    end
    assert.equal(0, status(8, "page_faults <= +900%"))
    assert.equal(77, status(2, "page_faults <= +3%"))
  end)

  it("exits 3 where a stored result is beyond the first, and writes what it concludes", function()
    local header = { workloads = { { name = "rows", kind = "command", per = "run" } }, factors = {},
      cells = { { workload = "rows", levels = {} } } }
    local function stored(cycles)
      local values = support.sequence(8, function() return cycles end)
      return made.stored(support.folder() .. "/r.jsonl", made.header(header),
        made.records({ values, {}, {} }, { levels = {} }))
    end
    local before, after, output = stored(1000), stored(1040), support.folder() .. "/gate.json"
    local found = run("compare", before, after, "--limit", "cycles <= +3%", "--gate-output", output)
    assert.equal(3, found.status)
    assert.equal("fail", require("dkjson").decode(support.read(output)).state)
    assert.equal(0, run("compare", before, after, "--limit", "cycles <= +4%").status)
    assert.equal(2, run("compare", before, after, "--limit", "cylces <= +4%").status)
  end)
end)

describe("a limit on a metric", function()
  it("brings the events that it needs", function()
    local e = pmc.experiment { workloads = { "true" }, events = "page-faults", gate = "ipc >= 1" }
    local names = {}
    for _, event in ipairs(e.declaration.events) do names[event.field] = true end
    assert.same({ true, true, "ipc" }, { names.cycles, names.instructions, e.declaration.metrics[1].name })
    local other = pmc.experiment { workloads = { "true" }, events = "page-faults" }
    assert.same({}, other.declaration.metrics)
    e:plan()
    other:plan()
  end)

  it("that a baseline cannot compute is uncountable, and the others are checked", function()
    local function of(names)
      local events = support.sequence(#names, function(i) return made.event(names[i]) end)
      local columns, pass = {}, {}
      for i in ipairs(names) do
        columns[i], pass[i] = support.sequence(8, function() return 100 end), i
      end
      return made.complete(made.header { events = events, pass_events = { pass } }, made.records(columns))
    end
    local gate = of({ "cycles", "instructions" }):gate { limits = { "ipc >= -1%", "cycles <= +1%" },
      baseline = of { "cycles" } }
    local by_limit = {}
    for _, row in ipairs(gate.results) do by_limit[row.text] = by_limit[row.text] or row end
    assert.same({ "uncountable", "the baseline did not count ipc" }, { by_limit["ipc >= -1%"].state,
      by_limit["ipc >= -1%"].reason })
    assert.equal("pass", by_limit["cycles <= +1%"].state)
  end)
end)

describe("pmclua gate --bisect", function()
  local function status(limit, ...)
    return run("gate", "--bisect", "--quiet", "-r", "6", "-l", limit, "--against", "true", "--", ...).status
  end

  it("exits as git bisect run takes it", function()
    assert.equal(0, status("page_faults <= 100000", "true"))
    assert.equal(1, status("page_faults <= 1", "true"))
    assert.equal(125, status("page_faults <= 100000", "sh", "-c", "exit 1"))
    assert.equal(125, status("page_faults <= 100000", "/no/such/program"))
    assert.equal(128, status("page_faultz <= 5", "true"))
    assert.equal(128, run("gate", "--bisect", "--against", "true", "--", "true").status)
    assert.equal(128, run("gate", "--bisect", "--agains", "true", "--", "true").status)
    assert.equal(2, run("gate", "--agains", "true", "--", "true", "--bisect").status)
  end)
end)

describe("pmclua gate --against a copy of the program", function()
  local folder = support.folder()
  local SOURCE = [[#include <stdlib.h>
    int main(int n, char **w) { char *p = malloc(1 << 20); for (int i = 0; i < 1 << 20; i += 4096) p[i] = n;
      return p[0] == 77 ? (long)w : 0; }]]

  local function built(name, source)
    assert(os.execute(("mkdir -p %s/%s"):format(folder, name)) == 0)
    local program = ("%s/%s/prog"):format(folder, name)
    support.write(program .. ".c", source)
    assert(os.execute(("cd %s/%s && cc -g -O1 -o prog prog.c"):format(folder, name)) == 0)
    return program
  end

  local a, b = built("a", SOURCE), built("b", SOURCE)
  local other = built("other", (SOURCE:gsub("77", "78")))

  local function gate(old, new, option, limit)
    return run("gate", "--against", old, "-r", "6", "-l", limit or "page_faults <= +3%", option, "--", new)
  end

  it("says so at once and runs nothing, though debug information and build ids differ", function()
    local found = gate(a, b, "--format=json")
    assert.equal(0, found.status)
    local facts = require("dkjson").decode(found.out)
    assert.same({ "pass", nil }, { facts.state, facts.limits[1].observed })
    assert.matches("^both sides are the same program: all that is loaded", facts.remarks[1])
    assert.matches("both sides are the same program", found.err, 1, true)
    assert.matches("nothing was run", gate(a, b, "--format=markdown").out, 1, true)
    assert.equal(77, gate(a, b, "--strict").status)
  end)

  it("runs programs that differ by a byte, get other arguments, or have an absolute limit", function()
    for _, found in ipairs { gate(a, other, "--format=json"), gate(a, b .. " x", "--format=json"),
        gate(a, b, "--format=json", "page_faults <= 100000") } do
      assert.is_number(require("dkjson").decode(found.out).limits[1].observed)
    end
    assert.is_nil(gate(a, other, "--format=text").err:find("same program", 1, true))
  end)

  it("runs one program against itself, and says that what differs is chance", function()
    local found = gate(a, a, "--format=json")
    assert.matches("what differs is chance", found.err, 1, true)
    assert.is_number(require("dkjson").decode(found.out).limits[1].observed)
  end)
end)
