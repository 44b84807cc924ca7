--- annotations.lua: what a module's annotations say of its functions and classes.

local types = require "tests.contracts.types"

local M = {}

---@class tests.Annotated
---@field name string as it is written: "M.read", "Columns:take"
---@field line integer where it is defined
---@field params { name: string, type: table, optional: boolean }[]
---@field returns { type: table }[]

-- A type, which may go on in the lines that follow.
local function read_type(text, following)
  for _, line in ipairs(following) do
    local goes_on = text and text:find "|%s*$" or line:find "^|"
    local t = text and not goes_on and types.read(text)
    if t then return t end
    text = ("%s %s"):format(text, line)
  end
end

local READ = {}

function READ.param(block, text, following)
  local name, optional, rest = text:match "^([%w_.]+)(%??)%s+(.*)$"
  local param = { name = name, type = read_type(rest, following), optional = optional == "?" }
  table.insert(block.params, param)
  return param.type
end

READ["return"] = function(block, text, following)
  local t = read_type(text, following)
  table.insert(block.returns, { type = t })
  return t
end

function READ.class(block, text)
  local name, parent = text:match "^([%w_.]+)%s*:%s*([%w_.]+)"
  block.class = { name = name or text:match "^[%w_.]+", parent = parent, fields = {} }
  return block.class.name
end

function READ.field(block, text, following)
  local name, optional, rest = text:match "^%[?([%w_.]+)%]?(%??)%s+(.*)$"
  local t = read_type(rest, following)
  local field = { name = tonumber(name) or name, type = t, optional = optional == "?" }
  if block.class then table.insert(block.class.fields, field) end
  return block.class and field.type
end

function READ.alias(block, text, following)
  local name, rest = text:match "^([%w_.]+)%s+(.*)$"
  block.class = { name = name, alias = read_type(rest, following) }
  return block.class.alias
end

function READ.generic(block, text)
  block.generic[text:match "^[%w_]+"] = true
  return true
end

-- The lines behind an annotation, up to the next one, and an end.
local function following(lines, i)
  local list = {}
  for k = i + 1, i + 4 do
    local line = (lines[k] or ""):match "^%s*%-%-%-%s*([^@].*)$"
    if not line then break end
    list[#list + 1] = line
  end
  list[#list + 1] = ""
  return list
end

--- Reads the annotations of a file.
---@param path string as messages name it
---@param text string
---@return tests.Annotated[] functions in order
---@return table<string, table> classes by name, as types.mistake takes them
---@return string[] mistakes in the annotations themselves
function M.read(path, text)
  local functions, classes, mistakes, lines = {}, {}, {}, {}
  for line in (text .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
  local block
  for i, line in ipairs(lines) do
    if line:find "^%s*%-%-%-" then
      block = block or { params = {}, returns = {}, generic = {} }
      local kind, rest = line:match "^%s*%-%-%-@(%l+)%s*(.*)$"
      if READ[kind] and not READ[kind](block, rest, following(lines, i)) then
        mistakes[#mistakes + 1] = ("%s:%d: no type can be read in '@%s %s'"):format(path, i, kind, rest)
      end
      if block.class and not block.class.where then
        block.class.where = ("%s:%d"):format(path, i)
        classes[block.class.name] = block.class
      end
    else
      local name = line:match "function ([%w_.:]+)%s*%(" or line:match "([%w_.]+) = function%("
      if block and name then
        block.name, block.line = name, i
        functions[#functions + 1] = block
      end
      block = nil
    end
  end
  return functions, classes, mistakes
end

return M
