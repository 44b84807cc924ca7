--- core.lua: the binding: the only file that knows FFI.
--
-- Owns every C object that Lua holds: close is explicit and idempotent, use after close raises. Turns
-- u64 into Lua numbers in one place, `exact`. States facts: refusals are failure tables, not sentences.

local ffi = require "ffi"
ffi.cdef(require "pmclua.cdef")

--- The executable exports the core; a plain luajit loads the library.
local function find_core()
  local embedded = pcall(function() return ffi.C.pmclua_version end)
  return embedded and ffi.C or ffi.load(os.getenv "PMCLUA_SO" or "pmclua")
end

local C = find_core()
local core = { version = ffi.string(C.pmclua_version()) }

for _, name in ipairs { "attr", "failure", "message", "result" } do
  assert(ffi.sizeof("struct pmclua_" .. name) == tonumber(C.pmclua_size_of(name)),
    "pmclua: the core and its declaration differ in struct pmclua_" .. name)
end

--- The core's own functions, for the other files of this layer (lua/pmclua/core/) alone.
function core.private_C() return C end

-- ---- numbers ----

local EXACT_LIMIT = 2ULL ^ 53

--- A u64 as Lua has it exactly: a number to 2^53, the u64 itself beyond.
---@param value ffi.cdata*|number
---@return number|ffi.cdata*
function core.exact(value)
  if value <= EXACT_LIMIT then return tonumber(value) end
  return value
end
local exact = core.exact

--- An unsigned number in text, decimal or 0x…; nil when it is none or above 2^64-1.
---@param text string
---@return number|ffi.cdata*|nil
function core.u64(text)
  local value = ffi.new "uint64_t[1]"
  if C.pmclua_parse_u64(text, value) < 0 then return nil end
  return exact(value[0])
end

--- Exact decimal text of a whole number or a u64.
---@param value number|ffi.cdata*
---@return string
function core.decimal(value) return ("%u"):format(value) end

--- True for a u64 as `exact` leaves those above 2^53.
function core.is_u64(value) return ffi.istype("uint64_t", value) end

-- ---- errno ----

---@param errnum integer
---@return string code "EACCES"; "E123" where this system has no name for it
function core.errno_name(errnum)
  local name = C.pmclua_errno_name(errnum)
  return name ~= nil and ffi.string(name) or "E" .. errnum
end

---@param errnum integer
---@return string text "Permission denied"
function core.errno_text(errnum)
  local text = C.pmclua_errno_text(errnum)
  return text ~= nil and ffi.string(text) or "error " .. errnum
end

---@param signal integer
---@return string name "SIGSEGV"
function core.signal_name(signal)
  local name = C.pmclua_signal_name(signal)
  return name ~= nil and ffi.string(name) or "signal " .. signal
end

--- What a C function's -errno means: nil and the errno's name and number.
local function refused(result) return nil, core.errno_name(-result), -result end

-- ---- attr ----

-- Fields that share a word with another and would be listed twice.
local SECOND_NAMES = {
  sample_freq = true, wakeup_watermark = true, bp_addr = true, kprobe_func = true, uprobe_path = true,
  bp_len = true, kprobe_addr = true, probe_offset = true,
}
-- Fields that may be given as text: the attr then points to it.
local TEXT_FIELDS = { kprobe_func = true, uprobe_path = true }

--- Every attr field by its name in the ABI, in ABI order.
---@return string[]
function core.attr_fields()
  local names, index = {}, 0
  while true do
    local name = C.pmclua_attr_name(index)
    if name == nil then return names end
    index = index + 1
    names[index] = ffi.string(name)
  end
end

local function fill_attr(attr, fields)
  ffi.fill(attr, ffi.sizeof(attr))
  local text
  for name, value in pairs(fields) do
    if type(value) == "boolean" then value = value and 1 or 0 end
    if type(value) == "string" and TEXT_FIELDS[name] then
      text = value
      value = ffi.cast("uintptr_t", ffi.cast("const char *", text))
    end
    local result = C.pmclua_attr_set(attr, name, value)
    if result < 0 then
      local why = result == -2 and "no attr field is called '%s'" or "attr field '%s' cannot hold %s"
      error(why:format(name, tostring(value)), 0)
    end
  end
  return text
