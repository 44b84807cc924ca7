--- counting.lua: signatures of groups, monitors and raw events.

return [==[

pmc.group(events: name|group_options) -> group
  Opens events together, stopped, on this thread or a target. An event that cannot be opened is kept, with its reason.
  raises an error if the other events cannot be opened without it
  > pmc.group("page-faults"):count(function() return ("x"):rep(1e6) end)

record group_options
  []: name -- a label is written in its event: "clock = task-clock"
  target?: target -- who is counted; default: this thread
  pinned?: boolean -- true: always on the PMU, or not counted
  read?: "auto"|"syscall"|"user"|"toggle" -- how counts are read; default: "auto"

class group g
  Events that are counted together.
  > g = pmc.group { "page-faults", "task-clock" }

group:start() -> group
  Starts counting.
  raises an error if the group is closed
  > g:start():stop()

group:stop() -> group
  Stops counting; what was counted stays.
  > g:start():stop()

group:read() -> counts
  Counts since the group was opened, of all events at one time.
  > print(g:start():read())

group:count(fn: function, ...?: any) -> counts, any...
  The counts of the call fn(...), followed by what it returned. Errors of fn are raised.
  > print((g:count(function() return ("x"):rep(1e6) end)))

group:overhead(regions?: integer(1..1e7)) -> medians: table, minima: table
  What counting adds to each count: medians and minima by event, from empty regions.
  > print(g:overhead(11).page_faults)

group:method() -> "syscall"|"user"|"toggle"
  How counts are read.
  > print(g:method())

group:remarks() -> string[]
  What to know about what was counted.
  > print(#g:remarks())

group:close()
  Closes it; counts that were read stay readable. May be called again.
  > g:close()

class counts c
  What a group counted: c.page_faults is a number in the event's unit, or nil; later - earlier gives the counts between.
  raw: table -- the exact u64 of each event, by name
  > c = pmc.group({ "page-faults", "task-clock" }):count(function() return ("x"):rep(1e6) end)

counts:status(name: name) -> status: string, why: string?
  How a count was obtained: "counted", "scaled", "placed", "unwatched", "not-counted", "unverified", "unsupported" or
  "constant-zero"; and why.
  > print(c:status "page-faults")

counts:enabled_ns() -> number
  Nanoseconds that the group was enabled.
  > print(c:enabled_ns())

counts:running_ns() -> number
  Nanoseconds that the group was on the PMU.
  > print(c:running_ns())

counts:share(name: name) -> number?
  The share of the time that an event was on the PMU.
  > print(c:share "task-clock")

counts:parts() -> function
  Iterates over the parts of a divided target: name, counts.
  > for name, counts in c:parts() do print(name, counts) end

pmc.monitor(options: monitor_options) -> monitor
  Counts at intervals. A `for` loop over a monitor calls monitor:next().
  raises what pmc.group raises
  > pmc.monitor({ command = "true", events = "page-faults" }):next().page_faults

record monitor_options
  target?: target -- who is counted; default: the whole system
  command?: workload -- or a command, which is run
  events?: spec|spec[]
  metrics?: spec|spec[]
  interval?: duration -- at least 1 ms; default: "1s"
  duration?: duration -- ends after this time
  count?: integer(1..) -- ends after this many intervals
  delay?: duration -- counting starts this long after the command does
  pin?: string -- CPUs to run the command on
  inherit?: boolean -- false: without threads and children that are started

class monitor m
  Counts over time. Calling it gives the next interval.
  target: target
  ended?: string -- why it ended: "target", "command", "count", "duration", "interrupted" or "closed"
  result?: table -- of a command that has ended: outcome, exit, signal
  signal?: integer -- that interrupted it
  > m = pmc.monitor { command = "true", events = "page-faults" }

monitor:next() -> interval?
  The next interval; nil at the end.
  > print(m:next().page_faults)

monitor:total() -> interval?
  One interval over everything until now; nil before counting has begun.
  > m:next(); print(m:total().page_faults)

monitor:lines(format?: name, options?: lines_options) -> function
  Iterates over the intervals as lines of text: "table", "csv" or "json".
  > for line in m:lines "csv" do io.write(line) end

record lines_options
  separator?: name -- of CSV
  rates?: boolean -- of the table: counts per second
  repeat_header?: boolean -- of the table: its head once a screen
  utf8?: boolean -- default: as the locale says

monitor:remarks() -> string[]
  What to know about what was counted.
  > print(#m:remarks())

monitor:close()
  Ends it; a command that still runs is ended, too. May be called again.
  > m:close()

class interval s
  What was counted in one interval: s.page_faults, s.ipc; nil where there is none.
  index: integer -- from 1
  time: number -- seconds from the start to its end
  seconds: number -- that it lasted
  missed: integer -- deadlines before its own that could not be kept
  partial: boolean -- it ended early
  part?: string|integer -- the part of the target that it is of
  raw: table -- exact counts by name
  > s = pmc.monitor({ command = "true", events = "page-faults" }):next()

interval:value(name: name) -> value: number?, why: string?
  The value of an event or metric; nil and why where there is none.
  > print(s:value "page-faults")

interval:rate(name: name) -> rate: number?, why: string?
  The value per second.
  > print(s:rate "page-faults")

interval:status(name: name) -> status: string, why: string?
  How a value was obtained, as for counts; of metrics "absent" where they have none.
  > print(s:status "page-faults")

interval:ran(name: name) -> number?
  The share of the time that an event was on the PMU.
  > print(s:ran "page-faults")

interval:parts() -> function
  Iterates over the parts of a divided target: name, interval.
  > for name, part in s:parts() do print(name, part.page_faults) end

pmc.open(fields: open_fields) -> open_event
  Opens one event by perf_event_open(2): every attr field by its ABI name, and pid (default 0: this thread), cpu
  (default -1: any), group (an open event) and flags.
  raises an error with the errno of the OS kernel
  > pmc.open({ type = 1, config = 2, disabled = 1, exclude_kernel = 1 }):read()

record open_fields
  pid?: integer(-1..4294967295)
  cpu?: integer(-1..1000000)
  group?: open_event
  flags?: integer(0..)
  [name]: u64|boolean|string

class open_event event
  One event, as the system call opens it.
  > event = pmc.open { type = 1, config = 2, disabled = 1, exclude_kernel = 1 }

open_event:ioctl(name: name, argument?: u64|string|table|open_event) -> any
  An ioctl by the ABI's name: "ENABLE", "DISABLE", "REFRESH", "RESET", "PERIOD", "SET_OUTPUT", "SET_FILTER", "ID",
  "SET_BPF", "PAUSE_OUTPUT", "QUERY_BPF", "MODIFY_ATTRIBUTES". Returns what it gives back.
  raises an error with the errno of the OS kernel
  > event:ioctl "ENABLE"

open_event:read() -> u64[]
  The exact 64-bit words, laid out as read_format says.
  > print(event:read()[1])

open_event:fd() -> integer
  Its descriptor.
  > print(event:fd())

open_event:close()
  Closes it. May be called again.
  > event:close()
]==]
