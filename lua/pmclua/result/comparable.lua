--- comparable.lua: whether two results counted the same thing in the same way.
--
-- Invariant: counts are compared only if the event has the same unit and meaning in both: what was excluded (Linux,
-- guests), how it was encoded, and what a value refers to. Otherwise the reason says what differs.

local core = require "pmclua.core"
local kinds = require "pmclua.explain.kinds"
local lists = require "pmclua.base.lists"
local shellwords = require("pmclua.base.lazy").module "pmclua.workload.shellwords"

local M = {}

local EXCLUSIONS = { "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle", "exclude_guest",
  "exclude_host" }
-- A config is the PMU's code; ids of tracepoints, addresses and places in programs change from day to day.
local ENCODING = { "config", "config1", "config2", "config3", "precise_ip" }
local TRACEPOINT, BREAKPOINT = 2, 5

-- A member of an attr as a text; absent, false and 0 are the same to perf_event_open.
local function word(value)
  if value == nil or value == false then return "0" end
  if value == true then return "1" end
  return type(value) == "cdata" and core.decimal(value) or tostring(value)
end

local function is_set(attr, name) return word(attr[name]) ~= "0" end

local function levels_of(attr)
  local user, linux = not is_set(attr, "exclude_user"), not is_set(attr, "exclude_kernel")
  if user and linux then return "user space and Linux" end
  return user and "user space only" or linux and "Linux only" or "neither user space nor Linux"
end

local function excludes_alike(event, other)
  if kinds.ignores_exclusion(event) and kinds.ignores_exclusion(other) then return nil end
  local ours, theirs = levels_of(event), levels_of(other)
  if ours ~= theirs then return ours, theirs end
  for _, name in ipairs(EXCLUSIONS) do
    -- An ordinary user's events exclude the hypervisor, whose work is not seen from within anyway.
    local differs = name ~= "exclude_hv" and is_set(event, name) ~= is_set(other, name)
    if differs then return name .. " " .. word(event[name]), name .. " " .. word(other[name]) end
  end
end

local function is_encoded(event) return event.attr and event.source ~= "probe" end

local function encoded_alike(event, other)
  if not (is_encoded(event) and is_encoded(other)) then return nil end
  local kind = kinds.type_of(event.attr)
  if kind == TRACEPOINT or kind == BREAKPOINT then return nil end
  for _, name in ipairs(ENCODING) do
    local ours, theirs = word(event.attr[name]), word(other.attr[name])
    if ours ~= theirs then return ("%s %s"):format(name, ours), ("%s %s"):format(name, theirs) end
  end
end

-- The event behind a label: "x = syscalls:sys_enter_read:u" is syscalls:sys_enter_read.
local function location_of(event)
  local spec = (event.spec or event.name):gsub("^%s*[%w_]+%s*=%s*", "")
  return spec:match "^([^:]+:[^:]+)" or spec
end

local DYNAMIC = 6                        -- types from here on are numbered anew at each boot

local function is_dynamic(event) return event.attr ~= nil and kinds.type_of(event.attr) >= DYNAMIC end

-- Fields of two events that must agree.
local MEMBERS = {
  { "counters without an attr", function(event) return table.concat(event.simulated or {}, "+") end },
  { "unit", function(event) return event.unit or "" end },
  { "scale", function(event) return event.scale or 1 end },
  { "taken from", function(event) return event.tool or "a counter" end },
  { "PMU", function(event) return is_dynamic(event) and event.pmu or "" end },
  { "type", function(event)
    return event.attr and not is_dynamic(event) and kinds.type_of(event.attr) or ""
  end },
  { "tracepoint", function(event)
    return event.attr and kinds.type_of(event.attr) == TRACEPOINT and location_of(event) or ""
  end },
}

-- Where two events differ: what each says; nil where they do not.
local function event_difference(event, other)
  for _, member in ipairs(MEMBERS) do
    local ours, theirs = member[2](event), member[2](other)
    if ours ~= theirs then return ("%s '%s'"):format(member[1], ours), ("'%s'"):format(theirs) end
  end
  if not (event.attr and other.attr) then return nil end
  local ours, theirs = excludes_alike(event.attr, other.attr)
  if not ours then ours, theirs = encoded_alike(event, other) end
  if ours then return ours, theirs end
  if (event.attr.filter or "") ~= (other.attr.filter or "") then
    return ("filter '%s'"):format(event.attr.filter or ""), ("filter '%s'"):format(other.attr.filter or "")
  end
end

--- Why the counts of an event in two results are not of the same thing; nil where they are.
---@param event table event of a header
---@param other table
---@return string? ours what the first counted, in words
---@return string? theirs
function M.event(event, other)
  if event.status or other.status then return nil end
  if event.unlike or other.unlike then return event.unlike or other.unlike, "" end
  return event_difference(event, other)
end

