-- Reports over ranks, hosts or the levels of a factor: a row for a quantity, not for each level.

local made = require "tests.support.results"
local pmc = require "pmclua"
local support = require "tests.support"

-- A result of eight ranks, in each of which a run counted as many cycles as said.
local function result_of(cycles)
  local cells, records = {}, {}
  for i = 1, #cycles do cells[i] = { workload = "rows", levels = { rank = i - 1 } } end
  for i, count in ipairs(cycles) do
    for index = 1, 3 do
      records[#records + 1] = made.record({ count }, { cell = i, levels = cells[i].levels, index = index,
        order = #records + 1, iterations = 1 })
    end
  end
  local ranks = support.sequence(#cycles, function(i) return i - 1 end)
  return made.result(made.header { factors = { { "rank", ranks } }, cells = cells,
    events = { made.event "cycles" }, pass_events = { { 1 } } }, records)
end

describe("a report over ranks", function()
  local uneven = { 100, 101, 102, 103, 104, 400, 106, 107 }

  it("has the least, the median and the largest, max/mean and where the largest is", function()
    local report = result_of(uneven):report { over = "rank", width = 100 }
    assert.matches("\ncycles +8 +100 +103%.5 +400 +2%.850 +rank 5\n", report)
    assert.is_nil(report:find "\n +3 ")
  end)

  it("names outliers, by how often they are the others' median", function()
    local report = result_of(uneven):report { over = "rank" }
    assert.matches("cycles: rank 5: 3.86 times the others", report, 1, true)
    local even = result_of { 100, 101, 102, 103, 104, 105, 106, 107 }
    assert.is_nil(even:report({ over = "rank" }):find "times the others")
  end)

  it("names what differs where most are one", function()
    local report = result_of({ 5, 5, 5, 5, 5, 40, 5, 5 }):report { over = "rank" }
    assert.matches("cycles: rank 5: 8 times the others", report, 1, true)
    local halves = result_of { 5, 5, 5, 5, 5, 6, 6, 6 }
    assert.is_nil(halves:report({ over = "rank" }):find "times the others")
  end)

  it("has no place of a largest where all are one, and no outliers of few", function()
    local report = result_of({ 5, 5, 5 }):report { over = "rank" }
    assert.matches("\ncycles +3 +5 +5 +5 +1%.000 *\n", report)
    assert.is_nil(result_of({ 5, 6, 50 }):report({ over = "rank" }):find "times the others")
  end)

  it("is none over what is no factor", function()
    local result = result_of(uneven)
    local message = support.message_of(result.report, result, { over = "rnk" })
    assert.matches("there is no factor 'rnk'", message, 1, true)
  end)
end)

-- A stored result of hosts, as merged by rank: two ranks on each host, three repetitions of each.
local function merged(cycles)
  local folder, paths = support.folder(), {}
  for i, count in ipairs(cycles) do
    local host = ("n%02d"):format(math.floor((i - 1) / 2) + 1)
    local records = made.records({ { count, count, count } }, { levels = {}, host = host,
      iterations = 1 })
    paths[i] = made.stored(("%s/%d.jsonl"):format(folder, i), made.header { rank = i - 1, factors = {},
      cells = { { workload = "rows", levels = {} } }, events = { made.event "cycles" },
      pass_events = { { 1 } }, host = { hostname = host } }, records)
  end
  pmc.stored.merge(paths, folder .. "/all.jsonl")
  return folder .. "/all.jsonl"
end

describe("a report over hosts, shards and threads", function()
  local counts = { 100, 101, 102, 103, 200, 204, 101, 102, 100, 103, 99, 104 }

  it("names the node whose ranks are all outliers, and where the largest is", function()
    local report = pmc.load(merged(counts)):report { over = "rank", width = 120 }
    assert.matches("on n[01-06]", report, 1, true)
    assert.matches("rank 5 on n03", report, 1, true)
    assert.matches("cycles: node n03 (rank 4-5): 1.96 … 2 times the others", report, 1, true)
  end)

  it("has the hosts of a file merged by rank: all repetitions of a host's ranks are one cell's", function()
    local path = merged(counts)
    local result = pmc.load { path, over = "host" }
    assert.equal(6, #result:list())
    assert.equal(6, result:list()[1].repetitions)
    local report = result:report { over = "host", width = 100 }
    assert.matches("\ncycles +6 +100%.5 +101%.5 +202 +1%.708 +node n03\n", report)
    assert.matches("cycles: node n03: 1.99 times the others", report, 1, true)
    local by_node = pmc.load { path, over = "node" }:report { over = "node", width = 100 }
    assert.equal(report, (by_node:gsub("by node", "by host")))
  end)

  it("folds many outliers into one line", function()
    local many = {}
    for i = 1, 40 do many[i] = i > 32 and 300 + i or 100 + i % 4 end
    local report = pmc.load { merged(many), over = "host" }:report { over = "host", width = 100 }
    assert.matches("cycles: node n[17-20]: 3.29 … 3.34 times the others", report, 1, true)
  end)

  it("has the same as JSON and as CSV", function()
    local result = pmc.load { merged(counts), over = "host" }
    local facts = require("dkjson").decode(result:report { over = "host", format = "json" })
    local cycles = facts.quantities[1]
    assert.same({ "host", "n[01-06]", 6, "n03", 202, 1 }, { facts.over, facts.hosts, cycles.n, cycles.at,
      cycles.max, #cycles.outliers })
    assert.same({ level = "n02", value = 102.5, times = 102.5 / 101.5 }, cycles.levels[2])
    assert.matches("\ncycles,rows,,,host,6,100.5,101.5,[%d.]+,202,n03,,n03\n", result:report { over = "host",
      format = "csv" })
    assert.matches("a report over a factor has no format 'hyperfine'",
      support.message_of(result.report, result, { over = "host", format = "hyperfine" }))
  end)

  it("says of a file without shards that it has none, and how a loaded result gets hosts", function()
    local path = merged(counts)
    assert.matches("over shard: no file is of a job's shard",
      support.message_of(pmc.load, { path, over = "shard" }))
    local result = pmc.load(path)
    assert.matches("there is no factor 'host': pmc.load { …, over = 'host' } makes it one",
      support.message_of(result.report, result, { over = "host" }), 1, true)
  end)

  it("has the threads of a repetition, without the whole", function()
    local path, threads = support.folder() .. "/t.jsonl", {}
    for i, count in ipairs { 10, 11, 12, 13, 90, 12 } do
      threads[i] = { counts = { count }, enabled = { 1 }, running = { 1 } }
    end
    local records = made.records({ { 148, 148, 148 } }, { threads = threads, levels = {}, iterations = 1 })
    made.stored(path, made.header { factors = {}, cells = { { workload = "rows", levels = {} } },
      events = { made.event "cycles" }, pass_events = { { 1 } } }, records)
    local report = pmc.load { path, over = "thread" }:report { over = "thread", width = 100 }
    assert.matches("\ncycles +6 +10 +12 +90 +3%.649 +thread 5\n", report)
    assert.matches("cycles: thread 5: 7.5 times the others", report, 1, true)
    assert.matches("over thread: no repetition was counted by thread",
      support.message_of(pmc.load, { merged { 1, 2 }, over = "thread" }))
  end)

  it("says in which region the imbalance is", function()
    local records, cells = {}, {}
    for i = 1, 6 do
      cells[i] = { workload = "rows", levels = { rank = i - 1 } }
      for _, region in ipairs { "parse", "solve" } do
        local count = region == "solve" and (i == 4 and 500 or 100) or 50 + i
        records[#records + 1] = made.record({ count }, { cell = i, levels = cells[i].levels, region = region,
          order = #records + 1, iterations = 1 })
      end
    end
    local result = made.result(made.header { factors = { { "rank", { 0, 1, 2, 3, 4, 5 } } }, cells = cells,
      events = { made.event "cycles" }, pass_events = { { 1 } } }, records)
    local report = result:report { over = "rank", width = 120 }
    assert.matches("imbalance of cycles: most in region solve, 333.3 more than the mean, at rank 3", report,
      1, true)
  end)

  it("has the shards of a job that divides blocks", function()
    local folder = support.folder()
    support.write(folder .. "/b.lua", [[return require("pmclua").experiment { workloads = "true",
      events = "page-faults", repetitions = 8, warmup = 0 }]])
    for i = 1, 2 do
      support.run({ support.program, "b.lua", "--job", "job", "--shard", i .. "/2", "--shard-by", "blocks" },
        { folder = folder })
    end
    local result = pmc.load { folder .. "/job", over = "shard" }
    assert.same({ 1, 2 }, result.factor_by_name.shard[2])
    assert.same({ 4, 4 }, { result:list()[1].repetitions, result:list()[2].repetitions })
  end)
end)
