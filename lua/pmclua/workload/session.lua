--- session.lua: pmclua's side of its runners: definitions, runs, and a new runner when one has died.
--
-- Invariants: `run` always returns a result. A runner that a kernel crashed, hung or ended costs that one
-- run; the next run starts another runner, and definitions are sent again when they are first needed.
-- Every kernel of every cell has a runner of its own, for as long as it is defined: what a kernel sets in its
-- process (rounding, limits, timers, threads) reaches no other. Commands share one that never loads a kernel.

local core = require "pmclua.core"
local ending = require("pmclua.base.lazy").module "pmclua.workload.ending"
local explain = require "pmclua.explain"
local paths = require "pmclua.host.paths"

--- A runner and what it was told.
---@class pmclua.Host
---@field runner? table of core.runner
---@field sent table<integer|"prepare", true> definitions, and that it is to prepare for commands
---@field ready table<integer, true> kernels that are set up
---@field layout table

---@class pmclua.Session
---@field common pmclua.Host of commands
---@field own table<integer, pmclua.Host> of kernels, by workload
---@field host? pmclua.Host of the job that runs
---@field starts_threads table<integer, true> workloads whose threads must inherit their counters
---@field idle fun() called every 50 ms while a result is waited for
---@field ahead? pmclua.Host whose runner was started while a compiler ran, for the next kernel
---@field beside? fun() what may be done while a compiler runs
local Session = {}
Session.__index = Session

local session = {}

local function new_host() return { sent = {}, ready = {}, layout = {} } end

local function finish(host)
  if host.runner then host.runner:finish(false) end
  host.runner = nil
end

-- The kernel whose runner a job runs in.
local function owner_of(job) return job.simulated and job.simulated.owner or job.workload end

-- A runner that was started ahead and only ever did nothing: that of commands, which then get another, or the one
-- that was started while a compiler ran; nil: there is none.
local function take_ahead(self)
  local host = self.common.is_unused and self.common or self.ahead
  if host == self.common then self.common = new_host() else self.ahead = nil end
  return host
end

--- A runner that has done nothing yet is as good as a new one. So the first kernel
--- takes one that was started ahead.
local function host_of(self, job)
  if not job.in_runner or job.is_empty and not job.simulated then return self.common end
  local owner = owner_of(job)
  if not self.own[owner] then
    self.own[owner] = not self.debugger and not job.simulated and take_ahead(self) or new_host()
  end
  return self.own[owner]
end

--- A session without a runner yet: one is started by the first run.
---@return pmclua.Session
function session.new()
  return setmetatable({ definitions = {}, common = new_host(), own = {},
    starts_threads = {}, debugger = require("pmclua.workload.crash").debugger(),
    next_id = 1, sequence = 0, idle = function() end }, Session)
end

local function remember(self, build)
  local id = self.next_id
  self.next_id = id + 1
  self.definitions[id] = build(id)
  return id
end

--- Defines a workload; returns its id. `build(message)` adds its fields.
function Session:workload(build)
  return remember(self, function(id)
    local message = core.message("workload", id)
    build(message)
    return message
  end)
end

--- Defines an event set; returns its id.
---@param groups { pinned?: boolean, read?: string, attrs: table[] }[]
---@param sampled? { period: number, ring_bytes?: integer, call_chains?: boolean, entries?: boolean,
---   data?: boolean } the one event is sampled
function Session:events(groups, sampled)
  return remember(self, function(id)
    local message = core.event_set(id, groups)
    if sampled then message:number("period", sampled.period) end
    if sampled and sampled.call_chains then message:number("chains", 1) end
    if sampled and sampled.entries then message:number("entries", 1) end
    if sampled and sampled.data then message:number("data", 1) end
    if sampled and sampled.ring_bytes then message:number("samples_bytes", sampled.ring_bytes) end
    return message
  end)
end

-- Tells the runner to tear a workload down; a kernel's runner ends with it.
local function tear_down(self, id)
  local host = self.own[id] or self.common
  if host.runner and host.sent[id] then host.runner:send(core.message("forget", id)) end
  host.sent[id] = nil
  if self.own[id] then finish(self.own[id]) end
  self.own[id] = nil
end

