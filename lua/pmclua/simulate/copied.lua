--- copied.lua: which lines of a function belong to functions that the compiler copied into it.
--
-- Valgrind's files have lines and no addresses. The debug information says of each address which functions were copied
-- there: a source line within one function belongs to one of them. Valgrind has whole paths, the debug information what
-- the compiler was given: sources are told apart by their last name.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local function base_name(source) return text.base_name(source or "") end

local function line_key(source, number) return base_name(source) .. "\0" .. number end

-- The functions that each line of the code of a symbol was copied with.
local function add_lines(lines, symbols, symbol)
  for offset = symbol.offset, symbol.imported and -1 or symbol.offset + symbol.bytes - 1 do
    local code = symbols:code(offset)
    if code and code.inlined and code.line then
      local key = line_key(code.source, code.line)
      lines[key] = lines[key] or code.inlined
    end
  end
end

-- The same with the path that Valgrind has for the file that declares the innermost.
local function with_path(inlined, source)
  local first = inlined[1]
  if first.declared == source or base_name(first.declared) ~= base_name(source) then return inlined end
  local own = lists.copy(first)
  own.declared = source
  return { own, unpack(inlined, 2) }
end

--- The costs copied with lines of a program's functions.
---@param symbols pmclua.core.Symbols of the program
---@param functions fun(full: string): pmclua.core.Symbol[]
---@return fun(full: string, source?: string, number: integer): table[]? innermost first
function M.new(symbols, functions)
  local known = {}
  return function(full, source, number)
    if not known[full] then
      known[full] = {}
      for _, symbol in ipairs(functions(full)) do add_lines(known[full], symbols, symbol) end
    end
    local inlined = known[full][line_key(source, number)]
    return inlined and with_path(inlined, source)
  end
end

return M
