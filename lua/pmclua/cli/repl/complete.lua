--- complete.lua: what may stand at the end of a line of Lua: names, fields, methods, keys of a table of
--- options; in a string events, or scripts and what they take.
--
-- Invariant: completing runs no code of the line; it only looks fields up, and a field that raises is
-- none. An object tells its fields by `__fields(object)` in its metatable where `pairs` would not; with
-- `__fields_are_all` there, others are its own.

local lists = require "pmclua.base.lists"

local M = {}

--- Lua's own words.
M.KEYWORDS = { "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
  "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while" }

local function starts(word, prefix) return word:sub(1, #prefix) == prefix end

-- The text after the quote that is still open at the end of `line`; nil outside strings.
local function open_string(line)
  local quote, from, i = nil, nil, 1
  while i <= #line do
    local c = line:sub(i, i)
    if quote then
      if c == "\\" then i = i + 1 elseif c == quote then quote = nil end
    elseif c == '"' or c == "'" then
      quote, from = c, i + 1
    elseif line:sub(i, i + 1) == "--" then
      return nil
    end
    i = i + 1
  end
  return quote and line:sub(from)
end

local event_list

--- Every event that can be named here, sorted, kept for as long as the session lasts.
local function event_names()
  if event_list then return event_list end
  local ok, entries = pcall(function() return require("pmclua.event").list() end)
  local names = { require("pmclua.event.names").all(), lists.column(ok and entries or {}, "spec") }
  event_list = lists.keys(lists.set(lists.joined(names)))
  return event_list
end

-- The `names` that begin as typed, each behind the rest of the same word; nil: none does.
local function beginning(names, typed, word)
  local head = word:sub(1, #word - #typed)
  local words = lists.map(names, function(name) return starts(name, typed) and head .. name or nil end)
  return #words > 0 and words or nil
end

--- In a string of pmc.script("…", "…") the script's name, then its options.
local function complete_script(before, opened, word)
  local script = require "pmclua.cli.script"
  if before:find "pmc%.script%s*%(?%s*$" then
    return beginning(lists.column(script.all(), "name"), opened, word)
  end
  local name = before:match [[pmc%.script%s*%(%s*["']([%w_./-]+)["']%s*,[^()]*$]]
  local path = name and script.find(name)
  return path and beginning(script.options(path), opened, word)
end

local function complete_string(line, opened, word)
  local before = line:sub(1, #line - #opened - 1)
  if before:find("pmc.script", 1, true) then
    local words = complete_script(before, opened, word)
    if words then return words end
  end
  return beginning(event_names(), opened:match "[^%s,{}]*$", word)
end

-- ---- keys of tables of options -------------------------------------------------------------------------

--- The text before the brace that is open at the end of a line; nil: none is.
local function before_brace(line)
  local depth = 0
  for i = #line, 1, -1 do
    local c = line:sub(i, i)
    if c == "}" then depth = depth + 1 end
    if c == "{" then
      if depth == 0 then return line:sub(1, i - 1) end
      depth = depth - 1
    end
  end
end

-- Adds the keys of a function's options where a line is within the braces of its argument.
local function add_option_keys(names, line)
  local before = before_brace(line)
  local call = before and before:match "(pmc%.[%w_.]+)%s*%(?[^{}]*$"
  local entries = require "pmclua.public.entries"
  local entry = call and entries.find(call)
  for _, record in ipairs(entry and entries.records_of(entry) or {}) do
    for _, key in ipairs(record.order) do names[key] = key:find "^%a" and true or nil end
  end
end

local function field_of(value, name)
  local ok, field = pcall(function() return value[name] end)
  if ok then return field end
end

local function add_keys(names, map)
  if type(map) ~= "table" then return end
  for key in next, map do
    if type(key) == "string" and key:match "^[%a_][%w_]*$" then names[key] = true end
  end
end

--- Every field name of a value that can be found without calling anything but `__fields`.
local function fields_of(value)
  local names = {}
  local depth = 0
  while value ~= nil and depth < 8 do
    local meta = type(value) == "string" and getmetatable "" or debug.getmetatable(value)
    local ok, list = pcall(function() return meta.__fields and meta.__fields(value) end)
    local has_all = ok and list and type(meta) == "table" and rawget(meta, "__fields_are_all")
    if not has_all then add_keys(names, value) end
    if type(meta) ~= "table" then break end
    for _, name in ipairs(ok and list or {}) do names[name] = true end
    value = type(meta.__index) == "table" and meta.__index or nil
    depth = depth + 1
  end
  return names
end

local function global_names(scope)
  local names = fields_of(scope)
  add_keys(names, _G)
  for _, word in ipairs(M.KEYWORDS) do names[word] = true end
  return names
end

-- The value that "a.b:c" leads to, from the globals; nil where there is none.
local function resolve(scope, chain)
  local value = scope
  for name in chain:gmatch "[%w_]+" do
    value = field_of(value, name)
    if value == nil then return nil end
  end
  return value
end

local function complete_name(scope, line, word)
  local path = word:match "[%a_][%w_.:]*$" or ""
  local head = word:sub(1, #word - #path)
  local chain, mark, typed = path:match "^(.*)([.:])([%w_]*)$"
  local names, value
  if chain then
    value = resolve(scope, chain)
    names = value ~= nil and fields_of(value) or {}
  else
    chain, mark, typed, names = "", "", path, global_names(scope)
    add_option_keys(names, line)
  end
  local function fits(name)
    local hidden = starts(name, "_") and not starts(typed, "_")
    return starts(name, typed) and not hidden and (mark ~= ":" or type(field_of(value, name)) == "function")
  end
  local words = lists.where(lists.keys(names), fits)
  return lists.map(words, function(name) return head .. chain .. mark .. name end)
end

--- Words that may stand where `word` stands at the end of `line`; nil: only files could.
---@param scope table the globals
---@param line string up to the cursor
---@param word string its last word, as the terminal splits words
---@return string[]?
function M.words(scope, line, word)
  local opened = open_string(line)
  if opened then return complete_string(line, opened, word) end
  return complete_name(scope, line, word)
end

return M
