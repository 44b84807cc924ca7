--- progress.lua: one line on a terminal's standard error while a plan runs, with the time left.

local core = require "pmclua.core"
local text = require "pmclua.text"

local progress = {}

local EVERY_NS = 1e8

local function label(step)
  local levels = {}
  for name, level in pairs(step.cell.levels) do levels[#levels + 1] = name .. "=" .. tostring(level) end
  table.sort(levels)
  return text.safe(table.concat({ step.cell.workload.name, unpack(levels) }, " "))
end

-- What is left, as said: by the mean of the steps that were done; a stop rule may end it sooner.
local function time_left(state)
  local done, rule = state.done, state.rule
  if done < 1 then return nil end
  local left = math.max(0, state.elapsed / done * (state.total - done) - state.running)
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

--- What the line says.
---@param state pmclua.ProgressState
---@return string
function progress.line(state)
  local parts = { ("%d/%d%s"):format(state.done + 1, state.total, state.step.warmup and " warm-up" or ""),
    label(state.step), time_left(state) }
  return table.concat(parts, " · ")
end

---@class pmclua.Progress
local Progress = {}
Progress.__index = Progress

--- Progress on a terminal's standard error; on none (a pipe, a dumb terminal, `quiet`) it shows nothing.
---@param quiet? boolean
---@return pmclua.Progress
function progress.new(quiet)
  local is_shown = not quiet and core.is_terminal(2) and os.getenv "TERM" ~= "dumb"
  return setmetatable({ is_shown = is_shown, started = core.now_ns(), drawn = 0,
    columns = core.columns(2) or 80 }, Progress)
end

--- A step begins.
---@param order integer its place in the plan
---@param total integer
---@param step table
---@param rule? pmclua.StopRule
function Progress:begin(order, total, step, rule)
  if not self.is_shown then return end
  self.skipped = self.skipped or order - 1         -- what a resumed run had already
  self.began = core.now_ns()
  self.state = { done = order - 1 - self.skipped, total = total - self.skipped, step = step, rule = rule,
    elapsed = tonumber(self.began - self.started) / 1e9 }
  self:tick()
end

--- Draws the line anew where it is old; to be called while a step runs, too.
function Progress:tick()
  local now, state = core.now_ns(), self.state
  if not state or now - self.drawn < EVERY_NS then return end
  self.drawn, state.running = now, tonumber(now - self.began) / 1e9
  local line = text.cut(progress.line(state), self.columns - 2)
  io.stderr:write("\r\27[K", (require("pmclua.report.terminal").spelled(line, { stream = 2 })))
end

--- Takes the line away.
function Progress:clear()
  if self.state then io.stderr:write "\r\27[K" end
  self.state = nil
end

return progress