--- Drops a workload.
function Session:forget(id)
  tear_down(self, id)
  self.definitions[id] = nil
end

--- Ends a kernel's process: its next run gets a new one.
---@param id integer
function Session:renew(id) tear_down(self, id) end

--- Starts a kernel's process before it is needed.
---@param id integer without a process
function Session:start_ahead(id)
  if self.debugger then return end
  self.own[id] = new_host()
  self.own[id].runner = core.runner(paths.runner())          -- nil: then its first run says why
end

-- Threads, timers and processes that a kernel left in its runner must not run beside another kernel.
local function rest(self, host)
  if self.debugger then return end
  if host and host.runner and host ~= self.common and not host.is_unused then host.runner:pause() end
end

local function start(self, job)
  local layout, host = job.in_runner and job.layout or {}, host_of(self, job)
  if self.host ~= host then rest(self, self.host) end
  self.host = host
  if job.workload and not job.is_empty then host.is_unused = false end
  -- A kernel's layout is its runner's, and a command inherits what its own does not set: another layout
  -- needs another runner; so does one that has stopped for good.
  local has_layout = host.layout.padding == layout.padding
    and host.layout.fixed_addresses == layout.fixed_addresses
  if host.runner and has_layout and host.runner:wake() then return end
  finish(host)
  local path = paths.runner()
  local under = job.simulated and job.simulated.words(self.starts_threads[owner_of(job)], layout)
    or host ~= self.common and self.debugger or nil
  local runner, _, errnum = core.runner(path, layout, under)
  if not runner then error(explain.system(errnum, "start the runner", under and under[1] or path), 0) end
  host.runner, host.sent, host.ready, host.layout = runner, {}, {}, layout
end

--- Starts the runner of commands before it is needed, so that it gets ready while the caller does.
---@param is_for_commands boolean nothing but commands will be run in it
function Session:warm_up(is_for_commands)
  self.common.is_unused = self.common.is_unused or not self.common.runner
  start(self, {})
  local sent = self.common.sent
  if not is_for_commands or sent.prepare then return end
  sent.prepare = true
  self.common.runner:send(core.message("prepare", 0))
end

--- While a compiler runs: gets the runner of what it compiles ready, and does once what `beside` says.
function Session:use_wait()
  if not self.ahead and not self.common.is_unused and not self.debugger then
    self.ahead = new_host()
    self.ahead.runner = core.runner(paths.runner())        -- nil: then its first run says why
  end
  local beside = self.beside or function() end
  self.beside = nil
  beside()
end

local function define(self, id)
  if not id or self.host.sent[id] then return true end
  self.host.sent[id] = true
  return self.host.runner:send(self.definitions[id])
end

local LAYOUT_NUMBERS = { "padding", "stack_offset", "cold_bytes", "node" }

local function add_layout(message, layout)
  for _, field in ipairs(LAYOUT_NUMBERS) do
    if layout[field] then message:number(field, layout[field]) end
  end
  if layout.fixed_addresses then message:number("fixed_addresses", 1) end
  if layout.no_huge_pages then message:number("no_huge_pages", 1) end
  if layout.cpus then message:text("run_cpus", layout.cpus) end
end

local function send(self, job, repetitions)
  self.sequence = self.sequence + 1
  local message = core.message("run", self.sequence):number("workload", job.workload)
  if job.events then message:number("events", job.events) end
  message:number("iterations", job.iterations or 1):number("repetitions", repetitions)
  if job.simulated then message:number("simulated", 1) end
  if self.starts_threads[owner_of(job)] then message:number("inherit", 1) end
  if job.timeout_ns then message:number("timeout", job.timeout_ns) end
  if job.capture_limit then message:number("capture_limit", job.capture_limit) end
  local points = job.points
  if points then message:number("enter_point", points.enter):number("leave_point", points.leave) end
  if points and points.wake then message:number("wake_point", points.wake) end
  if job.take then message:number("take", job.take) end
  if job.scatter_bytes then message:number("scatter_bytes", job.scatter_bytes) end
  if job.start_cpu then message:number("start_cpu", job.start_cpu) end
  if job.stop_at_failure then message:number("stop_at_failure", 1) end
  add_layout(message, job.layout or {})
  return define(self, job.workload) and define(self, job.events) and self.host.runner:send(message)
