--- pmu.lua: simulates a PMU with few counters, through the core's table of system calls.
--
-- Hardware events are opened as task-clock instead, so they open, run and are read like real ones; their
-- counts mean nothing. Only this process sees the PMU: the runner has its own table.

local ffi = require "ffi"
local core = require "pmclua.core"
local support = require "tests.support"

local M = {}

local EINVAL, EOPNOTSUPP = 22, 95
local TASK_CLOCK = 1

---@class support.Pmu
---@field counters integer how many hardware events a group may have
---@field precise? integer the highest precise_ip; default 0
---@field own? table<integer, boolean> configs that have a counter of their own, one each
--- Events of the kinds of cores of a hybrid CPU (the upper half of config) are in no group together.
---@field led? table<integer, integer> configs that open only in a group whose leader has this config

local function fields_of(attr)
  local value, fields = ffi.new "uint64_t[1]", {}
  for _, name in ipairs { "type", "config", "precise_ip" } do
    ffi.C.pmclua_attr_get(attr, name, value)
    fields[name] = tonumber(value[0])
  end
  return fields
end

local function as_task_clock(attr)
  local copy = ffi.new "struct pmclua_attr"
  ffi.copy(copy, attr, ffi.sizeof(copy))
  for name, value in pairs { type = 1, config = TASK_CLOCK, precise_ip = 0, exclude_hv = 0 } do
    ffi.C.pmclua_attr_set(copy, name, value)
  end
  return copy
end

-- Why an event does not open in its group, as -errno; 0: it does.
local function refusal(pmu, fields, group)
  local leader, kind = pmu.led and pmu.led[fields.config], math.floor(fields.config / 2 ^ 32)
  if group.kind and kind ~= group.kind then return -EINVAL end
  group.kind = kind
  if fields.precise_ip > (pmu.precise or 0) then return -EOPNOTSUPP end
  local has_own = pmu.own and pmu.own[fields.config]
  if has_own and group.own[fields.config] then return -EINVAL end
  if not has_own and group.members >= pmu.counters then return -EINVAL end
  return leader and group.leader ~= leader and -EINVAL or 0
end

-- What perf_event_open does; `groups` knows the leader and the hardware events of each leader's descriptor.
local function opener(pmu, real, real_close, groups)
  return function(attr, pid, cpu, group_fd, flags)
    local fields = fields_of(attr)
    if fields.type ~= 0 then return real(attr, pid, cpu, group_fd, flags) end
    local fd = real(as_task_clock(attr), pid, cpu, group_fd, flags)     -- permission is checked first
    if fd < 0 then return fd end
    local group = groups[group_fd]
      or { members = 0, own = {}, leader = group_fd < 0 and fields.config or nil }
    local why = refusal(pmu, fields, group)
    if why < 0 then
      real_close(fd)
      return why
    end
    if pmu.own and pmu.own[fields.config] then group.own[fields.config] = true
    else group.members = group.members + 1 end
    groups[group_fd >= 0 and group_fd or fd] = group
    return fd
  end
end

--- Calls `fn` on such a machine and puts everything back, whatever happens.
---@param pmu support.Pmu
---@param fn fun()
function M.with(pmu, fn)
  local system, groups = ffi.C.pmclua_system, {}
  local real_open, real_close = system.perf_event_open, system.close
  local open = ffi.cast("int (*)(const struct pmclua_attr *, int32_t, int32_t, int32_t, uint32_t)",
    opener(pmu, real_open, real_close, groups))
  local close = ffi.cast("int (*)(int32_t)", function(fd)
    groups[fd] = nil
    return real_close(fd)
  end)
  system.perf_event_open, system.close = open, close
  local ok, why = support.interpreted(fn)
  collectgarbage()                              -- what was left open is closed while it is known
  system.perf_event_open, system.close = real_open, real_close
  open:free()
  close:free()
  if not ok then error(why, 0) end
end

assert(core.version)                            -- the declarations are the core's

return M
