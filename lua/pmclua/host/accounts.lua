--- accounts.lua: what Linux has on account of processes and threads: time on and off CPUs, reading and writing.
--
-- Invariant: what cannot be read is absent: a number is known of all that was asked about, or of none.

local machine = require "pmclua.host.machine"

local M = {}

-- A running thread's time on CPUs is that at its last tick.
local function add_times(sum, id)
  local run, wait = (machine.line(("/proc/%d/schedstat"):format(id)) or ""):match "^(%d+) (%d+)"
  if not run then return false end
  sum.on_cpu_ns, sum.wait_ns = (sum.on_cpu_ns or 0) + tonumber(run), (sum.wait_ns or 0) + tonumber(wait)
  return true
end

local IO = { rchar = "read_chars", wchar = "write_chars", syscr = "read_calls", syscw = "write_calls",
  read_bytes = "read_bytes", write_bytes = "write_bytes" }

local function add_io(sum, id)
  local content, has_any = machine.text(("/proc/%d/io"):format(id)) or "", false
  for name, number in content:gmatch "([%w_]+): (%d+)" do
    if IO[name] then sum[IO[name]], has_any = (sum[IO[name]] or 0) + tonumber(number), true end
  end
  return has_any
end

local READERS = { times = add_times, io = add_io }

--- Sums over processes or threads; what is not known of one is absent.
---@class pmclua.Accounts
---@field on_cpu_ns? number
---@field wait_ns? number
---@field read_bytes? number  and write_bytes, read_chars, write_chars, read_calls, write_calls
---@field count integer of processes or threads

--- The accounts of processes (of the first thread of each) or threads.
---@param ids integer[]
---@param which table<"times"|"io", true>
---@return pmclua.Accounts
function M.of(ids, which)
  local accounts = { count = #ids }
  for name in pairs(which) do
    local sum, is_known = {}, #ids > 0
    for _, id in ipairs(ids) do is_known = READERS[name](sum, id) and is_known end
    for field, value in pairs(is_known and sum or {}) do accounts[field] = value end
  end
  return accounts
end

--- Resources used between two readings, `wall_ns` apart.
---@param before pmclua.Accounts
---@param after pmclua.Accounts
---@param wall_ns number
---@return table<string, number> by field of the record
function M.difference(before, after, wall_ns)
  local used = {}
  for field, value in pairs(after) do
    if before[field] and field ~= "count" then used[field] = value - before[field] end
  end
  if used.wait_ns then
    local whole = wall_ns * after.count
    used.wait_ns = math.min(used.wait_ns, whole)
    used.on_cpu_ns = math.min(used.on_cpu_ns, whole - used.wait_ns)
    used.off_cpu_ns = whole - used.wait_ns - used.on_cpu_ns
  end
  return used
end

return M