end

-- A command is killed by the runner at its limit; a kernel by us, who also grant the runner this long to
-- report a command's end.
local GRACE_NS, LAUNCH_GRACE_NS = 2e9, 8e9

-- After an interrupt the running repetition of a kernel has this long to end by itself: some never end. A command
-- handles the interrupt itself.
local INTERRUPTED_NS = 2e8

-- While one waits, whoever has something to do in the meantime (the store: to write) is asked this often.
local IDLE_NS = 5e7

-- While short repetitions come by themselves we sleep, so that nothing of ours runs beside what is measured:
-- for half of the time that those which are left will take, and never for more than the socket has room for.
local LEAST_PAUSE_NS, SLOW_NS, ROOM_RESULTS = 1e6, 5e6, 64

local function pause_ns(self, left)
  local pace_ns = self.pace_ns or 0
  return pace_ns < SLOW_NS and math.min(IDLE_NS, left / 2 * pace_ns, ROOM_RESULTS * pace_ns) or 0
end

--- One result; nil and why there is none yet, after `wait_ns` at the latest.
local function next_result(self, left, wait_ns)
  local pause = math.min(pause_ns(self, left), wait_ns)
  if pause < LEAST_PAUSE_NS then return self.host.runner:receive(wait_ns) end
  local result, why = self.host.runner:receive(0)
  if result or why ~= "timeout" then return result, why end
  local ok, code = core.pause(pause)
  return nil, ok and "timeout" or code
end

--- Whether interrupts say that it is over with what runs: a second one at once, the first a little later.
local function is_given_up(self, job)
  local count = core.interrupts()
  if count == 0 or count == 1 and not job.in_runner then return false end
  self.interrupted_ns = self.interrupted_ns or core.now_ns()
  return count > 1 or core.now_ns() - self.interrupted_ns >= INTERRUPTED_NS
end

--- Waits for one of the `left` results of a job that was sent. One interrupt lets the repetition end, a kernel's
--- soon, and the outcome of the next is "stopped"; a second one ends it at once.
local function receive(self, job, left)
  local limit = job.timeout_ns and job.timeout_ns
    + (job.in_runner and 0 or job.is_launch and LAUNCH_GRACE_NS or GRACE_NS)
  local deadline = limit and core.now_ns() + limit or math.huge
  while true do
    if left > 1 and (core.interrupts() == 1 or job.is_over) and not self.stopping then
      -- The running repetition is the last.
      self.stopping = self.sequence + 1
      self.host.runner:send(core.message("stop", self.stopping))
    end
    local result, why = next_result(self, left, math.max(0, math.min(IDLE_NS, deadline - core.now_ns())))
    -- Answers to another run are ignored: a child that a kernel forked may say anything.
    if result and result.sequence == self.sequence then
      return result.outcome == "crashed" and ending.crash(self.host, job, result) or result
    end
    if result and result.sequence == self.stopping then
      self.sequence = self.stopping
      return { outcome = "stopped" }
    end
    if why == "timeout" and core.now_ns() >= deadline then
      return ending.of(self.host, job, "timed-out", true)
    end
    if is_given_up(self, job) then return ending.of(self.host, job, "interrupted", true) end
    if why == "EPIPE" then return ending.of(self.host, job, nil, false) end
    if why and why ~= "EINTR" and why ~= "timeout" then
      return ending.unheard(self.host, job, why)
    end
    self.idle()
  end
end

--- A kernel's time limit is for its repetitions: its setup, at its first run, has none. What went wrong
--- there; nil: nothing.
local function set_up(self, job)
  if not job.in_runner or not job.timeout_ns or self.host.ready[job.workload] then return nil end
  local only = { workload = job.workload, events = job.events, in_runner = true, layout = job.layout,
    simulated = job.simulated }
  local result = send(self, only, 0) and receive(self, only, 1) or ending.of(self.host, job, nil, false)
  if result.outcome ~= "done" then return result end
  self.host.ready[job.workload] = true
end

-- A run that could not begin (no thread ever counted) is answered once, whatever it asked for.
local function is_last(self, job, result)
  if not self.host.runner or result.outcome ~= "done" and result.threads == 0 then return true end
  return job.stop_at_failure and (result.outcome ~= "done" or result.exit ~= 0)
