--- try.lua: what the OS kernel makes of an event here and now, found by opening it.
--
-- An event is never silently changed into one that would count something else: an ordinary user's event
-- without modifiers is opened for user space alone, and says so; where that would always read 0 it is
-- refused instead.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local kinds = require "pmclua.explain.kinds"

local try = {}

--- Why this attr would always read 0; nil when it may count.
---@param event pmclua.Event
---@param attr table
---@return string?
local function constant_zero(event, attr)
  if attr.exclude_kernel ~= 1 then return nil end
  local why = kinds.zero_without_kernel { attr = attr, event = event.spec }
  return why and "with the OS kernel excluded it would always read 0: " .. why
end

local function copy(fields)
  local out = {}
  for name, value in pairs(fields) do out[name] = value end
  return out
end

local function has_exclusion(attr)
  return attr.exclude_user or attr.exclude_kernel or attr.exclude_hv
end

--- True, or nil and the failure, of opening one attr on this thread (or where `target` says).
local function opens(attr, target)
  local event, failure = core.open(attr, target)
  if event then event:close() end
  return event ~= nil, failure
end

local function refused(event, failure)
  failure.event = event.name
  return { status = "unsupported", why = explain.open(failure) }
end

--- Tries an event.
---@param event pmclua.Event
---@param target? { pid?: integer, cpu?: integer } default: this thread
---@return { status: "counted"|"unsupported"|"constant-zero", attr?: table, why?: table|string, note?: string }
---   status "counted": it opens, with `attr`; `note` says what was changed for it
function try.event(event, target)
  if event.tool then return { status = "counted" } end
  local zero = constant_zero(event, event.attr)
  if zero then return { status = "constant-zero", why = zero } end
  local ok, failure = opens(event.attr, target)
  if ok then return { status = "counted", attr = event.attr } end
  if failure.code ~= "EACCES" or has_exclusion(event.attr) then return refused(event, failure) end

  local attr = copy(event.attr)
  attr.exclude_kernel, attr.exclude_hv = 1, nil
  ok = opens(attr, target)
  if not ok then return refused(event, failure) end
  if constant_zero(event, attr) then
    return { status = "constant-zero", why = refused(event, failure).why }
  end
  return { status = "counted", attr = attr, note = "user space only (as an ordinary user)" }
end

--- True when these attrs open together as one group, and are on the PMU when they run.
---@param attrs table[]
---@param target? { pid?: integer, cpu?: integer }
---@return boolean fits
---@return table? failure of opening, with `index`; nil when it opened and never ran
function try.group(attrs, target)
  local group, failure = core.group(attrs, target)
  if not group then return false, failure end
  local room = group:room()
  group:start()
  -- A counter that somebody else holds shows only as a group that never runs; this thread is on its CPU,
  -- so that a group which fits runs at once.
  for _ = 1, 3 do
    group:read_into(room)
    if core.number(room, 2) > 0 then break end
  end
  local ran = core.number(room, 2) > 0
  group:close()
  return ran
end

return try
