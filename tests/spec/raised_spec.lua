-- Errors that a script's own functions raise: what was measured is kept, and nothing ends as success.

local pmc = require "pmclua"
local raised = require "pmclua.base.raised"
local support = require "tests.support"

local REPETITIONS, BEFORE = 6, 3

-- A function that raises `value` when it is called for the last time of these.
local function raise_at(calls, value)
  local count = 0
  return function()
    count = count + 1
    if count == calls then error(value, 0) end
  end
end

local function nothing() end

local function run(spec, options)
  spec.events, spec.repetitions, spec.warmup = "page-faults", REPETITIONS, 0
  spec.workloads = spec.workloads or { nothing }
  return support.experiment(spec, options)
end

-- A run in which a key's function raises at the call after BEFORE repetitions.
local function run_raising(key, value)
  local calls = { setup = 1, cleanup = 1, each = BEFORE, conclude = BEFORE }
  local fn = raise_at(calls[key] or BEFORE + 1, value)
  if key == "workload" then return run { workloads = { fn } } end
  if key == "each" then return run({}, { each = fn }) end
  return run { [key] = fn }
end

local KEPT = { workload = BEFORE, setup = 0, prepare = BEFORE, conclude = BEFORE - 1, each = BEFORE,
  cleanup = REPETITIONS }

describe("an error of a script's function", function()
  local printing = setmetatable({}, { __tostring = function() return "boom" end })
  local VALUES = { ["nil"] = { nil, "error%(%) without a message" }, string = { "boom", "boom" },
    number = { 17, "17" }, boolean = { false, "false" }, ["a table"] = { {}, "a table that has no message" },
    ["a table with a message"] = { { message = "boom" }, "boom" }, ["an object"] = { printing, "boom" } }

  for kind, case in pairs(VALUES) do
    it("keeps what was measured, whatever it is: " .. kind, function()
      for key, kept in pairs(KEPT) do
        local result = run_raising(key, case[1])
        local cell = result:list()[1]
        assert.equal("failed", result.status, key)
        assert.equal(kept, cell and cell.repetitions or 0, key)
        assert.matches(case[2], result.problem.message, nil, nil, key)
        assert.equal(case[1], result.problem.value, key)
      end
    end)
  end

  it("is told with its function's key, or the workload", function()
    assert.matches("^prepare failed: boom$", run_raising("prepare", "boom").problem.message)
    assert.matches("^each failed: boom$", run_raising("each", "boom").problem.message)
    local result = run { workloads = { name = raise_at(1, "boom") }, factors = { { "n", { 7 } } } }
    assert.equal("name, n = 7: boom", result.problem.message)
    assert.equal("EWORKLOAD", result.problem.code)
  end)

  it("has the script's frames, from where it was raised, and none of pmclua's", function()
    local function deep() error "boom" end
    local function mid() deep() return 1 end
    local function workload() mid() return 1 end
    for _, result in ipairs { run { workloads = { workload } }, run { setup = workload } } do
      local trace = result.problem.traceback
      assert.matches("in function 'deep'\n[^\n]*in function 'mid'\n[^\n]*spec.lua:%d+: in function", trace)
      assert.is_nil(trace:find "pmclua%.%l")
      assert.matches("boom.*stack traceback:", tostring(result.problem))
      assert.is_nil(tostring(result):find "stack traceback")
    end
  end)

  it("of pmclua's own, which it did not catch, is told with its message and the script's frames", function()
    local function refused() pmc.group { "page-fautls" } end
    local result = run { workloads = { refused } }
    assert.matches("page%-fautls.*did you mean", result.problem.message)
    assert.matches("raised_spec.lua:%d+: in function", result.problem.traceback)
  end)

  it("that fills the stack is told, too", function()
    local function endless() return 1 + endless() end
    assert.matches("stack overflow", run { workloads = { endless } }.problem.message)
  end)

  it("that cannot be printed is told, too", function()
    local broken = setmetatable({}, { __tostring = function() error "worse" end })
    assert.matches("worse", run { workloads = { raise_at(1, broken) } }.problem.message)
    local strict = setmetatable({}, { __index = function(_, name) error("no " .. name) end })
    assert.equal("failed", run { prepare = raise_at(1, strict) }.status)
    assert.matches("no message", raised.message(strict))
  end)

  it("of `each` ends a run soon whose runner goes on by itself", function()
    local result = support.experiment({ workloads = { "true" }, events = "page-faults", warmup = 0,
      repetitions = 5000, cleanup = nothing }, { each = raise_at(BEFORE, "boom") })
    assert.equal("each failed: boom", result.problem.message)
    assert.equal(BEFORE, result:list()[1].repetitions)
  end)

  it("leaves a stored run that can be resumed", function()
    local path = support.folder() .. "/stored.jsonl"
    local function declared(prepare)
      return { prepare = prepare, seed = 1, workloads = { name = nothing } }
    end
    assert.equal("failed", run(declared(raise_at(BEFORE + 1)), { store = path }).status)
    assert.equal("interrupted", pmc.load(path).status)
    local result = run(declared(nothing), { resume = path })
    assert.equal("complete", result.status)
    assert.equal(REPETITIONS, pmc.load(path):list()[1].repetitions)
  end)
end)

