--- bisect.lua: which commit changed a count or a time: counts first, then times, then why.
--
-- Invariant: commits that are built from the same are one level. Of a merge that is named its branch is searched, too.

local builds = require "pmclua.commits.builds"
local DEFAULT_MARGIN = require("pmclua.verdict").DEFAULT_MARGIN
local core = require "pmclua.core"
local exact = require "pmclua.commits.exact"
local lists = require "pmclua.base.lists"
local output = require "pmclua.host.output"
local problem = require "pmclua.base.problem"
local repository = require "pmclua.commits.repository"
local reverts = require "pmclua.commits.reverts"
local search = require "pmclua.commits.search"
local simulated = require "pmclua.event.simulated"
local text = require "pmclua.base.text"
local units = require "pmclua.base.units"

local M = {}

local EXACT_MARGIN, BUDGET_S = 0.001, 7200
local TIME, COUNT = "duration_time", simulated.spec "instructions"

---@class pmclua.CommitStep
---@field from pmclua.Commit the last commit before the step that was measured
---@field to pmclua.Commit the first one behind it
---@field commits pmclua.Commit[] those that it can be: `to` alone, or others that do not build as well
---@field change pmclua.Change percent; of counts without low and high
---@field before? number a count
---@field after? number
---@field merge? pmclua.Commit the merge that brought it
---@field notes string[]

---@class pmclua.Bisection
---@field event string that decided
---@field commits pmclua.Commit[] those from good to bad
---@field steps pmclua.CommitStep[]
---@field reason? string why there is none, or no single commit: of pmclua.SearchAnswer; "same": nothing that the build
---  reads has changed
---@field answer? pmclua.SearchAnswer of times
---@field before? number the counts of the ends
---@field after? number
---@field layout_effect? { commit: pmclua.Commit, change: pmclua.Change } where layouts alone change the time by over 3 %
---@field unseen? integer commits in the longest row of which none was counted
---@field why? pmclua.Why what the step of a time consists of
---@field place? string where a count differs most
---@field builds integer|table that were made; while it runs pmclua.commits.builds
---@field seconds number that it took, resumed ones too
---@field path? string of the file from which it can go on
local Bisection = require("pmclua.public.class").new("commits", "bisection",
  "reason answer before after unseen layout_effect why place path margin levels error_of_why")

local function misuse(form, ...) require("pmclua.explain").misuse(form:format(...), 4) end

-- ---- levels --------------------------------------------------------------------------------------------

-- Commits without those that are built from the same as the one before.
local function levels_of(made, commits)
  return lists.where(commits, function(commit)
    local i = commit.index
    return i == 1 or not made:are_equal(commits[i - 1].hash, commit.hash)
  end)
end

local function numbered(commits)
  for i, commit in ipairs(commits) do commit.index = i end
  return commits
end

-- ---- one search ----------------------------------------------------------------------------------------

local function end_does_not_build(self, commit)
  error(problem.problem { code = "EBUILD", operation = "bisect",
    message = ("%s (%s), an end, has no value: %s"):format(commit.name, text.safe(commit.subject),
      self.measured.broken[commit.hash] or "it does not build") }, 0)
end

