--- system_calls.lua: the times of system calls as a runner sends them, part of core.lua's layer.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C()

local M = {}

-- What is not one call but has a row.
local SPECIAL = { [C.PMCLUA_CALL_OPEN] = "open", [C.PMCLUA_CALL_NONE] = "none" }

---@class pmclua.SystemCall one kind of call in one repetition
---@field name string "futex"; "open": calls that did not return; "none": off CPU in no call
---@field is_first boolean of the first thread; else of all others together
---@field count number
---@field total_ns number from entering to leaving
---@field blocked_ns number of it off CPU, waiting for something
---@field waited_ns number of it off CPU, because others had the CPU

---@class pmclua.SystemCalls
---@field rows pmclua.SystemCall[]
---@field lost number records that found no room
---@field call_ns number how long a call takes that does nothing
---@field traced_ns number and how long it reads as; 0: unknown
---@field fault_ns number how long it takes to touch a fresh page

local function name_of(number)
  return SPECIAL[number] or core.private_text(C.pmclua_system_call_name(number))
    or ("system call %d"):format(number)
end

--- A block of C's as a table.
---@param block ffi.cdata*
---@return pmclua.SystemCalls
function M.read(block)
  local head = ffi.cast("const struct pmclua_system_calls *", block)
  local row = ffi.cast("const struct pmclua_system_call *", head + 1)
  local rows = {}
  for i = 1, tonumber(head.rows) do
    local one = row[i - 1]
    rows[i] = { name = name_of(tonumber(one.number)), is_first = one.is_first == 1,
      count = tonumber(one.count), total_ns = tonumber(one.total_ns),
      blocked_ns = tonumber(one.blocked_ns), waited_ns = tonumber(one.waited_ns) }
  end
  return { rows = rows, lost = tonumber(head.lost), call_ns = tonumber(head.call_ns),
    traced_ns = tonumber(head.traced_ns), fault_ns = tonumber(head.fault_ns) }
end

return M
