--- cycles.lua: the difference in cycles (or slots) by node of the vendor's top-down tree, as a ledger; and what is
-- counted for it.
--
-- Invariant: the lines are the lowest nodes that were counted, and what the children of a node leave of it; they and
-- what is in no node are the total, in every repetition.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local nodes = require "pmclua.result.nodes"
local topdown = require "pmclua.result.topdown"
local tree = require "pmclua.metric.tree"

local M = {}

--- The two levels of the tree that are planned; below them it pays to look only at some nodes (pmc.topdown).
M.LEVELS = 2

-- ---- what is counted ----

--- The tree's metrics down to a level, as an experiment takes them.
---@param levels integer 0: none
---@return string[]
function M.metrics(levels)
  local metrics, list = tree.of_kind(require "pmclua.metric", nil), {}
  local names = levels > 0 and tree.roots(metrics) or {}
  for level = 1, levels do
    lists.append(list, lists.map(names, function(name) return tree.source(metrics, name) end))
    names = level < levels and lists.joined(lists.map(names, function(name)
      return tree.children(metrics, name)
    end))
  end
  return list
end

local function brief(why) return (why:gsub("^cannot open '.-': ", ""):match "^[^;]*") end

-- Nil, or why a metric cannot be counted; events are those of a plan, which tried them.
local function missing_of(metric, events)
  local missing = lists.find(lists.map(metric.needs, function(name) return events[name] end), function(event)
    return event.status
  end)
  return missing and (missing.why or missing.status)
end

--- Whether the tree can be counted here; if not, why.
---@param experiment pmclua.Experiment one with the events `cycles` and metrics of the tree, planned
---@return boolean
---@return string? why
function M.is_countable(experiment)
  local declaration = experiment.declaration
  local by_field = lists.by(declaration.events, "field")
  local why = by_field.cycles and by_field.cycles.status and by_field.cycles.why
  for _, metric in ipairs(declaration.metrics) do
    local missing = tree.level(metric) and missing_of(metric, by_field)
    if missing == nil then return true end
    why = why or missing or nil
  end
  return false, brief(why or "this machine has no top-down tree")
end

-- ---- the ledger ----

local MOST_NAMES = 3

local function absent_of(missing)
  if #missing == 0 then return nil end
  local names = lists.map(missing, function(node) return node.node.name end)
  local words = #names <= MOST_NAMES and "the tree's " .. text.list(names)
    or ("%d nodes of the tree"):format(#names)
  return { what = words, why = missing[1].why }
end

local NO_NODE = "no metric of it is a node of a vendor's tree (metrics = \"TopdownL1\")"

--- The ledger of two cells of a result.
---@param why pmclua.Why
---@return pmclua.Ledger? ledger nil: there is none
---@return string|{ what: string, why: string }|nil absent without a ledger why; else what of the tree is not in it
function M.of(why)
  local topdown_tree = topdown.of(why.result)
  if not topdown_tree then return nil, NO_NODE end
  local made, missing = nodes.ledger(topdown_tree, { baseline = why.a, cell = why.b, paired = why.paired })
  if not made then return nil, missing end
  return made, absent_of(missing)
end

return M
