--- host.lua: the binding of small facts about this process and its machine.

local core = require "pmclua.core"
local ffi = require "ffi"
local raised = require "pmclua.base.raised"

-- Under a name of our own: other files may declare the same function in other words.
ffi.cdef [[int pmclua_libc_clock_getres(int clock, long *resolution) __asm__("clock_getres");]]

local C = core.private_C()
local refused, done = core.private_refused, core.private_done

local M = {}

function M.now_ns() return (tonumber(C.pmclua_now_ns())) end

--- The frequency of x86's time stamp counter, or of Arm's generic timer; nil where Linux does not say it.
---@return number? hz
function M.clock_hz()
  local hz = C.pmclua_clock_hz()
  return hz > 0 and hz or nil
end

--- A library, which stays loaded; nil where it is not found or cannot be loaded.
---@param name string "libdw.so.1"
---@return userdata?
function M.load(name)
  local ok, library = pcall(ffi.load, name)
  return ok and library or nil
end

--- Whether it is found and can be loaded here.
---@param name string
---@return boolean
function M.can_load(name) return M.load(name) ~= nil end

local EIO = 5

--- Whether breakpoints count here: false where their exceptions never arrive; nil where none can be set to try; nil and
--- why where one was set and could not be read.
---@return boolean?
---@return string? why
function M.breakpoints_fire()
  local count = C.pmclua_breakpoints_fire()
  if count == -EIO then return nil, "one was set, and reading it failed" end
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
-- The mode that catch_interrupts was asked for last, and the handles that need interrupts caught whatever that is.
local asked, holders = nil, 0

--- Counts SIGINT, from 0, instead of dying of it.
---@param mode "count"|"second-kills"|"script"|nil "count": the caller looks for them; "second-kills": so it does, and
---  a second one is deadly; "script": nobody looks but the prompt's hook, and a second one is deadly; nil undoes it
---@param is_over? boolean those that came are dealt with; otherwise whoever looks next finds them
---@return string? before the mode that was in force, for whoever restores it
function M.catch_interrupts(mode, is_over)
  local before, asked_before = interrupt_mode, asked
  asked = mode
  mode = mode or holders > 0 and "script" or nil
  interrupt_mode = mode
  if before and mode and not is_over then
    C.pmclua_second_kills(mode ~= "count" and 1 or 0)
    return asked_before
  end
  C.pmclua_catch_interrupts(mode == "count" and 1 or mode and 2 or 0)
  taken = 0
  return asked_before
end

local function release()
  holders = holders - 1
  if holders == 0 and not asked then M.catch_interrupts(nil, true) end
end

--- Catches interrupts as "script" does, until the returned function is called or collected.
---@return fun() release a second time it does nothing
function M.hold_interrupts()
  local handle = ffi.gc(ffi.new "char[1]", release)
  holders = holders + 1
  if not interrupt_mode then M.catch_interrupts(asked, false) end
  return function()
    if handle then ffi.gc(handle, nil) release() end
    handle = nil
  end
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

--- 32 hex digits of `bytes`, for caches by content.
function M.hash(bytes)
  local hex = ffi.new "char[33]"
  C.pmclua_hash(bytes, #bytes, hex)
  return ffi.string(hex)
end

return M