end

--- Runs some repetitions of a job. How many are left for another runner, because this one's counters would
--- miss threads that the kernel has started.
local function run_some(self, job, repetitions, take)
  start(self, job)
  local refusal = set_up(self, job)
  if not refusal and not send(self, job, repetitions) then refusal = ending.of(self.host, job, nil, false) end
  if job.meanwhile and not refusal then job.meanwhile() end
  local started_ns
  self.pace_ns, self.stopping, self.interrupted_ns = nil, nil, nil
  for done = 0, repetitions - 1 do
    local result = refusal or receive(self, job, repetitions - done)
    if result.outcome == "missed" then return repetitions - done end
    if result.outcome == "stopped" then return 0 end
    take(result)
    if refusal or is_last(self, job, result) then return 0 end
    -- The first has what is done once in its time: loading, setting up. As a pace it would have us sleep too long.
    if done == 0 then started_ns = core.now_ns() else self.pace_ns = (core.now_ns() - started_ns) / done end
  end
  return 0
end

--- Runs a workload and hands each result to `take`, in order; after a result that cost the runner its
--- life, and after an interrupt, no more follow.
---@param job { workload: integer, events?: integer, iterations?: number, repetitions?: integer,
---   timeout_ns?: number, in_runner?: boolean, is_launch?: boolean, capture_limit?: integer, layout?: table,
---   scatter_bytes?: integer, start_cpu?: integer, stop_at_failure?: boolean, is_over?: boolean, is_empty?: boolean,
---   take?: integer, simulated?: { owner: integer, words: fun(is_switched: boolean?, layout: table): string[] },
---   meanwhile?: fun() }
---   in_runner: a kernel; is_launch: it ends what it has started elsewhere, if it has time; is_empty: one that does
---   nothing and is ours; take: of core.take; simulated: in the runner of the kernel `owner`, which these words start
---   and callgrind counts, is_switched where the kernel starts threads; stop_at_failure: a repetition that does not
---   end well is the last; is_over: set meanwhile, the running one is; scatter_bytes: what a kernel's new process draws
---   its pages from; start_cpu: where a kernel's measured call begins; meanwhile: called once it runs;
---   layout: { padding, stack_offset, fixed_addresses, cpus, cold_bytes, no_huge_pages, node }
---@param take fun(result: table)
function Session:run_each(job, take)
  local left = run_some(self, job, job.repetitions or 1, take)
  while left > 0 do
    self.starts_threads[owner_of(job)] = true
    finish(self.host)
    left = run_some(self, job, left, take)
  end
end

--- Runs a workload once and returns its result.
---@return table
function Session:run(job)
  local result
  self:run_each(job, function(got) result = got end)
  return result
end

--- Runs a workload once that nobody else runs, and drops it: its result.
---@param build fun(message: pmclua.core.Message) as of Session:workload
---@param job? table as of Session:run, without `workload`
---@return table
function Session:run_only(build, job)
  job = job or {}
  job.workload = self:workload(build)
  local ok, result = pcall(self.run, self, job)
  self:forget(job.workload)
  if not ok then error(result, 0) end
  return result
end

--- Calls `f(...)`, and `look` whenever a result is waited for meanwhile.
---@param look fun()
---@param f function
---@return any first of what `f` returns
function Session:looking(look, f, ...)
  local idle = self.idle
  self.idle = function()
    look()
    idle()
  end
  local ok, result = pcall(f, ...)
  self.idle = idle
  if not ok then error(result, 0) end
  return result
end

--- Whether the threads of a kernel must be counted too, as it was found to start some.
---@param workload integer
---@return boolean
function Session:has_threads(workload) return self.starts_threads[workload] == true end

--- The process in which a kernel runs; nil where it has none.
---@param workload integer
---@return integer?
function Session:runner_of(workload)
  local host = self.own[workload]
  return host and host.runner and host.runner:pid()
end

--- Ends the run of a process's regions.
function Session:stop() self.host.runner:send(core.message("stop", 0)) end

--- Ends the runners, if there are any.
function Session:close()
  finish(self.common)
  if self.ahead then finish(self.ahead) end
  for _, host in pairs(self.own) do finish(host) end
end

return session
