-- Results of other benchmark tools, from files as the tools write them (tests/fixtures/imported).

local dkjson = require "dkjson"
local lists = require "pmclua.base.lists"
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
    local json = dkjson.decode(support.read(FOLDER .. "hyperfine.json"))
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

  it("reads what go test -json says was written, names and numbers apart", function()
    local lines = {}
    for piece in support.read(FOLDER .. "go.txt"):gmatch "[^\t]*[\t\n]" do
      lines[#lines + 1] = dkjson.encode { Action = "output", Package = "x", Output = piece }
    end
    local path = support.write(support.folder() .. "/go.json",
      '{"Action":"start"}\n' .. table.concat(lines, "\n"))
    local plain, told = pmc.import(FOLDER .. "go.txt"), pmc.import(path)
    assert.equal(#plain:list(), #told:list())
    for i, cell in ipairs(plain:list()) do
      assert.same(cell:values "duration_time", told:list()[i]:values "duration_time")
    end
  end)

  it("reads the rounds of pytest-benchmark and its commit", function()
    local r = pmc.import(FOLDER .. "pytest.json")
    local cell = cell_of(r, "test_x.py::test_sum")
    assert.same({ 8, "unversioned" }, { cell.repetitions, r.header.notes.commit })
  end)

  it("reads criterion's samples as times of one iteration, from a file or a folder", function()
    local json = dkjson.decode(support.read(FOLDER .. "criterion/parse/fast/64/new/sample.json"))
    for _, path in ipairs { "criterion", "criterion/parse", "criterion/parse/fast/64/new/sample.json" } do
      local values = cell_of(pmc.import(FOLDER .. path), "parse/fast/64"):values "duration_time"
      assert.equal(10, #values)
      for i, value in ipairs(values) do assert.near(json.times[i] / json.iters[i], value, 1e-6) end
    end
    assert.equal(3, #pmc.import(FOLDER .. "criterion"):list())
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

  local function imported(text)
    local path = support.folder() .. "/x"
    support.write(path, text)
    return pmc.import(path)
  end

  it("takes the largest times that fit into 63 bits in thousandths of a nanosecond", function()
    local r = imported [=[{"commit_hash": "abc", "date": 0, "result_columns": ["result", "params", "samples"],
      "results": {"t.time_a": [[9e6], [], [[9e6, 9e6]]], "t.time_b": [[1e7], [], [[1e7, 1e7]]]}}]=]
    assert.same({ 9e15, 9e15 }, cell_of(r, "t.time_a"):values "duration_time")
    assert.same({ 1, 1 }, { #r:list(), #r.remarks })
  end)

  it("leaves out what is no count and says so: NaN as Python has it, null, below 0, too large", function()
    local r = imported [=[{"commit_hash": "abc", "date": -1000,
      "result_columns": ["result", "params", "samples"],
      "results": {"t.time_a": [[NaN, 1, null], [["1", "2, \"NaN", "3"]], [null, [1, 2.5], NaN]],
        "time_b": [[1], [], [[0.1, -Infinity, -1, 1e300]]]}}]=]
    assert.same({ 1e9, 2.5e9 }, cell_of(r, 't.time_a(2, "NaN)'):values "duration_time")
    assert.same({ 1e8 }, cell_of(r, "time_b"):values "duration_time")
    assert.equal("1969-12-31T23:59:59Z", r.header.started)
    assert.same({ "left out: t.time_a(1): it has no samples (asv run --record-samples)",
      "left out: t.time_a(3): it has no samples (asv run --record-samples)",
      "left out: time_b: duration_time is no number, below 0 or too large" }, r.remarks)
  end)

  it("keeps counters that are no whole numbers, whatever the iterations", function()
    local r = imported [=[{"context": {"executable": "x"}, "benchmarks": [{"name": "a", "iterations": 1,
      "real_time": 20.0, "cpu_time": 19.5, "share": 0.25, "rest": -3, "duration_time": 7, "": 1,
      "a-b": 2, "a.b": 3, "2x": 4}]}]=]
    assert.same({ 0.25, 20, 19.5 }, { r:list()[1].share.median, r:list()[1].duration_time.median,
      r:list()[1].cpu_time.median })
    local names = { "duration_time_2", "_", "a_b", "a_b_2", "_2x" }
    assert.same({ 7, 1, 2, 3, 4 }, lists.map(names, function(name)
      return r:list()[1]:summary(name).median
    end))
    assert.matches("a_b_2", r:report(), 1, true)
    assert.same({ "left out: a: rest is no number, below 0 or too large" }, r.remarks)
  end)

  it("leaves out what ran no whole number of times", function()
    local r = imported [=[{"sampling_mode": "Flat", "iters": [2.5, 1e-300, 4], "times": [1, 2, 12]}]=]
    assert.same({ 3 }, r:list()[1]:values "duration_time")
    assert.matches("its iterations are no whole number", table.concat(r.remarks), 1, true)
  end)

  it("says that google/benchmark left out the runs", function()
    assert.error_matches(function()
      imported [=[{"context": {"executable": "x"}, "benchmarks": [{"name": "a_mean", "run_name": "a",
        "run_type": "aggregate", "real_time": 20.0, "cpu_time": 19.5}]}]=]
    end, "a: only its aggregates are there %(%-%-benchmark_report_aggregates_only%)")
  end)

  it("takes no two benchmarks for one: JMH's modes, hyperfine's commands, go's packages and sizes", function()
    local function names(text)
      return lists.map(imported(text):list(), function(cell) return cell.workload end)
    end
    assert.same({ "x, avgt", "x, thrpt" }, names([=[ [
      {"benchmark": "x", "mode": "avgt", "primaryMetric": {"scoreUnit": "us/op", "rawData": [[1]]}},
      {"benchmark": "x", "mode": "thrpt", "primaryMetric": {"scoreUnit": "ops/s", "rawData": [[1]]}}]
      ]=]))
    assert.same({ "größe", "größe (2)" },
      names [=[{"results": [{"command": "größe", "times": [1]}, {"command": "größe", "times": [2]}]}]=])
    local go = "pkg: a/%s\nBenchmarkX/n-10 \t 100\t 10 ns/op\nBenchmarkX/n-20 \t 100\t 10 ns/op\n"
    assert.same({ "BenchmarkX/n-10", "BenchmarkX/n-20" }, names(go:format "b"))
    assert.same({ "a/b.BenchmarkX/n-10", "a/b.BenchmarkX/n-20", "a/c.BenchmarkX/n-10",
      "a/c.BenchmarkX/n-20" },
      names(go:format "b" .. go:format "c"))
    assert.same({ "BenchmarkX/n-10", "BenchmarkY" },
      names "BenchmarkX/n-10-8 \t 100\t 10 ns/op\r\nBenchmarkY-8 \t 100\t 10 ns/op\r\n")
  end)

  it("gives a secondary metric of JMH to no iteration where some lack it", function()
    local r = imported([=[ [{"benchmark": "x", "mode": "avgt", "primaryMetric": {"scoreUnit": "us/op",
      "rawData": [[1, 2], [3, 4]]}, "secondaryMetrics": {"gc.count": {"rawData": [[5.5], [6, 7.25]]}}}]
    ]=])
    assert.same({ 6, 7.25 }, r:list()[1]:values "gc_count")
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
    local function started(path) return pmc.import(path).header.started end
    assert.same({ "2026-11-24T17:54:18Z", "2026-11-24T17:55:27Z", "2023-11-14T22:13:20Z" },
      { started(FOLDER .. "google.json"), started(FOLDER .. "pytest.json"), started(FOLDER .. "asv.json") })
    local text = support.read(FOLDER .. "google.json")
    for date, utc in pairs { ["1969-12-31T23:59:59+00:00"] = "1969-12-31T23:59:59Z",
        ["1970-01-01T00:30:00+01:00"] = "1969-12-31T23:30:00Z",
        ["1600-02-29T12:00:00Z"] = "1600-02-29T12:00:00Z",
        ["2024-02-29 23:59:59+0000"] = "2024-02-29T23:59:59Z", ["2023-02-29T00:00:00Z"] = false,
        ["2024-13-01T00:00:00Z"] = false, ["2024-01-01T00:00:00"] = false } do
      support.write(folder .. "/g.json", (text:gsub('"date": "[^"]*"', ('"date": "%s"'):format(date))))
      assert.equal(utc, started(folder .. "/g.json") or false)
    end
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
