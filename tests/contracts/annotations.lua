--- annotations.lua: what a module's annotations say of its functions and classes.

local support = require "tests.support"
local types = require "tests.contracts.types"
local values = require "tests.contracts.values"

local M = {}

local FIND = "cd %s && find lua/pmclua -name '*.lua' ! -path '*/contracts/*' | LC_ALL=C sort"

---@class tests.Place a parameter, result or field
---@field name any
---@field type table of types.read
---@field optional boolean

---@class tests.Annotated a function
---@field name string as it is written: "M.read", "Columns:take"
---@field line integer where it is defined
---@field at integer first byte of that line
---@field param tests.Place[]
---@field return tests.Place[]
---@field generic table<string, true>

-- A type, which may go on in the lines that follow.
local function read_type(text, following)
  for _, line in ipairs(following) do
    local goes_on = text:find "|%s*$" or line:find "^|"
    local t, behind = nil, nil
    if not goes_on then t, behind = types.read(text) end
    if t then return t, behind end
    text = ("%s %s"):format(text, line)
  end
end

-- Name, "?" and what begins with a type.
local PLACES = { param = "^([%w_.]+)(%??)%s+(.*)$", field = "^%[?([%w_.]+)%]?(%??)%s+(.*)$",
  alias = "^([%w_.]+)()%s+(.*)$", ["return"] = "^()()(.*)$" }

-- Whether a text that may be prose begins with a type, by the name that it begins with.
local function begins_with_type(text)
  local name = text:match "^[%w_]+"
  return values.SIMPLE[name] or name == "pmclua"
end

-- Takes what an annotation says into its block; "@return A a, B b" are two. Returns whether it can be read.
local take
function take(block, kind, text, following)
  if kind == "generic" then block.generic[text:match "^[%w_]+"] = true end
  if kind == "class" then
    local name, parent = text:match "^([%w_.]+)%s*:%s*([%w_.]+)"
    block.class = { name = name or text:match "^[%w_.]+", parent = parent, fields = block.field }
  end
  if not PLACES[kind] then return true end
  local name, optional, rest = text:match(PLACES[kind])
  local t, behind = nil, nil
  if rest then t, behind = read_type(rest, following) end
  if kind == "alias" then block.class = { name = name, alias = t } end
  table.insert(block[kind], { name = tonumber(name) or name, type = t, optional = optional == "?" })
  local next_result = kind == "return" and t and behind:match "^ ?[%w_]*, (.*)$"
  if next_result and begins_with_type(next_result) then return take(block, kind, next_result, following) end
  return t and (kind ~= "field" or block.class)
end

-- The lines behind an annotation, up to the next one, and an end.
local function following(lines, i)
  local list = {}
  for k = i + 1, i + 4 do
    local line = lines[k] and lines[k].text:match "^%s*%-%-%-%s*([^@].*)$"
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
---@return table<string, table> classes by name: { name, where, parent?, fields } or { name, where, alias = a type }
---@return string[] mistakes in the annotations themselves
function M.read(path, text)
  local functions, classes, mistakes, lines = {}, {}, {}, {}
  for at, line in (text .. "\n"):gmatch "()(.-)\n" do lines[#lines + 1] = { at = at, text = line } end
  local block
  for i, line in ipairs(lines) do
    if line.text:find "^%s*%-%-%-" then
      block = block or { param = {}, ["return"] = {}, field = {}, alias = {}, generic = {} }
      local kind, rest = line.text:match "^%s*%-%-%-@(%l+)%s*(.*)$"
      if kind and not take(block, kind, rest, following(lines, i)) then
        mistakes[#mistakes + 1] = ("%s:%d: no type can be read in '@%s %s'"):format(path, i, kind, rest)
      end
      if block.class and not block.class.where then
        block.class.where = ("%s:%d"):format(path, i)
        classes[block.class.name] = block.class
      end
    elseif block then
      block.name = line.text:match "function ([%w_.:]+)%s*%(" or line.text:match "([%w_.]+) = function%("
      block.line, block.at = i, line.at
      functions[#functions + 1] = block.name and block or nil
      if not block.name and (block.param[1] or block["return"][1]) then
        mistakes[#mistakes + 1] = ("%s:%d: no function follows the annotations"):format(path, i)
      end
      block = nil
    end
  end
  return functions, classes, mistakes
end

--- Reads the annotations of all modules of a tree.
---@param tree string
---@return { name: string, path: string, text: string, functions: tests.Annotated[] }[] modules
---@return table<string, table> classes by name
---@return string[] mistakes
function M.read_tree(tree)
  local modules, classes, mistakes = {}, {}, {}
  for path in support.output_of(FIND:format(support.quote(tree))):gmatch "[^\n]+" do
    local text = support.read(tree .. "/" .. path)
    local functions, own, wrong = M.read(path, text)
    local name = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
    modules[#modules + 1] = { name = name, path = path, text = text, functions = functions }
    for class, fields in pairs(own) do classes[class] = fields end
    for _, mistake in ipairs(wrong) do mistakes[#mistakes + 1] = mistake end
  end
  return modules, classes, mistakes
end

return M
