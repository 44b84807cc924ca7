--- plan.lua (report): what `--plan` prints: what would run, how often, in which passes and in which order.

local lists = require "pmclua.base.lists"
local terminal = require "pmclua.host.terminal"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

local WIDEST = 80

--- Adds a line, continued below its text where it is long.
---@param lines string[] `width`: of each
---@param head string
---@param said string
function M.add(lines, head, said)
  local rest = text.wrap(said, lines.width - text.width(head))
  for i, line in ipairs(rest) do
    lines[#lines + 1] = (i == 1 and head or (" "):rep(text.width(head))) .. line
  end
end

local function names(events, indices)
  return table.concat(lists.map(indices, function(index) return text.safe(events[index].name) end), ", ")
end

-- Valgrind 3.19 on x86-64, CPU time over that of the program itself.
local COST = "%s, simulated by Valgrind: a run takes some %s times as long as the program itself; two runs "
  .. "of a cell that agree are enough, unless it has threads or forks"

local function simulated(events, pass)
  local is_more = pass.simulated.cache or pass.simulated.branch
  return COST:format(names(events, pass.events), is_more and "40 to 130" or "25 to 50")
end

-- The events of a pass; where they are several groups, in perf's braces.
local function groups_of(events, pass)
  if pass.simulated then return simulated(events, pass) end
  if pass.sampled then return names(events, { pass.sampled }) .. ", sampled" end
  if pass.traced then return "system calls, each timed" end
  if #pass.groups == 0 then return "times and resource usage alone" end
  if #pass.groups == 1 then return names(events, pass.groups[1].events) end
  return table.concat(lists.map(pass.groups, function(group)
    return "{" .. names(events, group.events) .. "}"
  end), " ")
end

--- Adds the passes of a plan, and what is in each of them.
---@param lines string[]
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
function M.add_passes(lines, declaration, plan)
  local events = declaration.events
  for i, pass in ipairs(plan.passes) do M.add(lines, ("  pass %d: "):format(i), groups_of(events, pass)) end
  if declaration.passes == "multiplex" and #plan.passes[1].groups > 1 then
    M.add(lines, "  multiplexed: ", "groups that do not fit at once take turns, and their counts are scaled")
  end
  if #plan.anchors > 0 then
    M.add(lines, "  in every pass, to compare passes by: ", names(events, plan.anchors))
  end
end

--- Adds the events that need no counter, and those that are absent, by why.
---@param lines string[]
---@param events pmclua.Event[]
function M.add_others(lines, events)
  local tools, reasons, absent = {}, {}, {}
  for index, event in ipairs(events) do
    local why = event.status
      and ("%s: %s"):format(words.status(event.status), (event.why:gsub("^cannot open '.-': ", "")))
    if why and not absent[why] then reasons[#reasons + 1], absent[why] = why, {} end
    if why then table.insert(absent[why], index) elseif event.tool then tools[#tools + 1] = index end
  end
  if #tools > 0 then M.add(lines, "  without a counter: ", names(events, tools)) end
  for _, why in ipairs(reasons) do
    M.add(lines, "  not counted: ", ("%s %s"):format(names(events, absent[why]), text.safe(why)))
  end
end

local function add_stop(lines, declaration)
  local rule, limits = declaration.stop, {}
  if not rule then return end
  local narrow = rule.interval and text.percent(rule.interval) .. " wide"
  if declaration.baseline then
    limits[1] = "when all comparisons are decided" .. (narrow and ", or their intervals " .. narrow or "")
  elseif narrow then
    limits[1] = "when all intervals are " .. narrow
  end
  if rule.repetitions then limits[#limits + 1] = "at " .. text.plural(rule.repetitions, "repetition") end
  if rule.seconds then limits[#limits + 1] = "after " .. text.duration(rule.seconds) end
  M.add(lines, "  stops: ", table.concat(limits, "; "))
end

--- Adds the cells.
---@param lines string[]
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
function M.add_cells(lines, declaration, plan)
  for _, cell in ipairs(plan.cells) do
    local parts = { text.safe(cell.workload.name) }
    for _, factor in ipairs(declaration.factors) do
      parts[#parts + 1] = text.safe(("%s=%s"):format(factor.name, tostring(cell.levels[factor.name])))
    end
    lines[#lines + 1] = ("  cell %d: %s"):format(cell.index, table.concat(parts, " "))
  end
end

-- The order of the first block; a unit is a cell, or a cell in a pass.
local function add_order(lines, declaration, plan)
  local count, units = #plan.cells * #plan.passes, {}
  if count < 2 then return end
  local next_step = require("pmclua.experiment.plan").steps(declaration, plan)
  for i = 1, count do
    local step = next_step()
    units[i] = #plan.passes > 1 and ("%d/%d"):format(step.cell.index, step.pass) or tostring(step.cell.index)
  end
  M.add(lines, "  order: ", ("randomised blocks of %d, interleaved; the first: %s %s"):format(count,
    #plan.passes > 1 and "cell/pass" or "cells", table.concat(units, " ")))
end

--- No lines yet, as wide as the terminal, or less.
function M.lines() return { width = math.min(WIDEST, terminal.resolve({ stream = 1 }).width) } end

--- The plan in lines.
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@return string
function M.render(declaration, plan)
  local most = require("pmclua.experiment.plan").most_repetitions(declaration)
  local at_most = declaration.stop and "at most " or ""
  local lines = M.lines()
  M.add(lines, "", ("%s × %s × (%d warm-up + %s%d counted) = %s%s, seed %d"):format(
    text.plural(#plan.cells, "cell"), text.plural(#plan.passes, "pass", "passes"), declaration.warmup,
    at_most,
    most, at_most, text.plural(plan.runs, "run"), declaration.seed))
  add_stop(lines, declaration)
  M.add_passes(lines, declaration, plan)
  M.add_others(lines, declaration.events)
  M.add_cells(lines, declaration, plan)
  add_order(lines, declaration, plan)
  return terminal.spelled(table.concat(lines, "\n") .. "\n", { stream = 1 })
end

return M
