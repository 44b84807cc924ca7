--- group.lua: the binding of groups: events that are opened, started and read together.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C()
local exact, refused, done = core.exact, core.private_refused, core.private_done

local M = {}

---@class pmclua.core.Group
---@field count integer members
local Group = {}
Group.__index = Group

--- Opens a group, stopped. Returns it, or nil and a failure table.
---@param attrs table[] attr fields by ABI name (and `filter`), the leader first
---@param options? { pid?: integer, directory?: integer, cpu?: integer, on_exec?: boolean, pinned?: boolean,
---   read?: string }  directory: descriptor of a cgroup's folder, instead of a pid; read: "syscall"
---   (default); "auto" or "user": in user space where that is possible; "toggle"
---@return pmclua.core.Group?
---@return table? failure with is_cgroup where it is a cgroup's
function M.group(attrs, options)
  options = options or {}
  local list = ffi.new("struct pmclua_attr[?]", #attrs)
  for i, fields in ipairs(attrs) do core.private_fill_attr(list[i - 1], fields) end
  local handle, failure = ffi.new "struct pmclua_group *[1]", ffi.new "struct pmclua_failure"
  local flags = core.private_group_flags(options)
  local pid, cpu = options.directory or options.pid or 0, options.cpu or -1
  local result = core.private_open_again(C.pmclua_group_open, handle, list, #attrs, pid, cpu, flags, failure)
  if result < 0 then
    failure.errnum = -result
    return nil, core.private_failure_table(failure, options.directory ~= nil)
  end
  local group = setmetatable({ handle = ffi.gc(handle[0], C.pmclua_group_close), count = #attrs }, Group)
  for i, fields in ipairs(attrs) do
    if fields.filter and C.pmclua_group_filter(group.handle, i - 1, fields.filter, failure) < 0 then
      group:close()
      failure.pid, failure.cpu, failure.attr = pid, cpu, list[i - 1]
      return nil, core.private_failure_table(failure, options.directory ~= nil)
    end
  end
  return group
end

local function open_handle(group)
  return group.handle or error("this group is closed", 0)
end

--- Starts counting: true, or nil, errno name, number.
function Group:start() return done(C.pmclua_group_start(open_handle(self))) end
function Group:stop() return done(C.pmclua_group_stop(open_handle(self))) end

--- A buffer for one reading of this group, for `read_into`. Opaque: index it through `word` alone.
function Group:buffer() return ffi.new("uint64_t[?]", 2 + self.count) end

--- The buffer of a group without members: no time enabled, none running.
function M.empty_buffer() return ffi.new "uint64_t[2]" end

--- One read of all members into `buffer`: true, or nil, errno name, number. The hot path: no allocation. What
--- a pinned group lost reads as enabled for 1 ns, and never on the PMU.
--- "apart" behind true: its CPU went offline, and `buffer` has what was counted by then.
function Group:read_into(buffer)
  local result = C.pmclua_group_read(open_handle(self), buffer)
  if result < 0 then return refused(result) end
  return true, result == 1 and "apart" or nil
end

--- out = later - earlier.
function Group:subtract(earlier, later, out)
  C.pmclua_reading_delta(earlier, later, out, 2 + self.count)
end

--- A word of a reading, as an exact value: 1 is enabled ns, 2 running ns, 2 + i the i-th member.
function M.word(buffer, index) return exact(buffer[index - 1]) end

--- The same as a plain number (rounded above 2^53).
function M.number(buffer, index) return (tonumber(buffer[index - 1])) end

--- The same as a u64.
function M.raw(buffer, index) return buffer[index - 1] end

--- How it is read, settled when it is first started: "syscall", "user" or "toggle".
function Group:method() return core.private_method(C.pmclua_group_method(open_handle(self))) end

function Group:fd(index) return C.pmclua_group_fd(open_handle(self), index - 1) end

function Group:close() core.private_close(self, C.pmclua_group_close) end

return M