local function step_of(commits, from, to, change)
  local between = {}
  for i = from + 1, to do between[#between + 1] = commits[i] end        -- more than unpack can have
  return { from = commits[from], to = commits[to], commits = between, change = change, notes = {} }
end

local function is_exact(event) return event:find("^valgrind::") ~= nil end

--- The smallest step that counts.
---@param self pmclua.Bisection
---@param event string
---@return number share
function M.margin(self, event) return self.margin or is_exact(event) and EXACT_MARGIN or DEFAULT_MARGIN end

-- Steps of an exact count among commits.
local function count_steps(self, commits, event)
  local result = exact.run { commits = #commits, margin = M.margin(self, event), all = self.options.all,
    count = function(i) return self.measured:count(commits[i], event) end,
    reverts = function(step) return reverts.of(self.repository, commits, step.from, step.to) end }
  if result.broken then end_does_not_build(self, commits[result.broken]) end
  local outcome = { before = result.before, after = result.after, unseen = result.unseen }
  outcome.steps = lists.map(result.steps, function(step)
    local made = step_of(commits, step.from, step.to, { mean = 100 * exact.share(step) })
    made.before, made.after = step.before, step.after
    for _, gone in ipairs(result.gone) do
      local by = commits[gone.taken_back_by].name
      if gone == step then made.notes[1] = ("%s takes it back"):format(by)
      elseif not self.options.all then
        table.insert(made.notes, ("%s brought more, too, which %s took back"):format(commits[gone.to].name,
          by))
      end
    end
    return made
  end)
  if #outcome.steps == 0 then outcome.reason = "equal" end
  return outcome
end

-- Steps of a time among commits: the largest; with --all those before and behind it, too.
local function time_steps(self, commits, event)
  local measured = self.measured
  local answer = search.run { commits = #commits, margin = 100 * M.margin(self, event),
    costs = measured.costs, draws_layouts = self.builds:draws_layouts(),
    left = function() return measured:left() end,
    measure = function(i, draws, runs) return measured:draws(commits[i], event, draws, runs) end }
  if answer.reason == "broken" and answer.kind == "none" then
    end_does_not_build(self, commits[answer.commit])
  end
  local outcome = { answer = answer, reason = answer.reason, steps = {} }
  if answer.kind == "none" then return outcome end
  outcome.steps[1] = step_of(commits, answer.from, answer.to, answer.step)
  if not (self.options.all and answer.kind == "commit") then return outcome end
  local before = { unpack(commits, 1, answer.from) }
  local behind = { unpack(commits, answer.to) }
  local all = {}
  for _, part in ipairs { before, outcome, behind } do
    local steps = part.steps or #part > 1 and time_steps(self, part, event).steps or {}
    lists.append(all, steps)
  end
  outcome.steps = all
  return outcome
end

-- The steps inside a merged branch, where the merge has one; nil: it is the merge's own.
local function inside(self, step, find, event)
  local merge = step.to
  local first, second = merge.parents[1], merge.parents[2]
  local base = self.repository:git { "merge-base", first, second }
  if not base or base == second then return nil end
  local commits = levels_of(self.builds, numbered(self.repository:between(base, second)))
  if #commits < 2 then return nil end
  local ok, result = pcall(find, self, commits, event)
  if not ok and type(result) == "table" and rawget(result, "code") ~= "EBUILD" then error(result, 0) end
  if not ok or #result.steps == 0 then
    table.insert(step.notes, "the merged branch alone does not have it: the merge itself, or what it meets")
    return nil
  end
  for _, inner in ipairs(result.steps) do inner.merge = merge end
  return result.steps
end

local function descend(self, outcome, find, event)
  local steps = {}
  for _, step in ipairs(outcome.steps) do
    local is_merge = #step.commits == 1 and #step.to.parents > 1
    lists.append(steps, is_merge and inside(self, step, find, event) or { step })
  end
  outcome.steps = steps
end

-- ---- why -----------------------------------------------------------------------------------------------

local function note_benchmark(self, step)
  local paths = self.options.benchmark_paths
  if not paths then return end
  local words = lists.joined { { "diff", "--quiet", step.from.hash, step.to.hash, "--" }, paths }
  if not self.repository:git(words) then
    step.notes[#step.notes + 1] =
      "it changes the benchmark, too; all commits were measured with the newest one"
  end
end

-- Explains the first step between its two sides: a count by place, a time by ledgers.
local function add_why(self)
  local step, options = self.steps[1], self.options
  if not step or options.why == false or #step.commits > 1 then return end
  local ok, answer = pcall(function()
    local a, b = self.measured:workload(step.from.hash, 0, step.from.name),
      self.measured:workload(step.to.hash, 0, step.to.name)
    if step.before then
      self.place = require("pmclua.why.cause").place(a, b, self.event, options)
      return nil
    end
    return require("pmclua.why.collect").why(a, b, { budget = options.why_budget or 60, pin = options.pin,
      timeout = options.timeout, quiet = true })
  end)
  if ok then self.why = answer
  elseif type(answer) == "table" and rawget(answer, "stop") then self.reason = self.reason or answer.stop
  else self.error_of_why = text.plain(tostring(answer)) end
end

-- ---- what is asked -------------------------------------------------------------------------------------

-- The events, in the order in which they are tried: counts first.
local function events_of(options)
  local asked = options.events
  if type(asked) == "string" then asked = { asked } end
  if asked and #asked > 0 then return asked end
  local can_simulate = require("pmclua.simulate.valgrind").path() ~= nil
  if options.simulate and not can_simulate then
    error(problem.problem { code = "ENOENT", operation = "bisect", status = 77,
      message = "simulated counts take Valgrind, which is not installed",
      hint = require("pmclua.base.packages").install "Valgrind" }, 0)
  end
  if options.simulate then return { COUNT } end
  return can_simulate and { COUNT, TIME } or { TIME }
end

local function default_path(key)
  local state = require("pmclua.host.paths").state()
  local folder = state and state .. "/bisect"
  if not folder or not require("pmclua.host.paths").make(folder) then return nil end
  return ("%s/%s.jsonl"):format(folder, key)
end

local function journal_of(self, about)
  local options = self.options
  local path = options.resume or options.store
  if path == nil or path == true then
    local parts = lists.map(lists.keys(about), function(name) return name .. "=" .. about[name] end)
    path = default_path(core.hash(self.repository.common .. table.concat(parts, "\0")):sub(1, 16))
  end
  self.path = path or nil
  return require("pmclua.commits.journal").open(self.path, about, options.resume ~= nil)
end

local function about_of(options, commits, events, workload)
  local build = options.build .. (options.layouts and ", layouts by " .. options.layouts or "")
  return { good = commits[1].hash, bad = commits[#commits].hash, build = build,
    workload = workload.name, events = table.concat(events, ","),
    paths = table.concat(options.paths or {}, " "),
    benchmark_paths = table.concat(options.benchmark_paths or {}, " ") }
end

local function say_dirty(repo, options)
  local changes = repo:changes()
  if changes ~= "" and not options.quiet then
    output.note("changes that are not committed are not measured: %s", text.safe(changes:match "[^\n]*"))
  end
end

-- ---- the face ------------------------------------------------------------------------------------------

-- Searches with one event after another until one tells.
local function search_events(self, levels, events)
  for i, event in ipairs(events) do
    local find = is_exact(event) and count_steps or time_steps
    local outcome = find(self, levels, event)
    descend(self, outcome, find, event)
    self.event, self.steps, self.reason, self.answer = event, outcome.steps, outcome.reason, outcome.answer
    self.before, self.after = outcome.before or self.before, outcome.after or self.after
    self.unseen = outcome.unseen
    if #outcome.steps > 0 or i == #events then return end
    if not self.options.quiet then
      output.note("%s: no step (%s); going on with %s", event, outcome.reason, events[i + 1])
    end
  end
end

local function run(self, levels, events)
  local caught = core.catch_interrupts "count"
  local ok, why = pcall(function()
    search_events(self, levels, events)
    for _, step in ipairs(self.steps) do note_benchmark(self, step) end
    self.layout_effect = self.answer and self.measured:layout_effect(levels, self.event)
    add_why(self)
  end)
  core.catch_interrupts(caught, true)
  self.builds:release()
  if ok then return end
  if type(why) ~= "table" or not rawget(why, "stop") then error(why, 0) end
  self.reason = why.stop
end

--- Searches the commit that changed what a workload costs.
---@param options table of bisect_options
---@return pmclua.Bisection
function M.bisect(options)
  local repo = repository.open(options.folder or ".")
  local workload, why = require("pmclua.workload").from(options.workload)
  if not workload then misuse("bisect: %s", why) end
  if not workload.move then misuse "bisect: a Lua function is the same at each commit" end
  local margin = problem.asked(units.share, options.margin, "bisect: margin: %s")
  local budget = problem.asked(units.seconds, options.budget, "bisect: budget: %s") or BUDGET_S
  if options.layouts and options.build:find("{seed}", 1, true) then
    misuse 'bisect: a build with {seed} draws its layouts by itself: layouts = "shuffle" is for others'
  end
  local commits = numbered(repo:between(options.good, options.bad))
  say_dirty(repo, options)
  local made = builds.new(repo, commits, options)
  local self = setmetatable({ options = options, repository = repo, builds = made, margin = margin,
    steps = {}, commits = commits, event = "", seconds = 0 }, Bisection)
  local events = events_of(options)
  local journal = journal_of(self, about_of(options, commits, events, workload))
  self.measured = require("pmclua.commits.measured").new { workload = workload, builds = made,
    journal = journal, anchor = commits[1].hash, budget = budget, seed = options.seed or 1,
    timeout = options.timeout, pin = options.pin, quiet = options.quiet }
  self.event, self.levels = events[1], levels_of(made, commits)
  if #self.levels < 2 then self.reason = "same" else run(self, self.levels, events) end
  self.seconds = budget - self.measured:left()
  return self
end

Bisection.__tostring = function(self) return self:report() end

return M
