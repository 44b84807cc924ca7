--- arguments.lua: tables that a script gives: lists, in which nothing may be lost, and options behind them.

local check = {}

--- The keys of a map as text, sorted: Lua maps have no order of their own.
---@param map table
---@return string[]
function check.keys(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

--- ", did you mean 'WORD'?" for the nearest of `words`; "" where none is near.
---@param word any
---@param words string[]
---@return string
function check.meant(word, words)
  return type(word) == "string" and require("pmclua.base.text").meant(word, words, ", ") or ""
end

--- A value as the script has it: "20" is not 20.
---@param value any
---@return string
function check.shown(value) return type(value) == "string" and ("%q"):format(value) or tostring(value) end

--- A list of mistakes, and what adds to it.
---@return string[] mistakes
---@return fun(form: string, ...) wrong
function check.mistakes()
  local mistakes = {}
  return mistakes, function(form, ...) mistakes[#mistakes + 1] = form:format(...) end
end

-- ---- lists -----------------------------------------------------------------------------------------------

-- How an entry that has a name is written in a list: of events and metrics, of conditions, of anything else.
check.spelled = {
  labelled = function(key, value) return ('"%s = %s"'):format(key, value) end,
  condition = function(key, value)
    local has_sign = tostring(value):find "^%s*[<>=~!]"
    return ('"%s %s%s"'):format(key, has_sign and "" or "== ", value)
  end,
  alone = function(_, value) return check.shown(value) end,
}

local function by_kind_and_name(a, b)
  if type(a) ~= type(b) then return type(a) == "number" end
  return type(a) == "number" and a < b or type(a) ~= "number" and tostring(a) < tostring(b)
end

-- Keys of a list that ipairs does not come to, in order; and how many it comes to.
local function stray_keys(list)
  local length, keys = 0, {}
  for _ in ipairs(list) do length = length + 1 end
  for key in pairs(list) do
    local is_place = type(key) == "number" and key % 1 == 0 and key >= 1 and key <= length
    if not is_place then keys[#keys + 1] = key end
  end
  table.sort(keys, by_kind_and_name)
  return keys, length
end

--- A message naming the elements of a list that would be lost, for they have a name or come after a nil, and the way to write it.
---@param what string the list's name
---@param list table
---@param spelled? fun(key: string, value: any): string how such an entry is written; default: its value alone
---@return string? nil: nothing
function check.stray(what, list, spelled)
  local keys, length = stray_keys(list)
  if #keys == 0 then return nil end
  if type(keys[1]) == "number" then
    return ("%s: a list ends at its first nil, after item %d: item %s would be lost; leave no nil in it")
      :format(what, length, tostring(keys[1]))
  end
  local named, written = {}, {}
  for i, key in ipairs(keys) do
    local value = list[key]
    named[i] = tostring(key)
    written[i] = (spelled or check.spelled.alone)(tostring(key), type(value) == "table" and "…" or value)
  end
  return ("%s is a list, which takes no names, but has %s: write %s"):format(what,
    table.concat(named, " and "), table.concat(written, ", "))
end

local function entries(mixed, are_numbered)
  local list = {}
  for key, value in pairs(mixed) do
    if (type(key) == "number") == are_numbered then list[key] = value end
  end
  return list
end

--- The entries of a table that have numbers: the list in it, where its names are options.
---@param mixed table
---@return table
function check.numbered(mixed) return entries(mixed, true) end

--- The entries of a table that have names: the options in it, where it is a list, too.
---@param mixed table
---@return table
function check.named(mixed) return entries(mixed, false) end

--- Arguments whose last may be a table of options: with names alone, and behind another one.
---@param ... any
---@return any[] others
---@return table options
function check.split(...)
  local list, options = { ... }, {}
  local last = list[#list]
  local are_options = #list > 1 and type(last) == "table" and not getmetatable(last) and last[1] == nil
  if are_options then options = table.remove(list) end
  return list, options
end

return check
