--- simulate.lua: experiments whose truth is known, to see whether what is concluded from them holds.
--
-- Everything is drawn from seeds: the same figures on every machine. No clock, no workload.

local clusters = require "pmclua.result.clusters"
local scaling = require "pmclua.stats.scaling"
local stats = require "pmclua.stats"
local metric = require "pmclua.metric"
local runs = require "pmclua.verdict.runs"
local check = require "pmclua.verdict.check"
local verdict = require "pmclua.verdict"

local M = {}

-- What measured times and counts look like: even, skewed, and skewed with a tail of disturbances (one
-- repetition in ten is delayed).
local function even(random) return math.exp(0.05 * random:normal()) end
local function skewed(random) return math.exp(0.5 * random:normal()) end
local function disturbed(random)
  local value = math.exp(0.5 * random:normal())
  if random:uniform() < 0.1 then value = value - 2 * math.log(1 - random:uniform()) end
  return value
end

-- The last median: scipy.optimize.brentq on 0.9·lognorm(0.5).cdf(m) + 0.1·quad of its convolution with
-- expon(scale=2).
M.shapes = {
  { name = "log-normal, σ 0.05", draw = even, median = 1 },
  { name = "log-normal, σ 0.5", draw = skewed, median = 1 },
  { name = "log-normal, σ 0.5, and one in ten delayed", draw = disturbed, median = 1.0601535019968116 },
}

local function holds(interval, truth) return interval.low <= truth and truth <= interval.high end

local DRAWN = { result = { header = { layouts = {} } } }        -- a cell whose layouts were drawn

--- Share of experiments whose 95 % interval holds the median, of `n` repetitions in layouts of two: factors
--- that are log-normal as runs are, `ratio` times as wide.
---@return number of all repetitions
---@return number of the means of layouts, as results have it
function M.coverage_of_layouts(n, ratio, experiments, seed)
  local random, found = stats.random(seed, "layouts"), {}
  local plain, grouped = 0, 0
  for _ = 1, experiments do
    found.list, found.rows, found.block = {}, {}, { index = {} }
    local factor
    for i = 1, n do
      if i % 2 == 1 then factor = math.exp(0.5 * ratio * random:normal()) end
      found.list[i], found.rows[i], found.block.index[i] = factor * skewed(random), i, i
    end
    plain = plain + (holds(stats.median_interval(found.list), 1) and 1 or 0)
    grouped = grouped + (holds(stats.median_interval(clusters.means(DRAWN, found)), 1) and 1 or 0)
  end
  return plain / experiments, grouped / experiments
end

local function draw_list(shape, random, n, factor)
  local values = {}
  for i = 1, n do values[i] = shape.draw(random) * (factor or 1) end
  return values
end

--- Shares of experiments of `n` repetitions whose 95 % interval holds the truth: of the median, of the
--- ratio of pairs, and of the ratio of unpaired values (truth 1.02).
---@return { median: number, paired: number, unpaired: number }
function M.coverage(shape, n, experiments, seed)
  local random = stats.random(seed, "coverage")
  local ratio, count = 1.02, { median = 0, paired = 0, unpaired = 0 }
  for _ = 1, experiments do
    local base, other = draw_list(shape, random, n), draw_list(shape, random, n, ratio)
    local paired = verdict.compare(other, base)
    local unpaired = verdict.compare(other, base, { paired = false })
    if holds(stats.median_interval(base), shape.median) then count.median = count.median + 1 end
    if holds(paired, ratio) then count.paired = count.paired + 1 end
    if holds(unpaired, ratio) then count.unpaired = count.unpaired + 1 end
  end
  for name, hits in pairs(count) do count[name] = hits / experiments end
  return count
end

