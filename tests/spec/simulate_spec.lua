-- --simulate and simulate = true: what Valgrind counts in place of what cannot be opened; gates on such counts, from
-- whatever host their baseline is.

local metric = require "pmclua.metric"
local simulated = require "pmclua.event.simulated"
local support = require "tests.support"

local function need()
  support.need(support.have "valgrind", "Valgrind is not installed")
  support.need_unwatched "what Valgrind runs is run under nothing else"
  support.need(not support.have_pmu(), "hardware events can be opened here")
end

describe("an event's counterpart", function()
  local function of(spec) return simulated.counterpart(require("pmclua.event").parse(spec)[1]) end

  it("is what Valgrind has that counts its like in user space", function()
    assert.equal("instructions", of "instructions")
    assert.equal("instructions", of "instructions:u")
    assert.equal("branches", of "branch-instructions")
    assert.equal("l1d-load-misses", of "L1-dcache-load-misses")
    assert.equal("ll-misses", of "cache-misses")
  end)

  it("is none where Valgrind has nothing like it", function()
    local specs = { "cycles", "instructions:k", "page-faults", "dTLB-loads", "r1a2", "duration_time" }
    for _, spec in ipairs(specs) do assert.is_nil(of(spec), spec) end
  end)

  it("is named by the refusal and by the exit status 77 of a gate", function()
    need()
    local refused = support.pmclua { "stat", "-e", "cycles", "--", "true" }
    assert.matches("%-%-simulate has%s+Valgrind count", refused.err)
    local gate = support.pmclua { "gate", "--against", "true", "--limit", "instructions <= +1%", "-r", "3",
      "--", "true" }
    assert.equal(77, gate.status)
    assert.matches("%-%-simulate has Valgrind count valgrind::instructions", gate.out)
  end)
end)

