--- bisection.lua: what a search for a commit came to, in words; facts.

local exact = require "pmclua.commits.exact"
local lists = require "pmclua.base.lists"
local number = require "pmclua.base.number"
local text = require "pmclua.base.text"

local M = {}

local function percent(value) return ("%+.3g %%"):format(value) end

local function interval(change)
  if not change.low then return percent(change.mean) end
  return ("%s [%.2g … %.2g]"):format(percent(change.mean), change.low, change.high)
end

local function half(change) return ("%+.1f ± %.1f"):format(change.mean, (change.high - change.low) / 2) end

local IS_TIME = { duration_time = true, ["task-clock"] = true, user_time = true, system_time = true }

-- "slower"; for an event that is no time, "with more cache-misses".
local function direction(event, change)
  if IS_TIME[event] then return change.mean > 0 and "slower" or "faster" end
  return change.mean > 0 and "with more" or "with fewer"
end

local function of_event(event) return IS_TIME[event] and "" or " " .. event end

local function claim(self, step)
  local direct = direction(self.event, step.change)
  if #step.commits == 1 then
    return IS_TIME[self.event] and ("%s is the first %s commit"):format(step.to.name, direct)
      or ("%s is the first commit %s%s"):format(step.to.name, direct, of_event(self.event))
  end
  return ("one of %s … %s (%d commits) is the first %s%s"):format(step.commits[1].name, step.to.name,
    #step.commits, IS_TIME[self.event] and direct or "commit " .. direct, of_event(self.event))
end

local function evidence(self, step)
  if step.before then
    return ("%s (%s, before %s; exact)"):format(percent(step.change.mean), number.count(step.after),
      number.count(step.before))
  end
  local draws = self.answer.confirmed_with
  local what = self.builds:draws_layouts() and ("%d new layouts a side, new runs only"):format(draws)
    or "new runs of the same builds: layout included"
  return ("%s (%s)"):format(interval(step.change), what)
end

local WHY_RANGE = {
  broken = "those between do not build or run",
  layout = "less than six times what layouts alone change: --layouts shuffle, or {seed} in the build, "
    .. "draws new ones",
  budget = "the budget is spent", interrupted = "interrupted", undecided = "more runs tell no more",
}

local function lines_of_step(self, step)
  local lines = {}
  if step.change then lines[1] = ("%s: %s"):format(claim(self, step), evidence(self, step))
  else
    lines[1] = ("the step is in one of %s … %s (%d commits, 95 %%), if there is one: unconfirmed"):format(
      step.commits[1].name, step.to.name, #step.commits)
  end
  if #step.commits > 1 then
    local why = WHY_RANGE[self.reason] or WHY_RANGE.broken
    lines[#lines + 1] = "  no single commit: " .. why
  end
  lines[#lines + 1] = ("  %s · %s · %s"):format(text.safe(step.to.subject), text.safe(step.to.author),
    step.to.date:sub(1, 10))
  if step.merge then
    lines[#lines + 1] = ("  it came with the merge %s: %s"):format(step.merge.name,
      text.safe(step.merge.subject))
  end
  for _, note in ipairs(step.notes) do lines[#lines + 1] = "  " .. note end
  return lines
end

local function share_of_ends(self)
  return 100 * exact.share { before = self.before or 0, after = self.after or 0 }
end

-- Why no step was found, in one sentence.
local function none(self)
  local answer = self.answer or {}
  local margin = 100 * require("pmclua.commits.bisect").margin(self, self.event)
  local ends = answer.ends
  local reasons = {
    same = "no commit between changes what the build reads (--paths)",
    equal = ("the ends differ by less than %.3g %% (%s): steps that cancel cannot be seen so; pmclua history "
      .. "--every 8 looks inside"):format(margin, ends and half(ends) or percent(share_of_ends(self))),
    undecided = ends
    and ("whether the ends differ by more than %.3g %% was not decided: %s %%"):format(margin, half(ends)),
    gradual = "gradual: no single commit makes the difference" .. (ends and " of " .. interval(ends) or ""),
    refuted = answer.step and ("the posterior named %s; a new comparison did not (%s %%)"):format(
      self.levels[answer.commit].name, half(answer.step)),
    budget = answer.forecast and ("a step of %s needs about %d runs, %s; the budget is %s"):format(
      percent(answer.posterior.step), answer.forecast.runs, number.duration(answer.forecast.seconds),
      number.duration(self.measured.options.budget)) or "the budget is spent before the ends were told apart",
    interrupted = "interrupted before a step was known",
  }
  return reasons[self.reason] or "no step was found"
end

local function effort(self)
  local parts = {}
  local answer = self.answer
  if answer and answer.ends then parts[1] = ("of %s between the ends"):format(interval(answer.ends)) end
  if answer and answer.q then parts[#parts + 1] = ("posterior %.3g %%"):format(100 * answer.q) end
  if self.before and #self.steps > 0 then
    parts[#parts + 1] = ("of %s between the ends"):format(percent(share_of_ends(self)))
  end
  parts[#parts + 1] = ("%d commits, %s, %s"):format(#self.commits, text.plural(self.builds.made, "build"),
    number.duration(self.seconds))
  return "  " .. table.concat(parts, " · ")
end

local function of_layouts(self)
  local effect = self.layout_effect
  return effect and { ("  the layout of the code alone changes it by %s (two of %s, new runs)"):format(
    interval(effect.change), effect.commit.name) } or {}
end

local function reservations(self)
  local lines, answer = {}, self.answer
  if #self.steps > 0 and answer and not self.options.all then
    lines[1] = answer.has_others and "  the ends differ by other than this step: --all looks for more"
      or answer.kind == "commit" and "  no other step shown" or nil
  end
  if #self.steps > 0 and not answer and not self.options.all then
    local step, rest = self.steps[1],
      (self.after - self.before) - (self.steps[1].after - self.steps[1].before)
    if math.abs(rest) > math.abs(step.after - step.before) / 100 then
      lines[1] = "  other steps make up the rest of the ends' difference: --all names them"
    end
  end
  if self.options.all and (self.unseen or 0) > 0 then
    lines[1] = ("  what came and went again within %s would not be seen"):format(
      text.plural(self.unseen, "commit"))
  end
  return lines
end

--- The answer in words.
---@param self pmclua.Bisection
---@return string
function M.words(self)
  local lines = {}
  if #self.steps == 0 then
    lines[1] = ("%s … %s, %s: %s"):format(self.commits[1].name, self.commits[#self.commits].name, self.event,
      none(self))
  end
  for _, step in ipairs(self.steps) do lists.append(lines, lines_of_step(self, step)) end
  lines[#lines + 1] = effort(self)
  lists.append(lines, of_layouts(self))
  lists.append(lines, reservations(self))
  if self.place then lines[#lines + 1] = "  why: " .. text.safe(self.place) end
  if self.why then lines[#lines + 1] = "  why: " .. self.why.sentence end
  if self.error_of_why then lines[#lines + 1] = "  why it is could not be measured: " .. self.error_of_why end
  if self.reason == "interrupted" and self.path then
    lines[#lines + 1] = "  --resume " .. self.path .. " goes on"
  end
  return table.concat(lines, "\n") .. "\n"
end

local function commit_data(commit)
  return { hash = commit.hash, author = commit.author, date = commit.date, subject = commit.subject }
end

local ORDER = { "format", "event", "good", "bad", "reason", "sentence", "before", "after", "ends", "mean",
  "low", "high", "posterior", "has_others", "layout_effect", "unseen", "steps", "from", "commits", "change",
  "hash", "author", "date", "subject", "merge", "notes", "why", "builds", "seconds", "path" }

--- The facts of the answer.
---@param self pmclua.Bisection
---@return pmclua.ReportFacts
function M.facts(self)
  local answer = self.answer or {}
  local steps = lists.map(self.steps, function(step)
    return { from = commit_data(step.from), commits = lists.map(step.commits, commit_data),
      change = step.change, before = step.before, after = step.after,
      merge = step.merge and commit_data(step.merge), notes = step.notes }
  end)
  return { order = ORDER, value = { format = 1, event = self.event, good = self.commits[1].hash,
    bad = self.commits[#self.commits].hash, reason = self.reason,
    sentence = #self.steps == 0 and none(self) or nil, before = self.before, after = self.after,
    ends = answer.ends, posterior = answer.q, has_others = answer.has_others,
    layout_effect = self.layout_effect and self.layout_effect.change, unseen = self.unseen, steps = steps,
    why = self.why and self.why.sentence or self.place, builds = self.builds.made, seconds = self.seconds,
    path = self.path } }
end

return M
