--- iterations.lua: how many iterations a repetition of a kernel has: as many as the script says, else one number for
--- all cells that a comparison sets side by side.
--
-- Invariant: the number is found before anything is recorded, from the fastest of several trials of every cell, so
-- that a preemption does not end the search. What differs between cells that are compared is never their iterations,
-- unless one takes a thousand times as long as another.

local lists = require "pmclua.base.lists"
local planner = require "pmclua.experiment.plan"

local M = {}

-- The fastest cell's repetition takes at least `target`, the slowest's at most `most`; `least` will do for the fastest where
-- the slowest would take too long. `trials`: runs of which the fastest counts.
local LIMITS = {
  -- ns: two reads (about 2 µs) are under 1 % of a repetition
  time = { target = 1e6, most = 1e8, least = 1e5, trials = 5 },
  -- of many short pairs (processes.lua): reading is 1 % of both sides. Lines of a page that the other side evicted come
  -- back from the next cache in 30 to 180 ns: 1 to 5 % of `page`, which is ns for each page, up to the target of "time"
  short = { target = 1e5, most = 1e8, least = 1e5, trials = 5, page = 4e3 },
  -- instructions under Valgrind, which are the same in each trial
  simulated = { target = 1e6, most = 3e7, least = 1e5, trials = 1 },
}
local MOST_ITERATIONS = 2 ^ 40
local LONG = 20             -- targets: an interruption is a small part of a trial this long
local READINGS = 100        -- how long reading takes, times this: it warns where reading is a larger part (warning.lua)
local LIKE = 2              -- levels whose iterations take this much longer at most are set side by side, too

---@class pmclua.IterationSearch
---@field declaration pmclua.Declaration
---@field measure fun(cell: pmclua.PlannedCell, iterations: integer): number?, table?  how long a run is, in ns or
---  instructions; nil and the result of a run that failed
---@field limits table
---@field target number how long the fastest cell's repetition is to be
---@field short { pages: (fun(cell: pmclua.PlannedCell): integer), reading_ns: number } what short repetitions must be
---  long for: a kernel's memory, and reading counters
---@field groups table<pmclua.PlannedCell, pmclua.PlannedCell[]> cells side by side
---@field counts table<pmclua.PlannedCell, integer> what was found
local Search = {}
Search.__index = Search

-- ---- which cells are side by side ------------------------------------------------------------------------

-- Factors along which cells are compared.
local function compared_factors(declaration)
  local compared = {}
  for _, baseline in ipairs { declaration.baseline or {}, declaration.against or {} } do
    for name in pairs(type(baseline) == "table" and baseline or {}) do compared[name] = true end
  end
  return compared
end

-- Cells of kernels at the same levels of all factors along which nothing is compared.
local function side_by_side(declaration, cells)
  local compared = compared_factors(declaration)
  local kernels = lists.where(cells, function(cell) return cell.workload.per == "iteration" end)
  return lists.groups(kernels, function(cell)
    local levels = lists.map(declaration.factors, function(factor)
      return compared[factor.name] and "" or tostring(cell.levels[factor.name])
    end)
    return table.concat(levels, "\0")
  end)
end

--- Prepares to search.
---@param declaration pmclua.Declaration
---@param cells pmclua.PlannedCell[]
---@param kind "time"|"short"|"simulated"
---@param measure fun(cell: pmclua.PlannedCell, iterations: integer): number?, table?
---@param short? { pages: (fun(cell: pmclua.PlannedCell): integer), reading_ns: number } needed for "short": how many pages
---  of memory a cell's kernel has, and how long reading takes in a repetition
---@return pmclua.IterationSearch
function M.new(declaration, cells, kind, measure, short)
  local self = setmetatable({ declaration = declaration, limits = LIMITS[kind], target = LIMITS[kind].target,
    measure = measure, short = short, groups = {}, counts = {}, lengths = {} }, Search)
  self.list = side_by_side(declaration, cells)
  for _, group in ipairs(self.list) do
    for _, cell in ipairs(group) do self.groups[cell] = group end
  end
  return self
end

-- ---- searching -------------------------------------------------------------------------------------------

-- The length of the fastest of several trials; nil and the result of one that failed. A trial that is too
-- short, or very long, is not repeated.
local function fastest_trial(self, cell, iterations)
  local least
  for _ = 1, self.limits.trials do
    local length, failed = self.measure(cell, iterations)
    if not length then return nil, failed end
    least = math.min(least or length, length)
    if least < self.target or least >= LONG * self.target then break end
  end
  return least
