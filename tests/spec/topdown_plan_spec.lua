-- pmclua topdown --plan: what would be measured is what is measured, on a played PMU with a real CPU's tree.

local json = require "dkjson"
local made = require "tests.support.played_tree"
local played = require "tests.support.played"
local support = require "tests.support"

local function plan(on, ...)
  local run = on.pmclua { "topdown", "--plan", ... }
  return run.out, run
end

-- The numbers of a plan's rounds: passes and runs of each, and what all come to.
local function numbers(shown)
  local rounds = {}
  for passes, runs in shown:gmatch "round %d+: [%a ]-(%d+) pass[es]*, (%d+) runs" do
    rounds[#rounds + 1] = { tonumber(passes), tonumber(runs) }
  end
  return rounds, tonumber(shown:match "in all: (%d+) run"), tonumber(shown:match "to at most (%d+) runs")
end

-- Passes of the rounds, and runs, of what was measured.
local function measured(on, ...)
  local file = support.folder() .. "/stored.jsonl"
  local found = json.decode(on.pmclua({ "topdown", "--quiet", "--format", "json", "--store", file, ... }).out)
  return found.passes, select(2, support.read(file):gsub('"outcome"', ""))
end

describe("pmclua topdown --plan", function()
  it("runs nothing, and says the passes and runs that there will be", function()
    for _, counters in ipairs { 4, 8 } do
      local on = made.machine(counters)
      local words = { "-l", "3", "-r", "2", "--warmup", "1", "--", played.work(), "1000", "100" }
      local shown, run = plan(on, unpack(words))
      assert.equal(0, run.status, run.err)
      assert.equal(("\0"):rep(64), support.read(on.folder .. "/work"))
      local rounds, all, most = numbers(shown)
      local passes = 0
      for _, round in ipairs(rounds) do
        passes = passes + round[1]
        assert.equal(3 * round[1], round[2])
      end
      assert.equal(3, #rounds)
      assert.is_nil(most)
      assert.same({ passes, all }, { measured(on, unpack(words)) }, shown)
    end
  end)

  it("says at most how many where thresholds decide, and with a target how long they take", function()
    local on = made.machine(4)
    local shown = plan(on, "-r", "2", "--warmup", "0", "--", played.work(), "1000", "100")
    local rounds, all, most = numbers(shown)
    local passes, runs = measured(on, "-r", "2", "--warmup", "0", "--", played.work(), "1000", "100")
    assert.is_true(#rounds > 4 and all <= runs and runs <= most, ("%d, %d, %d"):format(all, runs, most))
    assert.equal(runs, 2 * passes)
    support.need(support.have_root(), "counting all CPUs takes root")
    shown = plan(on, "-l", "1", "-r", "5", "-a", "--duration", "2s")
    assert.matches("in all: 5 runs, 10 s\n", shown, 1, true)
  end)

  it("names the nodes of each round, and those that cannot be counted, by what they lack", function()
    local shown = (plan(made.machine(4), "--", "true"):gsub("\n +", " "))
    assert.matches("nodes: backend_bound, bad_speculation, frontend_bound, retiring pass 1: TOPDOWN.SLOTS",
      shown, 1, true)
    assert.matches("absent: l3_hit_latency, for want of msr/tsc/ absent: false_sharing", shown, 1, true)
    local none = support.pmclua { "topdown", "--plan", "--", "true" }
    assert.equal(0, none.status, none.err)
  end)
end)