--- The share of experiments whose 95 % interval holds the serial share: times of five levels in `n` blocks, with
--- log-normal noise that grows with the level, and a factor that disturbs a whole block.
---@param law "amdahl"|"gustafson"
function M.scaling(law, share, n, spread, experiments, seed)
  local random, levels, held = stats.random(seed, "scaling"), { 1, 2, 4, 8, 16 }, 0
  for _ = 1, experiments do
    local times = { {}, {}, {}, {}, {} }
    for j = 1, n do
      local block = math.exp(0.1 * random:normal())
      for i, p in ipairs(levels) do
        local time = law == "amdahl" and share + (1 - share) / p or p / (share + (1 - share) * p)
        times[i][j] = time * block * math.exp(spread * (1 + 0.2 * i) * random:normal())
      end
    end
    if holds(scaling.fit(levels, times, law).share, share) then held = held + 1 end
  end
  return held / experiments
end

-- Counts of `iterations` that cost `slope` each: noise that is constant, in proportion, and in proportion
-- with one repetition in ten delayed.
M.counts = {
  { name = "constant noise", draw = function(random, iterations, slope)
    return 100 + slope * iterations + 20 * random:normal()
  end },
  { name = "noise in proportion", draw = function(random, iterations, slope)
    return (100 + slope * iterations) * math.exp(0.02 * random:normal())
  end },
  { name = "in proportion, one in ten delayed", draw = function(random, iterations, slope)
    local count = (100 + slope * iterations) * math.exp(0.02 * random:normal())
    return random:uniform() < 0.1 and count - 200 * math.log(1 - random:uniform()) or count
  end },
}

local function ratio_of_slopes(slopes) return slopes[2] ~= 0 and slopes[1] / slopes[2] or nil end

--- Shares of experiments of `n` repetitions over five iteration counts whose 95 % interval holds the truth:
--- of the slope (2), and of the ratio of two slopes from the same blocks (1.02).
---@return { slope: number, ratio: number }
function M.slopes(model, n, experiments, seed)
  local random, count = stats.random(seed, "slopes"), { slope = 0, ratio = 0 }
  for experiment = 1, experiments do
    local base, other = { x = {}, y = {} }, { x = {}, y = {} }
    for i = 1, n do
      local iterations, block = 200 * (i % 5 + 1), math.exp(0.03 * random:normal())
      base.x[i], other.x[i] = iterations, iterations
      base.y[i] = model.draw(random, iterations, 2)
      other.y[i] = model.draw(random, iterations, 2.04) * block
      base.shared = base.shared or {}
      base.shared[i] = base.y[i] * block
    end
    local slope = stats.slope(base.x, base.y)
    local low, high = stats.slopes({ other, { x = base.x, y = base.shared } }, ratio_of_slopes,
      { seed = experiment, resamples = 1000 })
    if holds(slope, 2) then count.slope = count.slope + 1 end
    if holds({ low = low, high = high }, 1.02) then count.ratio = count.ratio + 1 end
  end
  return { slope = count.slope / experiments, ratio = count.ratio / experiments }
end

--- Share of experiments of `n` points over five iteration counts whose resampled 95 % interval of a least-squares
--- slope (2) holds it.
---@return number
function M.resampled(model, n, experiments, seed)
  local random, held = stats.random(seed, "resampled"), 0
  for experiment = 1, experiments do
    local x, y = {}, {}
    for i = 1, n do
      x[i] = 200 * (i % 5 + 1)
      y[i] = model.draw(random, x[i], 2)
    end
    local interval = stats.bootstrap(x, y, { seed = experiment, resamples = 1000 })
    if holds(interval.b, 2) then held = held + 1 end
  end
  return held / experiments
end

-- Pairs whose log ratio has the deviation `spread` about ln(ratio); what a block does to both is large.
local function draw_pairs(random, n, spread, ratio)
  local a, b = {}, {}
  for i = 1, n do
    local block = math.exp(0.1 * random:normal())
    b[i] = block
    a[i] = block * ratio * math.exp(spread * random:normal())
  end
  return a, b
end

