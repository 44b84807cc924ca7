-- Result files by other ways than a plain file: standard streams, pipes, compressed; and several at once.

local made = require "tests.support.results"
local pmc = require "pmclua"
local support = require "tests.support"

local HEADER = { workloads = { { name = "rows", kind = "command", per = "run" } }, factors = {},
  cells = { { workload = "rows", levels = {} } }, repetitions = 8 }

local function constant(value) return support.sequence(8, function() return value end) end

local function file(cycles, folder, name)
  return made.stored(("%s/%s.jsonl"):format(folder or support.folder(), name or "r"), made.header(HEADER),
    made.records({ constant(cycles), constant(500), constant(7) }, { levels = {} }))
end

local function shell(script) return support.run { "bash", "-c", (script:gsub("PMCLUA", support.program)) } end

describe("a stored result", function()
  local before, after = file(1000), file(1100)

  it("is no program: whoever names one is told what runs programs", function()
    for _, path in ipairs { support.program, support.root .. "/scripts/stat.lua" } do
      local found = support.pmclua { "gate", "-l", "page_faults <= +1%", "--", path }
      assert.same({ 1, "" }, { found.status, found.out })
      assert.matches("it is a program, and no result: pmclua compare, and pmclua gate", found.err, 1, true)
    end
  end)

  it("is read from standard input, by - and by /dev/stdin, and from a pipe", function()
    for _, script in ipairs { "cat AFTER | PMCLUA gate BEFORE - -l 'cycles <= +1%'",
        "PMCLUA gate BEFORE - -l 'cycles <= +1%' <AFTER",
        "gzip -c AFTER | PMCLUA gate BEFORE - -l 'cycles <= +1%'",
        "cat AFTER | PMCLUA gate BEFORE /dev/stdin -l 'cycles <= +1%'",
        "PMCLUA gate <(gzip -c BEFORE) <(cat AFTER) -l 'cycles <= +1%'" } do
      local found = shell((script:gsub("BEFORE", before):gsub("AFTER", after)))
      assert.same({ 3, "" }, { found.status, found.err }, script)
      assert.matches("was 1,000 (+10 %)", found.out, 1, true)
    end
  end)

  it("is read where it is compressed, and compared", function()
    local folder = support.folder()
    local path = file(1100, folder)
    support.run { "gzip", path }
    assert.equal(1100, pmc.load(path .. ".gz"):cells()().cycles.median)
    local found = support.pmclua { "compare", before, path .. ".gz" }
    assert.equal(0, found.status)
    assert.matches("1.100", found.out, 1, true)
    assert.equal(0, shell(("cat %s.gz | PMCLUA report - --format csv"):format(path)).status)
  end)

  it("that is compressed and cut off says so, and one that is damaged is refused", function()
    local path = file(1000, nil, "cut")
    support.run { "gzip", path }
    local whole = support.read(path .. ".gz")
    support.write(path .. ".gz", whole:sub(1, -20))
    local r = pmc.load(path .. ".gz")
    assert.same({ "its compressed text is cut off", "unfinished" }, { r.problems[1], r.status })
    support.write(path .. ".gz", whole:sub(1, -8) .. "\1\2\3" .. whole:sub(-4))
    assert.matches("its compressed text is damaged", support.message_of(pmc.load, path .. ".gz"), 1, true)
  end)

  it("that expands without end is refused before it fills memory", function()
    local folder = support.folder()
    local header = support.lines_of(before)
    support.write(folder .. "/head", header[1] .. "\n")
    support.write(folder .. "/line", header[2] .. "\n")
    -- 200 MB of one line, in some 600 kB.
    local script = ("(cat head; yes \"$(cat line)\" | head -c 200000000) | gzip -9 >bomb.jsonl.gz")
    assert.equal(0, support.run({ "bash", "-c", script }, { folder = folder }).status)
    local found = support.pmclua { "report", folder .. "/bomb.jsonl.gz" }
    assert.equal(1, found.status)
    assert.matches("it expands to more than 100 times its size", found.err, 1, true)
    support.run({ "bash", "-c", "head -c 100000000 /dev/zero | gzip -9 >zero.gz" }, { folder = folder })
    found = support.pmclua { "report", folder .. "/zero.gz" }
    assert.matches("a line is longer than 16 MiB", found.err, 1, true)
  end)

  it("that is compressed or a pipe is not resumed, and stays as it is", function()
    local path = file(1000, nil, "r")
    support.run { "gzip", path }
    local before_it, script = support.read(path .. ".gz"), support.write(support.folder() .. "/e.lua",
      [[return require("pmclua").experiment { workloads = { "true" }, events = "page-faults",
        repetitions = 1 }]])
    local found = support.pmclua { script, "--resume", path .. ".gz" }
    assert.equal(1, found.status)
    assert.equal(before_it, support.read(path .. ".gz"))
  end)

  it("cannot be standard input twice", function()
    assert.matches("- is given twice", support.message_of(pmc.load, "-", "-"), 1, true)
  end)
end)