-- ---- what values refer to ------------------------------------------------------------------------------------

local function value_words(value) return value == nil and "none" or tostring(value) end

local function target_of(header)
  local name = header.target
  return name and (name:match "^process" or name:match "^thread" or name) or nil
end

local function regions_of(header)
  local regions = header.regions
  return regions and (regions.kind or "?") .. (regions.entries and ", each entry" or "") or nil
end

local MODES = {
  { "who is counted", target_of },
  { "the delay", function(header) return header.delay end },
  { "inherit", function(header) return header.inherit ~= false end },
  { "the regions", regions_of },
  { "the layout", function(header) return header.layouts and "randomised" or "as it comes" end },
}

--- Why two results were not measured in the same mode; nil where they were.
---@param header table header
---@param other table
---@return string? ours
---@return string? theirs
function M.mode(header, other)
  for _, mode in ipairs(MODES) do
    local ours, theirs = mode[2](header), mode[2](other)
    if ours ~= theirs then return ("%s %s"):format(mode[1], value_words(ours)), value_words(theirs) end
  end
end

local OF_SIMULATION = { "environment", "environment_hash", "signals", "streams", "cpu", "random", "I1", "D1",
  "LL" }
-- The value in files that are older than the field.
local BEFORE = { random = "inherit" }

--- Why simulated counts of two results were not made in the same way; nil where they were.
---@param mine table header
---@param other table header
---@return string? ours
---@return string? theirs
function M.simulation(mine, other)
  local function is(header, fact) return (header.simulation or {})[fact] or BEFORE[fact] end
  local name = lists.find(OF_SIMULATION, function(fact) return is(mine, fact) ~= is(other, fact) end)
  if not name then return nil end
  if name:find "_hash$" then return "simulated in another environment", "" end
  return ("simulated with %s %s"):format(name, value_words(is(mine, name))),
    value_words(is(other, name))
end

-- ---- what programs were asked for ---------------------------------------------------------------------------

-- Each input of a workload besides its program, which may be another one; as text.
local GIVEN = {
  { "arguments", function(facts) return facts.argv and shellwords.join { unpack(facts.argv, 2) } end },
  { "arguments", function(facts) return facts.arguments end },
  { "parameters", function(facts) return table.concat(lists.assignments(facts.params or {}), " ") end },
  { "threads", function(facts) return facts.threads end },
  { "environment", function(facts) return table.concat(lists.assignments(facts.env or {}), " ") end },
  { "standard input", function(facts) return facts.stdin ~= "inherit" and facts.stdin end },
  { "words of its launcher", function(facts) return facts.launch and shellwords.join(facts.launch) end },
}

--- The stored facts of how a workload was run at some levels; nil: a header has none.
---@param header table
---@param workload string
---@param levels table<string, any>
---@return table?
function M.how(header, workload, levels)
  local cell = table.concat(lists.assignments(levels), " ")
  return lists.find((header.how or {}).workloads or {}, function(facts)
    return facts.workload == workload and lists.contains(facts.cells or {}, cell)
  end)
end

--- The inputs of a cell's workload, by their places in GIVEN; nil where a header has none.
---@param header table
---@param workload string
---@param levels table<string, any>
---@return string[]? texts "": nothing
function M.given(header, workload, levels)
  local facts = M.how(header, workload, levels)
  if not facts or facts.unknown then return nil end
  local texts = lists.map(GIVEN, function(given) return given[2](facts) or "" end)
  -- Files merged before launchers were stored end there.
  if texts[#GIVEN] == "" then texts[#GIVEN] = nil end
  return texts
end

local function given_in(cell)
  local header = cell.result.header
  return header.cells[cell.number].given or M.given(header, cell.workload, cell.levels)
end

local function shown(given)
  if given == "" then return "none" end
  return given:find("'", 1, true) and given or ("'%s'"):format(given)
end

--- Why the workloads of two cells were not asked for the same; nil where they were, or where it is not known.
---@param header pmclua.Cell
---@param other pmclua.Cell
---@return string? what differs: "arguments"
---@return string? ours
---@return string? theirs
function M.asked(header, other)
  local ours, theirs = given_in(header), given_in(other)
  for i, given in ipairs(ours and theirs and GIVEN or {}) do
    local here, there = ours[i] or "", theirs[i] or ""
    if here ~= there then return given[1], shown(here), shown(there) end
  end
end

--- Why values of two cells are not of the same; nil where they are.
---@param own pmclua.Cell
---@param other pmclua.Cell
---@return string? ours
---@return string? theirs
function M.cell(own, other)
  if own.per ~= other.per then return "per " .. own.per, "per " .. other.per end
  if own.fitted ~= other.fitted then
    local function kind(cell) return cell.fitted and "slopes over iterations" or "whole repetitions" end
    return kind(own), kind(other)
  end
end

return M
