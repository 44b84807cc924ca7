--- make.lua: from what a sampler found to a profile: lines of functions, and the rest by its causes.
--
-- Invariant: lines and rest add up to the total, exactly. Nothing is spread: what no sample tells of has a line of the
-- rest, by what is known of its cause.

local attribute = require "pmclua.profile.attribute"
local chains = require "pmclua.profile.chains"
local data = require("pmclua.base.lazy").module "pmclua.profile.data"
local entries = require("pmclua.base.lazy").module "pmclua.profile.entries"
local identity = require "pmclua.profile.identity"
local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.ProfileAt what one instruction took
---@field address number|ffi.cdata*|nil offset in the file; of "[linux]" and "[memory]" an address; nil: not known
---@field line? integer
---@field source? string file of the line
---@field inlined? table[] functions that it was copied with, innermost first
---@field count number
---@field samples? integer

---@class pmclua.ProfileLine what one function took
---@field file string
---@field build_id? string
---@field fn string
---@field full? string full name, where that is another than fn
---@field source? string
---@field which? number tells it from others of the same full name and source in this build of the file
---@field is_local? true only its source file sees its name
---@field text? string hash of its source lines without its name
---@field nameless? true
---@field kind? "kernel"|"jit"
---@field count number
---@field samples? integer nil: it was simulated
---@field at pmclua.ProfileAt[] by address
---@field code? pmclua.KeptCode[] of what was sampled, as far as there was room

---@class pmclua.Profile what one repetition of one event gave
---@field event string
---@field period? number
---@field total number read(2)
---@field unit string
---@field lines pmclua.ProfileLine[] those that took most first
---@field rest table<string, number> in the event's unit
---@field ran? number share of the time that the event was on the PMU, where it was less than all of it
---@field program? string path of the program that was executed
---@field iterations? integer of a kernel, which its counts cover
---@field chains? false|table<string, number> call chains from the outermost function on, "main;f;g": those that do not
---  reach the start of the program or thread begin with "[caller unknown]"
---@field calls? table<string, integer> how often the last function of a chain was called from the one before it
---@field entries? pmclua.Entry[] what Linux was entered for, of the samples that were taken in it
---@field threads? table<string, table<string, number>> with entries: by thread, counted from 1 in the order of their
---  start, from 2 on: count by function
---@field data? pmclua.DataProfile the same total by what was accessed
---@field exact? boolean every single event was recorded
---@field sources? table<string, pmclua.SourceText> by path: what the lines of each source that it names read like
---@field source "samples"|"valgrind"

-- ---- lines ---------------------------------------------------------------------------------------------

local function line_of(lines, file, place)
  local path = file.pid and "[memory]" or file.path
  local key = identity.key(path, file.build_id, place)
  local line = lines[key]
  if not line then
    line = { file = path, build_id = file.build_id, fn = place.fn, full = place.full, source = place.source,
      which = place.which, is_local = place.is_local, text = attribute.text(file, place),
      nameless = place.nameless, kind = place.kind, count = 0, samples = 0, at = {} }
    lines[key], lines[#lines + 1] = line, line
  end
  return line
end

local function by_cost(a, b)
  if a.count ~= b.count then return a.count > b.count end
  if a.file ~= b.file then return a.file < b.file end
  if a.fn ~= b.fn then return a.fn < b.fn end
  return identity.key("", a.build_id, a) < identity.key("", b.build_id, b)
end

local function by_address(a, b) return a.address < b.address end

-- An instruction, which each thread has by itself where threads are told apart.
local function at_of(line, offset, place)
  local key = type(offset) == "cdata" and tostring(offset) or offset        -- a number's text has 14 digits only
  line.by_offset = line.by_offset or {}
  local at = line.by_offset[key]
  if not at then
    at = { address = offset, line = place.line, source = place.line_source, inlined = place.inlined,
      samples = 0, count = 0 }
    line.by_offset[key], line.at[#line.at + 1] = at, at
  end
  return at
end

local function lines_of(sampled, attribution)
  local lines = {}
  for file, offset, samples in sampled:each() do
    local place = attribution:place(sampled.files[file], offset)
    local line = line_of(lines, sampled.files[file], place)
    line.samples, line.count = line.samples + samples, line.count + samples * sampled.period
    local at = at_of(line, offset, place)
    at.samples, at.count = at.samples + samples, at.count + samples * sampled.period
  end
  local list = lists.map(lines, function(line) return line end)
  for _, line in ipairs(list) do
    line.by_offset = nil
    table.sort(line.at, by_address)
  end
  table.sort(list, by_cost)
  return list
end

-- Counts by function of threads other than the first: { ["2"] = { burn = count } }.
local function threads_of(sampled, attribution)
  local threads = {}
  for file, offset, samples, thread in sampled:each() do
    if thread > 1 then
      local counts = threads[tostring(thread)] or {}
      local name = chains.frames(attribution:place(sampled.files[file], offset))
      threads[tostring(thread)] = counts
      counts[name] = (counts[name] or 0) + samples * sampled.period
    end
  end
  return threads
end

-- ---- the rest ------------------------------------------------------------------------------------------

-- The cause of the rest, after all causes that leave a trace. A clock's ticks in Linux leave no sample where it is
-- excluded, and others fall together. Of other events samples are lost without a trace where the PMU's interrupts
-- come late.
local function last_cause(sampled, event)
  if event.unit == "ns" and event.attr.exclude_kernel == 1 then return "kernel_unsampled" end
  if sampled.throttled > 0 then return "throttled" end
  return event.unit == "ns" and "missed_ticks" or "lost"
end

local function rest_of(sampled, event, total)
  local left = total - sampled.samples * sampled.period
  local rest = { unmapped = sampled.unmapped * sampled.period }
  local function take(name, most)
    rest[name] = math.max(0, math.min(left, tonumber(most)))
    left = left - rest[name]
  end
  take("lost", sampled.lost * sampled.period)
  -- Where tasks were started it is known only how much that is at most; that Linux held the event back is known.
  if sampled.throttled == 0 or sampled.tasks == 0 then take("tasks_too_short", sampled.begun) end
  local last = last_cause(sampled, event)
  rest[last] = (rest[last] or 0) + left
  for name, value in pairs(rest) do
    if value == 0 then rest[name] = nil end
  end
  return rest
end

--- The profile of one repetition.
---@param sampled pmclua.core.Samples
---@param event { name: string, unit: string, attr: table? } attr: as it was opened
---@param attribution pmclua.Attribution
---@param options? { call_chains?: boolean, lines?: boolean, entries?: boolean, data?: boolean, log?: string }
---  lines: source lines will be shown; log: path of a log of allocations
---@return pmclua.Profile
function M.new(sampled, event, attribution, options)
  options = options or {}
  local total = tonumber(sampled.total)
  local rest = rest_of(sampled, event, total)
  local is_exact = sampled.period == 1 and next(rest) == nil and not sampled.is_partial
  local lines = lines_of(sampled, attribution)
  local is_more_known = attribution:complete(lines, total, options.lines or false)
  if is_more_known then lines = lines_of(sampled, attribution) end
  attribution:keep_code(lines)
  return { event = event.name, period = sampled.period, total = total, unit = event.unit,
    lines = lines, rest = rest, exact = is_exact or nil, source = "samples",
    sources = attribution:sources(lines),
    program = sampled.program, chains = options.call_chains and chains.of(sampled, attribution) or nil,
    entries = options.entries and entries.of(sampled, attribution) or nil,
    threads = options.entries and threads_of(sampled, attribution) or nil,
    data = options.data and data.of(sampled, attribution, rest, options.log) or nil }
end

return M
