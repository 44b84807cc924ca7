--- names.lua: the names of this machine's tables as a plain file, from which shells complete words in a few
--- milliseconds: a line for each, "e EVENT", "m METRIC" (or a group of them), "n NODE" of the top-down tree.
--
-- It is written when tables are read anew; one that is missing or old costs a completion, and nothing else.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"

local M = {}

local LEVELS = { "^TopdownL%d$", "^Topdown_L%d$", "^tma_L%d_group$", "^PipelineL%d$" }

local function path()
  local folder = require("pmclua.vendor.cache").folder()
  return folder and folder .. "/names"
end

local function is_level(group)
  return lists.any(LEVELS, function(pattern) return group:find(pattern) ~= nil end)
end

local function add_metric(names, metric)
  names["m " .. metric.name] = true
  local is_node = metric.level ~= nil
  for group in (metric.groups or ""):gmatch "[^;]+" do
    names["m " .. group] = true
    is_node = is_node or is_level(group)
  end
  local is_fact = metric.name:find("_info_", 1, true)
  if is_node and not is_fact then names["n " .. metric.name:gsub("^tma_", "")] = true end
end

local function lines_of(tables)
  local names = {}
  for metric in tables:each_metric() do add_metric(names, metric) end
  for _, name in ipairs(tables:event_names()) do names["e " .. name:lower()] = true end
  return lists.where(lists.keys(names), function(line) return line:find "^[emn] [%w_.:+-]+$" ~= nil end)
end

--- Writes it, if it can.
---@param tables pmclua.vendor.Tables of this machine
---@param is_new boolean the tables were read anew; else it is written only where it is missing
function M.keep(tables, is_new)
  local at = path()
  if not at or not is_new and core.stat(at) then return end
  core.replace(at, table.concat(lines_of(tables), "\n") .. "\n")
end

return M
