--- plan.lua: what `--plan` prints: what would run, how often, in which passes and in which order.

local lists = require "pmclua.base.lists"
local terminal = require "pmclua.host.terminal"
local text = require "pmclua.base.text"
local words = require "pmclua.report.words"

local M = {}

local WIDEST = 80

--- Adds a line, continued below its text where it is long.
---@param lines string[] `width`: of each
---@param head string
---@param value string
function M.add(lines, head, value)
  local rest = text.wrap(value, lines.width - text.width(head))
  for i, line in ipairs(rest) do
    lines[#lines + 1] = (i == 1 and head or (" "):rep(text.width(head))) .. line
  end
end

local function listed(events)
  return table.concat(lists.map(events, function(event) return text.safe(event.name) end), ", ")
end

local function names(events, indices)
  return listed(lists.map(indices, function(index) return events[index] end))
end

-- Valgrind 3.19 on x86-64, CPU time over that of the program itself.
local COST = "%s, %s by Valgrind: a run takes some %s times as long as the program itself; two runs of a "
  .. "cell that agree are enough, unless it has threads or forks"

local CALLS = "%s, by ptrace: each of these calls takes microseconds more; "
  .. "three runs of a cell that agree are enough"

local function simulated(events, pass)
  if pass.simulated.calls then return CALLS:format(names(events, pass.events)) end
  local listed_names, is_more = names(events, pass.events), pass.simulated.cache or pass.simulated.branch
  if pass.simulated.heap then return COST:format(listed_names, "counted", "20 to 100") end
  return COST:format(listed_names, "simulated", is_more and "40 to 130" or "25 to 50")
end

-- The events of a pass; where they are several groups, in perf's braces.
local function groups_of(events, pass)
  if pass.simulated then return simulated(events, pass) end
  if pass.sampled then return names(events, { pass.sampled }) .. ", sampled" end
  if pass.traced then return "system calls, each traced" end
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

local function why_not(event)
  if not event.status then return nil end
  return text.safe(("%s: %s"):format(words.status(event.status), (event.why:gsub("^cannot open '.-': ", ""))))
end

--- Adds the events that need no counter, and those that are absent, by why.
---@param lines string[]
---@param events pmclua.Event[]
function M.add_others(lines, events)
  local tools = lists.where(events, function(event) return event.tool and not event.status end)
  if #tools > 0 then M.add(lines, "  without a counter: ", listed(tools)) end
  for _, group in ipairs(lists.groups(events, why_not)) do
    M.add(lines, "  not counted: ", ("%s %s"):format(listed(group), group.key))
  end
end

local function add_stop(lines, declaration)
  local rule, limits = declaration.stop, {}
  if not rule then return end
  if rule.own then limits[1] = "when the script's own rule says so" end
  local narrow = rule.interval and text.percent(rule.interval) .. " wide"
  if declaration.baseline and not rule.own then
    limits[1] = "when all comparisons are decided" .. (narrow and ", or their intervals " .. narrow or "")
  elseif narrow then
    limits[1] = "when all intervals are " .. narrow
  end
  if rule.repetitions then limits[#limits + 1] = "at " .. text.plural(rule.repetitions, "repetition") end
  if rule.seconds then limits[#limits + 1] = "after " .. text.duration(rule.seconds) end
  M.add(lines, "  stops: ", table.concat(limits, "; "))
end

local function add_more(lines, declaration, plan)
  local processes = require "pmclua.experiment.processes"
  local most = processes.most_pairs(declaration, plan)
  if most and most > declaration.repetitions then
    M.add(lines, "  of short repetitions more: ", ("%d at most, the shorter the more"):format(most))
  end
end

local SHOWN, UNITS = 12, 40         -- cells, and places of an order, that a screen has room for

--- Adds the cells.
---@param lines string[]
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@param is_short? boolean a screen of them
function M.add_cells(lines, declaration, plan, is_short)
  local most = is_short and #plan.cells > SHOWN and SHOWN or #plan.cells
  for i = 1, most do
    local cell = plan.cells[i]
    local levels = lists.map(declaration.factors, function(factor)
      return (" %s=%s"):format(factor.name, tostring(cell.levels[factor.name]))
    end)
    local label = text.safe(cell.workload.name .. table.concat(levels))
    lines[#lines + 1] = ("  cell %d: %s"):format(cell.index, label)
  end
  if most < #plan.cells then
    local count = text.plural(#plan.cells - most, "cell")
    lines[#lines + 1] = ("  … and %s more: --plan-all shows them"):format(count)
  end
end

-- The order of the first block; a unit is a cell, or a cell in a pass.
local function add_order(lines, declaration, plan, is_short)
  local count, units = #plan.cells * #plan.passes, {}
  if count < 2 then return end
  local next_step = require("pmclua.experiment.plan").steps(declaration, plan)
  for i = 1, is_short and math.min(count, UNITS) or count do
    local step = next_step()
    units[i] = #plan.passes > 1 and ("%d/%d"):format(step.cell.index, step.pass) or tostring(step.cell.index)
  end
  if #units < count then units[#units + 1] = "…" end
  M.add(lines, "  order: ", ("randomised blocks of %d, interleaved; the first: %s %s"):format(count,
    #plan.passes > 1 and "cell/pass" or "cells", table.concat(units, " ")))
end

--- No lines yet, as wide as the terminal, or less.
function M.lines() return { width = math.min(WIDEST, terminal.resolve({ stream = 1 }).width) } end

--- The plan in lines.
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@param is_short? boolean of many cells a screen alone
---@return string
function M.render(declaration, plan, is_short)
  local most = require("pmclua.experiment.plan").most_repetitions(declaration)
  local at_most = declaration.stop and "at most " or ""
  local lines = M.lines()
  M.add(lines, "", ("%s × %s × (%d warm-up + %s%d counted) = %s%s, seed %d"):format(
    text.plural(#plan.cells, "cell"), text.plural(#plan.passes, "pass", "passes"), declaration.warmup,
    at_most,
    most, at_most, text.plural(plan.runs, "run"), declaration.seed))
  add_stop(lines, declaration)
  add_more(lines, declaration, plan)
  M.add_passes(lines, declaration, plan)
  M.add_others(lines, declaration.events)
  M.add_cells(lines, declaration, plan, is_short)
  add_order(lines, declaration, plan, is_short)
  return terminal.spelled(table.concat(lines, "\n") .. "\n", { stream = 1 })
end

return M
