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
local function time_left(elapsed, done, total, rule)
  if done < 1 then return nil end
  local left = elapsed / done * (total - done)
  if rule and rule.seconds then left = math.min(left, math.max(0, rule.seconds - elapsed)) end
  return ("%s%s left"):format(rule and "at most " or "", text.duration(math.ceil(left)))
end

--- What the line says.
---@param state { done: integer, total: integer, elapsed: number, step: table, rule: pmclua.StopRule? } done:
---   steps that are over; elapsed: seconds
---@return string
function progress.line(state)
  local parts = { ("%d/%d%s"):format(state.done + 1, state.total, state.step.warmup and " warm-up" or ""),
    label(state.step), time_left(state.elapsed, state.done, state.total, state.rule) }
  return table.concat(parts, " · ")
end

--- A function to call before each repetition, and one to call at the end; nil where standard error is no
--- terminal or `quiet`.
---@param quiet? boolean
---@return (fun(order: integer, total: integer, step: table, rule: pmclua.StopRule?))?, fun()?
function progress.new(quiet)
  local columns = core.columns(2)
  if quiet or not core.is_terminal(2) or os.getenv "TERM" == "dumb" then return end
  local started, last, skipped = core.now_ns(), 0, nil
  local spelled = require("pmclua.report.terminal").spelled
  local function show(order, total, step, rule)
    local now = core.now_ns()
    skipped = skipped or order - 1
    if now - last < EVERY_NS then return end
    last = now
    local line = progress.line { done = order - 1 - skipped, total = total - skipped,
      elapsed = (now - started) / 1e9, step = step, rule = rule }
    io.stderr:write("\r\27[K", spelled(text.cut(line, (columns or 80) - 2), { stream = 2 }))
  end
  local function clear() io.stderr:write "\r\27[K" end
  return show, clear
end

return progress
