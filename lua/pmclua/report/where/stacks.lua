--- stacks.lua: profiles for flame graph tools: folded stacks, and speedscope's JSON.
--
-- Where call chains were recorded they are the stacks, else a function is one frame on its file. Sums
-- over all repetitions; what is not attributed is a stack of its own, so that the stacks add up to the
-- total.

local chains = require "pmclua.profile.chains"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local mean = require "pmclua.stats.mean"
local profiles = require "pmclua.ledger.profiles"
local text = require "pmclua.base.text"

local M = {}

local REASON = {}
for _, reason in ipairs(profiles.REASONS) do REASON[reason[1]] = reason[2] end

-- A frame's name has no separator of its own.
local function frame(name) return (name:gsub("[;%c]", ":")) end

local function base_name(path) return path:match "([^/]+)/*$" or path end

local function add(stacks, stack, side, count)
  if count == 0 then return end
  local entry = stacks[stack]
  if not entry then
    entry = { stack = stack, 0, 0 }
    stacks[stack], stacks[#stacks + 1] = entry, entry
  end
  entry[side] = entry[side] + count
end

local function add_profile(stacks, profile, side)
  local left = 0
  for _, line in ipairs(profile.lines) do left = left + line.count end
  for chain, count in pairs(profile.chains or {}) do
    add(stacks, chain, side, count)
    left = left - count
  end
  for _, line in ipairs(profile.chains and {} or profile.lines) do
    local file, placed = frame(base_name(line.file)) .. ";", 0
    for _, at in ipairs(line.at or {}) do
      add(stacks, file .. chains.frames(line, at.inlined), side, at.count)
      placed = placed + at.count
    end
    add(stacks, file .. chains.frames(line), side, line.count - placed)
    left = left - line.count
  end
  add(stacks, chains.UNKNOWN, side, left)
  for name, count in pairs(profile.rest) do add(stacks, "[" .. (REASON[name] or name) .. "]", side, count) end
end

-- Stacks with A's and B's counts, by name.
local function stacks_of(code)
  local stacks = {}
  for side, list in ipairs { code.a, code.b or {} } do
    for _, profile in ipairs(list) do add_profile(stacks, profile, side) end
  end
  table.sort(stacks, function(x, y) return x.stack < y.stack end)
  return stacks
end

--- Folded stacks, one a line: "main;parse 412", as flamegraph.pl takes them; of two sides with both
--- counts, as difffolded.pl writes them.
---@param code pmclua.CodeResult
---@return string
function M.folded(code)
  return table.concat(lists.map(stacks_of(code), function(entry)
    local counts = json.number(entry[1]) .. (code.b and " " .. json.number(entry[2]) or "")
    return ("%s %s\n"):format(text.safe(entry.stack), counts)
  end))
end

local function frames_of(stacks)
  local frames, at = {}, {}
  for _, entry in ipairs(stacks) do
    entry.frames = {}
    for name in entry.stack:gmatch "[^;]+" do
      if not at[name] then
        frames[#frames + 1] = { name = name }
        at[name] = #frames
      end
      table.insert(entry.frames, at[name] - 1)
    end
  end
  return frames
end

local function speedscope_profile(stacks, side, name, unit)
  local sampled = lists.where(stacks, function(entry) return entry[side] > 0 end)
  local weights = lists.column(sampled, side)
  return { type = "sampled", name = name, unit = unit == "ns" and "nanoseconds" or "none", startValue = 0,
    endValue = mean.sum(weights), samples = lists.column(sampled, "frames"), weights = weights }
end

--- JSON that www.speedscope.app opens: a profile for each side.
---@param code pmclua.CodeResult
---@return string
function M.speedscope(code)
  local stacks = stacks_of(code)
  local frames = frames_of(stacks)
  local first = code.baseline or code.cell
  local list = { speedscope_profile(stacks, 1, first.workload, code.unit) }
  if code.b then list[2] = speedscope_profile(stacks, 2, code.cell.workload, code.unit) end
  return json.encode({ ["$schema"] = "https://www.speedscope.app/file-format-schema.json",
    exporter = "pmclua", name = ("%s of %s"):format(code.event, first.workload),
    activeProfileIndex = #list - 1, shared = { frames = frames }, profiles = list },
    { order = { "$schema", "name" } }) .. "\n"
end

return M