local function is_different(result) return result.verdict == "slower" or result.verdict == "faster" end

--- Share of experiments that find a difference (outside ±margin) of `ratio` in pairs of spread `spread`.
---@param options { n: integer, spread: number, ratio: number, level: number?, margin: number? }
function M.found(options, experiments, seed)
  local random, found = stats.random(seed, "found"), 0
  for _ = 1, experiments do
    local a, b = draw_pairs(random, options.n, options.spread, options.ratio)
    local result = verdict.compare(a, b, { kind = "time", level = options.level, margin = options.margin })
    if is_different(result) then found = found + 1 end
  end
  return found / experiments
end

local function first(list, n)
  local copy = {}
  for i = 1, n do copy[i] = list[i] end
  return copy
end

-- One experiment that stops when it is decided: its verdict and its number of pairs.
local function run_adaptively(rule, a, b, options)
  for _, n in ipairs(verdict.looks(rule)) do
    local result = verdict.compare(first(a, n), first(b, n), options)
    if verdict.stop(rule, { n = n, seconds = 0, summaries = {}, verdicts = { result } }) then
      return result, n
    end
  end
end

--- The same with stopping as soon as it is decided, `n` pairs at most. Also the mean number of pairs.
---@return number share
---@return number pairs
function M.found_adaptively(options, experiments, seed)
  local random, found, used = stats.random(seed, "adaptive"), 0, 0
  local rule = { repetitions = options.n }
  local asked = { kind = "time", margin = options.margin, level = verdict.look_level(rule) }
  for _ = 1, experiments do
    local a, b = draw_pairs(random, options.n, options.spread, options.ratio)
    local result, n = run_adaptively(rule, a, b, asked)
    if is_different(result) then found = found + 1 end
    used = used + n
  end
  return found / experiments, used / experiments
end

--- Share of experiments on `events` equal quantities at corrected levels in which any comes out as
--- different.
function M.any_different(events, options, experiments, seed)
  local random, found = stats.random(seed, "any"), 0
  local level = stats.bonferroni(0.95, events)
  for _ = 1, experiments do
    local any = false
    for _ = 1, events do
      local a, b = draw_pairs(random, options.n, options.spread, 1)
      local result = verdict.compare(a, b, { kind = "time", level = level, margin = options.margin })
      any = any or is_different(result)
    end
    if any then found = found + 1 end
  end
  return found / experiments
end

-- ---- growth ----------------------------------------------------------------------------------------------

-- What grows, with the true values of its parameters.
M.shapes_of_growth = {
  { name = "power", value = function(n) return 3 * n ^ 1.5 end, exponent = 1.5,
    truths = function(p) return { exponent = { p.exponents[1], 1.5 } } end },
  { name = "linear", value = function(n) return 3 * n + 500 end,
    truths = function(p) return { a = { p.a, 3 }, b = { p.b, 500 } } end },
  { name = "n log n", value = function(n) return 3 * n * math.log(n) / math.log(2) + 500 end,
    truths = function(p) return { a = { p.a, 3 }, b = { p.b, 500 } } end },
  { name = "steps", value = function(n) return n < 600 and 4 or 4 * (n / 600) ^ 1.2 end,
    truths = function(p)
      if #p.breaks > 1 then return {} end
      return { break_at = { p.breaks[1], 600 }, before = { p.exponents[1], 0 },
        after = { p.exponents[2], 1.2 } }
    end },
}

-- Noise of the medians of levels, as a share: the same for all, of the small ones more, or one in ten disturbed.
M.noises_of_growth = {
  { name = "1 %", draw = function(random) return 0.01 * random:normal() end },
  { name = "10 %", draw = function(random) return 0.1 * random:normal() end },
  { name = "5 % of the smallest to 1 % of the largest", draw = function(random, share)
    return (0.05 - 0.04 * share) * random:normal()
  end },
  { name = "2 %, one in ten up to 10 % higher", draw = function(random)
    return 0.02 * random:normal() + (random:uniform() < 0.1 and 0.1 * random:uniform() or 0)
  end },
}

