--- crash.lua: where a kernel crashed, in words, and how to look at it in a debugger.

local text = require "pmclua.base.text"

local M = {}

--- The environment variable whose words the runner of each kernel is started by: "gdb -q -ex run --args".
M.VARIABLE = "PMCLUA_KERNEL_UNDER"

local known = {}

-- The function at an offset of a file, and how far in it; nil where the file does not say.
local function find_function(file, offset)
  local symbols = require("pmclua.core.symbols").open(file)
  local found, at = nil, 1
  local symbol = symbols and symbols:at(at)
  while symbol do
    local is_in = not symbol.imported and offset >= symbol.offset and offset < symbol.offset + symbol.bytes
    if is_in then found = symbol end
    at = at + 1
    symbol = symbols:at(at)
  end
  if symbols then symbols:close() end
  return found and ("%s+0x%x"):format(text.safe(found.shown), offset - found.offset)
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

-- Of an address that is none at all (not canonical) Linux does not tell which it was.
local function address_of(crash)
  if not crash.address then return "" end
  return (" at address 0x%s"):format(bit.tohex(0ULL + crash.address):gsub("^0+(%x)", "%1"))
end

--- What is to be said of a crash after the signal's name.
---@param crash { file: string, offset: number|ffi.cdata*, address?: number|ffi.cdata* }
---@return string
function M.words(crash)
  local place = ", in " .. (M.place(crash) or "no file's code")
  return ("%s%s; to stop there in gdb, put %s='gdb -q -ex run --args' before the command"):format(
    address_of(crash), place, M.VARIABLE)
end

--- The words that a kernel's runner is started by; nil: none.
---@return string[]?
function M.debugger()
  local words = {}
  for word in (os.getenv(M.VARIABLE) or ""):gmatch "%S+" do words[#words + 1] = word end
  if #words == 0 then return nil end
  local is_path = words[1]:find("/", 1, true)
  words[1] = not is_path and require("pmclua.host.tools").find(words[1]) or words[1]
  return words
end

return M
