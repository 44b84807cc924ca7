--- regions.lua: signatures of regions: a command's functions, or pairs of points in it, and their calls.

return [==[

pmc.regions(command: workload|target, options: regions_options) -> result
  Runs an unmodified command and follows the calls of its functions, or what happens between two points. Given
  pmc.pid(N), it follows a running process. Needs root. The result has a cell for each region, and its calls.
  raises an error if something cannot be followed
  > pmc.regions("ls /", { regions = { "libc.so.6:setlocale" } })

record regions_options
  regions: string|table -- the functions to follow, by name or glob; or points: { from =, to =, name = }
  events?: spec|spec[] -- default: instructions, cycles, page-faults
  timeout?: duration
  pin?: string -- CPUs to run on
  calibrate?: boolean -- false skips measuring the cost of probing
  subtract?: boolean -- true subtracts that cost from the numbers of calls
  duration?: duration -- how long to follow a process
  store?: path -- a new file; nothing is stored by default
  duty?: share -- the share of its time that following may cost a process

class regions regions
  The calls of a command's functions; each region at its index, from 1. Prints as its table.
  []: region
  command: string
  events: event[]
  path: string -- "all threads", or why only one thread was followed
  lost: integer -- records
  samples: integer
  threads_seen: integer -- threads and children that were started
  observed?: number -- of a process: the share of the time for which it was followed
  interrupted?: integer -- the signal that ended it
  outcome: string
  exit: integer
  signal: integer
  wall_ns: number
  ran: number -- the least share of a run in which its events were on the PMU
  target_ended: boolean -- a process ended meanwhile
  cost_unknown?: string -- why it is not known of some region what probing it costs
  skipped: string[] -- why functions that a pattern means were left out
  remarks: string[] -- on programs whose calls were not followed
  subtracted?: boolean -- numbers are without what probing costs
  > regions = pmc.regions("ls /", { regions = { "libc.so.6:setlocale" }, events = "page-faults" }):calls()

regions:region(name: name) -> region
  The region of that name.
  raises an error where there is none
  > print(regions:region("setlocale").calls)

regions:probing(name: "duration"|"cpu_time") -> cost: number?, spread: number?, whole: number?
  The cost of all probing in ns, its uncertainty, and the run's own count including that cost.
  > print(regions:probing "cpu_time")

regions:calls_csv() -> text: string
  The kept calls, one a line.
  > io.write(regions:calls_csv())

regions:report(options?: report_options) -> text: string
  The calls in a format: table, json, csv (each call that was kept), markdown or html.
  > print(regions:report { format = "json" })

class region region
  The calls of one function, or what happened between two points.
  name: string
  entries?: u64 -- how often it was entered
  calls?: u64 -- entered and returned
  threads: table[] -- pid, tid, name, calls
  notes: string[]
  is_pair: boolean -- between two points, no function's calls
  nested?: u64 -- calls within another call of the same region
  tails?: u64 -- ended by a jump to another function
  unwound?: u64 -- left without a return
  unfinished?: u64 -- not left when it ended
  orphans?: u64 -- returns whose entry was not seen
  cut?: u64 -- made useless by lost records
  partial?: u64 -- not on the PMU throughout
  unsure?: u64 -- whose callee left without a return at an unknown time
  moved?: u64 -- returns that may belong to another call
  switching?: u64 -- on stacks that move between threads
  > region = pmc.regions("ls /", { regions = { "libc.so.6:setlocale" }, events = "page-faults" }):calls()[1]

region:values(event: name, itself?: boolean) -> table
  What the calls took: { sum, mean, min, max, n, share, status, why }. itself: without the calls of other regions.
  > print(region:values("page-faults").mean)

region:quantile(event: name, p: number(0..1), itself?: boolean) -> value: number?, is_exact: boolean?
  A quantile of the calls, and whether it is exact.
  > print(region:quantile("duration", 0.99))

region:list(event: name, itself?: boolean) -> number[]
  The kept calls, in the order in which they ended.
  > print(#region:list "duration")

region:histogram(event: name, itself?: boolean) -> table[]
  All calls as { low, high, count }.
  > print(#region:histogram "duration")

region:of_thread(thread: table, event: name) -> number?
  The sum of one of region.threads.
  > print(region:of_thread(region.threads[1], "page-faults"))
]==]
