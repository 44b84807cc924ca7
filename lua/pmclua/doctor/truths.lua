--- truths.lua: does things whose counts are known and counts them, to see which events can be trusted here.
--
-- Invariant: a truth holds if no repetition counted less than was done and at least one counted exactly that. Other
-- activity can only add (a preemption, a fault of the first run): how often it did is reported, and if it did every
-- time nothing is concluded.

local kernels = require "pmclua.doctor.kernels"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local REPETITIONS = 10
local LIMIT_S = 60              -- of a repetition

---@class pmclua.doctor.Truth
---@field name string the figure, for people
---@field event string? the event, as it is asked for
---@field truth string what was done, how often
---@field expected number? what it must count
---@field least number? of the repetitions
---@field most number?
---@field disturbed integer? repetitions that counted more than was done
---@field verdict "exact"|"true"|"close"|"wrong"|"untested"
---@field why string? of "untested" and "wrong"

-- ---- what is done --------------------------------------------------------------------------------

local function of_libc(form)
  return function()
    local path = kernels.libc()
    if not path then return nil, "the C library was not found" end
    return form:format(path)
  end
end

local INSTRUCTIONS = { x64 = 12, arm64 = 12, riscv64 = 12 }

local function known_loop(event)
  return function()
    if not INSTRUCTIONS[jit.arch] then return nil, "no loop of known length exists for this machine" end
    return event
  end
end

-- event: a spec, or a function that gives it, or nil and why not; n: how often it is done; each: what that
-- counts.
local TRUTHS = {
  { name = "page faults", truth = "%s fresh pages touched", event = "page-faults",
    kernel = "pages", n = 500, each = 1 },
  { name = "tracepoint", truth = "%s calls of getppid", event = "syscalls:sys_enter_getppid",
    kernel = "system_calls", n = 1000, each = 1 },
  { name = "tracepoint, filtered", truth = "%s writes, half of them let through",
    event = "syscalls:sys_enter_write/filter='count == 2'/",
    kernel = "writes_to_nowhere", n = 1000, each = 0.5 },
  { name = "function", truth = "%s calls of the C library", event = of_libc "%s:getppid",
    kernel = "library_calls", n = 1000, each = 1 },
  { name = "function, return", truth = "%s calls of the C library", event = of_libc "%s:getppid%%return",
    kernel = "library_calls", n = 1000, each = 1 },
  { name = "watched address", truth = "%s writes to it", event = ("mem:0x%x/8:w:u"):format(kernels.ADDRESS),
    kernel = "stores", n = 1000, each = 1 },
  { name = "migrations", truth = "%s hops between two CPUs", event = "cpu-migrations",
    kernel = "hops", n = 100, each = 1 },
  { name = "context switches", truth = "%s waits for a thread", event = "context-switches",
    kernel = "waits", n = 100, each = 1, inherit = false },
  { name = "instructions", truth = "a loop of 12 for each turn", event = known_loop "instructions:u",
    kernel = "instructions", n = 1e6, each = 12, slope = true },
  { name = "branches", truth = "a loop with one for each turn", event = known_loop "branches:u",
    kernel = "instructions", n = 1e6, each = 1, slope = true },
}

-- An empty region must count 0.
local OF_NOTHING = { { "page faults", "page-faults" }, { "migrations", "cpu-migrations" },
  { "tracepoint", "syscalls:sys_enter_getppid" } }
for _, row in ipairs(OF_NOTHING) do
  TRUTHS[#TRUTHS + 1] = { name = row[1] .. ", of nothing", truth = "an empty region", event = row[2],
    kernel = "empty", n = 1, each = 0 }
end

-- ---- counting it ---------------------------------------------------------------------------------