describe("simulate = true", function()
  local function measured(spec)
    need()
    return support.experiment(support.merged({ workloads = { "true" }, repetitions = 3, warmup = 0,
      simulate = true }, spec))
  end

  it("puts Valgrind's event in the place of what cannot be opened, under its name, with a note", function()
    local r = measured { events = { "instructions", "cycles", "page-faults" } }
    local names = {}
    for i, event in ipairs(r.header.events) do names[i] = event.name end
    assert.same({ "valgrind::instructions", "cycles", "page-faults" }, names)
    assert.matches("^in place of instructions: ", r.header.events[1].note)
    local cell = r:cells()()
    assert.equal("simulated", cell:summary("valgrind_instructions").status)
    assert.equal("unsupported", cell:summary("cycles").status)
    assert.equal(3, cell:summary("page_faults").n)
  end)

  it("follows the event into metrics, limits, predictions, the primary and margins", function()
    local r = measured { events = { "instructions", "branches" }, primary = "instructions",
      margin = { instructions = "0.1%" }, gate = { "instructions <= 5" }, expect = { "branches > 5" },
      metrics = { "branch_miss_rate", "twice = 2 * instructions" }, reject_if = "instructions < 1" }
    local header, cell = r.header, r:cells()()
    assert.same({ "valgrind_instructions <= 5", "valgrind_branches > 5", "valgrind_instructions < 1" },
      { header.gate[1], header.expect[1], header.reject_if })
    assert.equal("valgrind_instructions", header.primary)
    assert.equal(0.001, header.margin.valgrind_instructions)
    assert.equal(2 * cell.valgrind_instructions.median, cell.twice.median)
    assert.equal("simulated", cell:summary("twice").status)
    assert.equal(cell.valgrind_branch_misses.median / cell.valgrind_branches.median,
      cell.sim_branch_miss_rate.median)
  end)

  it("renames a named metric that has no counterpart of its own", function()
    local cell = measured { events = { "instructions", "cycles" }, metrics = { "ipc" } }:cells()()
    assert.equal("unsupported", cell:summary("sim_ipc").status)
  end)

  it("keeps the name that the script gave, and a {group} without what was replaced", function()
    local r = measured { events = { "mine = instructions", "{branches,page-faults,task-clock}" } }
    assert.equal(3, #r.header.pass_events[1] + #r.header.pass_events[2] - 1)
    local cell = r:cells()()
    assert.equal("simulated", cell:summary("mine").status)
    assert.equal("counted", cell:summary("page_faults").status)
  end)

  it("compares settled counts exactly, and settles those of both sides", function()
    need()
    local pmc = require "pmclua"
    local r = pmc.compare("true", "ls -d /", { events = "instructions", simulate = true, quiet = true })
    local row = r:compare().pairs[1].rows[1]
    assert.same({ "more", "exact", 2, 2 }, { row.verdict.verdict, row.verdict.method, row.verdict.n,
      row.verdict.n_baseline })
    local equal = pmc.compare("true", pmc.command { "true", name = "again" },
      { events = "instructions", simulate = true, quiet = true })
    assert.equal("same", equal:compare().pairs[1].rows[1].verdict.verdict)
  end)

  it("leaves other runs what they were: their times and counts are of passes of their own", function()
    local r = measured { events = { "instructions", "duration_time", "page-faults" }, repetitions = 6,
      metrics = { "pace = instructions / duration_time" } }
    local cell = r:cells()()
    assert.same({ 2, 6, 6, 6 }, { cell:summary("valgrind_instructions").n, cell:summary("duration_time").n,
      cell:summary("page_faults").n, cell:summary("pace").n })
  end)
end)

describe("named metrics of simulated events", function()
  it("need Valgrind's events alone", function()
    for _, name in ipairs(metric.names()) do
      if name:find "^sim_" then
        for _, need_of in ipairs(metric.named(name).needs) do assert.is_string(simulated.spec_of(need_of)) end
      end
    end
    assert.is_table(metric.named "sim_l1d_miss_rate")
  end)
end)

describe("a gate on simulated counts", function()
  local function stored(words, name)
    need()
    local path = support.folder() .. "/" .. name .. ".jsonl"
    local args = { "stat", "--no-report", "-e", "valgrind::instructions", "-r", "3", "--name", "it",
      "--store", path, "--" }
    for _, word in ipairs(words) do args[#args + 1] = word end
    assert.equal(0, support.pmclua(args).status)
    return path
  end

  -- The same result as if it had been made elsewhere.
  local function elsewhere(path, changes)
    local text = support.read(path)
    for pattern, by in pairs(changes) do
      local count
      text, count = text:gsub(pattern, by, 1)
      assert.equal(1, count, pattern)
    end
    return support.write(support.folder() .. "/elsewhere.jsonl", text)
  end

  local OTHER_HOST = { ['"cpu":"[^"]*"'] = '"cpu":"Another"', ['"os_kernel":"[^"]*"'] = '"os_kernel":"5.10"' }

  it("takes a baseline of another host, and says what could still differ", function()
    local path = stored({ "true" }, "here")
    local there = support.merged(OTHER_HOST, { ['"valgrind":"[%d.]+"'] = '"valgrind":"3.0.1"' })
    local gate = support.pmclua { "gate", elsewhere(path, there), path, "--limit",
      "valgrind_instructions <= +0.05%" }
    assert.equal(0, gate.status, gate.err)
    assert.matches("the limit holds", gate.out)
    assert.matches("by more than the program: Valgrind %([%d.]+ here, 3.0.1 there%) and Linux", gate.out)
  end)

  it("finds what is planted, of one per mille, and nothing where nothing is", function()
    local folder = support.folder()
    local function loop(count, name)
      local program = support.write(folder .. "/program", ("i=0; while [ $i -lt %d ]; do i=$((i+1)); done")
        :format(count))
      return stored({ "sh", program }, name)
    end
    local before, after, again = loop(500, "before"), loop(501, "after"), loop(500, "again")
    local limit = { "--limit", "valgrind_instructions <= +0.05%" }
    assert.equal(3, support.pmclua { "gate", before, after, unpack(limit) }.status)
    assert.equal(0, support.pmclua { "gate", after, before, unpack(limit) }.status)
    assert.equal(0, support.pmclua { "gate", before, again, unpack(limit) }.status)
  end)

  it("does not compare counts of other surroundings, nor other events of another host", function()
    local path = stored({ "true" }, "pinned")
    local other = elsewhere(path, { ['"environment":"pinned"'] = '"environment":"inherit"' })
    local gate = support.pmclua { "gate", other, path, "--limit", "valgrind_instructions <= +1%" }
    assert.equal(77, gate.status)
    assert.matches("simulated with environment pinned here, inherit in the baseline", gate.out)
    local strict = support.pmclua { "gate", elsewhere(path, OTHER_HOST), path, "--limit", "wall_ns <= +900%" }
    assert.equal(1, strict.status)
    assert.matches("from another host", strict.err)
  end)
end)
