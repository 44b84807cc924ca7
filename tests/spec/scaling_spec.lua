-- How times scale over ranks and threads: speed-up, efficiency, the serial share, and what reports and plots say of them.

local decode = require("dkjson").decode
local lists = require "pmclua.base.lists"
local made = require "tests.support.results"
local reference = require "tests.fixtures.stats.scaling"
local scaling = require "pmclua.stats.scaling"
local simulate = require "tests.bench.simulate"
local support = require "tests.support"

local function near(expected, found, share)
  assert.is_true(math.abs(found - expected) <= (share or 1e-6) * math.abs(expected),
    ("%.12g is not %.12g"):format(found, expected))
end

describe("the serial share", function()
  it("agrees with SciPy", function()
    for _, one in ipairs(reference) do
      local found = scaling.fit(one.levels, one.times, one.law)
      near(one.share, found.share.value)
      near(one.low, found.share.low)
      near(one.high, found.share.high)
    end
  end)

  -- By hand: with s = 1/5 times are 1, 3/5, 2/5 and 3/10; of grown work 1, 10/9, 20/17 and 40/33.
  it("is exact where times are", function()
    for law, times in pairs { amdahl = { 1, 0.6, 0.4, 0.3 }, gustafson = { 1, 10 / 9, 20 / 17, 40 / 33 } } do
      local found = scaling.fit({ 1, 2, 4, 8 },
        support.sequence(4, function(i) return { times[i] * 7 } end), law)
      near(0.2, found.share.value)
      near(7, found.at(1))
      assert.is_true(math.abs(found.residuals[3].value) < 1e-9)
    end
  end)

  it("is from 0 to 1, also where times fall faster or rise", function()
    assert.equal(0, scaling.fit({ 1, 2, 4 }, { { 8 }, { 3 }, { 1 } }, "amdahl").share.value)
    assert.equal(1, scaling.fit({ 1, 2, 4 }, { { 8 }, { 9 }, { 12 } }, "amdahl").share.value)
    assert.equal(0, scaling.fit({ 1, 2, 4 }, { { 8 }, { 8 }, { 7 } }, "gustafson").share.value)
  end)

  it("has intervals that hold the truth in 93 of 100 experiments at least", function()
    for _, law in ipairs { "amdahl", "gustafson" } do
      assert.is_true(simulate.scaling(law, 0.05, 10, 0.05, 300, 7) >= 0.93)
    end
  end)

  it("is none of two levels, of a time of 0, and of levels without the same blocks", function()
    local function why(...) return select(2, scaling.fit(...)) end
    assert.equal("a fit takes 3 levels, there are 2", why({ 1, 2 }, { { 1 }, { 2 } }, "amdahl"))
    assert.equal("a time at 2 is 0, which has no logarithm",
      why({ 1, 2, 3 }, { { 1 }, { 0 }, { 1 } }, "amdahl"))
    assert.equal("not every level has a time of each block",
      why({ 1, 2, 3 }, { { 1 }, { 1, 2 }, { 1 } }, "amdahl"))
  end)
end)

local RANKS = { 1, 2, 4, 8 }

