--- stacks.lua: profiles as stacks, for flame graph tools.
--
-- Where call chains were recorded they are the stacks, else a function is one frame on its file. Sums
-- over all repetitions; what is not attributed is a stack of its own, so that the stacks add up to the
-- total.

local chains = require "pmclua.profile.chains"
local lists = require "pmclua.base.lists"
local objects = require "pmclua.ledger.objects"
local profiles = require "pmclua.ledger.profiles"
local text = require "pmclua.base.text"

local M = {}

local REASON = {}
for _, reason in ipairs(profiles.REASONS) do REASON[reason[1]] = reason[2] end

-- A frame's name has no separator of its own.
local function frame(name) return (name:gsub("[;%c]", ":")) end

local function add(stacks, stack, side, count)
  if count == 0 then return end
  local entry = stacks[stack]
  if not entry then
    entry = { stack = stack, 0, 0 }
    stacks[stack], stacks[#stacks + 1] = entry, entry
  end
  entry[side] = entry[side] + count
end

local function add_rest(stacks, rest, side)
  for name, count in pairs(rest) do add(stacks, "[" .. (REASON[name] or name) .. "]", side, count) end
end

local function add_data(stacks, profile, side)
  for _, line in ipairs(profile.data.lines) do
    for _, at in ipairs(line.at) do
      add(stacks, frame(line.fn) .. ";" .. frame(at.fn), side, at.count)
    end
  end
  add_rest(stacks, profile.data.rest, side)
end

local function add_profile(stacks, profile, side)
  local left = lists.sum(profile.lines, function(line) return line.count end)
  for chain, count in pairs(profile.chains or {}) do
    add(stacks, chain, side, count)
    left = left - count
  end
  for _, line in ipairs(profile.chains and {} or profile.lines) do
    local file, placed = frame(text.base_name(line.file)) .. ";", 0
    for _, at in ipairs(line.at or {}) do
      add(stacks, file .. chains.frames(line, at.inlined), side, at.count)
      placed = placed + at.count
    end
    add(stacks, file .. chains.frames(line), side, line.count - placed)
    left = left - line.count
  end
  add(stacks, chains.UNKNOWN, side, left)
  add_rest(stacks, profile.rest, side)
end

---@class pmclua.Stacks
---@field list { stack: string, [1]: number, [2]: number }[] by name: frames with ";" between them, A's and B's count
---@field event string
---@field unit string
---@field a string the workload of A, or the only one
---@field b string? that of B

--- The stacks of both sides: sums over all repetitions.
---@param code pmclua.CodeResult
---@param options? pmclua.WhereOptions
---@return pmclua.Stacks
function M.stacks(code, options)
  local add_one = objects.is_view(options and options.by) and add_data or add_profile
  local stacks, first = {}, code.baseline or code.cell
  for side, list in ipairs { code.a, code.b or {} } do
    for _, profile in ipairs(list) do add_one(stacks, profile, side) end
  end
  local shorten = chains.shortener { lists.by(stacks, "stack") }
  for _, entry in ipairs(stacks) do entry.stack = shorten(entry.stack) end
  table.sort(stacks, function(x, y) return x.stack < y.stack end)
  return { list = stacks, event = code.event, unit = code.unit, a = first.workload,
    b = code.b and code.cell.workload }
end

return M
