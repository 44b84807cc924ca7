--- system_calls.lua: traced system calls as a runner sends them.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C()

local M = {}

-- Rows that are no single call.
local SPECIAL = { [C.PMCLUA_CALL_OPEN] = "open", [C.PMCLUA_CALL_NONE] = "none" }

local WHAT = { [C.PMCLUA_CHAIN_WORK] = "work", [C.PMCLUA_CHAIN_READY] = "ready" }

---@class pmclua.SystemCall one kind of call in one repetition
---@field name string "futex"; "open": calls that did not return; "none": off CPU in no call
---@field is_first boolean of the first thread; else of all others together
---@field count number
---@field blocked_ns number off CPU in it, waiting for something
---@field waited_ns number off CPU in it, because others had the CPU

---@class pmclua.CallSite calls that were made from one instruction
---@field name string
---@field place number the instruction's address modulo the size of a page; 65535: unknown
---@field count number

---@class pmclua.CallChain what the first thread waited for in a call: another thread
---@field name string of the call
---@field thread integer in the order in which they start, from 2
---@field what "work"|"ready"|"call" it was at work, waited for a CPU, or in a call of its own
---@field place number where it made that call, as of sites; of others 0
---@field ns number
---@field is_process boolean it is one of another process
---@field is_end boolean until it had ended

---@class pmclua.SystemCalls of one repetition
---@field rows pmclua.SystemCall[]
---@field sites pmclua.CallSite[]
---@field chains pmclua.CallChain[]
---@field lost number records that found no room

local function name_of(number)
  return SPECIAL[number] or core.private_text(C.pmclua_system_call_name(number))
    or ("system call %d"):format(number)
end

local MOST_NUMBERS = 1024
local by_name

--- The numbers of this machine's system calls by their names.
---@return table<string, integer>
function M.numbers()
  if by_name then return by_name end
  by_name = {}
  for number = 0, MOST_NUMBERS - 1 do
    local name = core.private_text(C.pmclua_system_call_name(number))
    if name then by_name[name] = number end
  end
  return by_name
end

--- A block of C's as a table.
---@param block ffi.cdata*
---@return pmclua.SystemCalls
function M.read(block)
  local head = ffi.cast("const struct pmclua_system_calls *", block)
  local row = ffi.cast("const struct pmclua_system_call *", head + 1)
  local site = ffi.cast("const struct pmclua_call_site *", row + head.rows)
  local chain = ffi.cast("const struct pmclua_call_chain *", site + head.sites)
  local rows, sites, chains = {}, {}, {}
  for i = 1, tonumber(head.rows) do
    local entry = row[i - 1]
    rows[i] = { name = name_of(tonumber(entry.number)), is_first = entry.is_first == 1,
      count = tonumber(entry.count), blocked_ns = tonumber(entry.blocked_ns),
      waited_ns = tonumber(entry.waited_ns) }
  end
  for i = 1, tonumber(head.sites) do
    local entry = site[i - 1]
    sites[i] = { name = name_of(tonumber(entry.number)), place = tonumber(entry.place),
      count = tonumber(entry.count) }
  end
  for i = 1, tonumber(head.chains) do
    local link = chain[i - 1]
    local what = WHAT[tonumber(link.place)]
    chains[i] = { name = name_of(tonumber(link.number)), thread = tonumber(link.thread),
      what = what or "call", place = what and 0 or tonumber(link.place), ns = tonumber(link.ns),
      is_process = link.is_process == 1, is_end = link.is_end == 1 }
  end
  return { rows = rows, sites = sites, chains = chains, lost = tonumber(head.lost) }
end

return M
