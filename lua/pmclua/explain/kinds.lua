--- kinds.lua: what an attr asks for, as far as the rules need to know.

local lists = require "pmclua.base.lists"

local M = {}

M.HARDWARE, M.SOFTWARE, M.TRACEPOINT, M.CACHE, M.RAW, M.BREAKPOINT = 0, 1, 2, 3, 4, 5

-- Software events that happen inside Linux alone.
local INSIDE_KERNEL = { [3] = "context switches", [4] = "migrations", [11] = "cgroup switches" }
local SAMPLE_RAW = 2 ^ 10

--- The attr's type; 0 where it is not set.
---@param attr table fields by ABI name
---@return integer
function M.type_of(attr) return tonumber(attr.type) or 0 end

--- Whether the PMU of a CPU would count it: a generic, cache or raw event (also with a PMU's type in
--- the upper half of config, as on hybrid machines).
function M.is_core(attr)
  local kind = M.type_of(attr)
  return kind == M.HARDWARE or kind == M.CACHE or kind == M.RAW
end

--- A copy that holds only what is set: no zeros, no booleans.
---@param attr table?
---@return table
function M.set_fields(attr)
  local copy = {}
  for name, value in pairs(attr or {}) do
    if value == true then value = 1 end
    if value and value ~= 0 then copy[name] = value end
  end
  return copy
end

--- A copy with fields changed; false takes a field out.
---@param attr table
---@param changes table<string, any>
---@return table
function M.with(attr, changes)
  local copy = lists.copy(attr)
  for name, value in pairs(changes) do copy[name] = value or nil end
  return copy
end

--- Whether it counts the same whatever is excluded: cpu-clock and task-clock.
---@param attr table
---@return boolean
function M.ignores_exclusion(attr)
  return M.type_of(attr) == M.SOFTWARE and (tonumber(attr.config) or 0) <= 1
end

--- Why the event would always read 0 without the OS kernel; nil where it would not.
---@param failure table
---@return string?
function M.zero_without_kernel(failure)
  local attr = failure.attr
  local inside = M.type_of(attr) == M.SOFTWARE and INSIDE_KERNEL[tonumber(attr.config)]
  if inside then return inside .. " happen inside Linux" end
  local of_calls = (failure.event or ""):find "^raw_syscalls:" or (failure.event or ""):find "^syscalls:"
  if M.type_of(attr) ~= M.TRACEPOINT or of_calls then return nil end
  return "this tracepoint is inside Linux"
end

--- Whether it is an event of a PMU other than a CPU's, of which many take no exclude bit.
function M.never_excludes(attr, facts)
  local pmu = facts.pmu(M.type_of(attr))
  return pmu ~= nil and not pmu.core and M.type_of(attr) > M.BREAKPOINT
end

function M.samples_raw(attr)
  return math.floor((tonumber(attr.sample_type) or 0) / SAMPLE_RAW) % 2 == 1
end

--- Whether a CPU is in a list such as "0-3,8".
---@param cpu integer
---@param list string
---@return boolean
function M.in_list(cpu, list)
  for part in list:gmatch "[^,]+" do
    local first, last = part:match "^%s*(%d+)%-?(%d*)"
    if first and cpu >= tonumber(first) and cpu <= (tonumber(last) or tonumber(first)) then return true end
  end
  return false
end

--- " 6.1.0" of the OS kernel, or nothing.
function M.release(facts) return facts.release and " " .. facts.release or "" end

--- The fields that are set, for a message that can say no more.
function M.fields(attr)
  local list = {}
  for name, value in pairs(attr) do
    if name ~= "size" then
      local form = type(value) == "string" and "%s=%s" or "%s=0x%x"
      list[#list + 1] = form:format(name, value)
    end
  end
  table.sort(list)
  return table.concat(list, " ")
end

return M
