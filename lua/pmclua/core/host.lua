--- host.lua: the binding of small facts about this process and its machine, part of core.lua's layer.

local core = require "pmclua.core"
local ffi = require "ffi"
local raised = require "pmclua.base.raised"

-- Under a name of our own: other files may declare the same function in other words.
ffi.cdef [[int pmclua_libc_clock_getres(int clock, long *resolution) __asm__("clock_getres");]]

local C = core.private_C()
local exact, refused, done = core.exact, core.private_refused, core.private_done

local M = {}

function M.now_ns() return (tonumber(C.pmclua_now_ns())) end

--- The frequency of x86's time stamp counter, or of Arm's generic timer; nil where Linux does not say it.
---@return number? hz
function M.clock_hz()
  local hz = C.pmclua_clock_hz()
  return hz > 0 and hz or nil
end

--- Whether breakpoints count here: false where their exceptions never arrive; nil where none can be set to try.
---@return boolean?
function M.breakpoints_fire()
  local count = C.pmclua_breakpoints_fire()
  if count < 0 then return nil end
  return count > 0
end

local CLOCK_MONOTONIC_COARSE = 6        -- goes on by ticks
local LONGEST_TICK_NS = 1e7             -- of an OS kernel with 100 of them a second, the fewest there are

--- The length of a tick of the OS kernel's timer, ns.
---@return number
function M.tick_ns()
  local resolution = ffi.new "long[2]"  -- seconds, ns
  if ffi.C.pmclua_libc_clock_getres(CLOCK_MONOTONIC_COARSE, resolution) < 0 then return LONGEST_TICK_NS end
  return tonumber(resolution[0]) * 1e9 + tonumber(resolution[1])
end

function M.pid() return C.pmclua_pid() end
function M.uid() return C.pmclua_uid() end
function M.is_terminal(fd) return C.pmclua_is_terminal(fd) ~= 0 end

local folder

--- The folder of the file that the core is in: the executable, or the library; or nil, errno name, number.
--- Asked for once: that file may be replaced while it runs.
function M.folder()
  if folder then return folder end
  local path = ffi.new "char[4096]"
  local result = C.pmclua_folder(path, 4096)
  if result < 0 then return refused(result) end
  folder = ffi.string(path)
  return folder
end

--- Width of the terminal at `fd` in columns; nil: not a terminal.
function M.columns(fd)
  local columns = C.pmclua_columns(fd)
  return columns > 0 and columns or nil
end

-- How many interrupts M.take_interrupt has answered.
local interrupt_mode, taken = nil, 0

--- Counts SIGINT, from 0, instead of dying of it.
---@param mode "count"|"second-kills"|"script"|nil "count": the caller looks for them; "second-kills": so it does, and
---  a second one is deadly; "script": nobody looks but the prompt's hook, and a second one is deadly; nil undoes it
---@param is_over? boolean those that came are dealt with; otherwise whoever looks next finds them
---@return string? before the mode that was in force, for whoever restores it
function M.catch_interrupts(mode, is_over)
  local before = interrupt_mode
  interrupt_mode = mode
  if before and mode and not is_over then
    C.pmclua_second_kills(mode ~= "count" and 1 or 0)
    return before
  end
  C.pmclua_catch_interrupts(mode == "count" and 1 or mode and 2 or 0)
  taken = 0
  return before
end

--- Whether the caller looks for interrupts, until it says otherwise: then the prompt's hook does not.
---@param mode string? of M.catch_interrupts
---@return string? before
function M.look_for_interrupts(mode)
  local before = interrupt_mode
  interrupt_mode = mode
  return before
end

--- For the prompt's hook: true once for each interrupt, where nobody else looks.
---@return boolean
function M.take_interrupt()
  local count = C.pmclua_interrupts()
  if interrupt_mode ~= "script" or count <= taken then return false end
  taken = count
  return true
end

local function after_script(kills, mode, ok, ...)
  C.pmclua_second_kills(kills)
  interrupt_mode = mode
  if not ok then return false, raised.of(...) end
  return true, ...