end

local function attr_table(attr)
  local fields, value = {}, ffi.new "uint64_t[1]"
  for _, name in ipairs(core.attr_fields()) do
    if not SECOND_NAMES[name] and C.pmclua_attr_get(attr, name, value) == 0 and value[0] ~= 0 then
      fields[name] = exact(value[0])
    end
  end
  return fields
end

--- What went wrong, as explain.lua takes it; indices count from 1, 0 is none in particular.
local function failure_table(failure)
  return {
    errnum = failure.errnum, code = core.errno_name(failure.errnum),
    index = failure.index + 1, group = failure.group + 1,
    pid = failure.pid, cpu = failure.cpu, attr = attr_table(failure.attr),
  }
end

-- ---- single events ----

--- One event as the system call makes it: attr fields by ABI name in, ioctls by ABI name.
---@class pmclua.core.Event
local Event = {}
Event.__index = Event

--- perf_event_open. Returns the open event, or nil and a failure table.
---@param fields table attr fields by ABI name
---@param options? { pid?: integer, cpu?: integer, group?: pmclua.core.Event, flags?: integer }
function core.open(fields, options)
  options = options or {}
  local attr = ffi.new "struct pmclua_attr"
  local text = fill_attr(attr, fields)
  local pid, cpu = options.pid or 0, options.cpu or -1
  local leader = options.group and options.group:fd() or -1
  local fd = C.pmclua_open(attr, pid, cpu, leader, options.flags or 0)
  if fd < 0 then
    return nil, { errnum = -fd, code = core.errno_name(-fd), index = 1, group = 1, pid = pid, cpu = cpu,
      attr = attr_table(attr), text = text }
  end
  return setmetatable({ descriptor = fd }, Event)
end

function Event:fd()
  return self.descriptor or error("this event is closed", 0)
end

local MEMORY_IOCTLS = { PERIOD = true, ID = true }

--- An ioctl by its name in the ABI. Returns what it gives back (ID: the id; QUERY_BPF: a list), or nil,
--- errno name and number.
---@param name string "ENABLE", "PERIOD", "SET_FILTER", …
---@param argument? number|string|table|pmclua.core.Event
function Event:ioctl(name, argument)
  local value, memory = 0, nil
  if MEMORY_IOCTLS[name] then
    memory = ffi.new("uint64_t[1]", argument or 0)
  elseif type(argument) == "string" then
    memory = ffi.cast("void *", ffi.cast("const char *", argument))
  elseif name == "MODIFY_ATTRIBUTES" then
    memory = ffi.new "struct pmclua_attr"
    fill_attr(memory, argument)
    C.pmclua_attr_set(memory, "size", ffi.sizeof(memory))
  elseif name == "QUERY_BPF" then
    memory = ffi.new("uint32_t[?]", 2 + 64, { 64 })
  elseif type(argument) == "table" then
    value = argument:fd()
  else
    value = argument or 0
  end
  local result = C.pmclua_ioctl(self:fd(), name, value, memory)
  if result < 0 then return refused(result) end
  if name == "ID" then return exact(memory[0]) end
  if name == "QUERY_BPF" then
    local ids = {}
    for i = 1, memory[1] do ids[i] = memory[1 + i] end
    return ids
  end
  return result
end

--- read(2): the 64-bit words that the event's read_format asks for, exact; or nil, errno name, number.
---@return (number|ffi.cdata*)[]?
function Event:read()
  local buffer = ffi.new "uint64_t[2048]"       -- 16 KiB always suffices: the OS kernel caps reads at it
  local got = tonumber(C.pmclua_read(self:fd(), buffer, ffi.sizeof(buffer)))
  if got < 0 then return refused(got) end
  local words = {}
  for i = 1, got / 8 do words[i] = exact(buffer[i - 1]) end
  return words
end

