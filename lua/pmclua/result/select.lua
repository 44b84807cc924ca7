--- select.lua: which cells a script means: { workload = "rows", n = ">=512" }.

local check = require "pmclua.base.arguments"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local COMPARE = {
  ["="] = function(a, b) return a == b end,
  ["=="] = function(a, b) return a == b end,
  ["~="] = function(a, b) return a ~= b end,
  ["!="] = function(a, b) return a ~= b end,
  ["<"] = function(a, b) return a < b end,
  ["<="] = function(a, b) return a <= b end,
  [">"] = function(a, b) return a > b end,
  [">="] = function(a, b) return a >= b end,
}

-- ">=512" as a test; nil for a plain text.
local function comparison(wanted)
  local sign, value = wanted:match "^%s*([<>=~!]=?)%s*(.-)%s*$"
  local compare = COMPARE[sign]
  if not compare then return nil end
  local number = tonumber(value)
  return function(level)
    local other = type(level) == "number" and number or value
    return type(level) == type(other) and compare(level, other)
  end
end

-- The test of one condition: a level, a list of levels, a comparison in a text, or a function.
local function test_of(wanted)
  if type(wanted) == "function" then return wanted end
  if type(wanted) == "table" then
    return function(level)
      return lists.any(wanted, function(one) return one == level end)
    end
  end
  return type(wanted) == "string" and comparison(wanted) or function(level) return level == wanted end
end

local function names_of(result)
  local names = { "workload" }
  for _, factor in ipairs(result.header.factors) do names[#names + 1] = factor[1] end
  return names
end

local function check_names(result, conditions)
  local known, names = {}, names_of(result)
  for _, name in ipairs(names) do known[name] = true end
  for name in pairs(conditions) do
    if not known[name] then
      error(("no factor is called '%s': %s"):format(tostring(name), text.meant_or_all(name, names)), 0)
    end
  end
end

--- The cells of a result for which all conditions hold. Raises a text for a name that is no factor, and for a
--- list with names in it.
---@param result pmclua.Result
---@param conditions table<string, any>
---@return pmclua.Cell[] may be empty
function M.cells(result, conditions)
  check_names(result, conditions)
  local tests, chosen = {}, {}
  for name, wanted in pairs(conditions) do
    local stray = type(wanted) == "table" and check.stray("where: " .. tostring(name), wanted)
    if stray then error(stray, 0) end
    tests[name] = test_of(wanted)
  end
  for cell in result:cells() do
    local fits = true
    for name, test in pairs(tests) do
      local level
      if name == "workload" then level = cell.workload else level = cell.levels[name] end
      fits = fits and test(level)
    end
    if fits then chosen[#chosen + 1] = cell end
  end
  return chosen
end

local function said(wanted)
  if type(wanted) == "function" then return "what a function says" end
  if type(wanted) ~= "table" then return tostring(wanted) end
  local texts = lists.map(wanted, tostring)
  return text.list(texts, "or")
end

--- The conditions in words: "workload = rows, n = >=512".
---@param conditions table<string, any>
---@return string
function M.text_of(conditions)
  local parts = {}
  for name, wanted in pairs(conditions) do parts[#parts + 1] = ("%s = %s"):format(name, said(wanted)) end
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
