--- runner.lua: the binding of the runner and its messages, part of core.lua's layer.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C()
local exact, refused = core.exact, core.private_refused

local M = {}

M.OUTPUT = { null = C.PMCLUA_TO_NULL, inherit = C.PMCLUA_TO_INHERIT, capture = C.PMCLUA_TO_CAPTURE }

local OUTCOMES = {
  [C.PMCLUA_DONE] = "done", [C.PMCLUA_SIGNALLED] = "signalled", [C.PMCLUA_TIMED_OUT] = "timed-out",
  [C.PMCLUA_NOT_STARTED] = "not-started", [C.PMCLUA_NOT_COUNTED] = "not-counted", [C.PMCLUA_QUIT] = "quit",
  [C.PMCLUA_MISSED] = "missed", [C.PMCLUA_CRASHED] = "crashed",
}

-- What was being done when a repetition could not be started: of a workload, and of following regions.
local function stages(prefix, names)
  local of = {}
  for name in names:gmatch "%S+" do of[C[prefix .. name:upper()]] = name end
  return of
end

local STAGES = stages("PMCLUA_STAGE_", "definition node kernel start pin enter read execute wait")
local REGION_STAGES = stages("PMCLUA_STAGE_REGION_",
  "memory file definition target cpu groups leader inherit probe ring clock thread reading termination")

local TAKE = { times = C.PMCLUA_TAKE_TIMES, io = C.PMCLUA_TAKE_IO }

--- What a run is asked to take from Linux's accounts, as the number of its field "take".
---@param accounts table<"times"|"io", true>
---@return integer
function M.take(accounts)
  local flags = 0
  for name in pairs(accounts) do flags = flags + TAKE[name] end
  return flags
end

--- The exit statuses of a runner that lost its connection, and of one that has no memory for a message.
M.CUT_OFF, M.OUT_OF_MEMORY = C.PMCLUA_CUT_OFF, C.PMCLUA_OUT_OF_MEMORY

---@class pmclua.core.Message
local Message = {}
Message.__index = Message

--- A message to the runner.
---@param kind "workload"|"events"|"run"|"forget"|"stop"|"prepare"
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
---@param options? { pinned?: boolean, leads?: boolean, read?: string } leads: in regions the first leads the others;
---   read: as for core.group
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

---@class pmclua.core.Runner
local Runner = {}
Runner.__index = Runner

local function end_runner(handle, kill)
  local exit, signal = ffi.new "int32_t[1]", ffi.new "int32_t[1]"
  C.pmclua_runner_end(handle, kill and 1 or 0, exit, signal)
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

--- Kills what it has started.
function Runner:end_descendants() C.pmclua_runner_end_descendants(runner_handle(self)) end

--- True, or nil and "EPIPE" when the runner has ended.
function Runner:send(message)
  return core.private_done(C.pmclua_runner_send(runner_handle(self), message.bytes))
end

local function result_table(result)
  local readings, raw = {}, C.pmclua_result_readings(result)
  for i = 1, result.reading_u64s do readings[i] = exact(raw[i - 1]) end
  local text = C.pmclua_result_text(result)
  local has_times = bit.band(result.taken, C.PMCLUA_TAKE_TIMES) ~= 0
  local io = bit.band(result.taken, C.PMCLUA_TAKE_IO) ~= 0 and result.io
  local outcome = OUTCOMES[result.outcome]
  return {
    outcome = outcome, exit = result.exit_code, signal = result.signal, errnum = result.errnum,
    stage = STAGES[result.stage], region_stage = REGION_STAGES[result.stage],
    start_ns = exact(result.start_ns), wall_ns = exact(result.wall_ns), iterations = exact(result.iterations),
    user_ns = exact(result.user_ns), system_ns = exact(result.system_ns),
    max_rss_bytes = result.max_rss_bytes > 0 and exact(result.max_rss_bytes) or nil,
    minor_faults = exact(result.minor_faults), major_faults = exact(result.major_faults),
    voluntary_switches = exact(result.voluntary_switches),
    involuntary_switches = exact(result.involuntary_switches),
    on_cpu_ns = has_times and exact(result.on_cpu_ns) or nil,
    wait_ns = has_times and exact(result.wait_ns) or nil,
    off_cpu_ns = has_times and exact(result.off_cpu_ns) or nil,
    read_bytes = io and exact(io.read_bytes) or nil, write_bytes = io and exact(io.write_bytes) or nil,
    read_chars = io and exact(io.read_chars) or nil, write_chars = io and exact(io.write_chars) or nil,
    read_calls = io and exact(io.read_calls) or nil, write_calls = io and exact(io.write_calls) or nil,
    sequence = tonumber(result.sequence), threads = result.threads, readings = readings,
    method = core.private_method(result.method),
    left = result.left > 0 and { count = result.left, pid = result.first_left.pid,
      name = ffi.string(result.first_left.name) } or nil,
    unseen = result.unseen ~= 0 and core.errno_name(result.unseen) or nil,
    dropped = result.drops > 0 and ffi.string(result.drop.name) or nil,
    output = result.output_bytes > 0 and ffi.string(text, result.output_bytes) or "",
    errors = result.error_bytes > 0 and ffi.string(text + result.output_bytes, result.error_bytes) or "",
    regions = result.region_u64s > 0
      and require("pmclua.core.regions").read(C.pmclua_result_regions(result), result.region_path) or nil,
    profile = result.profile_u64s > 0
      and require("pmclua.core.profile").read(C.pmclua_result_profile(result)) or nil,
    system_calls = result.call_u64s > 0
      and require("pmclua.core.system_calls").read(C.pmclua_result_calls(result)) or nil,
    untraced = result.untraced > 0 and core.errno_name(result.untraced) or nil,
    crash = outcome == "crashed" and { file = ffi.string(text, result.output_bytes),
      offset = exact(result.fault_offset), address = result.fault_known ~= 0 and exact(result.fault_address)
      or nil } or nil,
    failure = outcome == "not-counted" and core.private_failure_table(result.failure) or nil,
  }
end

--- Waits for a result. Returns it as a table; or nil and "timeout", "EINTR", "EPIPE", …
---@param timeout_ns? number
function Runner:receive(timeout_ns)
  local place = ffi.new "const struct pmclua_result *[1]"
  local result = C.pmclua_runner_receive(runner_handle(self), timeout_ns or -1, place)
  if result < 0 then return refused(result) end
  if result == 0 then return nil, "timeout" end
  return result_table(place[0])
end

--- Ends it (`kill`: with what it runs). Returns exit code (-1: none) and signal (0: none).
function Runner:finish(kill)
  if not self.handle then return -1, 0 end
  local exit, signal = end_runner(ffi.gc(self.handle, nil), kill)
  self.handle = nil
  return exit, signal
end

return M
