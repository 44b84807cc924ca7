--- shellwords.lua: splits command strings as a shell does, without a shell; fills factor levels into strings.

local lists = require "pmclua.base.lists"

local M = {}

-- Characters that a shell would act on, outside quotes. A command that needs them is refused rather than misread.
local SHELL_ONLY = "[|&;<>()$`*?#~\n]"

--- One character of `text` at `i` outside quotes, or a whole quoted or escaped piece: the piece and the
--- next position; nil and why.
local function piece(text, i)
  local c = text:sub(i, i)
  if c == "'" then
    local close = text:find("'", i + 1, true)
    if not close then return nil, "an unclosed '" end
    return text:sub(i + 1, close - 1), close + 1
  elseif c == '"' then
    local out, j = {}, i + 1
    while text:sub(j, j) ~= '"' do
      if j > #text then return nil, 'an unclosed "' end
      if text:match('^\\["\\$`]', j) then j = j + 1
      elseif text:match("^[$`]", j) then return nil, "a " .. text:sub(j, j) .. " for a shell to expand" end
      out[#out + 1] = text:sub(j, j)
      j = j + 1
    end
    return table.concat(out), j + 1
  elseif c == "\\" then
    if i == #text then return nil, "a \\ at its end" end
    return text:sub(i + 1, i + 1), i + 2
  elseif c:match(SHELL_ONLY) then
    return nil, ("a '%s', which only a shell would understand"):format(c)
  end
  return c, i + 1
end

--- Splits a command string as a shell would split it, without expanding anything.
---@param text string
---@return string[]? argv nil: it cannot be split so
---@return string? why what it has that needs a shell
function M.split(text)
  local argv, current, i = {}, nil, 1
  while i <= #text do
    if text:match("^%s", i) then
      argv[#argv + 1], current, i = current, nil, i + 1
    else
      local got, next_i = piece(text, i)
      if not got then return nil, next_i end
      current, i = (current or "") .. got, next_i
    end
  end
  argv[#argv + 1] = current
  return argv
end

--- The words of a string, or of a list, which is taken as it is.
---@param value? string|string[]
---@return string[]
function M.list(value)
  if type(value) == "string" then return assert(M.split(value)) end
  return value or {}
end

--- argv as a person could type it.
---@param argv string[]
function M.join(argv)
  local out = {}
  for i, word in ipairs(argv) do
    local plain = word ~= "" and not word:find("[^%w%-_./:=,+@%%{}]")
    out[i] = plain and word or "'" .. word:gsub("'", "'\\''") .. "'"
  end
  return table.concat(out, " ")
end

--- `text` with each {name} that is a factor replaced by its level; other braces stay.
---@param text string
---@param levels table<string, any>
function M.fill(text, levels)
  return (text:gsub("{([%w_]+)}", function(name)
    if levels[name] ~= nil then return tostring(levels[name]) end
  end))
end

--- The same for every string of a list.
function M.fill_all(list, levels)
  return lists.map(list, function(text) return M.fill(tostring(text), levels) end)
end

--- This process's environment with changes, as execve(2) takes it.
---@param changes table<string, string|number|false> false removes
---@param levels table for {name} in the values
---@return string[] "NAME=value"
function M.environment(changes, levels)
  local list = {}
  local text = require("pmclua.host.machine").text "/proc/self/environ" or ""
  for entry in text:gmatch "([^%z]+)" do
    local name = entry:match "^([^=]*)="
    if not name or changes[name] == nil then list[#list + 1] = entry end
  end
  for _, name in ipairs(lists.keys(changes)) do
    if changes[name] then list[#list + 1] = name .. "=" .. M.fill(tostring(changes[name]), levels) end
  end
  return list
end

return M
