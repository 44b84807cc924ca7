--- try.lua: opens an event to see whether it counts here and now.
--
-- An event is never silently replaced by one that counts something else. An ordinary user's event without modifiers
-- is opened for user space only, with a note; if that would always read 0, it is refused. What is opened has the
-- event's filter beside the fields of the attr.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local kinds = require("pmclua.base.lazy").module "pmclua.explain.kinds"
local probe_kind = require "pmclua.event.probe_kind"

local try = {}

--- Why this attr would always read 0; nil when it may count.
---@param event pmclua.Event
---@param attr table
---@return string?
local function constant_zero(event, attr)
  if attr.exclude_kernel ~= 1 then return nil end
  local why = kinds.zero_without_kernel { attr = attr, event = event.spec }
  return why and "with Linux excluded it would always read 0: " .. why
end

local BREAKPOINT = 5                    -- PERF_TYPE_BREAKPOINT
local NO_EXCEPTION = "this machine sets breakpoints, but their exceptions never arrive (as in some "
  .. "virtual machines)"

local do_fire                           -- found out when it is first asked; nil: not yet

-- Why a breakpoint would always read 0 here; nil where one counts, or none can be set to try.
local function never_fires(attr)
  if tonumber(attr.type) ~= BREAKPOINT then return nil end
  if do_fire == nil then
    local fires, why = core.breakpoints_fire()
    if why then return "whether breakpoints count here is not known: " .. why end
    do_fire = fires ~= false
  end
  return not do_fire and NO_EXCEPTION or nil
end

-- The highest that a PMU may have: perf_event_open(2).
local MOST_PRECISE = 3

-- The attrs to try for an event: one, or with P from the most precise down.
local function candidates(event, attr)
  if not event.precise_max then return { attr } end
  local list = {}
  for level = MOST_PRECISE, 1, -1 do list[#list + 1] = kinds.with(attr, { precise_ip = level }) end
  list[#list + 1] = kinds.with(attr, { precise_ip = false })
  return list
end

-- True, or nil and the failure. Some events open behind a certain leader alone (Intel's topdown-*: slots).
local function opens_one(attr, target, leader)
  local opened, failure = core.open(attr, target)
  if not opened and leader and failure.code == "EINVAL" then opened = core.group({ leader, attr }, target) end
  if opened then opened:close() end
  return opened ~= nil, failure
end

--- The first of the attrs that opens on this thread (or where `target` says); nil and why the last does not.
local function opens(attrs, target, leader)
  local why
  for _, attr in ipairs(attrs) do
    local ok, failure = opens_one(attr, target, leader)
    if ok then return attr end
    why = failure
  end
  return nil, why
end

local function refused(event, failure)
  failure.event, failure.spec = event.name, event.spec
  if failure.filter then
    local tracepoint = require "pmclua.event.tracepoint"
    failure.filter = event.filter
    failure.fields = event.tracepoint and tracepoint.fields(tracepoint.root(), event.tracepoint) or {}
  end
  return { status = "unsupported", why = explain.open(failure) }
end

local function counted(event, attr, note)
  if event.precise_max then
    local precision = "precise_ip " .. (attr.precise_ip or 0)
    note = note and note .. ", " .. precision or precision
  end
  local is_probe = event.caution or probe_kind.of(event)
  local caution = is_probe and require("pmclua.event.probe").caution(event)
  if caution then note = note and note .. "; " .. caution or caution end
  return { status = "counted", attr = attr, note = note }
end

---@class pmclua.event.Trial
---@field status "counted"|"unsupported"|"constant-zero"
---@field attr table? what opens, `filter` in it; of "counted" alone
---@field note string? what was changed for it
---@field why pmclua.Problem|string|nil of the others

--- Tries an event.
---@param event pmclua.Event
---@param target? { pid?: integer, cpu?: integer } default: this thread
---@param leader? table the attr that its group's leader opened with
---@return pmclua.event.Trial
function try.event(event, target, leader)
  if event.tool then return { status = "counted", note = require("pmclua.event.tool").note(event) } end
  if event.source == "syscalls" then return require("pmclua.event.system_call").try() end
  if event.simulated then return require("pmclua.event.simulated").try(event) end
  if event.absent then return { status = "unsupported", why = event.absent } end
  local zero = constant_zero(event, event.attr)
  if zero then return { status = "constant-zero", why = zero } end
  local asked = event.filter and kinds.with(event.attr, { filter = event.filter }) or event.attr
  local attr, failure = opens(candidates(event, asked), target, leader)
  local silent = attr and never_fires(attr)
  if silent then return { status = "constant-zero", why = silent } end
  if attr then return counted(event, attr) end
  local has_exclusion = asked.exclude_user or asked.exclude_kernel or asked.exclude_hv
  if failure.code ~= "EACCES" or has_exclusion then return refused(event, failure) end

  local of_user = kinds.with(asked, { exclude_kernel = 1, exclude_hv = false })
  attr = opens(candidates(event, of_user), target, leader)
  if not attr then return refused(event, failure) end
  if constant_zero(event, attr) then
    return { status = "constant-zero", why = refused(event, failure).why }
  end
  local is_less = not kinds.ignores_exclusion(attr)
  return counted(event, attr, is_less and "user space only (as an ordinary user)" or nil)
end

-- Whether a started group is on the PMU. A counter that somebody else holds shows only as a group that
-- never runs; this thread is on its CPU, so that a group which fits runs at once.
local function is_running(group)
  local buffer = group:buffer()
  for _ = 1, 3 do
    group:read_into(buffer)
    if core.number(buffer, 2) > 0 then return true end
  end
  return false
end

--- True when these groups open beside each other, and are all on the PMU when they run.
---@param lists table[][] attrs of each; `target`: where it opens, by default on this thread;
---   `is_elsewhere`: it counts on some CPUs alone, where this thread need not be
---@return boolean fits
---@return table? failure of opening, with `index` and `group`; nil when they opened and one never ran
function try.groups(lists)
  local groups, fits, failure = {}, true, nil
  for i, attrs in ipairs(lists) do
    groups[i], failure = core.group(attrs, attrs.target)
    if not groups[i] then
      failure.group, fits = i, false
      break
    end
    groups[i]:start()
  end
  for i, group in ipairs(groups) do fits = fits and (lists[i].is_elsewhere or is_running(group)) end
  for i = #groups, 1, -1 do groups[i]:close() end
  return fits, failure
end

--- True when these attrs open together as one group, and are on the PMU when they run.
---@param attrs table[]
---@param target? { pid?: integer, cpu?: integer }
---@return boolean fits
---@return table? failure of opening, with `index`; nil when it opened and never ran
function try.group(attrs, target)
  return try.groups { { target = target, unpack(attrs) } }
end

return try
