-- The A/A control: the baseline once more, and the noise floor that it gives.

local made = require "tests.support.results"
local pmc = require "pmclua"
local report = require "pmclua.report"
local result = require "pmclua.result"
local support = require "tests.support"
local add_record = require("pmclua.result").add

local REPETITIONS = 30

local function header()
  return made.header { factors = {}, primary = "cycles", baseline = { workload = "old" },
    repetitions = REPETITIONS, workloads = { { name = "old", kind = "command", per = "run" },
      { name = "new", kind = "command", per = "run" },
      { name = "old (A/A)", kind = "command", per = "run", control = "old" } },
    cells = { { workload = "old", levels = {} }, { workload = "new", levels = {} },
      { workload = "old (A/A)", levels = {} } } }
end

-- Cycles of three cells around their middles; the control's in a spread of its own.
local function measured(middles, spread, repetitions)
  local r, random = result.new(header()), require("pmclua.stats").random(11)
  for i = 1, repetitions or REPETITIONS do
    for cell, middle in ipairs(middles) do
      local share = cell == 3 and spread or 0.001
      local cycles = math.floor(middle * math.exp(share * random:normal()))
      add_record(r, made.record({ cycles, 7, 1 }, { cell = cell, levels = {},
        workload = r.header.cells[cell].workload, index = i, order = 3 * i + cell, iterations = 1 }))
    end
  end
  r.status = "complete"
  return r
end

local function verdict(r) return r:compare({}).pairs[1].rows[1].verdict end

describe("a control", function()
  it("makes a difference below what equals show undecided, and says so", function()
    local found = verdict(measured({ 1e6, 1.03e6, 1e6 }, 0.2))
    assert.equal("undecided", found.verdict)
    assert.is_true(found.floor > 0.03)
    assert.matches("noise floor (A/A)", found.reason, 1, true)
  end)

  it("leaves a difference above it", function()
    local found = verdict(measured({ 1e6, 1.03e6, 1e6 }, 0.002))
    assert.equal("more", found.verdict)
    assert.is_true(found.floor < 0.01)
  end)

  it("is in the footnote of a comparison, and in JSON", function()
    local r = measured({ 1e6, 1.03e6, 1e6 }, 0.002)
    local text = report.render(r, { width = 80, utf8 = true, colour = false })
    assert.matches("· noise floor %(A/A%) 0.%d+ %%", text)
    local decoded = require("dkjson").decode(report.render(r, { format = "json" }))
    assert.is_number(decoded.comparisons[1].verdicts[1].floor)
    assert.equal("old", decoded.cells[3].control)
  end)

  it("is no cell of its own in tables, and not compared", function()
    local r, names = measured({ 1e6, 1.03e6, 1e6 }, 0.002), {}
    for cell in r:cells() do names[#names + 1] = cell.workload end
    assert.same({ "old", "new" }, names)
    assert.equal(1, #r:compare({}).pairs)
    local all = 0
    for _ in r:cells(true) do all = all + 1 end
    assert.equal(3, all)
    assert.is_nil(report.render(r, { width = 80, utf8 = true }):find("old (A/A)", 1, true))
  end)

  it("stays with the cells that are chosen, and with more metrics", function()
    local r = measured({ 1e6, 1.03e6, 1e6 }, 0.2):with({ metrics = "ipc" })
    assert.equal("undecided", verdict(r:only { workload = { "old", "new" } }).verdict)
  end)

  it("with too few repetitions gives no floor, and says so", function()
    local text = report.render(measured({ 1e6, 1.03e6, 1e6 }, 0.2, 3), { width = 120, utf8 = true })
    assert.matches("no noise floor: the A/A control has too few repetitions", text, 1, true)
  end)
end)

describe("an experiment with a control", function()
  local function experiment(options)
    local spec = { workloads = { "true", "ls /" }, events = "page-faults", repetitions = 6, warmup = 0,
      factors = { { "n", { 1, 2 } } }, baseline = "true", control = true }
    for key, value in pairs(options or {}) do spec[key] = value end
    return pmc.experiment(spec)
  end

  it("runs each baseline once more, interleaved, and stores it", function()
    local path = support.folder() .. "/r.jsonl"
    local r = experiment():run { store = path, quiet = true }
    local controls = {}
    for cell in pmc.load(path):cells(true) do
      local is_it = { cell.workload, cell.control, cell.n, cell.repetitions }
      if cell.control then controls[#controls + 1] = is_it end
    end
    assert.same({ { "true (A/A)", "true", 1, 6 }, { "true (A/A)", "true", 2, 6 } }, controls)
    assert.is_number(r:compare({}).pairs[1].rows[1].verdict.floor)
  end)

  it("of a level runs every workload at that level once more", function()
    local plan = experiment({ baseline = { n = 1 } }):plan()
    assert.matches("true (A/A) n=1", plan, 1, true)
    assert.matches("ls / (A/A) n=1", plan, 1, true)
    assert.is_nil(plan:find("(A/A) n=2", 1, true))
  end)

  it("needs a baseline", function()
    local ok, problem = pcall(pmc.experiment,
      { workloads = { "true" }, events = "page-faults", control = true })
    assert.is_false(ok)
    assert.matches("there is no baseline", tostring(problem), 1, true)
  end)

  it("is what pmclua compare makes where it is asked for", function()
    local run = support.pmclua { "compare", "--control", "--repetitions", "6", "-e", "page-faults",
      "true", "ls /" }
    assert.equal(0, run.status)
    assert.matches("noise floor (A/A)", run.out, 1, true)
  end)
end)
