--- list.lua: lists and searches all events, by source.
--
-- Invariant: the spec of an entry works as it is if its source is present; but an event of libpfm4 may need a
-- unit mask, and a "?" stands for a number.

local cache = require "pmclua.event.cache"
local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local names = require "pmclua.event.names"
local sysfs = require "pmclua.event.sysfs"
local text = require "pmclua.base.text"
local tool = require "pmclua.event.tool"

local M = {}

---@class pmclua.event.Entry
---@field spec string what to ask for
---@field name string as it is known
---@field source "hardware"|"software"|"cache"|"tool"|"valgrind"|"syscalls"|"pmu"|"tracepoint"|"vendor"|"pfm"
---@field pmu string? sysfs or libpfm4 PMU, system of a tracepoint
---@field description string "" where nobody says what it is
---@field present boolean false: of a PMU that libpfm4 knows and this machine has not

---@class pmclua.event.Filter
---@field source string? only this source
---@field pmu string? only of this PMU or tracepoint system: a name, or a glob
---@field words string[]? only where each of them is in the name or the description
---@field all boolean? libpfm4's events for other machines too
---@field available boolean? only what opens on this machine, of a code that the PMU is known to have
---@field sysfs string? as for parse
---@field tracefs string? as for parse

local function add(list, source, pmu, name, spec, description, present)
  if not list.wanted(pmu) then return end
  -- Born with its fields: a table that gets them one by one costs four times as much.
  local entry = { source = false, pmu = false, name = false, spec = false, description = "", present = true }
  entry.source, entry.pmu, entry.name, entry.spec = source, pmu, name, spec
  entry.description, entry.present = description or "", present ~= false
  list[#list + 1] = entry
end

local function add_generic(list, source, rows)
  for _, row in ipairs(rows) do
    local also = row[2] and ("; also %s"):format(row[2]) or ""
    add(list, source, source == "hardware" and "cpu" or "software", row[1], row[1], row[4] .. also)
  end
end

local cache_words = {
  { "loads", "reads of the %s" }, { "load-misses", "reads that miss the %s" },
  { "stores", "writes of the %s" }, { "store-misses", "writes that miss the %s" },
  { "prefetches", "prefetches by the %s" }, { "prefetch-misses", "prefetches that miss the %s" },
}
local cache_names = {
  ["L1-dcache"] = "level 1 data cache", ["L1-icache"] = "level 1 instruction cache", LLC = "last-level cache",
  dTLB = "data TLB", iTLB = "instruction TLB", branch = "branch prediction unit", node = "local memory",
}

--- The description of a cache event, by its usual name.
---@param name string
---@return string?
function M.cache_description(name)
  for _, row in ipairs(cache_words) do
    local of = name:match("^(.+)%-" .. row[1]:gsub("%-", "%%-") .. "$")
    if of and cache_names[of] then return row[2]:format(cache_names[of]) end
  end
end

local sources = {}

function sources.hardware(list) add_generic(list, "hardware", names.hardware) end
function sources.software(list) add_generic(list, "software", names.software) end

function sources.cache(list)
  for _, row in ipairs(cache.all()) do
    add(list, "cache", "cpu", row.name, row.name, M.cache_description(row.name))
  end
end

function sources.tool(list)
  for _, row in ipairs(tool.events) do add(list, "tool", nil, row[1], row[1], row[4]) end
end

function sources.valgrind(list)
  local simulated = require "pmclua.event.simulated"
  for _, row in ipairs(simulated.events) do
    local spec = simulated.spec(row[1])
    add(list, "valgrind", simulated.PMU, spec, spec, row[3])
  end
end

function sources.syscalls(list)
  local system_call = require "pmclua.event.system_call"
  for _, name in ipairs(system_call.names()) do
    local spec = system_call.spec(name)
    add(list, "syscalls", system_call.PMU, spec, spec, system_call.description { simulated = { name } })
  end
end

-- Equal PMUs (uncore_imc_0, _1 …) are listed once, under the name that means all of them.
local function representatives(tree)
  local list, by_stem = {}, {}
  for _, name in ipairs(tree:names()) do
    local stem = sysfs.stem(name)
    if by_stem[stem] then
      by_stem[stem].name = stem
    else
      by_stem[stem] = { name = name, pmu = tree:pmu(name) }
      list[#list + 1] = by_stem[stem]
    end
  end
  return list
end

-- ",rev=?" where the user must say what rev is.
local function open_terms(terms)
  local open = ""
  for term in terms:gmatch("[^,]+") do
    if term:find "^[%w_.-]+=%?$" then open = open .. "," .. term end
  end
  return open
end

function sources.pmu(list, filter)
  for _, device in ipairs(representatives(sysfs.tree(filter.sysfs))) do
    if device.pmu and list.wanted(device.name) then
      for _, alias in ipairs(device.pmu:alias_names()) do
        local terms = device.pmu:alias_terms(alias) or ""
        local spec = ("%s/%s%s/"):format(device.name, alias, open_terms(terms))
        add(list, "pmu", device.name, spec, spec, text.safe(terms))
      end
    end
  end
end

function sources.tracepoint(list, filter)
  local tracepoint = require "pmclua.event.tracepoint"
  for _, name in ipairs(tracepoint.all(tracepoint.root(filter))) do
    add(list, "tracepoint", name:sub(1, name:find(":", 1, true) - 1), name, name)
  end
end

-- Where something is searched for, or tried, each unit mask is an event of its own.
local function add_masks(list, pmu, event)
  for _, attribute in ipairs(core.pfm.attributes(event.index)) do
    if attribute.is_umask then
      local name = ("%s:%s"):format(event.name, attribute.name)
      add(list, "pfm", pmu.name, name, ("%s::%s"):format(pmu.name, name),
        ("%s: %s"):format(event.description or "", attribute.description or ""), pmu.present)
    end
  end
end

-- Equal PMUs are listed once, as for sysfs's own events; events that tables call deprecated are listed with
-- --all.
function sources.vendor(list, filter)
  local tree = sysfs.tree(filter.sysfs)
  local vendor, first = require "pmclua.event.vendor", {}
  for record in require("pmclua.vendor").tables(tree.root):each_event() do
    local unit = record.pmu or ""
    if first[unit] == nil then first[unit] = vendor.of_unit(tree, record.pmu)[1] or false end
    local pmu = first[unit]
    if pmu and (filter.all or not record.deprecated) and vendor.fits(pmu, record.terms) then
      add(list, "vendor", sysfs.stem(pmu.name), record.name, record.name, text.safe(record.description or ""))
    end
  end
end

function sources.pfm(list, filter)
  for _, pmu in ipairs(core.pfm.pmus(not filter.all)) do
    local is_perfs_own = pmu.name == "perf" or pmu.name == "perf_raw"
    if not is_perfs_own and list.wanted(pmu.name) then
      for _, event in ipairs(core.pfm.events(pmu.pmu)) do
        add(list, "pfm", pmu.name, event.name, ("%s::%s"):format(pmu.name, event.name), event.description,
          pmu.present)
        if (filter.words or filter.available) and pmu.present then add_masks(list, pmu, event) end
      end
    end
  end
end

--- The sources in the order in which they are listed.
M.sources = { "hardware", "software", "cache", "tool", "pmu", "tracepoint", "vendor", "pfm", "valgrind",
  "syscalls" }

local function pmu_filter(glob)
  if not glob then return function() return true end end
  return function(name)
    return name ~= nil and (name == glob or sysfs.stem(name) == glob or sysfs.matches(glob, name))
  end
end

local function has_all(words, patterns)
  return lists.all(patterns, function(pattern) return words:find(pattern) end)
end

-- Matches of names come before matches of descriptions. "branch miss" finds "branch-misses" and
-- "BR_MISP: branch mispredictions, or missed".
local function search(list, words)
  local called, described = {}, {}
  local patterns = lists.map(words, function(word)
    return (word:lower():gsub("[^%w%s_-]", "%%%0"):gsub("[-_%s]", "[-_ ]"))
  end)
  for _, entry in ipairs(list) do
    local name = entry.name:lower()
    if has_all(name, patterns) then
      called[#called + 1] = entry
    elseif has_all(("%s %s %s"):format(name, entry.description:lower(), entry.pmu or ""), patterns) then
      described[#described + 1] = entry
    end
  end
  return lists.append(called, described)
end

-- One tracepoint stands for all: what forbids one forbids all, and closing one takes the OS kernel 30 ms.
local function only_available(list)
  local available, tracepoints = require("pmclua.event").available, nil
  return lists.where(list, function(entry)
    if entry.source ~= "tracepoint" then return available(entry.spec, true) end
    if tracepoints == nil then tracepoints = available(entry.spec) end
    return tracepoints
  end)
end

-- Why a source gives nothing, where it might have had something.
local silences = {}

function silences.tracepoint(filter)
  local tracepoint = require "pmclua.event.tracepoint"
  local root = tracepoint.root(filter)
  if core.read_beginning(root .. "/available_events", 0) then return nil end
  return ("tracepoints are not listed: this user may not read %s, or it is not mounted"):format(root)
end

function silences.pmu()
  local unread = sysfs.unread
  if #unread == 0 then return nil end
  return ("events of PMUs may be missing: %s%s"):format(unread[1],
    #unread > 1 and (", and %d others"):format(#unread - 1) or "")
end

-- Said to whoever asks for them: no perf, or a CPU that perf does not know, is no mistake. A list that was cut is one.
function silences.vendor(filter)
  local vendor = require "pmclua.vendor"
  local tables = vendor.tables(sysfs.tree(filter and filter.sysfs).root)
  local is_asked = vendor.are_asked() or filter and filter.source == "vendor"
  if not is_asked and not tables.is_cut then return nil end
  if tables.absent then return "vendors' events are not listed: " .. tables.absent end
  local problems = tables.problems
  if #problems == 0 then return nil end
  return ("vendors' events may be missing: %s%s"):format(text.safe(problems[1]),
    #problems > 1 and ", and " .. text.plural(#problems - 1, "more problem") or "")
end

function silences.pfm()
  if core.pfm.is_installed() then return nil end
  return "events with vendors' names are not listed: " .. require("pmclua.base.packages").missing "libpfm4"
end

local UNCONFIRMED = "vendors' events whose codes nothing confirms are not listed: an Arm PMU opens "
  .. "codes that it lacks and counts 0"

-- Events that a list of available ones leaves out.
local function unconfirmed(filter)
  local source, tree = filter.source or "vendor", sysfs.tree(filter.sysfs)
  if not filter.available or source ~= "vendor" and source ~= "pfm" then return nil end
  local is_arm = require("pmclua.event.architectural").is_arm
  local has_arm = lists.any(tree:core_pmus(), function(pmu) return is_arm(pmu.name) end)
  return has_arm and UNCONFIRMED or nil
end

--- The parts of a list that were asked for and are missing, and why.
---@param filter pmclua.event.Filter?
---@return string[]
function M.silences(filter)
  local reasons = {}
  for _, source in ipairs(M.sources) do
    local is_wanted = silences[source] and (not filter or not filter.source or filter.source == source)
    reasons[#reasons + 1] = is_wanted and silences[source](filter) or nil
  end
  reasons[#reasons + 1] = unconfirmed(filter or {})
  return reasons
end

--- Events by source, in a fixed order; with words, the best matches first.
---@param filter pmclua.event.Filter?
---@return pmclua.event.Entry[]
function M.all(filter)
  filter = filter or {}
  local list = { wanted = pmu_filter(filter.pmu) }
  for _, source in ipairs(M.sources) do
    if not filter.source or filter.source == source then sources[source](list, filter) end
  end
  list.wanted = nil
  if filter.words then list = search(list, filter.words) end
  return filter.available and only_available(list) or list
end

return M
