--- placement.lua: where the code of a compiled kernel lies, as a linker script: another order of its
--- functions, and bytes before the first.
--
-- Where code lies decides which of its branches and lines share a place in caches and predictors; it
-- moved a small transpose by a factor of two. Invariant: the instructions are those of the compiler; they
-- are moved by whole multiples of what compilers align functions to, and a seed always gives the same
-- place.

local lists = require "pmclua.base.lists"
local random = require "pmclua.stats.random"

local M = {}

local STEP_BYTES, PAGE_BYTES = 16, 4096

-- The names of the functions that a shared object has of its own; none where nobody can read them.
local function functions_of(object)
  local symbols = require("pmclua.core.symbols").open(object)
  local names = {}
  for index = 1, symbols and symbols.count or 0 do
    local symbol = symbols:at(index)
    local is_own = symbol and not symbol.imported and symbol.name:find "^[%w_.$]+$"
    if is_own then names[symbol.name] = true end
  end
  if symbols then symbols:close() end
  return lists.keys(names)
end

--- The script by which a linker places the code of an object: the functions in another order, everything
--- behind a number of bytes.
---@param object string path of the object as compiled
---@param seed integer
---@return string
function M.script(object, seed)
  local source = random.new(seed, "code")
  local padding = STEP_BYTES * (source:integer(PAGE_BYTES / STEP_BYTES) - 1)
  local sections = lists.map(source:shuffle(functions_of(object)), function(name)
    return ("*(.text.%s)"):format(name)
  end)
  sections[#sections + 1] = "*(.text.*)"
  return ("SECTIONS\n{\n  .pmclua_text : { . = . + %d;\n    %s }\n}\nINSERT BEFORE .text;\n"):format(padding,
    table.concat(sections, "\n    "))
end

return M
