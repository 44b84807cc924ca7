--- json.lua: encoded events for other programs: `pmclua events --encode SPEC --json`.
--
-- The order of keys is fixed, 64-bit words are "0x…" strings, everything else is a number, a string or
-- null. Only breakpoints have breakpoint fields; only probes have uprobe_path or kprobe_func, at the end.

local lists = require "pmclua.base.lists"
local names = require "pmclua.event.names"
local quote = require("dkjson").quotestring

local M = {}

local bits = { "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle", "exclude_guest",
  "exclude_host", "precise_ip", "pinned", "exclusive" }

local function word(value)
  return value and ('"0x%x"'):format(value) or "null"
end

local function text(value)
  return value and quote(value) or "null"
end

local function integer(value)
  return value and ("%d"):format(value) or "null"
end

-- perf prints the two clocks, which count nanoseconds, in milliseconds.
local function unit_of(event)
  local is_clock = event.unit == "ns" and event.attr and names.unit(event.attr) == "ns"
  if is_clock then return "msec", 1e-6 end
  return event.unit, event.scale
end

local function event_line(event)
  local attr = event.attr
  local unit, scale = unit_of(event)
  local is_breakpoint = attr and attr.bp_type ~= nil
  local function config(field)
    if not attr or is_breakpoint and (field == "config1" or field == "config2") then return "null" end
    return word(attr[field] or 0)
  end
  local parts = {
    { "name", text(event.name) },
    { "type", integer(attr and attr.type) },
    { "config", config("config") }, { "config1", config("config1") },
    { "config2", config("config2") }, { "config3", config("config3") },
    { "bp_type", integer(is_breakpoint and attr.bp_type or nil) },
    { "bp_addr", word(is_breakpoint and attr.bp_addr or nil) },
    { "bp_len", integer(is_breakpoint and attr.bp_len or nil) },
  }
  for _, field in ipairs(bits) do parts[#parts + 1] = { field, integer(attr and (attr[field] or 0)) } end
  lists.append(parts, {
    { "leader", integer(event.leader and event.leader - 1) },
    { "unit", text(unit) },
    { "scale", ("%.17g"):format(scale) },
    { "pmu", text(event.pmu) },
    { "cpus", text(event.cpus) },
  })
  for _, field in ipairs({ "uprobe_path", "kprobe_func" }) do
    if attr and attr[field] then parts[#parts + 1] = { field, text(attr[field]) } end
  end
  local function spelled(part) return ('"%s":%s'):format(part[1], part[2]) end
  return "{" .. table.concat(lists.map(parts, spelled), ",") .. "}"
end

--- The line that `pmclua events --encode SPEC --json` prints. `leader` counts from 0, as JSON arrays do.
---@param events pmclua.Event[]
---@param spec string as asked
---@return string
function M.encode(events, spec)
  return ('{"spec":%s,"events":[%s]}'):format(quote(spec), table.concat(lists.map(events, event_line), ","))
end

return M
