--- filter.lua: why the OS kernel refused what a tracepoint was to be filtered by.
--
-- It says EINVAL and no more: what is asked here is what people get wrong. The language is that of
-- Documentation/trace/events.rst: FIELD OPERATOR VALUE, joined by && and ||, with ! and parentheses.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local COMMON = { "common_type", "common_flags", "common_preempt_count", "common_pid", "CPU", "cpu", "COMM",
  "comm", "CPUS" }

-- Without texts between quotes, whose words are no names.
local function bare(filter)
  return (filter:gsub('"[^"]*"', '""'):gsub("'[^']*'", "''"))
end

local function unknown_field(filter, fields)
  if #fields == 0 then return nil end
  local names = lists.joined { fields, COMMON }
  local is_known = lists.set(names)
  for name in bare(filter):gmatch "([%a_][%w_]*)[%s.%w]*[=!<>&~]" do
    if not is_known[name] then
      return ("the tracepoint has no field '%s'"):format(name),
        text.meant(name, names) or "it has " .. table.concat(fields, ", ")
    end
  end
end

local function unbalanced(filter)
  local depth = 0
  for sign in bare(filter):gmatch "[()]" do
    depth = depth + (sign == "(" and 1 or -1)
    if depth < 0 then return "a ')' without its '('" end
  end
  if depth > 0 then return "a '(' is not closed" end
end

local function joined_otherwise(filter)
  local plain = " " .. bare(filter) .. " "
  local word = plain:match "%s(and)%s" or plain:match "%s(or)%s"
    or plain:match "[^&](&)%s*[%a_][%w_]*%s*[=!<>]"
    or plain:match "[^|](|)[^|]"
  if word then return ("'%s' does not join conditions"):format(word), "write && or ||" end
end

local function single_equals(filter)
  if bare(filter):find "[^=!<>]=[^=]" then return "'=' does not compare", "write ==" end
end

-- A bare word where a value stands: texts are compared between quotes.
local function bare_text(filter)
  local word = bare(filter):match "[=~]%s*([%a_][%w_*?.-]*)"
  if word then
    return ("'%s' is neither a number nor a text"):format(word),
      ('put text in quotes: "%s"'):format(word)
  end
end

local function glob_without_text(filter)
  if bare(filter):match "~%s*[%w]" then return "~ compares with a pattern in quotes" end
end

--- Why and what to do.
---@param filter string as asked
---@param fields string[] of the tracepoint; empty: not known
---@return string why
---@return string? hint
function M.why(filter, fields)
  for _, check in ipairs { unbalanced, joined_otherwise, single_equals, unknown_field, glob_without_text,
    bare_text }
  do
    local why, hint = check(filter, fields)
    if why then return why, hint end
  end
  local has = #fields > 0 and "; the fields are " .. table.concat(fields, ", ") or ""
  return "Linux does not understand it", "conditions are FIELD == VALUE, joined by && and ||" .. has
end

return M