-- Whole counts of the repetitions, with the iterations that each did; nil and why where there are none.
local function count(truth, spec)
  local n = truth.n
  local records, why = kernels.measure(kernels.of(truth.kernel), {
    events = { spec }, iterations = truth.slope and { n, 2 * n, 3 * n, 4 * n, 5 * n } or n,
    inherit = truth.inherit, repetitions = REPETITIONS, warmup = 1, timeout = LIMIT_S })
  if not records then return nil, why end
  local points = lists.map(records, function(record)
    local count_of = record.counts[1]
    return count_of and { tonumber(count_of), record.iterations } or nil
  end)
  if #points == 0 then return nil, "it was never on the PMU" end
  return points
end

-- ---- judging it ----------------------------------------------------------------------------------

-- An x86 CPU counts an instruction more for each interrupt (Weaver, ISPASS 2013): close, not exact.
local CLOSE = 1e-3

local function judge_slope(measured, points, each)
  local x, y = {}, {}
  for i, point in ipairs(points) do y[i], x[i] = point[1], point[2] end
  local slope = require("pmclua.stats").theil_sen(x, y).b
  measured.expected, measured.least, measured.most = each, slope, slope
  local off = math.abs(slope / each - 1)
  measured.verdict = off == 0 and "exact" or off <= CLOSE and "close" or "wrong"
  if measured.verdict == "wrong" then
    measured.why = ("%.4g for each turn, where %g is right"):format(slope, each)
  end
end

local MOST_ADDED = 1.5          -- times what was done: more is no disturbance

--- Fills in what counts say of a truth; `verdict` stays as it is where they say nothing.
---@param measured pmclua.doctor.Truth changed
---@param points { [1]: number, [2]: number }[] count and iterations of each repetition
---@param expected number
function M.judge(measured, points, expected)
  local least, most, disturbed = math.huge, 0, 0
  for _, point in ipairs(points) do
    least, most = math.min(least, point[1]), math.max(most, point[1])
    if point[1] > expected then disturbed = disturbed + 1 end
  end
  measured.expected, measured.least, measured.most = expected, least, most
  measured.disturbed, measured.repetitions = disturbed, #points
  if least < expected or least > MOST_ADDED * expected then
    measured.verdict = "wrong"
    measured.why = ("%s counted where %s were done"):format(text.count(least), text.count(expected))
  elseif least > expected then
    measured.why = ("other work disturbed each repetition (%s and more for %s)"):format(text.count(least),
      text.count(expected))
  else
    measured.verdict = disturbed == 0 and "exact" or "true"
  end
end

local function test(truth)
  local spec, why = truth.event, nil
  if type(spec) == "function" then spec, why = spec() end
  local verdict = { name = truth.name, event = spec, truth = truth.truth:format(text.count(truth.n)),
    verdict = "untested" }
  local points = nil
  if spec then points, why = count(truth, spec) end
  if not points then
    verdict.why = kernels.reason(why)
  elseif truth.slope then
    judge_slope(verdict, points, truth.each)
  else
    M.judge(verdict, points, truth.each * truth.n)
  end
  return verdict
end

-- ---- all of them ---------------------------------------------------------------------------------

---@class pmclua.doctor.Truths
---@field list pmclua.doctor.Truth[]
---@field tested integer
---@field wrong integer
local Truths = require("pmclua.public.class").new("tools", "truths")

--- The same as plain data, for JSON.
---@return table
function Truths:object()
  return { format = 1, truths = self.list, tested = self.tested, wrong = self.wrong }
end

--- A line each, and which figures can be trusted.
function Truths:__tostring() return require("pmclua.doctor.screen").truths(self) end

--- Tests every truth that can be tested here.
---@param each? fun(truth: pmclua.doctor.Truth) gets each as it is known
---@return pmclua.doctor.Truths
function M.run(each)
  local self = setmetatable({ list = {}, tested = 0, wrong = 0 }, Truths)
  for i, truth in ipairs(TRUTHS) do
    local tested = test(truth)
    self.list[i] = tested
    if tested.verdict ~= "untested" then self.tested = self.tested + 1 end
    if tested.verdict == "wrong" then self.wrong = self.wrong + 1 end
    if each then each(tested) end
  end
  return self
end

return M
