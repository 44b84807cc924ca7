-- Stored results read back: several as one, merged into one file, by `pmclua report` and `pmclua merge`.

local lists = require "pmclua.base.lists"
local made = require "tests.support.results"
local pmc = require "pmclua"
local support = require "tests.support"

local COMMAND = { workloads = { { name = "rows", kind = "command", per = "run" } } }

local function header_of(more) return made.header(support.merged(COMMAND, more)) end

local function stored(name, header, records)
  return made.stored(("%s/%s.jsonl"):format(support.folder(), name), header_of(header), records)
end

local function numbers(first)
  local list = {}
  for i = 1, 8 do list[i] = first + i end
  return list
end

local message_of = support.message_of

local function median(r, conditions)
  conditions.n = 256
  return r:only(conditions):cells()().cycles.median
end

describe("a stored result", function()
  local function loaded(header) return pmc.load(stored("a", header, made.records { numbers(10), {}, {} })) end

  it("is refused, by the name of its file, where it names what it has not", function()
    for said, header in pairs {
      ["a.jsonl: its primary 'cylces' is none of its events and metrics"] = { primary = "cylces" },
      ["a.jsonl: metric 'x\\e[31m': expected"] = { metrics = { "x\27[31m" } },
      ["a.jsonl: metric 'x' needs 'y', which was not counted"] = { metrics = { "x = y" } },
    } do
      assert.matches(said, message_of(loaded, header), 1, true)
    end
  end)

  it("is reported with one margin for all, and with a stop rule that looks at nothing", function()
    assert.matches("cycles", loaded({ margin = 0.5 }):report(), 1, true)
    assert.matches("cycles", loaded({ stop = { repetitions = 9 } }):report(), 1, true)
  end)
end)

describe("the remarks on a run", function()
  local function ended(name, remarks)
    local path = stored(name, {}, made.records { numbers(10), {}, {} })
    local line = require("pmclua.base.json").encode { kind = "end", status = "complete", remarks = remarks }
    support.write(path, (support.read(path):gsub('{"kind":"end".*$', function() return line .. "\n" end)))
    return path
  end

  it("are stored with it, shown by each report, and kept where it is stored again or resumed", function()
    local path = support.folder() .. "/run.jsonl"
    local spec = { events = "page-faults", repetitions = 4, warmup = 0, seed = 1, store = path, quiet = true }
    local script = "trap '' HUP; sleep 20 & echo $! >> " .. support.folder() .. "/pids"
    local command = pmc.command { "sh", "-c", script, name = "left" }
    local result = pmc.measure(command, spec)
    local remark = result.remarks[1]
    assert.matches("left running: ", remark)
    assert.same({ remark }, pmc.load(path).remarks)
    assert.matches("left running: ", support.pmclua({ "report", path }).out, 1, true)
    local copy = support.folder() .. "/copy.jsonl"
    result:store(copy)
    assert.same({ remark }, pmc.load(copy).remarks)
    spec.store, spec.resume = nil, path
    assert.same({ remark }, pmc.measure(command, spec).remarks)
    assert.same({ remark }, pmc.load(path).remarks)
    support.run { "sh", "-c", "kill $(cat " .. support.folder() .. "/pids)" }
  end)

  it("are joined where files are: what not all say, with the file's name", function()
    local a, b = ended("a", { "both", "one" }), ended("b", { "both" })
    assert.same({ "both", a .. ": one" }, pmc.load(a, b).remarks)
    local both = support.folder() .. "/both.jsonl"
    pmc.stored.merge({ a, b }, both)
    assert.same({ "both", a .. ": one" }, pmc.load(both).remarks)
  end)

  it("that make counts doubtful do so in a merged file, too", function()
    local unseen = require("pmclua.explain.dropped").unseen("ENOSPC", "rows")
    local paths, both = { ended("a", { unseen }), ended("b") }, support.folder() .. "/both.jsonl"
    pmc.stored.merge(paths, both)
    for _, result in ipairs { pmc.load(paths[1]), pmc.load(paths), pmc.load(both) } do
      assert.equal("unwatched", result:cells()().cycles.status)
    end
  end)

  it("are passed over where they are none", function()
    assert.same({}, pmc.load(ended("c", "text")).remarks)
    assert.same({ "one" }, pmc.load(ended("d", { 1, "one", { "x" } })).remarks)
  end)
end)

