-- `pmclua compare` and `pmclua snippet` on the command line: what they take, and the status they end with.

local pmc = require "pmclua"
local support = require "tests.support"

local function compare(...) return support.pmclua { "compare", ... } end

local function stored(name, command)
  local path = support.folder() .. "/" .. name
  pmc.measure(pmc.command { command, name = "it" }, { events = "page-faults", repetitions = 6, quiet = true,
    store = path })
  return path
end

-- Runs pmclua in a shell that sends it SIGTERM when the file is there.
local function terminated(words, file)
  local script = 'f=$1; shift; "$@" & pid=$!; i=0; while [ ! -e "$f" ] && [ $i -lt 3000 ]; do sleep 0.01; '
    .. 'i=$((i+1)); done; kill -TERM $pid; wait $pid'
  return support.run { "sh", "-c", script, "sh", file, support.program, unpack(words) }
end

describe("pmclua compare", function()
  it("interleaves commands and judges each event, and the wall time", function()
    local got = compare("true", "ls /", "-e", "page-faults,duration_time", "-r", "8")
    assert.equal(0, got.status)
    assert.matches("8 pairs, interleaved", got.out)
    assert.matches("page%-faults.*MORE", got.out)
    assert.matches("duration_time", got.out)
  end)

  it("takes stored results, whatever they are called, and no file twice", function()
    local a, b = stored("a.jsonl", "true"), stored("plainly", "ls /")
    local got = compare(a, b)
    assert.same({ 0, "" }, { got.status, got.err })
    assert.matches("6 repetitions each, not interleaved", got.out)
    assert.same({ 2, "pmclua compare: load: " .. a .. " is given twice\n" },
      { compare(a, b, a).status, compare(a, b, a).err })
  end)

  it("says how many repetitions each stored result has, where they have not as many", function()
    local few, many = support.folder() .. "/few.jsonl", support.folder() .. "/many.jsonl"
    for path, count in pairs { [few] = "6", [many] = "9" } do
      support.pmclua { "stat", "-e", "page-faults", "-r", count, "--store", path, "--", "true" }
    end
    assert.matches("9 against 6 repetitions, not interleaved", compare(few, many).out, 1, true)
  end)

  it("refuses for stored results what only commands can be given, and takes the rest", function()
    local a, b = stored("a.jsonl", "true"), stored("b.jsonl", "ls /")
    for _, option in ipairs { "--margin=50%", "--repetitions=9", "-ecycles", "--shell", "--store=c.jsonl" } do
      local got = compare(a, b, option)
      assert.equal(2, got.status)
      assert.matches("is for commands: files are compared as they were measured", got.err, 1, true)
    end
    assert.matches("--against-dir is for commands", compare("--against-dir", "/", a).err, 1, true)
    local got = compare(a, b, "-M", "twice = 2 * page_faults", "--primary", "twice")
    assert.same({ 0, "" }, { got.status, got.err })
    assert.matches("\ntwice %*", got.out)
  end)

  it("says so where files have no workload in common", function()
    local a, b = stored("a.jsonl", "true"), support.folder() .. "/b.jsonl"
    pmc.measure("true", { events = "page-faults", repetitions = 6, quiet = true, store = b })
    local got = compare(a, b)
    assert.equal(0, got.status)
    assert.matches("no workload of 'b' is in the baseline", got.err, 1, true)
  end)

  it("shows results of experiments with other factors side by side", function()
    local a, b = stored("a.jsonl", "true"), support.folder() .. "/b.jsonl"
    pmc.measure(pmc.command { "sleep", "{d}", name = "sleep" }, { events = "page-faults", repetitions = 1,
      factors = { { "d", { 0, 0.001 } } }, quiet = true, store = b })
    for _, files in ipairs { { a, b }, { b, a } } do
      local got = compare(unpack(files))
      assert.equal(0, got.status)
      assert.matches("no workload of '[ab]' is in the baseline", got.err)
      assert.matches("sleep, d 0.001", got.out, 1, true)
      assert.matches("up to 6 repetitions", got.out, 1, true)
    end
    for cell in pmc.load(a, b):cells() do assert.is_nil(cell:label():find("nil", 1, true)) end
  end)

  it("knows a command without quotes, one for a shell, and shows no table where nothing was run", function()
    assert.matches("quote a command with its arguments: 'ls -l'", compare("ls", "no-such",
      "nor-such").err, 1, true)
    assert.matches("a '|', which only a shell would understand; --shell has /bin/sh run it",
      compare("ls | cat", "true").err, 1, true)
    local failing = compare("false", "true", "-e", "page-faults")
    assert.equal(1, failing.status)
    assert.equal("! false: exit status 1; --ignore-failure counts such runs; run it alone to see what it "
      .. "says\n",
      (failing.out:gsub("%s*\n%s+", " ")))
  end)

  it("takes for a command what ends in a file's name", function()
    local file = stored("a.jsonl", "true")
    local got = compare("cat " .. file, "wc " .. file, "-e", "page-faults", "-r", "6")
    assert.same({ 0, "" }, { got.status, got.err })
    assert.matches("6 pairs, interleaved", got.out)
  end)

  it("does not mix files and commands, and says what is not there", function()
    assert.equal(2, compare(stored("a.jsonl", "true"), "true").status)
    local missing = compare("/nowhere/a.jsonl", "/nowhere/b.jsonl")
    assert.equal(1, missing.status)
    assert.matches("cannot open /nowhere/a.jsonl", missing.err, 1, true)
  end)

  it("takes a mistake on its command line for one, before anything runs", function()
    local mark = support.folder() .. "/ran"
    for _, words in ipairs { { "-e", "cylces" }, { "--format", "foo" }, { "--until", "soon" },
      { "--primary", "x" } } do
      local got = compare("true", "touch " .. mark, unpack(words))
      assert.equal(2, got.status)
      assert.is_nil(got.err:find("compare.lua:", 1, true))
    end
    assert.is_nil(io.open(mark))
  end)

  it("exits 1 where a command fails, and says how such runs are counted", function()
    local got = compare("true", "false", "-e", "page-faults", "-r", "6")
    assert.equal(1, got.status)
    assert.matches("exit status 1; --ignore-failure counts such runs", got.err, 1, true)
    assert.equal(0, compare("true", "false", "-e", "page-faults", "-r", "6", "-i").status)
  end)

  it("exits 128 + n where signal n ended it, after its report", function()
    local mark = support.folder() .. "/ran"
    local got = terminated({ "compare", "true", "touch " .. mark, "-e", "page-faults", "-r", "1000000" },
      mark)
    assert.equal(143, got.status)
    assert.matches("interrupted: what was complete is shown", got.out)
  end)

  it("exits 77 where nothing that was asked for could be counted", function()
    support.need(not support.have_pmu(), "this machine has a PMU")
    assert.equal(77, compare("true", "true", "-e", "cycles", "-r", "6").status)
  end)
end)

