--- lazy.lua: modules and fields that are loaded when they are first used, so that start-up pays for what a
--- run uses.

local M = {}

--- Stands for a module of functions and constants that most runs do not need: it gets copies of the
--- module's fields when it is first asked for one.
---
---     local metric = lazy.module "pmclua.metric"
---@param name string
---@return table stand_in
function M.module(name)
  return setmetatable({}, { __index = function(stand_in, field)
    local module = require(name)
    setmetatable(stand_in, getmetatable(module))
    for key, value in pairs(module) do stand_in[key] = value end
    return stand_in[field]
  end })
end

--- Gives `module` fields of other modules, each when it is first asked for.
---
---     lazy.fields(M, { ["pmclua.stats.rank"] = { "spearman", ranks = "of" } })     M.ranks is their `of`
---@param module table
---@param sources table<string, string[]> other module to the fields that are taken from it
---@return table module
function M.fields(module, sources)
  local field_sources, names = {}, {}
  for source, fields in pairs(sources) do
    for name, field in pairs(fields) do
      if type(name) == "number" then name = field end
      field_sources[name], names[#names + 1] = { source, field }, name
    end
  end
  return setmetatable(module, {
    __index = function(table, name)
      local from = field_sources[name]
      if not from then return nil end
      local value = require(from[1])[from[2]]
      rawset(table, name, value)
      return value
    end,
    __fields = function() return names end,      -- for the prompt's completion, which pairs() cannot serve
  })
end

--- Gives a table fields that are found out when they are first asked for.
---@param table table
---@param finders table<string, fun(): any> by field
---@return table table
function M.later(table, finders)
  return setmetatable(table, { later = finders, __index = function(_, name)
    local find = finders[name]
    if not find then return nil end
    rawset(table, name, find())
    return rawget(table, name)
  end })
end

--- Finds out all that `later` has left.
---@param table table
---@return table table
function M.complete(table)
  local meta = getmetatable(table)
  for name in pairs(meta and meta.later or {}) do local _ = table[name] end
  return table
end

return M
