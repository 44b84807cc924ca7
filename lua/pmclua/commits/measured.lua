--- measured.lua: commits as numbers: builds one, runs the workload there, and keeps what came of it.
--
-- Times come in pairs: the workload of the good end, which stays as it is, and that of the commit, one after another in
-- an order that alternates, so that drift changes both.

local core = require "pmclua.core"
local experiments = require "pmclua.experiment"
local lists = require "pmclua.base.lists"
local mean = require "pmclua.stats.mean"
local median = require("pmclua.stats").median
local output = require "pmclua.host.output"
local problem = require "pmclua.base.problem"
local text = require "pmclua.base.text"
local workloads = require "pmclua.workload"

local M = {}

---@class pmclua.MeasuredOptions
---@field workload table
---@field builds pmclua.Builds
---@field journal pmclua.Journal
---@field anchor string the hash of the good end
---@field budget number seconds
---@field seed integer
---@field timeout? any
---@field pin? string
---@field quiet? boolean

---@class pmclua.MeasuredCommits
---@field costs pmclua.SearchCosts
---@field broken table<string, string> why a commit has no numbers, by its hash
---@field layouts table<string, { seed: integer, middle: number }[]> what layouts of a commit came to, by its hash
local Measured = {}
Measured.__index = Measured

local FIRST_GUESS = { build = 10, link = 2, run = 0.1, pair = 2 }

---@param options pmclua.MeasuredOptions
---@return pmclua.MeasuredCommits
function M.new(options)
  return setmetatable({ options = options, builds = options.builds, journal = options.journal,
    broken = {}, drawn = {}, layouts = {}, began = core.now_ns(), costs = lists.copy(FIRST_GUESS) }, Measured)
end

--- Seconds of the budget that are left.
---@return number
function Measured:left()
  return self.options.budget - self.journal.spent - (core.now_ns() - self.began) / 1e9
end

local function check_interrupt()
  if core.interrupts() > 0 then error({ stop = "interrupted" }, 0) end
end