describe("pmclua snippet", function()
  it("costs a line of code, and says a mistake in it once", function()
    support.need(support.have "cc", "no C compiler")
    local got = support.pmclua { "snippet", "-c", "pmclua_keep(1)", "-e", "duration_time", "-r", "6" }
    assert.equal(0, got.status)
    assert.matches("duration_time", got.out)
    local wrong = support.pmclua { "snippet", "no such instruction", "-r", "6" }
    assert.equal(1, wrong.status)
    local _, times = wrong.err:gsub("Error:", "")
    assert.equal(1, times)
  end)

  it("compares several in one command, with the first", function()
    support.need(support.have "cc", "no C compiler")
    local got = support.pmclua { "snippet", "-c", "--init", "int x = 1, y = 3", "x += y",
      "--against", "x *= y", "--against", "x -= y", "-e", "duration_time", "-r", "6", "--quiet" }
    assert.equal(0, got.status, got.err)
    for _, code in ipairs { "x %*= y", "x %-= y" } do assert.matches(code, got.out) end
    assert.matches("x %+= y %(baseline%)", got.out)
  end)

  it("names a mistake in C by the option that it stands in", function()
    support.need(support.have "cc", "no C compiler")
    local function snippet(...)
      return support.pmclua { "snippet", "-e", "duration_time", "-r", "6", "-c", ... }
    end
    assert.matches("^pmclua snippet: snippet.c does not compile:.*\nsnippet:1:8: error",
      snippet('z("x", y)').err)
    assert.matches("\ninit:1:9: error", snippet("x++", "--init", "int x = y").err)
    assert.equal(0, snippet("x++", "--init", "int x = 1").status)
  end)

  it("takes a mistake on its command line for one", function()
    for _, words in ipairs { { "nop", "-e", "cylces" }, { "nop", "--unroll", "0" }, { "nop", "--format",
      "foo" } } do
      assert.equal(2, support.pmclua({ "snippet", unpack(words) }).status)
    end
  end)

  it("is iterated over, each pair with its verdicts by name", function()
    local r = pmc.compare(function() end, function() return ("x"):rep(1e7) end,
      { events = "page-faults", metrics = "cell = page_faults / page_faults", repetitions = 6, warmup = 0 })
    local row, count = r:compare().pairs[1].rows[1], 0
    for p in r:pairs() do
      count = count + 1
      assert.equal(row.verdict.verdict, p.page_faults.verdict)
      assert.equal(r:list()[2], p.cell)           -- whatever a metric is called
      assert.matches("^a pair: .* against ", tostring(p))
      assert.matches("no 'nosuch'", support.message_of(function() return p.nosuch end))
    end
    assert.equal(1, count)
  end)
end)