--- How often intervals of a curve over n sizes from 16 to 65,536 hold the truth, and how often its shape is chosen.
---@return { chosen: number, exponent: number?, [string]: number } shares; of parameters among those chosen
function M.growth(shape, noise, n, experiments, seed)
  local random, held, count, chosen = stats.random(seed, "growth"), {}, {}, 0
  local function note(name, found, truth)
    count[name] = (count[name] or 0) + 1
    held[name] = (held[name] or 0) + (found.low <= truth and truth <= found.high and 1 or 0)
  end
  for _ = 1, experiments do
    local x, y = {}, {}
    for i = 1, n do
      local share = (i - 1) / (n - 1)
      x[i] = math.floor(16 * 4096 ^ share + 0.5)
      y[i] = shape.value(x[i]) * math.exp(noise.draw(random, share))
    end
    local found = require("pmclua.stats.growth").fit(x, y)
    if shape.exponent then note("exponent of all", found.exponent, shape.exponent) end
    if found.shape == shape.name then
      chosen = chosen + 1
      for name, pair in pairs(shape.truths(found.parameters)) do note(name, pair[1], pair[2]) end
    end
  end
  local shares = { chosen = chosen / experiments }
  for name in pairs(held) do shares[name] = held[name] / count[name] end
  return shares
end

-- ---- gates -------------------------------------------------------------------------------------------------

---@class simulate.Gates
---@field runs integer of the baseline
---@field n integer repetitions of a run
---@field between number deviation of the logarithm from run to run
---@field within number from repetition to repetition
---@field ratio number new to old
---@field limit string
---@field interleaved? boolean old and new run in the same blocks
---@field bias? number deviation of the logarithm of the ratio from run to run: what a run's processes and layouts happen
---  to be, which all of its pairs share
---@field again? boolean what fails is tried once more, and fails only where that fails, too

-- Repetitions of one run, which all share what the machine was like.
local function draw_run(random, options, factor)
  local level, values = factor * math.exp(options.between * random:normal()), {}
  for i = 1, options.n do values[i] = level * math.exp(options.within * random:normal()) end
  return values
end

-- Blocks of old and new: what a block is like falls on both.
local function draw_blocks(random, options)
  local old, new = {}, {}
  local ratio = options.ratio * (options.bias and math.exp(options.bias * random:normal()) or 1)
  for i = 1, options.n do
    local block = math.exp(options.between * random:normal())
    old[i] = block * math.exp(options.within * random:normal())
    new[i] = ratio * block * math.exp(options.within * random:normal())
  end
  return old, new
end

local function judged(options, random)
  if options.interleaved then
    local old, new = draw_blocks(random, options)
    return verdict.compare(new, old)
  end
  local new, list = draw_run(random, options, options.ratio), {}
  for i = 1, options.runs do
    list[i] = verdict.compare(new, draw_run(random, options, 1), { paired = false })
  end
  if #list == 1 then return runs.single(list[1], options.assumed or 0, 0.95) end
  return runs.several(list, 0.95)
end

--- How often a time gate says what, of many experiments.
---@param options simulate.Gates
---@return { pass: number, undecided: number, fail: number } shares
function M.gates(options, experiments, seed)
  local random, limit = stats.random(seed, "gates"), assert(metric.limit(options.limit))
  local counts = { pass = 0, undecided = 0, fail = 0 }
  local function judge()
    local found = judged(options, random)
    return check.judge(limit, found, found.ratio, 1).state
  end
  for _ = 1, experiments do
    local state = judge()
    if options.again and state == "fail" and judge() ~= "fail" then state = "undecided" end
    counts[state] = counts[state] + 1
  end
  for state, count in pairs(counts) do counts[state] = count / experiments end
  return counts
end

return M