end

--- Calls a function of the script: nobody looks for interrupts there, so a second one is deadly.
---@param fn function
---@param ... any its arguments
---@return boolean ok
---@return any ... what it returns, or pmclua.Raised
function M.call_script(fn, ...)
  local kills, mode = C.pmclua_second_kills(1), interrupt_mode
  interrupt_mode = mode and "script"
  return after_script(kills, mode, xpcall(fn, raised.catch, ...))
end

--- Sleeps. True, or nil and "EINTR" when an interrupt came.
---@param ns number
function M.pause(ns) return done(C.pmclua_pause(ns)) end

function M.interrupts() return C.pmclua_interrupts() end
--- The signal that interrupted last; 0: none.
function M.interrupt_signal() return C.pmclua_interrupt_signal() end

function M.pin(cpus) return done(C.pmclua_pin(cpus)) end
--- True when this thread may run on each CPU of a list; or nil, errno name, number, and for ENODEV which.
function M.check_cpus(cpus)
  local cpu = ffi.new "int32_t[1]"
  local result = C.pmclua_check_cpus(cpus, cpu)
  if result >= 0 then return true end
  return nil, core.errno_name(-result), -result, cpu[0]
end

function M.mkdir(path, mode) return done(C.pmclua_mkdir(path, mode)) end
function M.rename(from, to) return done(C.pmclua_rename(from, to)) end

