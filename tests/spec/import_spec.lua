-- Results of other benchmark tools, from files as the tools write them (tests/fixtures/imported).

local pmc = require "pmclua"
local support = require "tests.support"

local FOLDER = "tests/fixtures/imported/"

local function cell_of(result, workload)
  for cell in result:cells() do
    if cell.workload == workload then return cell end
  end
  error("no workload " .. workload, 2)
end

describe("pmc.import", function()
  it("reads the repetitions of google/benchmark with CPU times and counters, and no aggregates", function()
    local r = pmc.import(FOLDER .. "google.json")
    assert.equal(2, #r:list())
    local cell = cell_of(r, "copy/64")
    assert.same({ 6, 3, "ns" }, { cell.repetitions, cell.rounds.median, cell.cpu_time.unit })
    assert.near(31.939156815, cell:values("duration_time")[1], 1e-3)
  end)

  it("reads hyperfine's times of commands", function()
    local cell = cell_of(pmc.import(FOLDER .. "hyperfine.json"), "ls /")
    local json = require("dkjson").decode(support.read(FOLDER .. "hyperfine.json"))
    assert.equal(12, cell.repetitions)
    assert.near(json.results[2].times[3] * 1e9, cell:values("duration_time")[3], 1)
  end)

  it("reads go test -bench with allocations, which are absent where they were not reported", function()
    local r = pmc.import(FOLDER .. "go.txt")
    local cell, other = cell_of(r, "BenchmarkMake"), cell_of(r, "BenchmarkSub/n=10")
    assert.same({ 6, 1, 112, "B" }, { cell.repetitions, cell.allocations.median, cell.bytes_allocated.median,
      cell.bytes_allocated.unit })
    assert.near(232.9, cell:values("duration_time")[1], 0.05)
    assert.is_nil(other.allocations.median)
  end)

  it("reads the rounds of pytest-benchmark and its commit", function()
    local r = pmc.import(FOLDER .. "pytest.json")
    local cell = cell_of(r, "test_x.py::test_sum")
    assert.same({ 8, "unversioned" }, { cell.repetitions, r.header.notes.commit })
  end)

  it("reads criterion's samples as times of one iteration, from a file or a folder", function()
    for _, path in ipairs { "criterion", "criterion/parse/new/sample.json" } do
      local cell = cell_of(pmc.import(FOLDER .. path), "parse/fast/64")
      assert.same({ 251, 250, 252, 251, 249, 252 }, cell:values "duration_time")
    end
  end)

  it("reads JMH's iterations of all forks, throughput as the time of an operation", function()
    local r = pmc.import(FOLDER .. "jmh.json")
    local cell = cell_of(r, "org.example.Parse.fast [size=64]")
    assert.same({ 12200, 12400, 12500, 12500, 12600, 12800 }, cell:values "duration_time")
    assert.equal(16, cell.gc_alloc_rate_norm.median)
    local rate = cell_of(r, "org.example.Parse.rate [size=64]")
    assert.same({ 12500, 10000, 12500 }, rate:values "duration_time")
    assert.same({ "left out: org.example.Parse.sampled: mode sample keeps no times of iterations" },
      r.remarks)
  end)

  it("reads asv's samples by parameters, its commit and CPU; what has no samples is left out", function()
    local r = pmc.import(FOLDER .. "asv.json")
    local cell = cell_of(r, "suite.time_keys(10)")
    assert.same({ 2000000, 2100000, 2100000, 2200000 }, cell:values "duration_time")
    assert.same({ "9f2c1b7a3d5e", "Intel(R) Xeon(R)", 2 }, { r.header.notes.commit, r.header.host.cpu,
      #r.remarks })
  end)

  it("refuses files of other kinds, damaged ones and those without repetitions", function()
    local folder = support.folder()
    for text, why in pairs { ["{"] = "unterminated", ["[1]"] = "no tool is known", ["x"] = "no valid JSON",
        ['{"results":[{"command":"ls","mean":1}]}'] = "it has no repetitions: ls: it has no times",
        ['{"context":{"executable":"x"},"benchmarks":[1]}'] = "it is damaged" } do
      support.write(folder .. "/x", text)
      assert.error_matches(function() pmc.import(folder .. "/x") end, why)
    end
    assert.error_matches(function() pmc.import(folder .. "/none") end, "No such file")
  end)

  it("names the folder that it may not read, and no place in its own code", function()
    local folder = support.folder()
    os.execute(("mkdir -m 0 '%s/closed'"):format(folder))
    local found = support.pmclua({ "import", folder }, { user = support.have_root() })
    assert.same({ 1, ("pmclua import: %s/closed: Permission denied\n"):format(folder) },
      { found.status, found.err })
  end)
end)

describe("pmclua import", function()
  it("stores what compare, gate and history take", function()
    local folder = support.folder()
    local a, b = folder .. "/a.jsonl", folder .. "/b.jsonl"
    for path, commit in pairs { [a] = "1a", [b] = "2b" } do
      local found = support.pmclua { "import", FOLDER .. "google.json", "--store", path, "--note",
        "commit=" .. commit }
      assert.same({ 0, "", "" }, { found.status, found.out, found.err })
    end
    assert.same({ 1, 2 }, { support.pmclua({ "import", FOLDER .. "go.txt", "--store", a }).status,
      support.pmclua({ "import" }).status })
    assert.matches("copy/64", support.pmclua({ "compare", a, b }).out, 1, true)
    assert.equal(0, support.pmclua({ "gate", a, b, "-l", "rounds <= +1%" }).status)
    assert.equal(3, support.pmclua({ "gate", a, b, "-l", "rounds <= 2" }).status)
  end)

  for _, name in ipairs { "asv.json", "criterion", "go.txt", "google.json", "hyperfine.json", "jmh.json",
      "pytest.json" } do
    it(("makes a result of %s that report, compare, gate and history take"):format(name), function()
      local folder, paths = support.folder(), {}
      for i = 1, 2 do
        paths[i] = ("%s/%d.jsonl"):format(folder, i)
        local found = support.pmclua { "import", FOLDER .. name, "--store", paths[i], "--commit", "abc" .. i }
        assert.same({ 0, "", "" }, { found.status, found.out, found.err })
      end
      assert.equal(0, support.pmclua({ "report", paths[1] }).status)
      assert.matches("duration_time", support.pmclua({ "compare", paths[1], paths[2] }).out, 1, true)
      local gated = support.pmclua { "gate", paths[1], paths[2], "-l", "duration_time <= +100%" }
      -- 77: of four values there is no interval
      assert.is_true(gated.status == 0 or gated.status == 77 and gated.out:find "too few" ~= nil, gated.out)
      local history = support.pmclua { "history", paths[2], paths[1] }
      assert.equal(0, history.status)
      assert.matches("\nabc2 .*\nabc1 ", history.out)
    end)
  end

  it("has the date of google/benchmark, pytest-benchmark and asv in UTC, which orders a history", function()
    local folder = support.folder()
    local function started(name) return pmc.import(FOLDER .. name).header.started end
    assert.same({ "2026-11-24T17:54:18Z", "2026-11-24T17:55:27Z", "2023-11-14T22:13:20Z" },
      { started "google.json", started "pytest.json", started "asv.json" })
    local text = support.read(FOLDER .. "google.json")
    for i, date in ipairs { "2026-11-25T01:00:00+02:00", "2026-11-24T20:30:00-01:30" } do
      support.write(folder .. "/g.json", (text:gsub('"date": "[^"]*"', ('"date": "%s"'):format(date))))
      support.pmclua { "import", folder .. "/g.json", "--store", ("%s/%d.jsonl"):format(folder, i) }
    end
    local history = support.pmclua { "history", folder .. "/1.jsonl", folder .. "/2.jsonl" }
    assert.matches("24T22:00:00Z.*24T23:00:00Z", history.out)
  end)

  it("says what to do where no commit is known", function()
    local path = support.folder() .. "/go.jsonl"
    support.pmclua { "import", FOLDER .. "go.txt", "--store", path }
    local history = support.pmclua { "history", path }
    assert.equal(1, history.status)
    assert.matches("it does not know its commit; import it with --commit HASH", history.err, 1, true)
  end)
end)
