--- topdown_plan.lua: what `pmclua topdown --plan` prints: nodes, passes and runs of each round.

local lists = require "pmclua.base.lists"
local plan = require "pmclua.report.plan"
local terminal = require "pmclua.host.terminal"
local text = require "pmclua.base.text"

local M = {}

local function shown(name) return text.safe((name:gsub("^tma_", ""))) end

local function add_nodes(lines, round)
  local function names(nodes) return table.concat(lists.map(nodes, shown), ", ") end
  local there = lists.where(round.nodes, function(name) return not round.absent[name] end)
  if #there > 0 then plan.add(lines, "  nodes: ", names(there)) end
  for _, lacking in ipairs(lists.groups(round.nodes, function(name) return round.absent[name] end)) do
    plan.add(lines, "  absent: ", ("%s, for want of %s"):format(names(lacking), text.safe(lacking.key)))
  end
end

local function add_round(lines, number, round, at_most)
  local runs = round.plan.runs
  local size = ("%s%s, %s"):format(at_most and "at most " or "",
    text.plural(#round.plan.passes, "pass", "passes"), text.plural(runs, "run"))
  plan.add(lines, "", ("round %d: %s"):format(number,
    runs > 0 and size or "no node can be counted: nothing is run"))
  add_nodes(lines, round)
  if runs == 0 then return plan.add_others(lines, round.declaration.events) end
  if at_most then return end             -- which passes there are depends on the nodes that it has
  plan.add_passes(lines, round.declaration, round.plan)
  plan.add_others(lines, round.declaration.events)
end

local function count(planned, per_run)
  local function runs_words(runs)
    return per_run and ("%s, %s"):format(text.plural(runs, "run"), text.duration(runs * per_run))
      or text.plural(runs, "run")
  end
  if planned.at_most then
    return ("%s, to at most %s"):format(runs_words(planned.first_runs), runs_words(planned.runs))
  end
  return runs_words(planned.runs)
end

--- The plan in lines.
---@param planned pmclua.TopdownPlan
---@param seconds? number how long a run takes, where that is known
---@return string
function M.render(planned, seconds)
  local lines, first = plan.lines(), planned.rounds[1]
  local declaration = first.declaration
  plan.add(lines, "", ("%s × (%d warm-up + %s counted) of each pass, seed %d"):format(
    text.plural(#first.plan.cells, "cell"), declaration.warmup,
    text.count(require("pmclua.experiment.plan").most_repetitions(declaration)), declaration.seed))
  plan.add_cells(lines, declaration, first.plan)
  for i, round in ipairs(planned.rounds) do add_round(lines, i, round, planned.at_most and i > 1) end
  plan.add(lines, "in all: ", count(planned, seconds)
    .. (seconds and "" or "; a run takes as long as its workload, and a few milliseconds"))
  if planned.at_most then
    plan.add(lines, "", "rounds after the first have the children of nodes that are over their threshold "
      .. "alone; -l N measures all of them, and shows their passes here")
  end
  return terminal.spelled(table.concat(lines, "\n") .. "\n", { stream = 1 })
end

return M