describe("an experiment's records", function()
  local script = support.write(support.folder() .. "/e.lua",
    [[return require("pmclua").experiment { workloads = { "true" }, events = "page-faults",
      repetitions = 3 }]])

  it("go to standard output by --store -, and a report only to a file", function()
    local folder = support.folder()
    local found = support.pmclua { script, "--store", "-", "--quiet", "--output", folder .. "/report" }
    assert.equal(0, found.status)
    local kinds = {}
    for line in found.out:gmatch "[^\n]+" do
      kinds[#kinds + 1] = require("dkjson").decode(line).kind
    end
    assert.same({ "experiment", "end" }, { kinds[1], kinds[#kinds] })
    assert.matches("page-faults", support.read(folder .. "/report"), 1, true)
    assert.equal(2, support.pmclua({ script, "--store", "-", "--output", "-" }).status)
    assert.equal(0, shell(("PMCLUA %s --store - --quiet | PMCLUA gate - -l 'page_faults <= 100000'"):format(
      script)).status)
  end)

  it("go to a file as the umask has it by --store, and to a private one unasked", function()
    local folder = support.folder()
    local found = shell(("umask 027; cd %s; PMCLUA %s --quiet --store r.jsonl && XDG_STATE_HOME=%s PMCLUA %s "
      .. "--quiet && stat -c %%a r.jsonl pmclua/results/*"):format(folder, script, folder, script))
    assert.matches("640\n600\n$", found.out)
  end)

  it("of several pmclua that start at once go to files of their own", function()
    local state = support.folder()
    local found = shell(("for i in 1 2 3 4 5 6; do XDG_STATE_HOME=%s PMCLUA %s --quiet >/dev/null & done; "
      .. "wait; ls %s/pmclua/results | wc -l"):format(state, script, state))
    assert.same({ "6\n", "" }, { found.out, found.err })
  end)

  it("find another name where one is taken meanwhile", function()
    support.with_env({ XDG_STATE_HOME = support.folder() }, function()
      local store, folder = require "pmclua.store", require "pmclua.store.folder"
      local taken, real = folder.default_path("r"), folder.default_path
      support.write(taken, "")
      -- What another process has made between looking and creating.
      folder.default_path = function(name, number) return number == 1 and taken or real(name, number) end
      local ok, writer = pcall(store.create_unasked, "r", made.header())
      folder.default_path = real
      assert.is_true(ok, tostring(writer))
      writer:finish "complete"
      assert.not_equal(taken, writer.path)
    end)
  end)
end)

describe("pmclua merge", function()
  it("takes --by file, host and rank", function()
    local folder = support.folder()
    local function ranked(rank)
      return made.stored(("%s/rank%d.jsonl"):format(folder, rank), made.header(support.merged(HEADER,
        { rank = rank, notes = { commit = "1", run = tostring(rank) } })),
        made.records({ constant(1000), {}, {} }, { levels = {} }))
    end
    local one, two = ranked(1), ranked(2)
    for _, by in ipairs { "file", "host", "rank" } do
      local output = ("%s/%s.jsonl"):format(folder, by)
      local found = support.pmclua { "merge", "--by", by, "-o", output, one, two }
      assert.same({ 0, "16 records of 2 files in " .. output .. "\n" }, { found.status, found.out })
      local header = pmc.load(output).header
      assert.same({ commit = "1", run = "rank1: 1, rank2: 2" }, header.notes)
      assert.same({ one, two }, header.merged)
    end
  end)
end)