--- Makes a private file: its path and nothing open; or nil, errno name, number.
---@param template string a path that ends in XXXXXX
function M.make_temporary(template)
  local path = ffi.new("char[?]", #template + 1, template)
  local fd = C.pmclua_make_temporary(path)
  if fd < 0 then return refused(fd) end
  C.pmclua_close(fd)
  return ffi.string(path)
end

--- Makes a private folder: its path; or nil, errno name, number.
---@param template string a path that ends in XXXXXX
function M.make_folder(template)
  local path = ffi.new("char[?]", #template + 1, template)
  local result = C.pmclua_make_folder(path)
  if result < 0 then return refused(result) end
  return ffi.string(path)
end

--- A private folder for files of other programs, with the FIFO "log" in it, from which `read_some` reads; or nil,
--- errno name, number.
---@param template string a path that ends in XXXXXX
---@return string? path
---@return integer|string fd
function M.make_scratch(template)
  local path = ffi.new("char[?]", C.PMCLUA_PATH_BYTES, template)
  local fd = C.pmclua_make_scratch(path)
  if fd < 0 then return refused(fd) end
  return ffi.string(path), fd
end

local SOME = 65536
local EPERM, EFBIG, ENOTSUP = 1, 27, 95

-- What open(2) and read(2) do not refuse by themselves.
local REASONS = { [ENOTSUP] = "it is not a regular file", [EPERM] = "it belongs to another user",
  [EFBIG] = "it is too large" }

local buffer

-- Up to SOME bytes, "" where there are none now; or nil and the errno's number.
local function read_once(fd)
  buffer = buffer or ffi.new("char[?]", SOME)
  local got = tonumber(C.pmclua_read_some(fd, buffer, SOME))
  if got < 0 then return nil, -got end
  return ffi.string(buffer, got)
end

--- What can be read from a descriptor without waiting; "" where there is nothing.
---@param fd integer
---@return string
function M.read_some(fd)
  local parts = {}
  repeat
    local piece = read_once(fd) or ""
    parts[#parts + 1] = piece
  until #piece < SOME
  return table.concat(parts)
end

local MOST = 2 ^ 29                     -- bytes of a file: far more than any that is read has

-- Up to `most` bytes of a descriptor, or nil and the errno's number.
local function read_up_to(fd, most)
  local parts, bytes = {}, 0
  while bytes < most do
    local piece, errnum = read_once(fd)
    if not piece then return nil, errnum end
    if piece == "" then break end
    parts[#parts + 1], bytes = piece, bytes + #piece
  end
  return table.concat(parts):sub(1, most)
end

local file_uid, file_bytes              -- made once

-- What `read(fd)` returns of a regular file that is open; nil and the errno's number.
local function with_plain(path, owner, read)
  if not file_uid then file_uid, file_bytes = ffi.new "uint32_t[1]", ffi.new "uint64_t[1]" end
  local fd = C.pmclua_open_plain(path, owner and 1 or 0, file_uid, file_bytes)
  if fd < 0 then return nil, -fd end
  local text, errnum = nil, EPERM
  if not owner or file_uid[0] == owner then text, errnum = read(fd) end
  C.pmclua_close(fd)
  return text, errnum
end

--- The text of a regular file; nil, why not, and the errno's name. It waits for nobody, whatever is there.
---@param path string
---@param most? number bytes: a larger file is refused
---@param owner? integer user whose file it has to be, and no link; nil: anybody's
---@return string? text
---@return string? why "PATH: REASON"
---@return string? code
function M.read_plain(path, most, owner)
  most = most or MOST
  local text, errnum = with_plain(path, owner, function(fd)
    if file_bytes[0] > most then return nil, EFBIG end
    return read_up_to(fd, most + 1)
  end)
  if text and #text <= most then return text end
  errnum = errnum or EFBIG
  return nil, ("%s: %s"):format(path, REASONS[errnum] or core.errno_text(errnum)), core.errno_name(errnum)
end

--- The first bytes of a regular file; nil where it cannot be read.
---@param path string
---@param bytes integer
---@return string?
function M.read_beginning(path, bytes)
  return (with_plain(path, nil, function(fd) return read_up_to(fd, bytes) end))
end

--- Closes a descriptor of make_scratch.
---@param fd integer
function M.close(fd) C.pmclua_close(fd) end

--- lstat: { uid, mode, bytes, mtime_ns }, or nil, errno name, number.
function M.stat(path)
  local uid, mode = ffi.new "uint32_t[1]", ffi.new "uint32_t[1]"
  local bytes, mtime = ffi.new "uint64_t[1]", ffi.new "uint64_t[1]"
  local result = C.pmclua_stat(path, uid, mode, bytes, mtime)
  if result < 0 then return refused(result) end
  return { uid = uid[0], mode = mode[0], bytes = tonumber(bytes[0]), mtime_ns = exact(mtime[0]) }
end

local text, mode, mtime       -- made once: one is asked for of each file that a compiler looked for

--- What changes when the file that `path` leads to is another or is written; nil where there is none.
---@param path string
---@return string? text
---@return integer? mode
---@return number? mtime_ns
function M.signature(path)
  if not text then
    text, mode = ffi.new("char[?]", C.PMCLUA_SIGNATURE_BYTES), ffi.new "uint32_t[1]"
    mtime = ffi.new "uint64_t[1]"
  end
  local result = C.pmclua_signature(path, text, mode, mtime)
  if result < 0 then return refused(result) end
  return ffi.string(text), mode[0], tonumber(mtime[0])
end

--- Of a listing (workload/dependencies.lua) the place of the first line, from `from` on, that does not hold
--- by what stat(2) says; nil: all hold.
---@param listing string
---@param from integer
---@return integer?
function M.listing_next(listing, from)
  local offset = tonumber(C.pmclua_listing_next(listing, from - 1))
  return offset >= 0 and offset + 1 or nil
end

--- `path` without links, "." and ".."; or nil, errno name, number.
function M.real_path(path)
  local real = ffi.new("char[?]", C.PMCLUA_PATH_BYTES)
  local result = C.pmclua_real_path(path, real)
  if result < 0 then return refused(result) end
  return ffi.string(real)
end

--- 32 hex digits of `bytes`, for caches by content.
function M.hash(bytes)
  local hex = ffi.new "char[33]"
  C.pmclua_hash(bytes, #bytes, hex)
  return ffi.string(hex)
end

return M
