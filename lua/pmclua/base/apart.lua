--- apart.lua: names for several things, of which no two read alike and none says more than it needs.

local M = {}

--- The last components of a path.
---@param path string
---@param count number
---@return string
function M.tail(path, count)
  local components = {}
  for name in path:gmatch "[^/]+" do components[#components + 1] = name end
  if count >= #components then return path end
  return table.concat(components, "/", #components - count + 1)
end

--- Names each item by the first form that tells it from the others, as far as one does.
---@param items table[]
---@param forms table[] what is said, the shortest first
---@param name fun(item: table, form: table): string
---@return table<table, string> by item
function M.names(items, forms, name)
  local names, left = {}, items
  for _, form in ipairs(forms) do
    local by_name = {}
    for _, item in ipairs(left) do
      names[item] = name(item, form)
      by_name[names[item]] = by_name[names[item]] or {}
      table.insert(by_name[names[item]], item)
    end
    left = {}
    for _, alike in pairs(by_name) do
      for _, item in ipairs(#alike > 1 and alike or {}) do left[#left + 1] = item end
    end
  end
  return names
end

return M
