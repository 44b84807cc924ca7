--- profiles.lua: the profiles and traced system calls of a result's repetitions.
--
-- Invariant: they are of whole runs: not of warm-ups, nor of runs that a signal or a limit ended. Runs with another
-- status than 0 count only if the experiment keeps them.

local lists = require "pmclua.base.lists"

local M = {}

--- Keeps the profiles and system calls of a record.
---@param result pmclua.Result
---@param record table
function M.add(result, record)
  local is_kept = (record.exit or 0) == 0 or result.header.on_failure == "keep"
  if record.warmup or record.outcome ~= "done" or not is_kept then return end
  local list = result.profiled[record.cell] or {}
  result.profiled[record.cell] = list
  list[#list + 1] = { pass = record.pass, index = record.index, profiles = record.profiles or {},
    system_calls = record.system_calls, why = record.why }
end

--- Why a repetition that ended well has no profile; nil where none says.
---@param result pmclua.Result
---@return string?
function M.why_absent(result)
  for number in ipairs(result.header.cells) do
    local kept = lists.find(result.profiled[number] or {}, function(profile) return profile.why ~= nil end)
    if kept then return kept.why end
  end
end

--- Gives a record of a cell the profiles and system calls that were kept of it.
---@param result pmclua.Result
---@param cell integer
---@param record table
function M.give(result, cell, record)
  for _, kept in ipairs(not record.warmup and result.profiled[cell] or {}) do
    if kept.pass == record.pass and kept.index == record.index then
      record.profiles, record.system_calls = #kept.profiles > 0 and kept.profiles or nil, kept.system_calls
    end
  end
end

--- The names of the events that were sampled, in their order.
---@param result pmclua.Result
---@return string[]
function M.events(result)
  local list = {}
  for number in ipairs(result.header.cells) do
    for _, kept in ipairs(result.profiled[number] or {}) do
      lists.append(list, lists.column(kept.profiles, "event"))
    end
  end
  return lists.unique(list)
end

--- The profiles of an event in a cell, by the number of the repetition.
---@param result pmclua.Result
---@param cell integer
---@param event? string nil: {}
---@return table<integer, table>
function M.by_index(result, cell, event)
  local list = {}
  for _, kept in ipairs(result.profiled[cell] or {}) do
    for _, profile in ipairs(kept.profiles) do
      if profile.event == event then list[kept.index] = profile end
    end
  end
  return list
end

--- The same in the order of repetitions.
---@param result pmclua.Result
---@param cell integer
---@param event string
---@return table[]
function M.in_order(result, cell, event)
  local by_index = M.by_index(result, cell, event)
  return lists.map(lists.keys(by_index), function(index) return by_index[index] end)
end

--- The traced system calls of a cell, by the number of the repetition.
---@param result pmclua.Result
---@param cell integer
---@return table<integer, pmclua.SystemCalls>
function M.calls_by_index(result, cell)
  local list = {}
  for _, kept in ipairs(result.profiled[cell] or {}) do
    list[kept.index] = kept.system_calls or list[kept.index]
  end
  return list
end

return M
