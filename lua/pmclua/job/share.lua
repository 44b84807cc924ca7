--- share.lua: which part of an experiment a shard runs.
--
-- Invariant: every cell, or every repetition, belongs to exactly one shard; which one depends on the plan and the
-- number of shards alone. A cell and its baseline are in the same shard.

local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.Share
---@field by "cells"|"blocks"|"ranks" ranks: each shard runs all of it
---@field index integer the shard's number, from 1
---@field count integer of shards

-- A cell's key without what tells it from its baseline.
local function unit_key(cell, together)
  local levels = {}
  for name, level in pairs(cell.levels) do
    if not together[name] then levels[name] = level end
  end
  local words = lists.assignments(levels, function(level) return type(level) .. ":" .. tostring(level) end)
  return table.concat({ together.workload and "" or cell.workload.name, unpack(words) }, "\0")
end

local function units(declaration, cells)
  local together = {}
  for _, partial in ipairs { declaration.baseline or {}, declaration.against or {} } do
    for name in pairs(partial) do together[name] = true end
  end
  return lists.groups(cells, function(cell) return unit_key(cell, together) end)
end

--- Into how many shards an experiment can be divided.
---@param declaration pmclua.Declaration
---@param cells pmclua.PlannedCell[] all of them
---@param by "cells"|"blocks"
---@return integer
function M.most(declaration, cells, by)
  return by == "blocks" and declaration.repetitions or #units(declaration, cells)
end

--- The cells of a share. Units are dealt out in turns: neighbouring levels cost about the same.
---@param declaration pmclua.Declaration
---@param cells pmclua.PlannedCell[] all of them
---@return pmclua.PlannedCell[] numbered anew
function M.cells(declaration, cells)
  local share = declaration.share
  if not share or share.by ~= "cells" then return cells end
  local own = {}
  for number, unit in ipairs(units(declaration, cells)) do
    if (number - 1) % share.count + 1 == share.index then lists.append(own, unit) end
  end
  table.sort(own, function(a, b) return a.index < b.index end)
  for index, cell in ipairs(own) do cell.index = index end
  return own
end

--- Makes a declaration that of a shard. By blocks each has repetitions of its own, in an order of its own.
---@param declaration pmclua.Declaration changed
---@param share pmclua.Share
function M.take(declaration, share)
  declaration.share = share
  if share.by ~= "blocks" then return end
  local all = declaration.repetitions
  declaration.is_count_open = false
  local function before(index) return math.floor(index * all / share.count) end
  declaration.repetitions = before(share.index) - before(share.index - 1)
  declaration.seed = (declaration.seed + share.index) % 2 ^ 31
end

return M
