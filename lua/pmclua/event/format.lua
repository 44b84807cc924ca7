--- format.lua: an event back to a spec that is encoded as the same attr.
--
-- Types that the OS kernel hands out anew at each boot are written by the PMU's name, tracepoints by theirs.

local breakpoint = require "pmclua.event.breakpoint"
local cache = require "pmclua.event.cache"
local lists = require "pmclua.base.lists"
local modifier = require "pmclua.event.modifier"
local names = require "pmclua.event.names"
local tool = require "pmclua.event.tool"

local M = {}

local function hex(value)
  return ("0x%x"):format(value)
end

local config_words = { "config1", "config2", "config3", "config4" }

-- "config1=0x1,period=100": what a name alone does not say.
local function extra_terms(event)
  local terms = {}
  for _, field in ipairs(config_words) do
    local value = event.attr[field]
    if value and value ~= 0 then terms[#terms + 1] = field .. "=" .. hex(value) end
  end
  if event.period then terms[#terms + 1] = "period=" .. hex(event.period) end
  if event.percore then terms[#terms + 1] = "percore" end
  return terms
end

local function with_terms(head, event)
  local terms, letters = extra_terms(event), modifier.format(event)
  if #terms > 0 then return ("%s/%s/%s"):format(head, table.concat(terms, ","), letters) end
  return letters == "" and head or head .. ":" .. letters
end

local function by_config(event)
  local terms = { "config=" .. hex(event.attr.config), unpack(extra_terms(event)) }
  return ("%s/%s/%s"):format(event.pmu, table.concat(terms, ","), modifier.format(event))
end

local function format_breakpoint(event)
  local attr, letters = event.attr, modifier.format(event)
  if attr.bp_type == 0 or attr.config ~= 0 then
    local plain = lists.copy(event)
    plain.pmu, plain.attr = "breakpoint", lists.copy(attr)
    plain.attr.config1, plain.attr.config2 = attr.bp_addr, attr.bp_len
    return by_config(plain)
  end
  return ("mem:%s/%d:%s%s"):format(hex(attr.bp_addr), attr.bp_len, breakpoint.access(attr.bp_type),
    letters == "" and "" or ":" .. letters)
end

local function format_tracepoint(event)
  if not event.tracepoint then return with_terms("2:" .. hex(event.attr.config), event) end
  if event.filter then
    return ("%s/filter='%s'/%s"):format(event.tracepoint, event.filter, modifier.format(event))
  end
  return with_terms(event.tracepoint, event)
end

local function format_probe(event)
  local attr, terms = event.attr, {}
  if attr.config ~= 0 then terms[1] = "config=" .. hex(attr.config) end
  if attr.uprobe_path then terms[#terms + 1] = ("path='%s'"):format(attr.uprobe_path) end
  if attr.kprobe_func then terms[#terms + 1] = ("func='%s'"):format(attr.kprobe_func) end
  local has_place = attr.uprobe_path or attr.kprobe_func
  terms[#terms + 1] = ("%s=%s"):format(has_place and "offset" or "addr", hex(attr.config2 or 0))
  lists.append(terms, extra_terms { attr = {}, period = event.period, percore = event.percore })
  return ("%s/%s/%s"):format(event.pmu, table.concat(terms, ","), modifier.format(event))
end

-- The generic name of a config without terms of its own, if it has one.
local function generic_name(attr)
  if type(attr.config) ~= "number" then return nil end
  if attr.type == names.TYPE_CACHE then return cache.name_of(attr.config) end
  return attr.type <= names.TYPE_SOFTWARE and names.name_of(attr.type, attr.config) or nil
end

local function format_numeric(event)
  local attr = event.attr
  if attr.type == names.TYPE_RAW then return with_terms(("r%x"):format(attr.config), event) end
  local name = attr.type <= names.TYPE_CACHE and attr.type ~= names.TYPE_TRACEPOINT and generic_name(attr)
  return with_terms(name or ("%d:%s"):format(attr.type, hex(attr.config)), event)
end

--- A spec that is encoded as the same attr. It is the plainest one, not the one that was asked.
---@param event pmclua.CodedEvent
---@return string
function M.event(event)
  if event.source == "tool" then return tool.name_of(event.tool) end
  if event.simulated then return (event.spec:gsub("^.-=%s*", "")) end
  if event.source == "probe" then return format_probe(event) end
  local type = event.attr and event.attr.type
  if not type then require("pmclua.base.problem").misuse "this event has no attr that a spec could be of" end
  if type == names.TYPE_BREAKPOINT then return format_breakpoint(event) end
  if type == names.TYPE_TRACEPOINT then return format_tracepoint(event) end
  if event.source == "pmu" and event.pmu or event.device or event.source == "raw" and event.core_cpus then
    return by_config(event)
  end
  return format_numeric(event)
end

--- The same for a list with its groups.
---@param events pmclua.Event[]
---@return string
function M.list(events)
  local parts, open = {}, nil
  for i, event in ipairs(events) do
    local follower = events[i + 1] and events[i + 1].leader
    local text = M.event(event)
    if follower == i then
      text, open = ("%s{%s"):format(event.group or "", text), i
    end
    if open and follower ~= open then text, open = text .. "}", nil end
    parts[i] = text
  end
  return table.concat(parts, ",")
end

return M
