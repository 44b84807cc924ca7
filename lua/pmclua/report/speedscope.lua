--- speedscope.lua: stacks as JSON that www.speedscope.app opens: a profile for each side.

local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local mean = require "pmclua.stats.mean"

local M = {}

local function frames_of(stacks)
  local frames, at, indices = {}, {}, {}
  for _, entry in ipairs(stacks.list) do
    local own = {}
    for name in entry.stack:gmatch "[^;]+" do
      if not at[name] then
        frames[#frames + 1] = { name = name }
        at[name] = #frames
      end
      own[#own + 1] = at[name] - 1
    end
    indices[entry] = own
  end
  return frames, indices
end

local function profile(stacks, side, name, indices)
  local sampled = lists.where(stacks.list, function(entry) return entry[side] > 0 end)
  local weights = lists.column(sampled, side)
  return { type = "sampled", name = name, unit = stacks.unit == "ns" and "nanoseconds" or "none",
    startValue = 0, endValue = mean.sum(weights), weights = weights,
    samples = lists.map(sampled, function(entry) return indices[entry] end) }
end

--- Writes stacks.
---@param stacks pmclua.Stacks
---@param put fun(piece: string)
function M.write(stacks, put)
  local frames, indices = frames_of(stacks)
  local list = { profile(stacks, 1, stacks.a, indices), stacks.b and profile(stacks, 2, stacks.b, indices) }
  json.write(put, { ["$schema"] = "https://www.speedscope.app/file-format-schema.json",
    exporter = "pmclua", name = ("%s of %s"):format(stacks.event, stacks.a),
    activeProfileIndex = #list - 1, shared = { frames = frames }, profiles = list },
    { order = { "$schema", "name" } })
  put "\n"
end

return M
