--- processes.lua: other processes, part of core/: the few calls of libc that waiting for one, letting one
--- go on, and having as many descriptors as counting it takes, take.

local core = require "pmclua.core"
local ffi = require "ffi"

-- Under names of our own: other files may declare the same functions in other words.
ffi.cdef [[
struct pmclua_pollfd { int fd; short events, revents; };
int  pmclua_libc_ppoll(struct pmclua_pollfd *fds, unsigned long count, const long *timeout,
  const void *mask) __asm__("ppoll");
int  pmclua_libc_getrlimit(int resource, uint64_t *limit) __asm__("getrlimit");
int  pmclua_libc_fileno(void *stream) __asm__("fileno");
long pmclua_libc_syscall(long number, ...) __asm__("syscall");
int  pmclua_libc_kill(int pid, int signal) __asm__("kill");
]]

local C = core.private_C()
local M = {}

-- ---- descriptors --------------------------------------------------------------------------------------

local RLIMIT_NOFILE = 7                 -- on x86, arm64 and riscv

local function to_number(limit)
  local value = tonumber(limit)
  return value >= 2 ^ 63 and math.huge or value
end

--- How many descriptors this process may have: the limit in force, and how far it may be raised.
---@return number soft, number hard math.huge: no limit
function M.descriptor_limits()
  local limits = ffi.new "uint64_t[2]"
  ffi.C.pmclua_libc_getrlimit(RLIMIT_NOFILE, limits)
  return to_number(limits[0]), to_number(limits[1])
end

local function give_back(handle) C.pmclua_descriptors_give_back(handle[0]) end

--- Raises the soft limit to `wanted` at least, or as far as the hard one allows, until `give_back_descriptors`, or until
--- what this returns is collected; or nil and the errno's name.
---@param count integer that are needed
---@param wanted integer
---@return ffi.cdata*? handle
---@return string? code
function M.take_descriptors(count, wanted)
  local ok, code = core.private_done(C.pmclua_descriptors_take(count, wanted))
  if not ok then return nil, code end
  return ffi.gc(ffi.new("uint64_t[1]", count), give_back)
end

--- Undoes `take_descriptors`.
---@param handle ffi.cdata*
function M.give_back_descriptors(handle) give_back(ffi.gc(handle, nil)) end

-- ---- programs that pmclua chooses -------------------------------------------------------------------------

-- Reads a descriptor to its end: pieces, and the errno's name that cut them short.
local function read_within(fd, seconds, most)
  local pieces, bytes, limit = {}, 0, core.now_ns() + seconds * 1e9
  local buffer = ffi.new "char[65536]"
  while true do
    local result = C.pmclua_program_wait(fd, math.max(0, limit - core.now_ns()))
    if result == 0 then result = tonumber(C.pmclua_read_some(fd, buffer, 65536)) end
    if result < 0 then return pieces, core.errno_name(-result) end
    if result == 0 then return pieces end
    pieces[#pieces + 1], bytes = ffi.string(buffer, result), bytes + result
    if bytes > most then return pieces, "EFBIG" end
  end
end

local function status_of(word)
  local signal = word % 128
  return signal == 0 and math.floor(word / 256) % 256 or 128 + signal
end

--- Runs a program without input until it ends, has written too much or takes too long, or an interrupt comes. When this
--- returns it has ended, with all that it started.
---@param argv string[] the first is a path
---@param limits { seconds: number, bytes: integer, errors?: boolean } errors: what it writes on standard error, too
---@return string? text nil: it could not be started
---@return string? code the errno's name of that, or of what cut it short: ETIMEDOUT, EFBIG, EINTR
---@return integer? status as a shell has it; nil: it was not told
function M.run_program(argv, limits)
  local words, pid, status = ffi.new("const char *[?]", #argv + 1), ffi.new "int32_t[1]", ffi.new "int32_t[1]"
  for i, word in ipairs(argv) do words[i - 1] = word end
  local fd = C.pmclua_program_start(words, limits.errors and 1 or 0, pid)
  if fd < 0 then return nil, core.errno_name(-fd) end
  local start = core.now_ns()
  local pieces, code = read_within(fd, limits.seconds, limits.bytes)
  C.pmclua_close(fd)
  local left = code and 0 or math.max(0, start + limits.seconds * 1e9 - core.now_ns())
  local ended = C.pmclua_program_end(pid[0], left, status)
  code = code or ended == -110 and "ETIMEDOUT" or nil
  return table.concat(pieces), code, ended == 0 and status_of(status[0]) or nil
end

-- ---- other processes ----------------------------------------------------------------------------------

--- An open folder, whose descriptor stands for it; nil and why.
---@param path string
---@return { fd: integer, close: fun(self) }?, string?
function M.folder(path)
  local file, why = io.open(path)
  if not file then return nil, why end
  return { fd = ffi.C.pmclua_libc_fileno(file), close = function() file:close() end }
end

local SYS_PIDFD_OPEN = 434              -- the same on all architectures
local POLLIN = 1

--- A descriptor that becomes readable when the process ends; nil and the errno's name. Since Linux 5.3,
--- and of a process, not of one of its threads.
---@param pid integer
---@return { fd: integer, close: fun(self) }?, string?
function M.process(pid)
  local fd = tonumber(ffi.C.pmclua_libc_syscall(SYS_PIDFD_OPEN, ffi.cast("long", pid), ffi.cast("long", 0)))
  if fd < 0 then return nil, core.errno_name(ffi.errno()) end
  return { fd = fd, handle = core.private_descriptor(fd), close = core.private_close }
end

--- Waits until `descriptor` is readable, a signal comes, or `timeout_ns` has passed.
---@param descriptor? { fd: integer }
---@param timeout_ns number
---@return "ready"|"signal"|"timeout"
function M.wait(descriptor, timeout_ns)
  local place = ffi.new("struct pmclua_pollfd", descriptor and descriptor.fd or -1, POLLIN)
  local timeout = ffi.new("long[2]", math.floor(timeout_ns / 1e9), timeout_ns % 1e9)
  local result = ffi.C.pmclua_libc_ppoll(place, 1, timeout, nil)
  return result > 0 and "ready" or result == 0 and "timeout" or "signal"
end

local SIGCONT, EPERM = 18, 1            -- on x86, arm64 and riscv

--- Whether there is a process, though /proc may not show it.
---@param pid integer
---@return boolean
function M.exists(pid) return ffi.C.pmclua_libc_kill(pid, 0) == 0 or ffi.errno() == EPERM end

--- Lets a stopped process go on: true, or nil, errno name, number.
---@param pid integer
function M.continue(pid)
  return core.private_done(ffi.C.pmclua_libc_kill(pid, SIGCONT) == 0 and 0 or -ffi.errno())
end

return M