-- Files that the workload names and that this build wrote outside of its folder: builds would replace each other's.
local function check_outside(workload, folder)
  local checked_out = core.stat(folder .. "/.git")
  local words = workload.program and lists.joined { { workload:program() or "" },
    workload.argv } or {}
  for _, word in ipairs(words) do
    local path = core.real_path(word:find "^/" and word or folder .. "/" .. word)
    local facts = path and core.stat(path)
    local is_outside = facts and path:sub(1, #folder + 1) ~= folder .. "/" and path ~= folder
    if is_outside and checked_out and facts.mtime_ns > checked_out.mtime_ns then
      error(problem.problem { code = "EBUILD", operation = "build",
        message = "the build wrote " .. path
          .. ", outside of its folder: builds of other commits would replace it",
        hint = "name what the command runs by a path within the checkout" }, 0)
    end
  end
end

--- The workload in a commit's folder, with a layout of its own; nil: it does not build.
---@param hash string
---@param seed? integer
---@param name? string
---@return table?
function Measured:workload(hash, seed, name)
  check_interrupt()
  local made = self.builds.made
  local folder, log = self.builds:folder(hash, seed)
  if not folder then
    self.broken[hash] = "it does not build: " .. log
    return nil
  end
  local workload = workloads.within(self.options.workload, folder, name)
  if self.builds.made > made then check_outside(workload, folder) end
  return workload
end

-- The result of an experiment; nil: the commit's program fails.
local function run(self, hash, declaration)
  check_interrupt()
  local options = self.options
  declaration.timeout, declaration.pin = options.timeout, options.pin
  declaration.seed = options.seed
  local ok, result = pcall(function()
    return experiments.declare(declaration):run { store = false, quiet = true }
  end)
  if not ok then
    local code = type(result) == "table" and rawget(result, "code")
    if code ~= "ENOENT" and code ~= "ESEVERAL" and code ~= "EWORKLOAD" then error(result, 0) end
    self.broken[hash] = text.plain(tostring(result)):match "[^\n]*"
    return nil
  end
  if result.status == "interrupted" then error({ stop = "interrupted" }, 0) end
  local why = result.problem
  if why and (why.code ~= "EWORKLOAD" or why.message:find("time limit", 1, true)) then error(why, 0) end
  if why then
    self.broken[hash] = why.message
    return nil
  end
  return result
end

local function remember(self, line)
  line.spent = self.journal.spent + (core.now_ns() - self.began) / 1e9
  line.build, line.run, line.link = self.costs.build, self.costs.run, self.builds.link_s
  return line
end

-- Costs as they were known when a line was written: so a search that goes on decides as before.
local function take_costs(self, line)
  self.costs.build, self.costs.run = line.build or self.costs.build, line.run or self.costs.run
  self.costs.link = line.link or self.builds:draws_layouts() and self.costs.build or 0
end

local function say(self, form, ...)
  if not self.options.quiet then output.note(form, ...) end
end

-- The values of an event in each cell, in the order of blocks.
local function values_of(result)
  local field = result.header.events[1].field
  return lists.map(result:list(), function(cell) return cell:values(field) end)
end

local function no_count(event, result)
  local why = result.header.events[1].why or result.header.events[1].status or "it was not counted"
  error(problem.problem { code = "ENOCOUNT", operation = "bisect", status = 77,
    message = ("%s has no count here: %s"):format(event, tostring(why)) }, 0)
end

--- The count of an event at a commit, of one run; nil: it does not build or run.
---@param commit pmclua.Commit
---@param event string
---@return number?
function Measured:count(commit, event)
  local line = self.journal:take(("count %s %s"):format(event, commit.hash), function()
    local workload = self:workload(commit.hash, 0)
    local result = workload and run(self, commit.hash, { name = "bisect", workloads = { workload },
      events = { event }, repetitions = 1, warmup = 0 })
    if not result then return remember(self, { why = self.broken[commit.hash] }) end
    local value = values_of(result)[1][1]
    if not value then no_count(event, result) end
    return remember(self, { value = value })
  end)
  take_costs(self, line)
  self.broken[commit.hash] = line.why
  say(self, "%s  %s %s", commit.name, event, line.value
    and require("pmclua.base.number").count(line.value) or line.why)
  return line.value
end

-- One layout of a commit against the good end: differences of logarithms, in percent.
local function draw(self, commit, event, runs, seed)
  local anchor = self:workload(self.options.anchor, 0, "anchor")
  local build_start, made = core.now_ns(), self.builds.made
  local own = anchor and self:workload(commit.hash, seed, "commit")
  if self.builds.made > made then self.costs.build = (core.now_ns() - build_start) / 1e9 end
  local start = core.now_ns()
  local result = own and run(self, commit.hash, { name = "bisect", workloads = { anchor, own },
    events = { event }, repetitions = runs, warmup = 1, baseline = "anchor" })
  if not result then
    return remember(self, { why = self.broken[commit.hash] or self.broken[self.options.anchor] })
  end
  self.costs.run = (core.now_ns() - start) / 1e9 / (2 * (runs + 1))
  local values = values_of(result)
  local list = {}
  for i = 1, math.min(#values[1], #values[2]) do
    if values[1][i] > 0 and values[2][i] > 0 then
      list[#list + 1] = 100 * math.log(values[2][i] / values[1][i])
    end
  end
  if #list < runs then no_count(event, result) end
  return remember(self, { values = list })
end

--- Draws of a commit: of each the differences to the good end, in percent; nil: it does not build or run.
---@param commit pmclua.Commit
---@param event string
---@param draws integer
---@param runs integer pairs of each
---@return number[][]?
function Measured:draws(commit, event, draws, runs)
  local list = {}
  for i = 1, draws do
    local number = (self.drawn[commit.hash] or 0) + 1
    self.drawn[commit.hash] = number
    local seed = self.builds:draws_layouts() and number or 0
    local line = self.journal:take(("draw %s %s %d"):format(event, commit.hash, number), function()
      return draw(self, commit, event, runs, seed)
    end)
    take_costs(self, line)
    self.broken[commit.hash] = line.why
    if not line.values then return nil end
    list[i] = line.values
    self.layouts[commit.hash] = self.layouts[commit.hash] or {}
    table.insert(self.layouts[commit.hash], { seed = seed, middle = median(line.values) })
  end
  say(self, "%s  %s %+.2f %% against the good end, %s of %d runs", commit.name, event,
    median(lists.joined(list)), text.plural(draws, "draw"), runs)
  return list
end

-- ---- layouts -------------------------------------------------------------------------------------------

local AGAIN, RUNS_AGAIN, LEVEL, CERTAIN = 4, 5, 0.95, 0.01
local NAMED = 3                         -- percent: what layouts alone change by less is not named

-- The slowest and the fastest layout of the commit of which most were drawn.
local function extremes(self, commits)
  local commit, most
  for _, candidate in ipairs(commits) do
    local drawn = self.layouts[candidate.hash]
    if drawn and (not most or #drawn > #most) then commit, most = candidate, drawn end
  end
  local sorted = lists.copy(most or {})
  table.sort(sorted, function(a, b) return a.middle < b.middle end)
  local low, high = sorted[1], sorted[#sorted]
  if low and high.middle - low.middle > NAMED then return commit, low, high end
end

--- The effect of layout alone, for a commit whose draws were far apart: its slowest layout against its fastest, run anew in
--- turns. That draws are apart proves nothing: the machine differs between them, too.
---@param commits pmclua.Commit[]
---@param event string
---@return { commit: pmclua.Commit, change: pmclua.Change }? nil: not above 3 %, or not certainly
function Measured:layout_effect(commits, event)
  local commit, low, high = extremes(self, commits)
  if not commit or not self.builds:draws_layouts() then return nil end
  local costs, values = self.costs, { {}, {} }
  if 2 * AGAIN * (costs.link + RUNS_AGAIN * costs.pair * costs.run) > self:left() then return nil end
  for i = 1, AGAIN do
    for side, layout in ipairs { low, high } do
      local key = ("again %s %s %d %d"):format(event, commit.hash, layout.seed, i)
      local line = self.journal:take(key, function()
        return draw(self, commit, event, RUNS_AGAIN, layout.seed)
      end)
      values[side][i] = line.values and median(line.values)
    end
  end
  if #values[1] < AGAIN or #values[2] < AGAIN then return nil end
  local estimate = mean.unpaired(values[1], values[2])
  if mean.p(estimate) > CERTAIN or estimate.mean <= NAMED then return nil end
  local from, to = mean.interval(estimate, LEVEL)
  return { commit = commit, change = { mean = estimate.mean, low = from, high = to } }
end

return M
