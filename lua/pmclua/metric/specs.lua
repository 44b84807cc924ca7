--- specs.lua: names in vendors' formulae to specs of events.
--
-- Formulae are about raw counts: an event with a scale is asked for without it. A term that a table's event has
-- itself is joined with the formula's, bit by bit, as perf does ("EXE_ACTIVITY.3_PORTS_UTIL,umask=0x80" is of umask
-- 0x88).

local bit = require "bit"
local core = require "pmclua.core"
local event = require "pmclua.event"
local lists = require "pmclua.base.lists"
local vendor = require "pmclua.vendor"

local M = {}

-- ---- terms ---------------------------------------------------------------------------------------------

local function term_value(terms, name)
  for term in terms:gmatch "[^,]+" do
    local key, value = term:match "^([^=]+)=?(.*)$"
    if key == name then return core.u64(value == "" and "1" or value) end
  end
end

-- The terms that a word of a list is short for, where tables have it.
local function tabled_terms(list)
  for word in list:gmatch "[^,]+" do
    local record = not word:find("=", 1, true) and vendor.tables():events(word)[1]
    if record then return record.terms end
  end
end

local function joined_term(term, terms)
  local key, value = term:match "^([^=]+)=(.*)$"
  local own = key and term_value(terms, key)
  local given = own and core.u64(value)
  if not given then return term end
  return ("%s=0x%x"):format(key, bit.bor(0ULL + own, 0ULL + given))
end

local function joined_terms(list, terms)
  return (list:gsub("[^,]+", function(term) return joined_term(term, terms) end))
end

-- ---- specs ---------------------------------------------------------------------------------------------

--- A formula's name as a spec: on a hybrid CPU of the formula's kind of core.
---@param name string
---@param pmu? string
---@return string
function M.of(name, pmu)
  local head, list, modifiers = name:match "^([^/]*)/(.*)/([%a]*)$"
  if not head then
    local word, letters = name:match "^([^:]+):?(%a*)$"
    if pmu and word then return ("%s/%s/%s"):format(pmu, word, letters) end
    return name
  end
  local terms = tabled_terms(head .. "," .. list)
  if terms then list = joined_terms(list, terms) end
  return ("%s/%s/%s"):format(head, list, modifiers)
end

-- "event=0x35,config=0x40433" joined bit by bit, too: pmclua refuses what contradicts itself.
local function with_joined_config(spec)
  local head, list, modifiers = spec:match "^([^/]*)/(.*)/([%a]*)$"
  local given = list and ("," .. list):match ",config=([^,]+)"
  local rest = given and ("," .. list):gsub(",config=[^,]+", ""):sub(2)
  local events = rest and rest ~= "" and event.parse(("%s/%s/"):format(head, rest))
  local config, word = events and events[1].attr and events[1].attr.config, given and core.u64(given)
  if not config or not word then return nil end
  local parts = { ("config=0x%x"):format(bit.bor(0ULL + config, 0ULL + word)) }
  for _, field in ipairs { "config1", "config2" } do
    local value = events[1].attr[field]
    parts[#parts + 1] = value and ("%s=0x%x"):format(field, value) or nil
  end
  return ("%s/%s/%s"):format(head, table.concat(parts, ","), modifiers)
end

-- The same events without a scale: their configs, under a label.
local function unscaled(name, events)
  local first, parts = events[1], {}
  for _, field in ipairs { "config", "config1", "config2" } do
    local value = first.attr[field]
    local is_said = value and (value ~= 0 or field == "config")
    parts[#parts + 1] = is_said and ("%s=0x%x"):format(field, value) or nil
  end
  local pmu = #events > 1 and first.pmu:gsub("_?%d+$", "") or first.pmu
  local label = name:gsub("[^%w_]+", "_"):gsub("^_+", ""):gsub("_+$", "")
  local spec = ("%s = %s/%s/"):format(label, pmu, table.concat(parts, ","))
  return spec, event.parse(spec)
end

local function is_scaled(events)
  return lists.any(events, function(needed) return needed.scale ~= 1 and needed.attr end)
end

--- The spec and the events of a name in a formula; without events, why.
---@param name string
---@param pmu? string the formula's kind of core
---@return string spec
---@return pmclua.Event[]? events
---@return string? why
function M.resolve(name, pmu)
  local spec = M.of(name, pmu)
  local events, problem = event.parse(spec)
  if not events and spec ~= name then
    -- An event of no kind of core: of an uncore PMU, software.
    local others = event.parse(M.of(name))
    if others then spec, events = M.of(name), others end
  end
  -- To newer perf "TSC" is sysfs's "tsc".
  local lower = not events and name:find "^%u+$" and event.parse(name:lower())
  if lower then spec, events = name:lower(), lower end
  local joined = not events and with_joined_config(spec)
  if joined then spec, events = joined, event.parse(joined) end
  if not events then return spec, nil, problem.message end
  if is_scaled(events) then
    local bare, raw = unscaled(name, events)
    if raw then spec, events = bare, raw end
  end
  return spec, events
end

--- Whether an identifier of Arm's is this CPU's.
---@param pattern string
---@return boolean
function M.is_this_cpu(pattern)
  local cpu = require "pmclua.vendor.cpu"
  local identifier = cpu.identifier(os.getenv "SYSFS_PATH" or "/sys") or ""
  return cpu.is_same_arm(pattern, identifier) or cpu.matches(pattern, identifier)
end

return M
