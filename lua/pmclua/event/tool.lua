--- tool.lua: events that need no counter: the record of a repetition has them anyway, or Linux keeps an account.
--
-- Linux counts the CPU time of a task to the nanosecond, but which part of it was in user space it samples
-- at each tick: CONFIG_TICK_CPU_ACCOUNTING, and the others where no CPU is in nohz_full (cputime_adjust in
-- kernel/sched/cputime.c). What no tick met is user time. So a value below a tick says nothing (counting/reading.lua).

local lists = require "pmclua.base.lists"

local M = {}

--- name, field of the record, unit, what it is; whether it is sampled; from which of Linux's accounts it is taken where
-- it is asked for (host/accounts.lua). The record has such an event among its counts.
M.events = {
  { "duration_time", "wall_ns", "ns", "time from start to end" },
  { "user_time", "user_ns", "ns", "CPU time in user space, sampled at each tick", true },
  { "system_time", "system_ns", "ns", "CPU time in Linux, sampled at each tick", true },
  { "max_rss", "max_rss_bytes", "bytes", "the most memory that was resident at once" },
  -- In the words of getrusage(2): perf's minor-faults is another event.
  { "ru_minflt", "minor_faults", "", "page faults without a read from disk, from getrusage" },
  { "ru_majflt", "major_faults", "", "page faults that read from disk, from getrusage" },
  { "ru_nvcsw", "voluntary_switches", "", "context switches by waiting, from getrusage" },
  { "ru_nivcsw", "involuntary_switches", "", "context switches by the scheduler, from getrusage" },
  -- duration_time is the sum of the first three, of a command's first thread.
  { "on_cpu_time", "on_cpu_ns", "ns", "time of the first thread on a CPU (schedstat)", false, "times" },
  { "wait_time", "wait_ns", "ns", "time the first thread waited for a CPU (schedstat)", false, "times" },
  { "off_cpu_time", "off_cpu_ns", "ns", "time the first thread was off CPU (schedstat)", false, "times" },
  { "read_bytes", "read_bytes", "bytes", "bytes that were read from storage", false, "io" },
  { "write_bytes", "write_bytes", "bytes", "bytes to be written to storage", false, "io" },
  { "read_chars", "read_chars", "bytes", "bytes read by system calls, from pipes too", false, "io" },
  { "write_chars", "write_chars", "bytes", "bytes that system calls wrote", false, "io" },
  { "read_calls", "read_calls", "", "system calls that read, as pread64", false, "io" },
  { "write_calls", "write_calls", "", "system calls that write, as pwrite64", false, "io" },
}

local NAME, FIELD = 1, 2

local function row_of(column, value)
  return lists.find(M.events, function(row) return row[column] == value end)
end

--- The tool event of that name.
---@param name string
---@return pmclua.CodedEvent?
function M.find(name)
  local row = row_of(NAME, name)
  return row and { source = "tool", tool = row[2], unit = row[3], take = row[6],
    grain_ns = row[5] and require("pmclua.core").tick_ns() or nil }
end

local SAMPLED = "Linux checks every %s whether a program is in user space, and books what it misses as "
  .. "user time: only the sum of user and system time is exact"
--- A note on an event's numbers; nil: none.
---@param event pmclua.Event
---@return string?
function M.note(event)
  return event.grain_ns and SAMPLED:format(require("pmclua.base.text").time(event.grain_ns))
end

--- The account that a field of the record is taken from; nil: the record has it anyway.
---@param field string
---@return "times"|"io"|nil
function M.account_of(field) return (row_of(FIELD, field) or {})[6] end

--- The accounts that a list of events needs.
---@param events pmclua.Event[]
---@return table<string, true>
function M.accounts_of(events)
  return lists.set(lists.column(events, "take"))
end

--- The name of the tool event that is read from a field of the record.
---@param field string
---@return string?
function M.name_of(field) return (row_of(FIELD, field) or {})[1] end

--- The tool event that is read from a field of the record.
---@param field string
---@return string?
function M.description(field) return (row_of(FIELD, field) or {})[4] end

return M
