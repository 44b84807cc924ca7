--- objects.lua: the profiles of many repetitions by what was accessed: objects, cache lines of them, or objects by the
--- functions that accessed them.
--
-- They take the place of a profile's functions; so everything that is done with lines of code is done with them.

local identity = require "pmclua.profile.identity"
local lists = require "pmclua.base.lists"

local M = {}

local LINE = require("pmclua.profile.sharing").LINE

local function member_name(line, at)
  local is_unknown = line.kind == "variable" and not at.address
  return line.fn .. (at.member or is_unknown and " (place not certain)" or "")
end

local function source_name(line, at) return ("%s: %s"):format(line.fn, at.source or "not told from where") end

local function node_name(line, at)
  return at.node and ("%s, from node %d"):format(line.fn, at.node) or line.fn
end

local function line_name(line, at)
  if not at.address then return line.fn .. " (place not certain)" end
  return ("%s +%d"):format(line.fn, at.address - at.address % LINE)
end

local NAMES = {
  data = function(line) return line.fn end,
  ["data line"] = line_name,
  ["data member"] = member_name,
  ["data source"] = source_name,
  ["data node"] = node_name,
  ["data function"] = function(line, at) return ("%s in %s"):format(line.fn, at.fn) end,
}

--- Whether a view is one of data.
---@param by? string
---@return boolean
function M.is_view(by) return by ~= nil and NAMES[by] ~= nil end

-- A profile with its objects, divided as the view has it, in place of functions.
local function seen_by(profile, by)
  local lines, by_key = {}, {}
  for _, line in ipairs(profile.data.lines) do
    for _, at in ipairs(line.at) do
      local part = { file = line.file, build_id = line.build_id, which = line.which, is_local = true,
        fn = NAMES[by](line, at), count = 0, samples = 0, fed = 0, at = {} }
      local key = identity.key(part.file, part.build_id, part)
      if not by_key[key] then by_key[key], lines[#lines + 1] = part, part end
      part = by_key[key]
      part.count, part.samples = part.count + at.count, part.samples + at.samples
      part.fed = part.fed + (at.is_fed and at.count or 0)
    end
  end
  return setmetatable({ lines = lines, rest = profile.data.rest, chains = false }, { __index = profile })
end

--- Profiles as a view has them.
---@param profiles? table[]
---@param by string "function" …, or "data", "data member" …
---@return table[]?
function M.profiles(profiles, by)
  if not profiles or not NAMES[by] then return profiles end
  return lists.map(profiles, function(profile) return seen_by(profile, by) end)
end

return M
