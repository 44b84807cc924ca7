--- crash.lua: where a kernel crashed, in words, and how to look at it in a debugger.

local text = require "pmclua.base.text"

local M = {}

-- The environment variable whose words the runner of each kernel is started by: "gdb -q -ex run --args".
local VARIABLE = "PMCLUA_KERNEL_UNDER"

local known = {}

-- The function at an offset of a file, and how far in it; nil where the file does not say.
local function find_function(file, offset)
  local symbols, enclosing = require("pmclua.core.symbols").open(file), nil
  for index = 1, symbols and symbols.count or 0 do
    local symbol = symbols:at(index)
    local is_in = symbol and not symbol.imported and offset >= symbol.offset
      and offset < symbol.offset + symbol.bytes
    if is_in then enclosing = symbol end
  end
  if symbols then symbols:close() end
  return enclosing and ("%s+0x%x"):format(text.safe(enclosing.shown), offset - enclosing.offset)
end

--- Where the instruction is: "sum+0x12 of matrix.so".
---@param crash { file: string, offset: number|ffi.cdata* }
---@return string? nil: in no file
function M.place(crash)
  if crash.file == "" then return nil end
  local key = crash.file .. "\0" .. tostring(crash.offset)
  if known[key] == nil then
    local ok, where = pcall(find_function, crash.file, tonumber(crash.offset))
    known[key] = ok and where or ("0x%x"):format(tonumber(crash.offset))
  end
  return ("%s of %s"):format(known[key], text.safe(crash.file:match "[^/]+$" or crash.file))
end

--- The facts of a crash that follow the signal's name.
---@param crash { file: string, offset: number|ffi.cdata*, address?: number|ffi.cdata* }
---@return string
function M.words(crash)
  -- Linux does not tell an address that is not canonical.
  local digits = crash.address and bit.tohex(0ULL + crash.address):gsub("^0+(%x)", "%1")
  return ("%s, in %s; to stop there in gdb, put %s='gdb -q -ex run --args' before the command"):format(
    digits and " at address 0x" .. digits or "", M.place(crash) or "no file's code", VARIABLE)
end

--- The words that a kernel's runner is started by; nil: none.
---@return string[]?
function M.debugger()
  local words = require("pmclua.base.lists").collect((os.getenv(VARIABLE) or ""):gmatch "%S+")
  if #words == 0 then return nil end
  local is_path = words[1]:find("/", 1, true)
  words[1] = not is_path and require("pmclua.host.tools").find(words[1]) or words[1]
  return words
end

return M