describe("the ranks of a host, pooled", function()
  -- Eight repetitions around each of some centres, which do not drift.
  local function ranks(centres, drifts)
    return lists.map(centres, function(centre)
      local values = {}
      for i, noise in ipairs { 3, -1, 4, -4, 1, 5, -3, -5, 2, -2 } do
        values[i] = centre + noise + (drifts == centre and 40 * i or 0)
      end
      local header = { rank = centre, host = { hostname = "n1", cpu = "x" }, repetitions = 10 }
      return stored("rank" .. centre, header, made.records { values, {}, {} })
    end)
  end

  local function kinds(paths)
    return lists.column(pmc.load(support.merged(paths, { by = "host" })):warnings(), "kind")
  end

  it("have no drift, outliers or slow first one because they differ", function()
    assert.same({}, kinds(ranks { 1000, 1500 }))
    assert.same({}, kinds(ranks { 9000, 1000, 1010, 1020 }))
  end)

  it("have the drift of one of them", function()
    local result = pmc.load(support.merged(ranks({ 1000, 1500 }, 1500), { by = "host" }))
    assert.matches("cycles grew in 1 of 2 runs (rank correlation with time 1.00)",
      result:warnings()[1].message, 1, true)
  end)

  it("are told apart in a merged file, too", function()
    local paths, both = ranks { 1000, 1500 }, support.folder() .. "/both.jsonl"
    pmc.stored.merge(support.merged(paths, { by = "host" }), both)
    assert.same({}, pmc.load(both):warnings())
    local sources = {}
    require("pmclua.store").open(both).each(function(record)
      assert.equal("n1", record.host)
      sources[record.source] = (sources[record.source] or 0) + 1
    end)
    assert.same({ 10, 10 }, sources)
  end)
end)

