--- profiles.lua: the profiles of a result's repetitions.
--
-- Invariant: a profile is of a whole run: of no warm-up, of none that a signal or a limit ended, and of one that
-- ended with a status but 0 only where the experiment keeps these.

local lists = require "pmclua.base.lists"

local M = {}

--- Keeps the profiles of a record.
---@param result pmclua.Result
---@param record table
function M.add(result, record)
  local is_kept = (record.exit or 0) == 0 or result.header.on_failure == "keep"
  if record.warmup or record.outcome ~= "done" or not is_kept then return end
  local list = result.profiled[record.cell] or {}
  result.profiled[record.cell] = list
  list[#list + 1] = { pass = record.pass, index = record.index, profiles = record.profiles,
    why = record.why }
end

--- Why a repetition that ended well has no profile; nil where none says.
---@param result pmclua.Result
---@return string?
function M.why_absent(result)
  for number in ipairs(result.header.cells) do
    local kept = lists.find(result.profiled[number] or {}, function(one) return one.why ~= nil end)
    if kept then return kept.why end
  end
end

--- The profiles that a record of a cell had; nil: none.
---@param result pmclua.Result
---@param cell integer
---@param record table
---@return table[]?
function M.of(result, cell, record)
  for _, kept in ipairs(not record.warmup and result.profiled[cell] or {}) do
    if kept.pass == record.pass and kept.index == record.index then return kept.profiles end
  end
end

--- The names of the events that were sampled, in their order; last those whose profiles are traced times.
---@param result pmclua.Result
---@return string[]
function M.events(result)
  local seen, list, traced = {}, {}, {}
  for number in ipairs(result.header.cells) do
    for _, kept in ipairs(result.profiled[number] or {}) do
      for _, profile in ipairs(kept.profiles) do
        if not seen[profile.event] then
          table.insert(profile.source == "trace" and traced or list, profile.event)
          seen[profile.event] = true
        end
      end
    end
  end
  return lists.append(list, traced)
end

--- The profiles of an event in a cell, by the number of the repetition.
---@param result pmclua.Result
---@param cell integer
---@param event string
---@return table<integer, table>
function M.by_index(result, cell, event)
  local found = {}
  for _, kept in ipairs(result.profiled[cell] or {}) do
    for _, profile in ipairs(kept.profiles) do
      if profile.event == event then found[kept.index] = profile end
    end
  end
  return found
end

return M
