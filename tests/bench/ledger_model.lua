--- ledger_model.lua: experiments of which it is known where the counts are, to see whom a ledger names.
--
-- Everything is drawn from seeds: the same figures on every machine.

local code = require "pmclua.ledger.code"
local ledgers = require "pmclua.ledger"
local stats = require "pmclua.stats"
local profiles = require "tests.support.profiles"

local M = {}

local PERIOD = 1000003

--- Shares of functions of a run.
M.shapes = {
  { name = "20 equal", shares = function() return M.zipf(20, 0) end, target = 7 },
  { name = "20 geometric", shares = function() return M.geometric(20, 0.85) end, target = 3 },
  { name = "300 Zipf", shares = function() return M.zipf(300, 1) end, target = 3 },
}

local function normalised(weights)
  local sum = 0
  for _, weight in ipairs(weights) do sum = sum + weight end
  for i, weight in ipairs(weights) do weights[i] = weight / sum end
  return weights
end

function M.zipf(n, power)
  local weights = {}
  for i = 1, n do weights[i] = i ^ -power end
  return normalised(weights)
end

function M.geometric(n, ratio)
  local weights = {}
  for i = 1, n do weights[i] = ratio ^ i end
  return normalised(weights)
end

-- Samples of one run: each falls on a function by its share of the run's cost.
local function draw_samples(random, costs, samples)
  local sums, sum, counts = {}, 0, {}
  for i, cost in ipairs(costs) do
    sum = sum + cost
    sums[i], counts[i] = sum, 0
  end
  for _ = 1, math.floor(samples * sum + random:uniform()) do
    local at, low, high = random:uniform() * sum, 1, #sums
    while low < high do
      local middle = math.floor((low + high) / 2)
      if sums[middle] < at then low = middle + 1 else high = middle end
    end
    counts[low] = counts[low] + 1
  end
  return counts
end

-- What read(2) has more than the samples is less than a period.
local function profile_of(random, costs, samples, names)
  local lines = {}
  for i, n in ipairs(draw_samples(random, costs, samples)) do
    if n > 0 then
      lines[#lines + 1] = profiles.line(names[i], n * PERIOD, { samples = n, at = {} })
    end
  end
  return profiles.profile(lines, { event = "cpu-clock", unit = "ns", exact = false, period = PERIOD,
    rest = { missed_ticks = random:integer(PERIOD) } })
end

---@class tests.LedgerModel
---@field shares number[]
---@field target integer the function that the effect is planted in
---@field effect number share of the whole run that B takes longer, all of it in the target
---@field samples integer of a run
---@field pairs integer
---@field noise number spread of runs, common to all functions
---@field block number spread of blocks, common to A and B

--- A ledger of one experiment.
---@param random pmclua.Random
---@param model tests.LedgerModel
---@return pmclua.Ledger
function M.experiment(random, model)
  local a, b, names = {}, {}, {}
  for i = 1, #model.shares do names[i] = "f" .. i end
  for pair = 1, model.pairs do
    local block = math.exp(model.block * random:normal())
    for side, list in ipairs { a, b } do
      local factor, costs = block * math.exp(model.noise * random:normal()), {}
      for i, share in ipairs(model.shares) do costs[i] = share * factor end
      if side == 2 then costs[model.target] = costs[model.target] + model.effect * factor end
      list[pair] = profile_of(random, costs, model.samples, names)
    end
  end
  return code.new { a = a, b = b }
end

local function sums_hold(ledger)
  local a, b = 0, 0
  for _, rows in ipairs { ledger.lines, ledger.rest } do
    for _, row in ipairs(rows) do a, b = a + row.a_sum, b + row.b_sum end
  end
  return a == ledger.total.a_sum and b == ledger.total.b_sum
end

--- Whom the ledgers of many experiments name.
---@param model tests.LedgerModel
---@param experiments integer
---@param seed integer
---@return { alone: number, none: number, others: number, sums: number } shares of experiments in which the
---  target is named alone, nobody is named, anybody but the target is named, the lines add up to the total
function M.named(model, experiments, seed)
  local random, found = stats.random(seed, "ledger"), { alone = 0, none = 0, others = 0, sums = 0 }
  local target = "f" .. model.target
  for _ = 1, experiments do
    local ledger = M.experiment(random, model)
    local names = ledger.conclusion.names
    local is_target, is_other = false, false
    for _, row in ipairs(names) do
      if row.label == target and row.verdict == "more" then is_target = true else is_other = true end
    end
    if is_target and not is_other then found.alone = found.alone + 1 end
    if #names == 0 then found.none = found.none + 1 end
    if is_other then found.others = found.others + 1 end
    if sums_hold(ledger) then found.sums = found.sums + 1 end
  end
  for name, count in pairs(found) do found[name] = count / experiments end
  return found
end

-- ---- times ----

-- A time of which a share is far too long: something else had the CPU.
local function draw_time(random, model, effect)
  local time = 1000 * math.exp(0.02 * random:normal()) * (1 + effect)
  local is_outlier = random:uniform() < model.outliers
  return is_outlier and time * (1 - 3 * math.log(random:uniform())) or time
end

local function times(random, model)
  local asked = { a = {}, b = {}, lines = {}, is_rounded = true }
  for k = 1, model.lines do asked.lines[k] = { key = k, label = "line " .. k, a = {}, b = {} } end
  for i = 1, model.pairs do
    asked.a[i], asked.b[i] = 0, 0
    for k, line in ipairs(asked.lines) do
      line.a[i] = draw_time(random, model, 0)
      line.b[i] = draw_time(random, model, k == 1 and model.effect or 0)
      asked.a[i], asked.b[i] = asked.a[i] + line.a[i], asked.b[i] + line.b[i]
    end
  end
  return asked
end

--- How often ledgers of times name the first line, which has the effect, and how often any other; and how often the
--- first is skewed.
---@param model { lines: integer, pairs: integer, effect: number, outliers: number } outliers: a share of values
---@param experiments integer
---@param seed integer
---@return { first: number, skewed: number, others: number } shares of experiments
function M.times_named(model, experiments, seed)
  local random, found = stats.random(seed, "times"), { first = 0, skewed = 0, others = 0 }
  for _ = 1, experiments do
    local is_other, ledger = false, ledgers.new(times(random, model))
    for _, row in ipairs(ledger.conclusion.names) do
      if row.key == 1 then found.first = found.first + 1 else is_other = true end
    end
    for _, row in ipairs(ledger.lines) do
      if row.key == 1 and row.verdict == "skewed" then found.skewed = found.skewed + 1 end
    end
    found.others = found.others + (is_other and 1 or 0)
  end
  for name, count in pairs(found) do found[name] = count / experiments end
  return found
end

return M
