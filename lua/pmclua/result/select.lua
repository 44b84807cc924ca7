--- select.lua: which cells a script means: { workload = "rows", n = ">=512" }.

local cell_key = require "pmclua.result.cell_key"
local check = require "pmclua.base.arguments"
local holds = require("pmclua.metric.evaluate").holds
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local SIGNS = { ["="] = "==", ["=="] = "==", ["~="] = "~=", ["!="] = "~=", ["<"] = "<", ["<="] = "<=",
  [">"] = ">", [">="] = ">=" }

-- ">=512" as a test; nil for a plain text.
local function comparison(wanted)
  local sign, value = wanted:match "^%s*([<>=~!]=?)%s*(.-)%s*$"
  local operator = SIGNS[sign]
  if not operator then return nil end
  local number = tonumber(value)
  return function(level)
    local other = type(level) == "number" and number or value
    return type(level) == type(other) and holds(operator, level, other)
  end
end

local function test_of(wanted)
  if type(wanted) == "function" then return wanted end
  if type(wanted) == "table" then
    return function(level) return lists.contains(wanted, level) end
  end
  return type(wanted) == "string" and comparison(wanted) or function(level) return level == wanted end
end

local function check_names(result, conditions)
  local names = lists.append({ "workload" }, lists.column(result.header.factors, 1))
  local known = lists.set(names)
  for name in pairs(conditions) do
    if not known[name] then
      error(("no factor is called '%s': %s"):format(tostring(name), text.meant_or_all(name, names)), 0)
    end
  end
end

local function meets(conditions)
  local tests = {}
  for name, wanted in pairs(conditions) do tests[name] = test_of(wanted) end
  return function(cell)
    for name, test in pairs(tests) do
      if not test(cell_key.level(cell, name)) then return false end
    end
    return true
  end
end

--- The cells of a result for which all conditions hold. Raises a text for a name that is no factor, and for a
--- list with names in it.
---@param result pmclua.Result
---@param conditions table<string, any>
---@return pmclua.Cell[] may be empty
function M.cells(result, conditions)
  check_names(result, conditions)
  for name, wanted in pairs(conditions) do
    local stray = type(wanted) == "table" and check.stray("only: " .. tostring(name), wanted)
    if stray then error(stray, 0) end
  end
  return lists.where(result:list(), meets(conditions))
end

--- Two cells as A and B: the baseline is A, else the first.
---@param result pmclua.Result
---@param cells pmclua.Cell[] one or two
---@return pmclua.Cell a
---@return pmclua.Cell? b
function M.sides(result, cells)
  local baseline = result.header.baseline
  if type(baseline) == "string" then baseline = { workload = baseline } end
  -- A name, not a condition: a workload may well be called "<b".
  local function is_baseline(cell)
    return lists.all(lists.keys(baseline), function(name)
      return cell_key.level(cell, name) == baseline[name]
    end)
  end
  local is_second = baseline and cells[2] and is_baseline(cells[2]) and not is_baseline(cells[1])
  if is_second then return cells[2], cells[1] end
  return cells[1], cells[2]
end

local function words_of(wanted)
  if type(wanted) == "function" then return "what a function says" end
  return type(wanted) == "table" and text.list(lists.map(wanted, tostring), "or") or tostring(wanted)
end

--- The conditions in words: "workload = rows, n = >=512".
---@param conditions table<string, any>
---@return string
function M.text_of(conditions)
  local parts = {}
  for name, wanted in pairs(conditions) do parts[#parts + 1] = ("%s = %s"):format(name, words_of(wanted)) end
  table.sort(parts)
  return table.concat(parts, ", ")
end

-- ---- cells in a text: "rows,n=256" ----

--- A level as it is written in a text: a number where it is one, true and false, else the word.
---@param word string
---@return number|boolean|string
function M.level(word)
  if word == "true" or word == "false" then return word == "true" end
  local value = tonumber(word)
  return value and value == value and math.abs(value) < math.huge and value or word
end

--- A partial cell: "rows" is { workload = "rows" }, "rows,n=256" also has a level.
---@param word string
---@return table
function M.cell(word)
  local parts = {}
  for part in word:gmatch "[^,]+" do
    local name, value = part:match "^([%a_][%w_]*)=(.+)$"
    if name and name ~= "workload" then parts[name] = M.level(value)
    else parts.workload = name and value or part end
  end
  return parts
end

return M