describe("on_failure of a Lua function", function()
  local function outcomes(on_failure, store)
    local list = {}
    local result = run({ workloads = { raise_at(2, "boom") }, on_failure = on_failure },
      { store = store, each = function(record) list[#list + 1] = record.outcome end })
    return table.concat(list, " "), result
  end

  it("stops by default, leaves out, or counts, as of a command", function()
    local stopped, result = outcomes "stop"
    assert.equal("done raised", stopped)
    assert.equal(1, result:list()[1].page_faults.n)
    assert.matches('"skip" leaves them out$', result.problem.hint)
    local skipped
    skipped, result = outcomes "skip"
    assert.equal("done rejected done done done done", skipped)
    assert.equal(REPETITIONS - 1, result:list()[1].page_faults.n)
    assert.matches("1 repetition left out, the first: boom", tostring(result))
    local kept
    kept, result = outcomes "keep"
    assert.equal("done raised done done done done", kept)
    assert.equal(REPETITIONS, result:list()[1].page_faults.n)
    assert.same({ raised = 1 }, result:list()[1].failed)
    assert.matches("1 raised; its failed runs", tostring(result))
  end)

  it("is the same of a stored result", function()
    for _, on_failure in ipairs { "stop", "skip", "keep" } do
      local path = support.folder() .. "/stored.jsonl"
      local _, result = outcomes(on_failure, path)
      assert.equal(result:list()[1].page_faults.n, pmc.load(path):list()[1].page_faults.n)
      assert.same(result:list()[1].failed, pmc.load(path):list()[1].failed)
    end
  end)
end)

describe("a run that failed", function()
  local FAILING = 'pmc.measure(%s, { events = "page-faults", quiet = true })'

  -- A chunk's exit status and what it says.
  local function chunk(text, ...)
    local ran = support.pmclua { "-e", text:format(...) }
    return ran.status, ran.err, ran.out
  end

  it("makes the exit status 1, and is told, where the script does not look", function()
    for _, workload in ipairs { '"false"', "function() error() end", 'function() error "boom" end' } do
      local failing = FAILING:format(workload)
      for _, text in ipairs { "%s", "print(%s)", "return %s", "local r = %s", "for _ = 1, 2 do %s end" } do
        local status, err = chunk(text, failing)
        assert.equal(1, status, text)
        assert.matches("^pmclua: [^\n]+ exit status 1;", (err:gsub(" error%(%).-;", " exit status 1;")
          :gsub("boom;", " exit status 1;")))
      end
    end
  end)

  it("is the script's business where it looks, or has a status of its own", function()
    local failing = FAILING:format '"false"'
    assert.same({ 0, "", "failed\n" }, { chunk("print(%s.status)", failing) })
    assert.same({ 0, "", "" }, { chunk("assert(%s.problem)", failing) })
    assert.equal(0, (chunk("%s return 0", failing)))
    assert.equal(7, (chunk("%s return 7", failing)))
    assert.equal(1, (chunk("print(%s.status) %s", failing, failing)))
  end)

  it("gives a script that pmc.script runs its status", function()
    local path = support.write(support.folder() .. "/script.lua",
      'local pmc = require "pmclua"\n' .. FAILING:format '"false"')
    local status, _, out = chunk("print(pmc.script %q)", path)
    assert.same({ 1, "1\n" }, { status, out })
  end)

  it("is no success of an experiment, its gate or its report", function()
    for _, value in ipairs { "", '"boom"', "{}" } do
      local path = support.write(support.folder() .. "/script.lua", ([[
        local count = 0
        return require("pmclua").experiment { events = "page-faults", repetitions = 6, warmup = 0,
          gate = "page_faults <= 1e9",
          workloads = { function()
            count = count + 1
            if count == 4 then error(%s) end
          end } }]]):format(value))
      local ran = support.pmclua { path, "--no-store" }
      assert.equal(1, ran.status)
      assert.matches("3 repetitions", ran.out)
      assert.matches("stopped at a failure", ran.out)
      assert.matches("the run stopped at a failure, after 3 of 6 repetitions", ran.err)
    end
  end)
end)
