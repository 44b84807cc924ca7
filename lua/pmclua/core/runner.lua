--- runner.lua: the binding of the runner and its messages.

local core = require "pmclua.core"
local ffi = require "ffi"
local new_table = require "table.new"

local C = core.private_C()
local exact, refused = core.exact, core.private_refused

local M = {}

M.OUTPUT = { null = C.PMCLUA_TO_NULL, inherit = C.PMCLUA_TO_INHERIT, capture = C.PMCLUA_TO_CAPTURE }

local OUTCOMES = {
  [C.PMCLUA_DONE] = "done", [C.PMCLUA_SIGNALLED] = "signalled", [C.PMCLUA_TIMED_OUT] = "timed-out",
  [C.PMCLUA_NOT_STARTED] = "not-started", [C.PMCLUA_NOT_COUNTED] = "not-counted", [C.PMCLUA_QUIT] = "quit",
  [C.PMCLUA_MISSED] = "missed", [C.PMCLUA_CRASHED] = "crashed",
}

-- Stages at which a repetition could not be started: of a workload, and of following regions.
local function stages(prefix, names)
  local of = {}
  for name in names:gmatch "%S+" do of[C[prefix .. name:upper()]] = name end
  return of
end

local STAGES = stages("PMCLUA_STAGE_", "definition node kernel start pin enter read execute wait")
local REGION_STAGES = stages("PMCLUA_STAGE_REGION_",
  "memory file definition target cpu groups leader inherit probe ring clock thread reading termination")

local TAKE = { times = C.PMCLUA_TAKE_TIMES, io = C.PMCLUA_TAKE_IO }

--- The accounts of Linux a run reads, as bits of its field "take".
---@param accounts table<"times"|"io", true>
---@return integer
function M.take(accounts)
  local flags = 0
  for name in pairs(accounts) do flags = flags + TAKE[name] end
  return flags
end

--- The build identity that a runner on another node must have, too (pmclua_build).
M.BUILD = ffi.string(C.pmclua_build())

--- The exit statuses of a runner that lost its connection, has no memory for a message, no descriptor for itself.
M.CUT_OFF, M.OUT_OF_MEMORY, M.NO_DESCRIPTOR = C.PMCLUA_CUT_OFF, C.PMCLUA_OUT_OF_MEMORY, C.PMCLUA_NO_DESCRIPTOR

---@class pmclua.core.Message
local Message = {}
Message.__index = Message

--- A message to the runner.
---@param kind "workload"|"events"|"run"|"forget"|"stop"|"prepare"|"task"
---@param id integer
function M.message(kind, id)
  local bytes = ffi.gc(ffi.new "struct pmclua_message", C.pmclua_message_free)
  assert(C.pmclua_message_begin(bytes, C["PMCLUA_MSG_" .. kind:upper()], id) == 0, "no memory")
  return setmetatable({ bytes = bytes }, Message)
end

--- Adds a field of any bytes.
---@param field string
---@param bytes ffi.cdata*|string|nil
---@param count integer
function Message:raw(field, bytes, count)
  assert(C.pmclua_message_add(self.bytes, C["PMCLUA_F_" .. field:upper()], bytes, count) == 0, "no memory")
  return self
end

