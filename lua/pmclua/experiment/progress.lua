--- progress.lua: one line on a terminal's standard error while a plan runs, with the time left.

local core = require "pmclua.core"

local progress = {}

local EVERY_NS = 1e8

local function duration(seconds)
  if seconds < 60 then return ("%.0f s"):format(seconds) end
  return ("%d min %d s"):format(seconds / 60, seconds % 60)
end

local function label(step)
  local parts = { step.cell.workload.name }
  for name, level in pairs(step.cell.levels) do parts[#parts + 1] = name .. "=" .. tostring(level) end
  return require("pmclua.text").safe(table.concat(parts, " "))
end

--- A function to call before each repetition, and one to call at the end; nil where standard error is no
--- terminal or `quiet`.
---@param quiet? boolean
---@return fun(done: integer, total: integer, step: table)?, fun()?
function progress.new(quiet)
  local columns = core.columns(2)
  if quiet or not core.is_terminal(2) or os.getenv "TERM" == "dumb" then return end
  local started, last = core.now_ns(), 0
  local function show(done, total, step)
    local now = core.now_ns()
    if now - last < EVERY_NS then return end
    last = now
    local left = done > 1 and (now - started) / (done - 1) * (total - done + 1) / 1e9
    local line = ("%d/%d%s · %s%s"):format(done, total, step.warmup and " warm-up" or "", label(step),
      left and " · " .. duration(left) .. " left" or "")
    io.stderr:write("\r\27[K", require("pmclua.text").cut(line, (columns or 80) - 1))
  end
  local function clear() io.stderr:write "\r\27[K" end
  return show, clear
end

return progress