-- A result over ranks: the time of each level (false: it has none) in each of ten blocks, of which the last take
-- twice as long.
local function result_of(times, more)
  more = more or {}
  local ranks, records = more.ranks or RANKS, {}
  local cells = support.sequence(#times, function(i)
    return { workload = "rows", levels = { ranks = ranks[i] } }
  end)
  for index = 1, more.repetitions or 10 do
    for i, time in ipairs(times) do
      local noise = 1 + 0.001 * ((7 * index + 3 * i) % 5 - 2)
      local count = time and math.floor(time * noise * (index > 7 and 2 or 1) + 0.5)
      records[#records + 1] = count and made.record({ count, 3 }, { cell = i, levels = cells[i].levels,
        index = index, order = #records + 1, iterations = 1 }) or nil
    end
  end
  local events = { made.event(more.event or "duration_time", { unit = "ns" }), made.event "page-faults" }
  return made.result(made.header { factors = { { "ranks", ranks } }, cells = cells, events = events,
    pass_events = { { 1, 2 } } }, records)
end

local STRONG = { 1e8, 0.6e8, 0.4e8, 0.3e8 }

describe("a report on scaling", function()
  it("has speed-up and efficiency against the smallest level, by block, and what the share means", function()
    local report = result_of(STRONG):report { scaling = "ranks", width = 120 }
    assert.matches("duration_time · rows · strong scaling over ranks · 10 blocks", report, 1, true)
    assert.matches("\n +8 [^\n]+ ms +[%d.]+ … [%d.]+ +3%.3%d* +3%.3%d* … 3%.3%d* +41%.%d+ %%", report)
    assert.matches("serial share 20%.?%d* %% %[[^]]+%] %(Amdahl%): at most [45][.%d]* %[[^]]+%] times",
      report)
    assert.is_nil(report:find "does not describe")
  end)

  it("of grown work scales the speed-up, and says what each more adds", function()
    local weak = result_of({ 1e8, 1e9 / 9, 2e9 / 17, 4e9 / 33 }):report { scaling = "ranks", weak = true,
      width = 1000 }
    assert.matches("weak scaling over ranks", weak, 1, true)
    assert.matches("\n +8 [^\n]+ 6%.[56]%d* ", weak)
    assert.matches("(Gustafson): every 1 more of ranks adds 80 % of what ranks 1 does in the same time",
      weak, 1, true)
  end)

  it("says where the law does not describe the times", function()
    local report = result_of({ 1e8, 0.5e8, 0.25e8, 0.6e8 }):report { scaling = "ranks", width = 1000 }
    assert.matches("Amdahl's law does not describe these times: [^\n]*ranks 8 takes %d+ %% longer than",
      report)
    assert.matches("(Amdahl): of the nearest curve; nothing follows for levels that were not", report,
      1, true)
    assert.is_nil(report:find "at most")
  end)

  it("has no limit of what scales ideally, and no interval of few repetitions", function()
    local ideal = result_of { 8e8, 3.98e8, 1.98e8, 0.985e8 }
    assert.matches("no limit is seen", ideal:report { scaling = "ranks" }, 1, true)
    local facts = decode(ideal:report { scaling = "ranks", format = "json" })
    assert.is_nil(facts.quantities[1].limit.value)
    local few = result_of(STRONG, { repetitions = 3 }):report { scaling = "ranks", width = 1000 }
    assert.matches("at most some 5.00 times as fast as at ranks 1, however many; no interval: ", few, 1, true)
  end)

  it("says that what it says of one is extrapolated where the smallest level is another", function()
    local report = result_of(STRONG, { ranks = { 2, 4, 8, 16 } }):report { scaling = "ranks", width = 1000 }
    assert.matches("speed-ups are against ranks 2; what is said of ranks 1 is extrapolated", report, 1, true)
  end)

  it("is against the smallest level that has a time", function()
    local report = result_of({ false, 5e8, 3e8, 2e8 }):report { scaling = "ranks", width = 120 }
    assert.matches("speed-ups are against ranks 2", report, 1, true)
    local absent = lists.by(decode(result_of({ false, 5e8, 3e8, 2e8 }):report { scaling = "ranks",
      format = "json" }).quantities[1].points, "level")[1]
    assert.equal("no repetition has a count for it", absent.why)
    local plot = result_of({ false, 5e8, 3e8, 2e8 }):plot { kind = "scaling", width = 100 }
    assert.matches("against ranks 2", tostring(plot), 1, true)
  end)

  it("compares levels of several runs unpaired", function()
    local folder, paths = support.folder(), {}
    for i, ranks in ipairs(RANKS) do
      local counts = support.sequence(8, function(k)
        return math.floor(STRONG[i] * (1 + 0.001 * (k * (i + 2) % 7)))
      end)
      paths[i] = made.stored(("%s/%d.jsonl"):format(folder, ranks), made.header {
        factors = { { "ranks", { ranks } } },
        cells = { { workload = "rows", levels = { ranks = ranks } } },
        events = { made.event("duration_time", { unit = "ns" }) }, pass_events = { { 1 } } },
        made.records({ counts }, { levels = { ranks = ranks }, iterations = 1 }))
    end
    local run = support.pmclua { "report", "--scaling", "ranks", unpack(paths) }
    assert.equal(0, run.status, run.err)
    assert.matches("8 repetitions each, not interleaved", run.out, 1, true)
    assert.matches("serial share 20", run.out, 1, true)
  end)

  it("has the same as JSON and as CSV", function()
    local result = result_of(STRONG)
    local facts = decode(result:report { scaling = "ranks", format = "json" })
    local found = facts.quantities[1]
    assert.same({ "ranks", false, "duration_time", "amdahl", true, true, 10, 4 }, { facts.scaling, facts.weak,
      found.name, found.law, found.paired, found.holds, found.n, #found.points })
    near(1 / 0.3, found.points[4].speedup.value, 0.01)
    near(found.points[4].speedup.value / 8, found.points[4].efficiency.value)
    near(1 / found.serial.low, found.limit.high)
    local lines = lists.collect(result:report({ scaling = "ranks", format = "csv" }):gmatch "[^\r\n]+")
    assert.equal(5, #lines)
    assert.matches("^name,workload,of,unit,scaling,law,level,n,time,time_low,time_high,speedup,", lines[1])
    assert.matches("^duration_time,rows,rows,ns,ranks,amdahl,8,10,", lines[5])
  end)

  it("is refused for levels that are no numbers, for two levels, and for what is no time", function()
    local function why(result, options) return support.message_of(result.report, result, options) end
    local result = result_of(STRONG)
    assert.matches("scaling over 'rank': there is no such factor; did you mean 'ranks'?",
      why(result, { scaling = "rank" }), 1, true)
    assert.matches("its level many is no number above 0",
      why(result_of(STRONG, { ranks = { 1, 2, 4, "many" } }), { scaling = "ranks" }))
    assert.matches("a fit takes 3 levels, there are 2", why(result_of { 2e8, 1e8 }, { scaling = "ranks" }))
    assert.matches("scaling takes an elapsed time: page_faults is none",
      why(result, { scaling = "ranks", show = "page-faults" }))
    assert.matches("none was measured: %-e duration_time",
      why(result_of(STRONG, { event = "task-clock" }), { scaling = "ranks" }))
    assert.matches("task_clock is CPU time, of all ranks and threads added up",
      why(result_of(STRONG, { event = "task-clock" }), { scaling = "ranks", show = "task-clock" }))
    assert.matches("a report on scaling has no format 'hyperfine'",
      why(result, { scaling = "ranks", format = "hyperfine" }))
  end)
end)

describe("a plot of scaling", function()
  it("has the speed-ups, the ideal line and the law that was fitted", function()
    local plot = result_of(STRONG):plot { kind = "scaling" }
    local ideal, curve, marks = unpack(plot.chart.panels[1].series)
    assert.same({ "ideal", 8, 8 }, { ideal.title, unpack(ideal.data[#ideal.data]) })
    near(1 / 0.3, curve.data[#curve.data][2], 0.01)
    near(1 / 0.3, marks.data[4][2], 0.01)
    assert.is_true(marks.data[4][3] < marks.data[4][2] and marks.data[4][4] > marks.data[4][2])
    assert.matches("^rows: serial share 20 %%$", marks.title)
  end)
end)
