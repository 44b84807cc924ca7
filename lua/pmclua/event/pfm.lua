--- pfm.lua: events by the names that libpfm4 has for them, "PMU::EVENT:UMASK:attribute=value".
--
-- Asked last, for what perf's grammar does not know, and never for libpfm4's own perf:: PMU, which is
-- case-insensitive and would let "Page-Faults" and "cycles.u" through. libpfm4 is loaded when first asked.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local names = require "pmclua.event.names"
local problem = require "pmclua.event.problem"

local M = {}

-- Fields that an attr may take from libpfm4; whoever opens it sets the rest.
local fields = { "type", "config", "config1", "config2", "config3", "exclude_user", "exclude_kernel",
  "exclude_hv", "exclude_guest", "exclude_host", "exclude_idle", "precise_ip", "pinned", "exclusive" }

-- PFM_ERR_* of perfmon/pfmlib.h.
local UMASK, ATTR = -6, -8
local reasons = {
  [ATTR] = "libpfm4 knows no such unit mask or attribute of this event",
  [UMASK] = "libpfm4 needs a unit mask here, or knows none of these",
  [-5] = "libpfm4 refuses this combination of attributes",
  [-9] = "libpfm4 refuses the value of an attribute",
  [-10] = "an attribute is given twice",
  [-11] = "libpfm4 refuses so many attributes",
}

-- Levels and machines that may not be switched off alone: libpfm4 then excludes the others too, or takes
-- ":mg=0" for ":mg".
local partners = { u = { "k", "h" }, k = { "u", "h" }, h = { "u", "k" }, mg = { "mh" }, mh = { "mg" } }
local refused = {
  freq = "a frequency is for sampling",
  cpu = "the target says which CPU is counted",
  hw_smpl = "hardware sampling is not counting",
}

--- The parts between ":" and ".", with positions: PMU (before "::"), event, then masks and attributes.
local function split(item)
  local pmu, parts = nil, {}
  for i, word in ipairs(item.words) do
    if word.text == "" then
      if i == 2 and #parts == 1 then pmu, parts = parts[1], {} end
    else
      for at, text in word.text:gmatch("()([^.]+)") do
        local key, value = text:match("^([^=]*)=?(.*)$")
        local position = word.position + at - 1
        parts[#parts + 1] = { text = text, key = key:lower(), value = value, position = position }
      end
    end
  end
  return pmu, parts
end

local function is_off(part) return part.value:find "^[0nNfF]" end

local function check(parts)
  local given = lists.by({ unpack(parts, 2) }, "key")
  for key, why in pairs(refused) do
    if given[key] then problem.at(given[key], "%s", why) end
  end
  for key, others in pairs(partners) do
    local part = given[key]
    local is_alone = part and is_off(part)
      and not lists.any(others, function(other) return given[other] and not is_off(given[other]) end)
    if is_alone then
      problem.at(part, "libpfm4 misreads '%s' on its own: name what is to be counted instead", part.text)
    end
  end
  return given
end

--- Whether a PMU of libpfm4 is one of perf's events, which are asked for by perf's names.
---@param pmu string
---@return boolean
function M.is_perf(pmu)
  return pmu == "perf" or pmu == "perf_raw"
end

--- Names of all PMUs that libpfm4 knows; none where it is not installed.
---@return string[]
function M.all_pmus()
  return lists.column(core.pfm.pmus(), "name")
end

--- The PMU of libpfm4 of that name, and the names of all.
---@param name string in any case
---@return { name: string, description: string, pmu: integer, present: boolean }?
---@return string[] all
function M.pmu(name)
  local function is_meant(known) return known.name:lower() == name:lower() end
  return lists.find(core.pfm.pmus(), is_meant), M.all_pmus()
end

--- Names of the events of a PMU.
---@param pmu { pmu: integer }
---@return string[]
function M.event_names(pmu)
  return lists.column(core.pfm.events(pmu.pmu), "name")
end

--- The PMUs of libpfm4 that this machine has, or the one named.
local function searched(pmu)
  return lists.where(core.pfm.pmus(not pmu), function(known)
    return not M.is_perf(known.name) and (not pmu or known.name:lower() == pmu.text:lower())
  end)
end

--- Names of the events of the PMUs that libpfm4 sees here, for hints.
---@return string[]
function M.present_names()
  return lists.joined(lists.map(searched(), M.event_names))
end

local function find_event(pmu, name)
  local function is_meant(event) return event.name:lower() == name:lower() end
  for _, known in ipairs(searched(pmu)) do
    local event = lists.find(core.pfm.events(known.pmu), is_meant)
    if event then return event end
  end
end

-- Points at the first mask or attribute that the event does not have.
local function blame_attribute(pmu, parts, message)
  local event = find_event(pmu, parts[1].text)
  if not event then return end
  local all = lists.column(core.pfm.attributes(event.index), "name")
  local has = lists.set(lists.map(all, string.lower))
  for i = 2, #parts do
    if not has[parts[i].key] then problem.unknown(parts[i], all, "%s", message) end
  end
end

--- libpfm4's description of an event and its unit masks.
---@param full string a full name, as pmclua.Event has it
---@return string
function M.describe(full)
  local pmu, rest = full:match("^(.-)::(.*)$")
  local parts = lists.collect(rest:gmatch "[^:]+")
  local event = find_event({ text = pmu }, parts[1])
  if not event then return "" end
  local texts = { event.description }
  for _, attribute in ipairs(core.pfm.attributes(event.index)) do
    for i = 2, #parts do
      if attribute.is_umask and attribute.name == parts[i] then texts[#texts + 1] = attribute.description end
    end
  end
  return table.concat(texts, ": ")
end

local function blame(item, pmu, parts, code)
  local message = reasons[code] or ("libpfm4 refuses this (error %d)"):format(code)
  if code == ATTR or code == UMASK then blame_attribute(pmu, parts, message) end
  problem.raise(item.position, item.stop - item.position, "%s", message)
end

local function keep(encoded, given)
  local attr = {}
  for _, field in ipairs(fields) do attr[field] = encoded[field] end
  attr.type, attr.config = attr.type or names.TYPE_HARDWARE, attr.config or 0
  if not given.mg and not given.mh then attr.exclude_guest, attr.exclude_host = nil, nil end
  return attr
end

--- Encodes an item by libpfm4; nil where libpfm4 is not installed or knows no such event. Raises a problem
--- where it knows the event and refuses how it was asked for.
---@param item table of the grammar, of words without terms
---@param tree pmclua.event.Tree
---@return table? event
function M.encode(item, tree)
  local pmu, parts = split(item)
  if not parts[1] or pmu and M.is_perf(pmu.text:lower()) then return nil end
  local encoded, full, code = core.pfm.encode(item.text)
  if not encoded then
    if full == "EINVAL" then blame(item, pmu, parts, code) end
    return nil
  end
  if M.is_perf(full:match("^(.-)::")) then return nil end
  local given = check(parts)
  local attr = keep(encoded, given)
  local device = tree:of_type(attr.type)
  -- On Arm, sysfs names the events that this PMU has: the OS kernel opens other codes, too, which then read 0.
  local core_pmu = full:find "^arm" and require "pmclua.event.pmu"
  return {
    source = "pfm", pmu = device and device.name or full:match("^(.-)::"), full = full, attr = attr,
    device = device and device.name, cpus = device and device.cpus, core_cpus = device and device.core_cpus,
    period = given.period and encoded.sample_period,
    verified = not core_pmu or core_pmu.vouches(attr.config, tree),
    absent = core_pmu and core_pmu.why_lacking(attr.config, tree) or nil,
  }
end

return M