describe("several stored results", function()
  it("are one result with a factor that names the files, the first of them the baseline", function()
    local a = stored("before", {}, made.records { numbers(100), numbers(10), {} })
    local events = { made.event "instructions", made.event "cycles" }
    local b = stored("after", { events = events, pass_events = { { 1, 2 } } },
      made.records { numbers(20), numbers(200) })
    local r = pmc.load(a, b)
    assert.equal(104.5, median(r, { file = "before" }))
    assert.equal(204.5, median(r, { file = "after" }))
    assert.equal(24.5, r:only({ file = "after", n = 256 }):cells()().instructions.median)
    assert.same({ file = "before" }, r.header.baseline)
    assert.equal("complete", r.status)
  end)

  it("of several hosts say so", function()
    local a = stored("a", { host = { hostname = "here", cpu = "X" } }, made.records { numbers(10), {}, {} })
    local b = stored("b", { host = { hostname = "here", cpu = "Y" } }, made.records { numbers(10), {}, {} })
    assert.matches("measured on here %(X%) and here %(Y%)", tostring(pmc.load(a, b)))
    assert.is_nil(tostring(pmc.load(a, stored("c", { host = { hostname = "here", cpu = "X" } },
      made.records { numbers(10), {}, {} }))):find("measured on", 1, true))
  end)

  it("cannot have one file twice: its repetitions would count twice", function()
    local a = stored("a", {}, made.records { numbers(10), {}, {} })
    assert.matches("a.jsonl is given twice", message_of(pmc.load, a, a))
  end)

  it("are compared unpaired, as no block has both", function()
    local a = stored("before", {}, made.records { numbers(1000), {}, {} })
    local b = stored("after", {}, made.records { numbers(500), {}, {} })
    local pair = pmc.load(a, b):compare({ names = { "cycles" } }).pairs[1]
    assert.is_false(pair.paired)
    assert.same({ "fewer", "Hodges-Lehmann" }, { pair.rows[1].verdict.verdict, pair.rows[1].verdict.method })
  end)

  it("have an event that one of them could not count, with the reason for that file", function()
    local absent = { made.event("cycles", { status = "unsupported", why = "no PMU here" }),
      made.event "instructions" }
    local a = stored("here", { events = absent, pass_events = { { 2 } } }, made.records { [2] = numbers(1) })
    local b = stored("there", {}, made.records { numbers(7), {}, {} })
    local r = pmc.load(a, b)
    assert.equal(11.5, median(r, { file = "there" }))
    assert.equal("no PMU here", r:only({ file = "here", n = 256 }):cells()().cycles.why)
  end)

  it("are told apart by rank where each has one of its own, without a baseline", function()
    local a = stored("a", { rank = 0 }, made.records { numbers(100) })
    local b = stored("b", { rank = 1 }, made.records { numbers(200) })
    local r = pmc.load(a, b)
    assert.equal(104.5, median(r, { rank = 0 }))
    assert.equal(204.5, median(r, { rank = 1 }))
    assert.is_nil(r.header.baseline)
    assert.equal(104.5, median(pmc.load { a, b, by = "file" }, { file = "a" }))
  end)

  it("of one host are one cell where they are told apart by host", function()
    local paths = {}
    for i, host in ipairs { "one", "one", "two" } do
      paths[i] = stored("rank" .. i, { rank = i - 1, host = { hostname = host } },
        made.records { numbers(100 * i) })
    end
    paths.by = "host"
    local r = pmc.load(paths)
    local cell = r:only({ host = "one", n = 256 }):cells()()
    assert.equal(16, cell.cycles.n)
    assert.equal(154.5, cell.cycles.median)
    assert.equal(304.5, median(r, { host = "two" }))
    local blocks = {}
    for block in pairs(cell:values_by_block "cycles") do blocks[#blocks + 1] = block end
    assert.equal(16, #blocks)
  end)

  it("keep what their values mean: layouts, the level of a stop rule, regions, who was counted", function()
    local drawn = { layouts = { { padding = 16 } }, level = 0.99, inherit = false,
      regions = { kind = "marks", entries = true } }
    local a = stored("a", drawn, made.records { numbers(100) })
    local b = stored("b", drawn, made.records { numbers(200) })
    local r = pmc.load(a, b)
    local cell = r:only({ file = "b", n = 256 }):cells()()
    assert.matches("6 layouts, there are 4", cell.cycles.reason, 1, true)
    assert.same({ 0.99, false, true }, { r:compare().level, r.header.inherit, r.header.regions.entries })
  end)

  it("have no layout of two files where they are one cell", function()
    local paths = { by = "host" }
    for i = 1, 2 do
      local list = numbers(100 * i)
      list[8] = nil
      paths[i] = stored("r" .. i, { layouts = { { padding = 16 } }, host = { hostname = "one" } },
        made.records { list })
    end
    local cell = pmc.load(paths):only({ n = 256 }):cells()()
    local found = require("pmclua.result.cell").read(cell, "cycles")
    local groups = require("pmclua.result.clusters").groups(cell, found)
    assert.same({ { 101, 102 }, { 103, 104 }, { 105, 106 }, { 107 }, { 201, 202 }, { 203, 204 }, { 205, 206 },
      { 207 } }, groups)
  end)

  it("are refused where one name does not mean the same in all", function()
    local a = stored("a", {}, made.records { numbers(100) })
    local function refusal(header)
      return message_of(pmc.load, a, stored("b", header, made.records { { 1 } }))
    end
    local events = { made.event("cycles", { scale = 2.5 }), made.event "instructions",
      made.event "page-faults" }
    local entries = { kind = "marks", entries = true }
    assert.matches("the scale of cycles is 2.5 in b, and 1 before", refusal { events = events }, 1, true)
    assert.matches("the kind of rows is kernel in b",
      refusal { workloads = { { name = "rows", kind = "kernel", per = "iteration" } } }, 1, true)
    assert.matches("delay is 0.5 in b, and not given before", refusal { delay = 0.5 }, 1, true)
    assert.matches("whether a target was counted is true in b", refusal { target = "all CPUs" }, 1, true)
    assert.matches("regions.entries is true in b", refusal { regions = entries }, 1, true)
  end)

  it("say what was changed to open an event in each", function()
    local function noted(note)
      return { events = { made.event("cycles", { note = note }) }, pass_events = { { 1 } } }
    end
    local a = stored("a", noted(nil), made.records { numbers(100) })
    local b = stored("b", noted "user space alone", made.records { numbers(100) })
    assert.equal("in b: user space alone", pmc.load(a, b).events[1].note)
  end)

  it("must be paths, told apart by what they have", function()
    assert.matches("argument 2 must be a path or a table, not 5", message_of(pmc.load, "x", 5), 1, true)
    assert.matches("by must be one of \"file\"", message_of(pmc.load, { "x", by = "day" }), 1, true)
    local a, b = stored("a", {}, {}), stored("b", {}, {})
    assert.matches("files do not each have a", message_of(pmc.load, { a, b, by = "rank" }), 1, true)
  end)
end)

describe("merged results", function()
  it("are a stored result with all repetitions, as if loaded together", function()
    local a = stored("a", {}, made.records { numbers(100), numbers(10), numbers(1) })
    local b = stored("b", {}, made.records { numbers(200), numbers(20), numbers(2) })
    local output = support.folder() .. "/both.jsonl"
    assert.equal(16, pmc.stored.merge({ a, b }, output))
    assert.equal(tostring(pmc.load(a, b)), tostring(pmc.load(output)))
    assert.matches("it is there already", message_of(pmc.stored.merge, { a, b }, output), 1, true)
  end)

  it("can be merged again", function()
    local paths = {}
    for i = 1, 3 do paths[i] = stored("m" .. i, {}, made.records { numbers(100 * i), numbers(1), {} }) end
    local folder = support.folder()
    pmc.stored.merge({ paths[1], paths[2] }, folder .. "/two.jsonl")
    pmc.stored.merge({ folder .. "/two.jsonl", paths[3] }, folder .. "/three.jsonl")
    local r = pmc.load(folder .. "/three.jsonl")
    assert.equal(204.5, median(r, { file = "m2", file2 = "two" }))
    assert.equal(304.5, median(r, { file2 = "m3" }))
  end)

  it("leave nothing behind where a file cannot be read to its end", function()
    local a, b = stored("a", {}, made.records { numbers(1) }), stored("b", {}, {})
    support.write(b, support.read(b) .. "no line\n")
    local output = support.folder() .. "/both.jsonl"
    assert.matches("cannot read", message_of(pmc.stored.merge, { a, b }, output), 1, true)
    assert.is_nil(io.open(output))
  end)
end)

describe("pmclua report", function()
  local function environment(folder) return { env = { XDG_STATE_HOME = folder, COLUMNS = "80" } } end

  local function with_results(count)
    local folder = support.folder()
    local results = folder .. "/pmclua/results"
    for i = 1, count do
      local path = stored("r" .. i, {}, made.records { numbers(100 * i), {}, {} })
      support.write(("%s/r%d.jsonl"):format(results, i), support.read(path))
      os.execute(("touch -d '2024-01-0%d' '%s/r%d.jsonl'"):format(i, results, i))
    end
    return folder
  end

  it("without a file shows the result that was stored last", function()
    local shown = support.pmclua({ "report" }, environment(with_results(2)))
    assert.equal(0, shown.status)
    assert.matches("256 +204.5 +201 … 208", shown.out)
  end)

  it("says where nothing is stored", function()
    local shown = support.pmclua({ "report" }, environment(support.folder()))
    assert.same({ 1, "" }, { shown.status, shown.out })
    assert.matches("no result is stored yet", shown.err, 1, true)
  end)

  it("has every format, another baseline and more metrics, into a file too", function()
    local path = stored("a", {}, made.records { numbers(100), numbers(50), numbers(1) })
    local file = support.folder() .. "/out"
    assert.equal(0, support.pmclua({ "report", path, "--format", "json", "-o", file, "-M", "ipc" }).status)
    local decoded = require("dkjson").decode(support.read(file))
    assert.equal("ipc", decoded.metrics[1].name)
    for _, format in ipairs { "csv", "markdown", "html", "hyperfine", "benchmark" } do
      assert.equal(0, support.pmclua({ "report", path, "--format", format }).status, format)
    end
    local other = support.pmclua { "report", path, "--baseline", "n=512" }
    assert.matches("n = 256 against n = 512 (baseline)", other.out, 1, true)
  end)

  it("refuses what makes no sense", function()
    local path = stored("a", {}, {})
    for _, words in ipairs { { path, "--format", "xml" }, { path, "--baseline", "n=1" }, { "--keep", "3" },
        { path, "--list" }, { "--prune", "--older-than", "soon" } } do
      assert.equal(2, support.pmclua({ "report", unpack(words) }).status, table.concat(words, " "))
    end
    assert.equal(1, support.pmclua({ "report", "/nowhere.jsonl" }).status)
  end)

  it("lists what is stored, and prunes all but the newest", function()
    local folder = with_results(3)
    local listed = support.pmclua({ "report", "--list" }, environment(folder)).out
    assert.matches("2024%-01%-03[^\n]*r3.jsonl\n[^\n]*r2.jsonl\n[^\n]*r1.jsonl\n", listed)
    local pruned = support.pmclua({ "report", "--prune", "--keep", "2" }, environment(folder)).out
    assert.matches("removed 1 stored results, [%d.]+ kB; 2 are left", pruned)
    assert.is_nil(support.pmclua({ "report", "--list" }, environment(folder)).out:find "r1.jsonl")
    support.pmclua({ "report", "--prune", "--older-than", "1d", "--keep", "1" }, environment(folder))
    assert.matches("r3.jsonl\n$", support.pmclua({ "report", "--list" }, environment(folder)).out)
  end)
end)

describe("pmclua merge", function()
  it("writes one file of several", function()
    local a, b = stored("a", {}, made.records { numbers(1) }), stored("b", {}, made.records { numbers(2) })
    local output = support.folder() .. "/both.jsonl"
    local merged = support.pmclua { "merge", "-o", output, a, b }
    assert.same({ 0, ("16 records of 2 files in %s\n"):format(output) }, { merged.status, merged.out })
    assert.equal(1, support.pmclua({ "merge", "-o", output, a, b }).status)
    assert.equal(2, support.pmclua({ "merge", a, b }).status)
  end)
end)

describe("pmclua compare", function()
  it("of files compares each with the first", function()
    local a = stored("before", {}, made.records { numbers(1000), {}, {} })
    local b = stored("after", {}, made.records { numbers(500), {}, {} })
    local compared = support.pmclua({ "compare", a, b }, { env = { COLUMNS = "80" } })
    assert.equal(0, compared.status)
    assert.matches("cycles · 8 repetitions · baseline file = before", compared.out, 1, true)
    assert.matches("256 +1,005 +0.3 %% +504.5 +0.7 %% +0.502  0.500 … 0.504  fewer", compared.out)
    assert.matches("different files were not interleaved", compared.out, 1, true)
  end)
end)