--- Adds a text field; one with a NUL inside is refused.
function Message:text(field, text)
  if text:find("\0", 1, true) then error(("%s contains a NUL character"):format(field), 0) end
  return self:raw(field, text, #text + 1)
end

function Message:number(field, number) return self:raw(field, ffi.new("uint64_t[1]", number), 8) end

--- Begins a group of events; `attr` adds its members.
---@param options? { pinned?: boolean, leads?: boolean, read?: string } leads: in regions the first leads the
---   others; read: as for core.group
function Message:group(options)
  self:raw("group", nil, 0)
  local flags = options and core.private_group_flags(options) or 0
  return flags ~= 0 and self:number("options", flags) or self
end

function Message:attr(fields)
  local attr = ffi.new "struct pmclua_attr"
  local text = core.private_fill_attr(attr, fields)
  self:raw("attr", attr, ffi.sizeof(attr))
  if text then self:text("attr_text", text) end
  return fields.filter and self:text("filter", fields.filter) or self
end

--- The definition of an event set.
---@param id integer
---@param groups { pinned?: boolean, read?: string, attrs: table[] }[]
---@return pmclua.core.Message
function M.event_set(id, groups)
  local message = M.message("events", id)
  for _, group in ipairs(groups) do
    message:group(group)
    for _, attr in ipairs(group.attrs) do message:attr(attr) end
  end
  return message
end

--- Its bytes, as the plan of a launch has them.
---@return string
function Message:packed() return ffi.string(self.bytes.bytes, self.bytes.used) end

---@class pmclua.core.Runner
local Runner = {}
Runner.__index = Runner

local function end_runner(handle, kill)
  local exit, signal = ffi.new "int32_t[1]", ffi.new "int32_t[1]"
  C.pmclua_runner_end(handle, kill == "gently" and 2 or kill and 1 or 0, exit, signal)
  return exit[0], signal[0]
end

--- Starts a runner. Returns it, or nil, errno name, number.
---@param path string its executable
---@param layout? { padding?: integer, fixed_addresses?: boolean } of its environment and addresses
---@param under? string[] what it is started by: a debugger and its arguments
function M.runner(path, layout, under)
  layout = layout or {}
  local handle = ffi.new "struct pmclua_runner *[1]"
  local words = under and ffi.new("const char *[?]", #under + 1)
  for i, word in ipairs(under or {}) do words[i - 1] = word end
  local result = C.pmclua_runner_start(handle, ffi.new("struct pmclua_start", { path = path, under = words,
    padding = layout.padding or 0, fixed_addresses = layout.fixed_addresses and 1 or 0 }))
  if result < 0 then return refused(result) end
  return setmetatable({ handle = ffi.gc(handle[0], function(runner) end_runner(runner, true) end) }, Runner)
end

local function runner_handle(runner)
  return runner.handle or error("this runner has ended", 0)
end

function Runner:pid() return C.pmclua_runner_pid(runner_handle(self)) end

--- Stops it and what it has started until it is sent something, or is to end.
function Runner:pause() C.pmclua_runner_pause(runner_handle(self)) end

--- Resumes it. True, or nil and the errno's name where it cannot be told to.
function Runner:wake() return core.private_done(C.pmclua_runner_wake(runner_handle(self))) end

--- Kills what it has started.
function Runner:end_descendants() C.pmclua_runner_end_descendants(runner_handle(self)) end

--- True, or nil and "EPIPE" when the runner has ended.
function Runner:send(message)
  return core.private_done(C.pmclua_runner_send(runner_handle(self), message.bytes))
end

-- Fields of Linux's accounts in a result that asked for them.
local function add_accounts(into, result, taken)
  if bit.band(taken, C.PMCLUA_TAKE_TIMES) ~= 0 then
    into.on_cpu_ns, into.wait_ns = exact(result.on_cpu_ns), exact(result.wait_ns)
    into.off_cpu_ns = exact(result.off_cpu_ns)
  end
  if bit.band(taken, C.PMCLUA_TAKE_IO) ~= 0 then
    local io = result.io
    into.read_bytes, into.write_bytes = exact(io.read_bytes), exact(io.write_bytes)
    into.read_chars, into.write_chars = exact(io.read_chars), exact(io.write_chars)
    into.read_calls, into.write_calls = exact(io.read_calls), exact(io.write_calls)
  end
end

-- The blocks that follow an answer: counts of regions, a profile, times of system calls.
local function add_blocks(into, result)
  if result.region_u64s > 0 then
    into.regions = require("pmclua.core.regions").read(C.pmclua_result_regions(result), result.region_path)
  end
  if result.profile_u64s > 0 then
    into.profile = require("pmclua.core.profile").read(C.pmclua_result_profile(result))
  end
  if result.call_u64s > 0 then
    into.system_calls = require("pmclua.core.system_calls").read(C.pmclua_result_calls(result))
  end
end

local function readings_of(result)
  local count, raw = result.reading_u64s, C.pmclua_result_readings(result)
  local readings = new_table(count, 0)
  for i = 1, count do readings[i] = exact(raw[i - 1]) end
  return readings
end

local RESULT_FIELDS = 40

-- As pmclua_mark.h says it: no errno.
local NOT_TOLD = 999

local function unreached_text(errnum)
  return errnum == NOT_TOLD and "PMCLUA_MARKS was not in its environment" or core.errno_text(errnum)
end

-- Written field by field into a table that has room for them: each repetition has one, and where a constructor
-- was loaded as bytecode LuaJIT has forgotten its size and makes room twelve times.
local function result_table(result)
  local into, outcome, stage = new_table(0, RESULT_FIELDS), OUTCOMES[result.outcome], result.stage
  local text = C.pmclua_result_text(result)
  local output_bytes, error_bytes = result.output_bytes, result.error_bytes
  into.outcome, into.exit, into.signal = outcome, result.exit_code, result.signal
  into.errnum, into.stage, into.region_stage = result.errnum, STAGES[stage], REGION_STAGES[stage]
  into.start_ns, into.wall_ns = exact(result.start_ns), exact(result.wall_ns)
  into.iterations = exact(result.iterations)
  into.user_ns, into.system_ns = exact(result.user_ns), exact(result.system_ns)
  local max_rss_bytes = exact(result.max_rss_bytes)
  into.max_rss_bytes = max_rss_bytes ~= 0 and max_rss_bytes or nil
  into.minor_faults, into.major_faults = exact(result.minor_faults), exact(result.major_faults)
  into.voluntary_switches = exact(result.voluntary_switches)
  into.involuntary_switches = exact(result.involuntary_switches)
  into.sequence, into.threads = tonumber(result.sequence), result.threads
  into.readings, into.method = readings_of(result), core.private_method(result.method)
  into.output = output_bytes > 0 and ffi.string(text, output_bytes) or ""
  into.errors = error_bytes > 0 and ffi.string(text + output_bytes, error_bytes) or ""
  local taken = result.taken
  if taken ~= 0 then add_accounts(into, result, taken) end
  add_blocks(into, result)
  if result.left > 0 then
    local first = result.first_left
    into.left = { count = result.left, pid = first.pid, name = ffi.string(first.name) }
  end
  if result.launcher.pid ~= 0 then into.launcher = ffi.string(result.launcher.name) end
  if result.unreached ~= 0 then into.unreached = unreached_text(result.unreached) end
  if result.unseen ~= 0 then into.unseen = core.errno_name(result.unseen) end
  if result.untraced > 0 then into.untraced = core.errno_name(result.untraced) end
  if result.drops > 0 then into.dropped = ffi.string(result.drop.name) end
  if outcome == "crashed" then
    into.crash = { file = ffi.string(text, output_bytes), offset = exact(result.fault_offset),
      address = result.fault_known ~= 0 and exact(result.fault_address) or nil }
  elseif outcome == "not-counted" then into.failure = core.private_failure_table(result.failure) end
  return into
end

-- ---- what a task of a launched program left: nothing of it is believed ----

local HEADER_BYTES, FIELD_BYTES = 16, 8         -- of messages and of fields (core/message)

-- Facts in a message's fields of this many bytes; nil: they are damaged.
local function facts_of(start, bytes)
  local facts, at = {}, 0
  while at < bytes do
    local head = ffi.cast("const uint32_t *", start + at)
    local data = start + at + FIELD_BYTES
    local count = at + FIELD_BYTES <= bytes and tonumber(head[1]) or math.huge
    if head[0] ~= C.PMCLUA_F_FACT or at + FIELD_BYTES + count > bytes or count == 0 then return nil end
    local name, value = ffi.string(data, count - 1):match "^([^=]*)=(.*)$"
    if name then facts[name] = value end
    at = at + FIELD_BYTES + math.ceil(count / 8) * 8
  end
  return facts
end

---@class pmclua.core.Task what a task left
---@field launch integer the number of its plan
---@field facts table<string, string>
---@field results table[] as Session:run has them; before the last, one that says why there are no counts
---@field is_whole boolean it had ended

--- Reads a task's file; nil: it is not one, or is damaged.
---@param text string
---@return pmclua.core.Task?
function M.task(text)
  local start, at, task = ffi.cast("const uint8_t *", text), 0, nil
  while at + HEADER_BYTES <= #text do
    local head = ffi.cast("const uint32_t *", start + at)
    local bytes, result = tonumber(head[0]), C.pmclua_result_within(start + at, #text - at)
    if at + HEADER_BYTES + bytes > #text then break end
    if result ~= nil and task then
      task.results[#task.results + 1] = result_table(result)
    elseif head[1] ~= C.PMCLUA_MSG_TASK then
      return nil
    elseif task then
      task.is_whole = #task.results > 0
    else
      task = { launch = tonumber(ffi.cast("const uint64_t *", head + 2)[0]), results = {}, is_whole = false,
        facts = facts_of(start + at + HEADER_BYTES, bytes) }
      if not task.facts then return nil end
    end
    at = at + HEADER_BYTES + bytes
  end
  return task
end

local received = ffi.new "const struct pmclua_result *[1]"

--- Waits for a result. Returns it as a table; or nil and "timeout", "EINTR", "EPIPE", …
---@param timeout_ns? number
function Runner:receive(timeout_ns)
  local result = C.pmclua_runner_receive(runner_handle(self), timeout_ns or -1, received)
  if result < 0 then return refused(result) end
  if result == 0 then return nil, "timeout" end
  return result_table(received[0])
end

--- Ends it (`kill`: with what it runs, which has its grace if "gently"). Returns exit code (-1: none) and signal (0: none).
function Runner:finish(kill)
  if not self.handle then return -1, 0 end
  local exit, signal = end_runner(ffi.gc(self.handle, nil), kill)
  self.handle = nil
  return exit, signal
end

return M