function Event:close()
  if self.descriptor then C.pmclua_close(self.descriptor) end
  self.descriptor = nil
end

-- ---- groups ----

---@class pmclua.core.Group
---@field count integer members
local Group = {}
Group.__index = Group

--- Opens a group, stopped. Returns it, or nil and a failure table.
---@param attrs table[] attr fields by ABI name, the leader first
---@param options? { pid?: integer, cpu?: integer, on_exec?: boolean, pinned?: boolean }
---@return pmclua.core.Group?, table?
function core.group(attrs, options)
  options = options or {}
  local list, texts = ffi.new("struct pmclua_attr[?]", #attrs), {}
  for i, fields in ipairs(attrs) do texts[i] = fill_attr(list[i - 1], fields) end
  local handle, failure = ffi.new "struct pmclua_group *[1]", ffi.new "struct pmclua_failure"
  local flags = (options.on_exec and C.PMCLUA_ON_EXEC or 0) + (options.pinned and C.PMCLUA_PINNED or 0)
  local result = C.pmclua_group_open(handle, list, #attrs, options.pid or 0, options.cpu or -1, flags, failure)
  if result < 0 then
    failure.errnum = -result
    return nil, failure_table(failure)
  end
  return setmetatable({ handle = ffi.gc(handle[0], C.pmclua_group_close), count = #attrs }, Group)
end

local function open_handle(group)
  return group.handle or error("this group is closed", 0)
end

--- Starts counting: true, or nil, errno name, number.
function Group:start()
  local result = C.pmclua_group_start(open_handle(self))
  if result < 0 then return refused(result) end
  return true
end

function Group:stop()
  local result = C.pmclua_group_stop(open_handle(self))
  if result < 0 then return refused(result) end
  return true
end

--- Room for one reading of this group, for `read_into`. Opaque: index it through `word` alone.
function Group:room() return ffi.new("uint64_t[?]", 2 + self.count) end

--- Room of a group without members: no time enabled, none running.
function core.empty_room() return ffi.new "uint64_t[2]" end

--- One read of all members into `room`: true, or nil, errno name, number. The hot path: no allocation.
function Group:read_into(room)
  local result = C.pmclua_group_read(open_handle(self), room)
  if result < 0 then return refused(result) end
  return true
end

--- out = later - earlier.
function Group:subtract(earlier, later, out)
  C.pmclua_group_delta(open_handle(self), earlier, later, out)
end

--- Of a reading: word 1 is enabled ns, 2 running ns, 2 + i the i-th member, as an exact value.
function core.word(room, index) return exact(room[index - 1]) end

--- The same as a plain number (rounded above 2^53).
function core.number(room, index) return tonumber(room[index - 1]) end

--- The same as a u64.
function core.raw(room, index) return room[index - 1] end

function Group:fd(index) return C.pmclua_group_fd(open_handle(self), index - 1) end

function Group:close()
  if self.handle then C.pmclua_group_close(ffi.gc(self.handle, nil)) end
  self.handle = nil
end

-- ---- the runner ----

core.OUTPUT = { null = C.PMCLUA_TO_NULL, inherit = C.PMCLUA_TO_INHERIT, capture = C.PMCLUA_TO_CAPTURE }

local OUTCOMES = {
  [C.PMCLUA_DONE] = "done", [C.PMCLUA_SIGNALLED] = "signalled", [C.PMCLUA_TIMED_OUT] = "timed-out",
  [C.PMCLUA_NOT_STARTED] = "not-started", [C.PMCLUA_NOT_COUNTED] = "not-counted", [C.PMCLUA_QUIT] = "quit",
}

---@class pmclua.core.Message
local Message = {}
Message.__index = Message

--- A message to the runner.
---@param kind "workload"|"events"|"run"|"forget"
---@param id integer
function core.message(kind, id)
  local bytes = ffi.gc(ffi.new "struct pmclua_message", C.pmclua_message_free)
  assert(C.pmclua_message_begin(bytes, C["PMCLUA_MSG_" .. kind:upper()], id) == 0, "no memory")
  return setmetatable({ bytes = bytes }, Message)
end

local function field_number(name) return C["PMCLUA_F_" .. name:upper()] end

--- Adds a text field; one with a NUL inside is refused.
function Message:text(field, text)
  if text:find("\0", 1, true) then error(("%s has a NUL character in it"):format(field), 0) end
  assert(C.pmclua_message_add(self.bytes, field_number(field), text, #text + 1) == 0, "no memory")
  return self
end

function Message:number(field, number)
  assert(C.pmclua_message_add_u64(self.bytes, field_number(field), number) == 0, "no memory")
  return self
end

--- Begins a group of events; `attr` adds its members.
function Message:group(pinned)
  assert(C.pmclua_message_add(self.bytes, C.PMCLUA_F_GROUP, nil, 0) == 0, "no memory")
  return pinned and self:number("options", C.PMCLUA_PINNED) or self
end

function Message:attr(fields)
  local attr = ffi.new "struct pmclua_attr"
  local text = fill_attr(attr, fields)
  assert(C.pmclua_message_add(self.bytes, C.PMCLUA_F_ATTR, attr, ffi.sizeof(attr)) == 0, "no memory")
  return text and self:text("attr_text", text) or self
end

---@class pmclua.core.Runner
local Runner = {}
Runner.__index = Runner

--- Starts a runner. Returns it, or nil, errno name, number.
---@param path string its executable
---@param layout? { padding?: integer, fixed_addresses?: boolean } of its environment and addresses
function core.runner(path, layout)
  layout = layout or {}
  local handle = ffi.new "struct pmclua_runner *[1]"
  local result = C.pmclua_runner_start(handle, path, layout.padding or 0, layout.fixed_addresses and 1 or 0)
  if result < 0 then return refused(result) end
  local function finalize(runner)
    local exit, signal = ffi.new "int32_t[1]", ffi.new "int32_t[1]"
    C.pmclua_runner_end(runner, 1, exit, signal)
  end
  return setmetatable({ handle = ffi.gc(handle[0], finalize) }, Runner)
end

local function runner_handle(runner)
  return runner.handle or error("this runner has ended", 0)
end

function Runner:pid() return C.pmclua_runner_pid(runner_handle(self)) end

--- True, or nil and "EPIPE" when the runner has ended.
function Runner:send(message)
  local result = C.pmclua_runner_send(runner_handle(self), message.bytes)
  if result < 0 then return refused(result) end
  return true
end

local function result_table(result)
  local words, raw = {}, C.pmclua_result_words(result)
  for i = 1, result.words do words[i] = exact(raw[i - 1]) end
  local text = C.pmclua_result_text(result)
  local outcome = OUTCOMES[result.outcome]
  return {
    outcome = outcome, exit = result.exit_code, signal = result.signal, errnum = result.errnum,
    start_ns = exact(result.start_ns), wall_ns = exact(result.wall_ns), iterations = exact(result.iterations),
    user_ns = exact(result.user_ns), system_ns = exact(result.system_ns),
    max_rss_bytes = result.max_rss_bytes > 0 and exact(result.max_rss_bytes) or nil,
    minor_faults = exact(result.minor_faults), major_faults = exact(result.major_faults),
    voluntary_switches = exact(result.voluntary_switches),
    involuntary_switches = exact(result.involuntary_switches),
    threads = result.threads, words = words,
    output = result.output_bytes > 0 and ffi.string(text, result.output_bytes) or "",
    errors = result.error_bytes > 0 and ffi.string(text + result.output_bytes, result.error_bytes) or "",
    failure = outcome == "not-counted" and failure_table(result.failure) or nil,
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
  local exit, signal = ffi.new "int32_t[1]", ffi.new "int32_t[1]"
  C.pmclua_runner_end(ffi.gc(self.handle, nil), kill and 1 or 0, exit, signal)
  self.handle = nil
  return exit[0], signal[0]
end

-- ---- this process and its machine ----

function core.now_ns() return tonumber(C.pmclua_now_ns()) end
function core.pid() return C.pmclua_pid() end
function core.tid() return C.pmclua_tid() end
function core.uid() return C.pmclua_uid() end
function core.is_terminal(fd) return C.pmclua_is_terminal(fd) ~= 0 end
function core.capabilities() return C.pmclua_capabilities() end

--- The folder of the file that the core is in: the executable, or the library.
function core.folder()
  local path = ffi.new "char[4096]"
  assert(C.pmclua_folder(path, 4096) == 0, "pmclua: cannot tell where it is installed")
  return ffi.string(path)
end

--- Width of the terminal at `fd` in columns; nil: not a terminal.
function core.columns(fd)
  local columns = C.pmclua_columns(fd)
  return columns > 0 and columns or nil
end

local interrupt_mode

--- Counts SIGINT, from 0, instead of dying of it. mode: "count", "second-kills", or nil to undo.
---@return string? before the mode that was in force, for whoever restores it
function core.catch_interrupts(mode)
  local before = interrupt_mode
  C.pmclua_catch_interrupts(mode == "second-kills" and 2 or mode and 1 or 0)
  interrupt_mode = mode
  return before
end

function core.interrupts() return C.pmclua_interrupts() end
--- The signal that interrupted last; 0: none.
function core.interrupt_signal() return C.pmclua_interrupt_signal() end

local function done(result)
  if result < 0 then return refused(result) end
  return true
end

function core.pin(cpus) return done(C.pmclua_pin(cpus)) end
function core.chmod(path, mode) return done(C.pmclua_chmod(path, mode)) end
function core.mkdir(path, mode) return done(C.pmclua_mkdir(path, mode)) end
function core.rename(from, to) return done(C.pmclua_rename(from, to)) end

--- Makes a private file: its path and nothing open; or nil, errno name, number.
---@param template string a path that ends in XXXXXX
function core.make_temporary(template)
  local path = ffi.new("char[?]", #template + 1, template)
  local fd = C.pmclua_make_temporary(path)
  if fd < 0 then return refused(fd) end
  C.pmclua_close(fd)
  return ffi.string(path)
end

--- lstat: { uid, mode, bytes, mtime_ns }, or nil, errno name, number.
function core.stat(path)
  local uid, mode = ffi.new "uint32_t[1]", ffi.new "uint32_t[1]"
  local bytes, mtime = ffi.new "uint64_t[1]", ffi.new "uint64_t[1]"
  local result = C.pmclua_stat(path, uid, mode, bytes, mtime)
  if result < 0 then return refused(result) end
  return { uid = uid[0], mode = mode[0], bytes = tonumber(bytes[0]), mtime_ns = exact(mtime[0]) }
end

--- 32 hex digits of `bytes`, for caches by content.
function core.hash(bytes)
  local hex = ffi.new "char[33]"
  C.pmclua_hash(bytes, #bytes, hex)
  return ffi.string(hex)
end

-- ---- libpfm4 ----

core.pfm = {}
local FULL_NAME_BYTES = 1024

--- Encodes a libpfm4 name. Returns attr fields and the full name; or nil, errno name, libpfm4's code.
---@param name string
function core.pfm.encode(name)
  local attr, full = ffi.new "struct pmclua_attr", ffi.new("char[?]", FULL_NAME_BYTES)
  local code = ffi.new "int32_t[1]"
  local result = C.pmclua_pfm_encode(name, attr, full, FULL_NAME_BYTES, code)
  if result < 0 then return nil, core.errno_name(-result), code[0] end
  return attr_table(attr), ffi.string(full)
end

local function text_of(pointer) return pointer ~= nil and ffi.string(pointer) or nil end

--- Every PMU that libpfm4 knows: { name, description, pmu, present, events }; {} without libpfm4.
function core.pfm.pmus()
  local list, pmu = {}, ffi.new "struct pmclua_pfm_pmu"
  local position = 0
  while C.pmclua_pfm_pmu(position, pmu) == 0 do
    position = position + 1
    list[position] = { name = text_of(pmu.name), description = text_of(pmu.description), pmu = pmu.pmu,
      present = pmu.present ~= 0, events = pmu.events }
  end
  return list
end

--- The events of PMU number `pmu`: { name, description, index }.
function core.pfm.events(pmu)
  local list, event = {}, ffi.new "struct pmclua_pfm_event"
  local position = 0
  while C.pmclua_pfm_event(pmu, position, event) == 0 do
    position = position + 1
    list[position] = { name = text_of(event.name), description = text_of(event.description), index = event.index }
  end
  return list
end

--- The attributes of event `index`: { name, description, is_umask }.
function core.pfm.attributes(index)
  local list, name, description = {}, ffi.new "const char *[1]", ffi.new "const char *[1]"
  local is_umask, position = ffi.new "int32_t[1]", 0
  while C.pmclua_pfm_attribute(index, position, name, description, is_umask) == 0 do
    position = position + 1
    list[position] = { name = text_of(name[0]), description = text_of(description[0]), is_umask = is_umask[0] ~= 0 }
  end
  return list
end

-- ---- record lines ----

local ENOSPC = -28

-- Room that grows: for one line, its form, its values, and which of them are absent.
local line_room = { bytes = 0 }

local function grow_line_room(bytes)
  if bytes <= line_room.bytes then return end
  line_room = { bytes = bytes, line = ffi.new("char[?]", bytes), form = ffi.new("char[?]", 2 * bytes + 1),
    values = ffi.new("uint64_t[?]", bytes / 2 + 1), absent = ffi.new("uint8_t[?]", bytes / 2 + 1) }
end
grow_line_room(4096)

--- The line of `form` (pmclua.h, record lines) with `count` values; nil stands for null.
---@param form string
---@param values (number|ffi.cdata*|nil)[]
---@param count integer
---@return string line; raises where form and values do not fit each other
function core.line_write(form, values, count)
  grow_line_room(math.max(#form, count * 2))
  local room = line_room
  for i = 1, count do
    local value = values[i]
    room.values[i - 1], room.absent[i - 1] = value or 0, value == nil and 1 or 0
  end
  local length = C.pmclua_line_write(room.line, room.bytes, form, room.values, room.absent, count)
  if length >= 0 then return ffi.string(room.line, length) end
  if length ~= ENOSPC then error("a record line that cannot be written", 0) end
  grow_line_room(room.bytes * 2)
  return core.line_write(form, values, count)
end

--- The reverse: fills `values` (nulls are nil) and returns the line's form and how many there are; or
--- nil, errno name, number.
---@param line string
---@param values table
function core.line_scan(line, values)
  grow_line_room(#line + 2)
  local room = line_room
  local count = C.pmclua_line_scan(line, #line, room.form, 2 * room.bytes + 1, room.values, room.absent,
    room.bytes / 2 + 1)
  if count < 0 then return refused(count) end
  for i = 0, count - 1 do
    if room.absent[i] ~= 0 then values[i + 1] = nil else values[i + 1] = exact(room.values[i]) end
  end
  return ffi.string(room.form), count
end

---@class pmclua.core.Lines a file of whole lines
local Lines = {}
Lines.__index = Lines

--- Creates a file of lines (mode 0600), or opens one to go on after its last whole line. Returns it, or
--- nil, errno name, number.
---@param path string
---@param how "create"|"resume"
---@return pmclua.core.Lines?
function core.lines(path, how)
  local fd = C.pmclua_lines_open(path, how == "resume" and 1 or 0)
  if fd < 0 then return refused(fd) end
  return setmetatable({ fd = fd }, Lines)
end

--- Appends whole lines. Returns the bytes of `text` that are now in the file, whole lines all; fewer
--- than #text come with errno name and number.
function Lines:append(text)
  local kept = ffi.new "size_t[1]"
  local result = C.pmclua_lines_append(self.fd, text, #text, kept)
  if result < 0 then return tonumber(kept[0]), core.errno_name(-result), -result end
  return tonumber(kept[0])
end

function Lines:close()
  if self.fd then C.pmclua_close(self.fd) end
  self.fd = nil
end

return core
