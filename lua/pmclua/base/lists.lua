--- lists.lua: lists made of lists.
--
-- Invariant: what is given is not changed (`append` apart), and what is made shares no table with it but its items.

local M = {}

--- Maps each item by `f`; items for which it gives nil are left out.
---@param list table
---@param f fun(item: any): any
---@return table
function M.map(list, f)
  local out = {}
  for _, item in ipairs(list) do out[#out + 1] = (f(item)) end
  return out
end

--- One field of each item.
---@param list table
---@param field any
---@return table
function M.column(list, field)
  local out = {}
  for _, item in ipairs(list) do out[#out + 1] = item[field] end
  return out
end

--- The items of which `f` is true.
---@param list table
---@param f fun(item: any): any
---@return table
function M.where(list, f)
  local out = {}
  for _, item in ipairs(list) do
    if f(item) then out[#out + 1] = item end
  end
  return out
end

--- The items of which `f` is true, then the others.
---@param list table
---@param f fun(item: any): any
---@return table
function M.first_those(list, f)
  return M.joined { M.where(list, f), M.where(list, function(item) return not f(item) end) }
end

--- The first item of which `f` is true; nil: none.
---@param list table
---@param f fun(item: any): any
---@return any
function M.find(list, f)
  for _, item in ipairs(list) do
    if f(item) then return item end
  end
end

--- Whether `f` is true of any item.
---@param list table
---@param f fun(item: any): any
---@return boolean
function M.any(list, f)
  for _, item in ipairs(list) do
    if f(item) then return true end
  end
  return false
end

--- Whether `f` is true of every item.
---@param list table
---@param f fun(item: any): any
---@return boolean
function M.all(list, f)
  for _, item in ipairs(list) do
    if not f(item) then return false end
  end
  return true
end

--- Whether an item is in a list.
---@param list table
---@param item any
---@return boolean
function M.contains(list, item)
  for _, other in ipairs(list) do
    if other == item then return true end
  end
  return false
end

--- Puts the items of another list behind those of `list`.
---@param list table changed
---@param more table
---@return table list the same
function M.append(list, more)
  for _, item in ipairs(more) do list[#list + 1] = item end
  return list
end

--- All that an iterator gives, as `for` takes it.
---@param iterate function
---@param state any
---@param start any
---@return table
function M.collect(iterate, state, start)
  local out = {}
  for item in iterate, state, start do out[#out + 1] = item end
  return out
end

--- The items of several lists, one list after the other.
---@param several table[]
---@return table
function M.joined(several)
  local out = {}
  for _, list in ipairs(several) do M.append(out, list) end
  return out
end

--- Each item once, where it comes first.
---@param list table
---@return table
function M.unique(list)
  local out, seen = {}, {}
  for _, item in ipairs(list) do
    if not seen[item] then out[#out + 1], seen[item] = item, true end
  end
  return out
end

--- The items by what `f` gives of them, in the order in which each is first given; none of those that it gives nil.
---@param list table
---@param f fun(item: any, place: integer): any
---@return { key: any, [integer]: any }[]
function M.groups(list, f)
  local groups, by_key = {}, {}
  for place, item in ipairs(list) do
    local key = f(item, place)
    if key ~= nil and not by_key[key] then
      by_key[key] = { key = key }
      groups[#groups + 1] = by_key[key]
    end
    if key ~= nil then table.insert(by_key[key], item) end
  end
  return groups
end

--- The sum of what `f` gives of each item.
---@param list table
---@param f fun(item: any): number
---@return number
function M.sum(list, f)
  local sum = 0
  for _, item in ipairs(list) do sum = sum + f(item) end
  return sum
end

--- The least and the greatest of numbers; of none infinity, and minus that.
---@param list number[]
---@return number least
---@return number most
function M.range(list)
  local least, most = math.huge, -math.huge
  for i = 1, #list do least, most = math.min(least, list[i]), math.max(most, list[i]) end
  return least, most
end

--- The items as keys, each with the value true.
---@param list table
---@return table<any, true>
function M.set(list)
  local set = {}
  for _, item in ipairs(list) do set[item] = true end
  return set
end

--- The items by one of their fields; those that lack it are left out.
---@param list table
---@param field any
---@return table<any, any>
function M.by(list, field)
  local map = {}
  for _, item in ipairs(list) do
    if item[field] ~= nil then map[item[field]] = item end
  end
  return map
end

--- The words of a text as keys.
---@param text string
---@return table<string, true>
function M.words(text)
  local set = {}
  for word in text:gmatch "%S+" do set[word] = true end
  return set
end

--- The keys of a map, which have one type, in order.
---@param map table
---@return table
function M.keys(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

--- The entries of a map as "name=value", in order.
---@param map table
---@param shown? fun(value: any): string default tostring
---@return string[]
function M.assignments(map, shown)
  local list = {}
  for name, value in pairs(map) do list[#list + 1] = name .. "=" .. (shown or tostring)(value) end
  table.sort(list)
  return list
end

--- The entries of a table, without its metatable.
---@param original table
---@return table
function M.copy(original)
  local copy = {}
  for key, value in pairs(original) do copy[key] = value end
  return copy
end

-- A table with a metatable, but for what says what it is in JSON.
local function is_object(value)
  local meta = getmetatable(value)
  return meta ~= nil and not (type(meta) == "table" and meta.__jsontype)
end

--- A value with copies of the tables in it, and in these. Objects, which have a metatable, are shared.
---@param original any
---@param copies? table<table, table> made so far
---@return any
function M.deep_copy(original, copies)
  if type(original) ~= "table" or is_object(original) then return original end
  copies = copies or {}
  if copies[original] then return copies[original] end
  local copy = setmetatable({}, getmetatable(original))
  copies[original] = copy
  for key, value in pairs(original) do copy[M.deep_copy(key, copies)] = M.deep_copy(value, copies) end
  return copy
end

--- The same without one of them.
---@param original table
---@param key any
---@return table
function M.without(original, key)
  local copy = M.copy(original)
  copy[key] = nil
  return copy
end

return M
