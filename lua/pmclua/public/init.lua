--- public/init.lua: what scripts see: `pmc`, its functions and its namespaces, as public/signatures/ writes them.
--
-- Invariant: a name that is not in the table cannot be reached, and every call of one that is has its arguments
-- checked first.

local class = require "pmclua.public.class"
local lists = require "pmclua.base.lists"

local M = { provide = class.provide }

local noted = {}

--- Says once that something has another name now.
---@param old string
---@param new string
function M.note_old(old, new)
  if noted[old] then return end
  noted[old] = true
  io.stderr:write(("pmclua: note: %s is now called %s\n"):format(old, new))
end

local function checked(name, topic, value)
  if type(value) ~= "function" then return value end
  return require("pmclua.public.call").checked(name, topic, value)
end

local function shown(name, fields, more)
  local list = ("%s: %s%s"):format(name, table.concat(fields, " "), more)
  return table.concat(require("pmclua.base.text").wrap(list, 78), "\n")
end

-- A table whose fields are found when they are first used.
local function lazy_table(name, names, find, more)
  return setmetatable({}, {
    __index = function(self, field)
      local value = find(field)
      if value == nil then class.unknown(name, field, names()) end
      rawset(self, field, value)
      return value
    end,
    __tostring = function() return shown(name, names(), more) end,
    __fields = names, __fields_are_all = true,
  })
end

local function namespace(name, topic, module)
  local entries = require "pmclua.public.entries"
  local function names()
    local pattern = "^" .. name:gsub("%p", "%%%0") .. "%.([%w_]+)$"
    return lists.map(entries.all(), function(entry)
      return entry.kind ~= "old" and entry.name:match(pattern) or nil
    end)
  end
  local find
  function find(field)
    local full = ("%s.%s"):format(name, tostring(field))
    local entry = type(field) == "string" and entries.find(full, topic)
    if entry and entry.kind == "old" then
      M.note_old(full, entry.instead)
      return find(entry.instead:match "%w+$")
    end
    return entry and checked(full, topic, module[field]) or nil
  end
  return lazy_table(name, names, find, ("; pmc.help \"%s.NAME\" explains one"):format(name:match "%w+$"))
end

--- The table of all public names.
---@param name string "pmc"
---@param places table<string, table<string, { [1]: string, [2]: string? }>> by topic and name: module and field
---@return table
function M.root(name, places)
  local function names()
    local list = {}
    for _, of_topic in pairs(places) do lists.append(list, lists.keys(of_topic)) end
    table.sort(list)
    return list
  end
  local function find(field)
    for topic, of_topic in pairs(places) do
      local place, full = of_topic[field], ("%s.%s"):format(name, tostring(field))
      local module = place and require(place[1])
      if place and not place[2] then return namespace(full, topic, module) end
      if place then return checked(full, topic, module[place[2]]) end
    end
  end
  return lazy_table(name, names, find, "; pmc.help() explains them")
end

return M
