--- instructions.lua: pairs instructions of A and B: a diff of what they do and of their source lines.
--
-- Addresses and registers do not count: another build has others.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local sources = require "pmclua.ledger.sources"

local M = {}

local SIZES = lists.set { "byte", "word", "dword", "qword", "xmmword", "ymmword", "zmmword", "ptr" }

-- "mov r, dword ptr [r + 8]" of "mov eax, dword ptr [rdi + 8]"; of a jump or a call nothing but that.
local function normal(text)
  local what, operands = text:match "^(%S+)%s*(.*)$"
  if not what then return text end
  if what:find "^[jb]" or what:find "^call" or what:find "^cb" or what:find "^tb" then return what end
  operands = operands:gsub("%[rip [^%]]*%]", "[rip]"):gsub("0x%x%x%x%x+", "@")
  operands = operands:gsub("%f[%w]%a[%w]*", function(word) return SIZES[word] and word or "r" end)
  return what .. " " .. operands
end

local function hashes_of(side, list, pairing)
  return table.concat(lists.map(list, function(at)
    local line = pairing and at.source and at.line and pairing:line(side, at.source, at.line) or ""
    return core.hash(("%s %s"):format(line, normal(at.text or ""))):sub(-8)
  end))
end

--- Pairs B's instructions with A's.
---@param a pmclua.ListedInstruction[] of a function
---@param b pmclua.ListedInstruction[]
---@param pairing? pmclua.SourcePairing of their lines
---@return fun(k: integer): integer? A's by B's number
function M.aligned(a, b, pairing)
  local pairing_sources = sources.new({ code = { hashes = hashes_of("a", a, pairing) } },
    { code = { hashes = hashes_of("b", b, pairing) } })
  return function(k) return pairing_sources:partner("code", k, "code") end
end

return M
