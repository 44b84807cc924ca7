--- journal.lua: what a search has measured, in a file as it comes, from which it goes on.
--
-- Invariant: measurements are replayed in the order in which they were asked for, with what they had cost then: so a
-- search that goes on decides as it had decided.

local core = require "pmclua.core"
local json = require "pmclua.base.json"
local output = require "pmclua.host.output"
local problem = require "pmclua.base.problem"
local version = require "pmclua.store.version"

local M = {}

local SCHEMA = 1

---@class pmclua.Journal
---@field path? string
---@field stored table<string, table[]> lines of the file that were not replayed yet, by key
---@field spent number seconds that the lines had taken
local Journal = {}
Journal.__index = Journal

local function refuse(path, why)
  error(problem.problem { code = "EJOURNAL", operation = "resume", message = ("%s: %s"):format(path,
    why) }, 0)
end

-- The lines of a file. The last one may have been cut off.
local function read(self, about)
  local content, why = core.read_plain(self.path)
  if not content then refuse(self.path, why) end
  local lines = {}
  for line in content:gmatch "([^\n]+)\n" do
    local value = require("dkjson").decode(line)
    if type(value) ~= "table" then refuse(self.path, "it is no stored search") end
    lines[#lines + 1] = value
  end
  local header = lines[1] or {}
  if header.kind ~= "bisect" then refuse(self.path, "it is no stored search") end
  local refusal = version.refusal(header, SCHEMA)
  if refusal then refuse(self.path, refusal) end
  for name, value in pairs(about) do
    if header[name] ~= value then
      refuse(self.path, ("it is of another search: %s was '%s', not '%s'"):format(name,
        tostring(header[name]), value))
    end
  end
  for i = 2, #lines do
    local key = tostring(lines[i].key)
    self.stored[key] = self.stored[key] or {}
    table.insert(self.stored[key], lines[i])
  end
  -- Drop a line that was cut off: the next one starts anew.
  if not content:find "\n$" then core.replace(self.path, content:match "^(.*\n)" or "") end
end

--- A journal in a file that is begun, or gone on with.
---@param path? string nil: nothing is stored
---@param about table texts by name: a file of another search is refused
---@param is_resumed? boolean
---@return pmclua.Journal
function M.open(path, about, is_resumed)
  -- A search that was killed before it wrote anything begins anew.
  is_resumed = is_resumed and core.read_plain(path) ~= ""
  local self = setmetatable({ path = path, stored = {}, spent = 0 }, Journal)
  if is_resumed then read(self, about) end
  if path then
    self.put = output.open(path, is_resumed and "a" or "w")
    if not is_resumed then
      local header = { kind = "bisect", schema = SCHEMA, needs = version.NEEDED }
      for name, value in pairs(about) do header[name] = value end
      self:write(header)
    end
  end
  return self
end

--- Adds a line.
---@param line table
function Journal:write(line)
  if self.put then self.put(json.encode(line) .. "\n") end
end

--- The next value stored under a key; if there is none, stores the result of `make`.
---@param key string
---@param make fun(): table
---@return table line
function Journal:take(key, make)
  local stored = self.stored[key]
  local line = stored and table.remove(stored, 1)
  if line then
    self.spent = math.max(self.spent, tonumber(line.spent) or 0)
    return line
  end
  line = make()
  line.key = key
  self:write(line)
  return line
end

return M
