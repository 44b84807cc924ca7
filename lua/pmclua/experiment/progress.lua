--- progress.lua: how far a plan is and the time left, on standard error: one line that a terminal draws anew,
-- elsewhere (a build service's log) a line a minute.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local output = require("pmclua.base.lazy").module "pmclua.host.output"
local text = require "pmclua.base.text"

local progress = {}

local EVERY_NS, HEARTBEAT_NS = 1e8, 60e9

local function label(step, is_simulated)
  local levels = lists.assignments(step.cell.levels)
  local words = text.safe(table.concat({ step.cell.workload.name, unpack(levels) }, " "))
  return is_simulated and words .. ", counted apart" or words
end

local function mean(kind) return kind.done > 0 and kind.elapsed / kind.done or 0 end

-- Runs under Valgrind take longer than others, and are fewer than planned where they agree. Nil before one of each kind
-- is over.
local function by_kinds(state)
  local simulation = state.simulation
  local is_known = (simulation.left == 0 or state.simulated.done > 0)
    and (simulation.share == 1 or state.real.done > 0)
  if not is_known then return nil end
  return mean(state.real) * (state.total - state.done) * (1 - simulation.share)
    + mean(state.simulated) * simulation.left - state.running
end

-- The time left, by the mean of the steps that were done; a stop rule may end it sooner.
local function time_left(state)
  local done, rule = state.done, state.rule
  if done < 1 then return nil end
  local left
  if state.simulation then left = by_kinds(state)
  else left = state.elapsed / done * (state.total - done) - state.running end
  if not left then return nil end
  left = math.max(0, left)
  if rule and rule.seconds then
    left = math.min(left, math.max(0, rule.seconds - state.elapsed - state.running))
  end
  return ("%s%s left"):format(rule and "at most " or "", text.duration(math.ceil(left)))
end

---@class pmclua.ProgressState
---@field done integer steps that are over
---@field total integer
---@field elapsed number seconds that these took
---@field running number seconds that this step has run
---@field step table
---@field rule? pmclua.StopRule
---@field simulation? { is_simulated: boolean, left: number, share: number } of a plan with a simulated pass: whether
---  this step is of it, how many of its steps are expected to be left, and how many of all were planned to be
---@field real? { done: integer, elapsed: number } of the steps that are not simulated
---@field simulated? { done: integer, elapsed: number }

--- The text of the line.
---@param state pmclua.ProgressState
---@return string
function progress.line(state)
  local parts = { ("%d/%d%s"):format(state.done + 1, state.total, state.step.warmup and " warm-up" or ""),
    label(state.step, state.simulation and state.simulation.is_simulated), time_left(state) }
  return table.concat(parts, " · ")
end

---@class pmclua.Progress
local Progress = {}
Progress.__index = Progress

--- Progress on standard error: on a terminal one line, on none (a pipe, a dumb terminal) a line a minute, the first
--- after a minute; `quiet`: nothing.
---@param quiet? boolean
---@param heartbeat_ns? number between lines where there is no terminal
---@return pmclua.Progress
function progress.new(quiet, heartbeat_ns)
  local is_terminal, now = core.is_terminal(2) and os.getenv "TERM" ~= "dumb", core.now_ns()
  return setmetatable({ is_shown = not quiet, is_terminal = is_terminal, started = now,
    drawn = is_terminal and 0 or now, every_ns = is_terminal and EVERY_NS or heartbeat_ns or HEARTBEAT_NS,
    columns = core.columns(2) or 80 }, Progress)
end

function Progress:account()
  local last = self.state
  if not last then
    self.real, self.simulated = { done = 0, elapsed = 0 }, { done = 0, elapsed = 0 }
    return
  end
  local kind = last.simulation and last.simulation.is_simulated and self.simulated or self.real
  kind.done, kind.elapsed = kind.done + 1, kind.elapsed + tonumber(core.now_ns() - self.began) / 1e9
end

--- A step begins.
---@param order integer its place in the plan
---@param total integer
---@param step table
---@param rule? pmclua.StopRule
---@param simulation? table as of ProgressState
function Progress:begin(order, total, step, rule, simulation)
  if not self.is_shown then return end
  self:account()
  self.skipped = self.skipped or order - 1         -- what a resumed run had already
  self.began = core.now_ns()
  self.state = { done = order - 1 - self.skipped, total = total - self.skipped, step = step, rule = rule,
    simulation = simulation, real = self.real, simulated = self.simulated,
    elapsed = tonumber(self.began - self.started) / 1e9 }
  self:tick()
end

local function show(self, line)
  if self.is_terminal then output.status(text.cut(line, self.columns - 2)) else output.note("%s", line) end
end

--- Draws the line anew where it is old; to be called while a step runs, too.
function Progress:tick()
  local now, state = core.now_ns(), self.state
  if not state or now - self.drawn < self.every_ns then return end
  self.drawn, state.running = now, tonumber(now - self.began) / 1e9
  show(self, progress.line(state))
end

--- Takes the line away.
function Progress:clear()
  if self.state and self.is_terminal then output.status() end
  self.state = nil
end

return progress
