-- Progress: a step is begun before it runs, so that the time left is reckoned with all that are over.

local pmc = require "pmclua"
local support = require "tests.support"

-- What is begun and recorded, in order: "b1 r1 b2 r2".
local function sequence(spec)
  local progress, list = require "pmclua.experiment.progress", {}
  local new = progress.new
  progress.new = function()
    return { begin = function(_, order) list[#list + 1] = "b" .. order end, tick = function() end,
      clear = function() end }
  end
  local ok, why = pcall(function()
    pmc.experiment(spec):run { store = false, quiet = true,
      each = function(record) list[#list + 1] = "r" .. record.order end }
  end)
  progress.new = new
  assert(ok, why)
  return table.concat(list, " ")
end

describe("progress", function()
  it("begins each repetition before it runs, where the runner repeats by itself too", function()
    local expected = "b1 r1 b2 r2 b3 r3 b4 r4 b5 r5"
    local spec = { workloads = { "true" }, events = "page-faults", repetitions = 4, warmup = 1 }
    assert.equal(expected, sequence(spec))
    support.need(support.have "cc", "no C compiler")
    spec.workloads = { pmc.snippet { asm = "nop" } }
    spec.iterations = 3
    assert.equal(expected, sequence(spec))
  end)
end)

describe("the exit status", function()
  local function status(events)
    local script = support.write(support.folder() .. "/s.lua", ([[
local pmc = require "pmclua"
return pmc.experiment { workloads = { "true" }, repetitions = 1, events = { %s } }]]):format(events))
    return support.pmclua({ script, "--no-store" }).status
  end

  it("is 0 where a time decides, though a counter beside it could not count", function()
    assert.equal(0, status '"duration_time", "context-switches:u"')
    assert.equal(77, status '"context-switches:u", "duration_time"')
    assert.equal(77, status '"context-switches:u"')
  end)
end)
