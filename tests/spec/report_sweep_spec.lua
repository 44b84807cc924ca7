-- Tables over a factor: why a verdict is undecided, and which iterations stand behind a curve.

local made = require "tests.support.results"
local support = require "tests.support"
local add_record = require("pmclua.result").add

local LEVELS = { 64, 2048 }

-- Two kernels over n, with these values of cycles for each of rows and columns at each level.
local function result_of(values, iterations, more)
  local cells = {}
  for _, n in ipairs(LEVELS) do
    for _, name in ipairs { "rows", "columns" } do
      cells[#cells + 1] = { workload = name, levels = { n = n } }
    end
  end
  local header = made.header(support.merged({ baseline = "rows", primary = "cycles", cells = cells,
    repetitions = #values[1], factors = { { "n", LEVELS } }, events = { made.event "cycles" },
    pass_events = { { 1 } }, workloads = { { name = "rows", kind = "kernel", per = "iteration" },
      { name = "columns", kind = "kernel", per = "iteration" } } }, more))
  local result = require("pmclua.result").new(header)
  for number, cell in ipairs(cells) do
    for _, record in ipairs(made.records({ values[number] }, { workload = cell.workload, levels = cell.levels,
      cell = number, iterations = iterations[number] })) do add_record(result, record) end
  end
  result.status = "complete"
  return result
end

local function shown(result)
  return (result:report({ width = 100, utf8 = true }):gsub("\n%s+", " "))
end

local function series(from, step, count)
  local list = {}
  for i = 1, count do list[i] = from + step * ((i * 7) % count) end
  return list
end

local TEN = { 10, 10, 10, 10 }

describe("a table over a factor", function()
  it("says why a verdict is undecided: too few values", function()
    local a, b = series(100, 1, 4), series(150, 1, 4)
    local few = shown(result_of({ a, b, a, b }, TEN))
    assert.matches("undecided at n = 64, 2,048: .*needs %d+ values, there are 4", few)
  end)

  it("says why a verdict is undecided: the interval crosses the margin, with the interval", function()
    local text = shown(result_of({ series(100, 1, 12), series(90, 4, 12), series(100, 1, 12),
      series(200, 1, 12) }, TEN))
    assert.matches("undecided at n = 64 %([%d.]+ … [%d.]+%): the interval crosses the margin of ±1 %%", text)
    assert.is_nil(text:find "undecided at n = 64 .* 2,048 %(")
  end)

  it("says nothing where all is decided", function()
    local text = shown(result_of({ series(100, 1, 12), series(200, 1, 12), series(100, 1, 12),
      series(200, 1, 12) }, TEN))
    assert.is_nil(text:find("undecided", 1, true))
    assert.is_nil(text:find("a repetition has", 1, true))
  end)

  it("says which iterations stand behind a curve, where they are not the same", function()
    local values = { series(100, 1, 12), series(200, 1, 12), series(100, 1, 12), series(200, 1, 12) }
    local cold = shown(result_of(values, { 512, 400, 1, 1 }))
    local said = "a repetition has 512 iterations at n = 64, and 1 at n = 2,048: where they are few"
    assert.matches(said, cold, 1, true)
    local warm = shown(result_of(values, { 512, 400, 100, 90 }))
    assert.matches("a repetition has 512 iterations at n = 64, and 90 at n = 2,048", warm, 1, true)
    assert.is_nil(warm:find("colder", 1, true))
  end)

  it("has the factor down that has levels there, where another one has only one left", function()
    local cells = {}
    for _, n in ipairs { 1, 2, 4 } do
      for _, m in ipairs { "x", "y" } do
        cells[#cells + 1] = { workload = "rows", levels = { n = n, m = m } }
      end
    end
    local result = require("pmclua.result").new(made.header { cells = cells, repetitions = 4,
      factors = { { "n", { 1, 2, 4 } }, { "m", { "x", "y" } } }, events = { made.event "cycles" },
      pass_events = { { 1 } }, workloads = { { name = "rows", kind = "command", per = "run" } } })
    for number, cell in ipairs(cells) do
      local more = { workload = "rows", levels = cell.levels, cell = number }
      for _, record in ipairs(made.records({ series(100, 1, 4) }, more)) do add_record(result, record) end
    end
    result.status = "complete"
    local text = result:only { n = 2 }:report { width = 100, utf8 = true }
    assert.matches("\n%s*m +median", text)
    assert.matches("\n%s*x +101", text)
    assert.matches("\n%s*y +101", text)
  end)
end)

describe("what has no value", function()
  -- Commands over a factor, with and without another cell; page faults are counted, cycles are not.
  local function measured(more)
    return support.experiment(support.merged({ workloads = { "true" }, factors = { { "n", { 1, 2 } } },
      events = "page-faults,major-faults", metrics = { "ratio = page_faults / major_faults",
        "never = page_faults / (page_faults - page_faults)" }, repetitions = 2, warmup = 0, seed = 1 }, more))
  end

  it("is in every table of several cells, with the reason", function()
    local others = { { workloads = { "true", "ls /" } },
      { workloads = { "true", "ls /" }, baseline = "true" },
      { workloads = { "true", "ls /" }, baseline = "true", factors = {} },
      { workloads = { "true", "ls /", "ls /usr" }, baseline = "true", factors = {} }, { factors = {} },
      { workloads = { "true", "ls /" }, factors = {} } }
    for i, more in ipairs { {}, unpack(others) } do
      local result = measured(more)
      for _, format in ipairs { "table", "markdown", "html" } do
        local text = result:report { format = format, width = 160, utf8 = true }:gsub("&[lg]t;", "*")
          :gsub("[<>]", "*"):gsub("\\", "")
        assert.matches("*absent*: major_faults is 0", text, 1, true, i .. format)
        assert.matches("*absent*: (page_faults - page_faults) is 0", text, 1, true, i .. format)
      end
    end
  end)

  it("is told of single cells too, under the table of the others", function()
    local text = shown(result_of({ series(100, 1, 12), {}, series(100, 1, 12), series(90, 1, 12) }, TEN))
    assert.matches("– columns, n = 64: <not counted>", text, 1, true)
    assert.is_nil(text:find("without a value", 1, true))
  end)

  it("is told where no cell has a value of anything", function()
    local text = shown(measured { metrics = {}, events = "2:99999" })
    assert.matches("without a value in any cell", text)
    assert.matches("2:99999 +– +<not supported>: ", text)
  end)
end)