end

-- The lengths of the cells that run, and the least and most of them.
local function try_all(self, cells, iterations)
  local live, least, most = {}, math.huge, 0
  for _, cell in ipairs(cells) do
    local length, failed = fastest_trial(self, cell, iterations)
    if length then
      self.lengths[cell], live[#live + 1] = length, cell
      least, most = math.min(least, length), math.max(most, length)
    else
      self.failed = failed
    end
  end
  return live, least, most
end

local function settle(self, cells, iterations)
  for _, cell in ipairs(cells) do self.counts[cell] = iterations end
end

-- How long a repetition is to be, by the memory that kernels have by now.
local function target_of(self, cells)
  local limits, pages = self.limits, 0
  if not limits.page then return limits.target end
  for _, cell in ipairs(cells) do pages = math.max(pages, self.short.pages(cell)) end
  local needed = math.max(limits.page * pages, READINGS * self.short.reading_ns)
  return math.max(limits.target, math.min(LIMITS.time.target, needed))
end

-- Doubles until the fastest cell's repetition is long enough. Cells that take a thousand times as long go no further.
local function search(self, cells)
  local limits, iterations = self.limits, 1
  self.target = limits.target
  while #cells > 0 do
    local live, least, most = try_all(self, cells, iterations)
    if least >= self.target then self.target = target_of(self, live) end
    local is_enough = least >= self.target or iterations >= MOST_ITERATIONS
      or most >= limits.most and least >= limits.least
    if is_enough then return settle(self, live, iterations) end
    local function is_slow(cell) return self.lengths[cell] >= limits.most end
    settle(self, lists.where(live, is_slow), iterations)
    cells, iterations = lists.where(live, function(cell) return not is_slow(cell) end), iterations * 2
  end
end

local function per_iteration(self, cell) return self.lengths[cell] / self.counts[cell] end

-- Groups whose iterations take alike get the largest number of any: what is compared later has equal iterations, too.
local function join_alike(self)
  local settled = lists.where(self.list, function(group) return self.counts[group[1]] ~= nil end)
  local function fastest(group)
    local least = math.huge
    for _, cell in ipairs(group) do
      if self.counts[cell] then least = math.min(least, per_iteration(self, cell)) end
    end
    return least
  end
  local cost = {}
  for _, group in ipairs(settled) do cost[group] = fastest(group) end
  table.sort(settled, function(a, b) return cost[a] < cost[b] end)
  local first
  for _, group in ipairs(settled) do
    if not first or cost[group] > LIKE * cost[first] then first = group end
    if group ~= first then settle(self, group, self.counts[first[1]]) end
  end
end

local function search_all(self)
  self.has_searched = true
  for _, group in ipairs(self.list) do search(self, group) end
  join_alike(self)
end

--- Takes what a stored run found for a cell: its whole group has it.
---@param cell pmclua.PlannedCell
---@param iterations? integer nil: it found nothing for it
function Search:know(cell, iterations)
  if not iterations then return end
  self.has_searched = true
  settle(self, self.groups[cell] or {}, iterations)
end

-- The number found for a cell; nil and a result where looking failed. One that failed gets the number of the others of
-- its group, and its repetition shows whether it fails again.
local function found_for(self, cell)
  if not self.has_searched then search_all(self) end
  self.failed = nil
  if not self.counts[cell] then
    local other = lists.find(self.groups[cell], function(member) return self.counts[member] ~= nil end)
    if other then self.counts[cell] = self.counts[other] else search(self, { cell }) end
  end
  return self.counts[cell], self.failed
end

--- How many iterations a repetition has; nil and a result where looking for them failed.
---@param step table of plan.steps
---@return integer?
---@return table? failed
function Search:of(step)
  local declared = self.declaration.iterations
  if step.cell.workload.per ~= "iteration" then return 1 end
  if type(declared) == "number" then return declared end
  if type(declared) == "table" then return declared[step.choice] end
  local whole, failed = found_for(self, step.cell)
  if not whole then return nil, failed end
  if declared ~= "fit" then return whole end
  -- Equal steps up to the whole: 1/5, 2/5 … of it.
  return math.max(1, math.ceil(whole / planner.iteration_counts(self.declaration))) * step.choice
end

return M
