--- linux.lua: what Linux took for a command: system calls by name, page faults by kind.
--
-- Time on CPUs is that of samples, which tracing does not disturb; how often a call was made, and of what it was off
-- CPU in which, the traced repetitions tell. A sample belongs to the call of its outermost frame and of the instruction
-- that user space goes on at; samples in user space at that instruction are the call's, too: a tick that comes while
-- Linux is entered or left is noticed there. So are those at an instruction that faults, which is executed again, where
-- they do not outweigh the fault: in virtual machines the page's first use costs more there than in Linux.
--
-- Invariant: what samples that tell nothing go by is found from both sides together. Each side's own shares would be the
-- same error in all its repetitions, which their spread does not show: equals would differ.

local chains = require "pmclua.why.chains"
local lists = require "pmclua.base.lists"
local mean = require("pmclua.stats.mean").average

local M = {}

-- ---- which call, which fault ----

local PAGE_BYTES = 4096

local function key_of(file, build_id, address)
  return ("%s\0%s\0%s"):format(file, build_id or "", tostring(address))
end

local function traced_places(side)
  local places = {}
  for _, calls in ipairs(side.calls or {}) do
    for _, site in ipairs(calls.sites) do
      local names = places[site.place] or {}
      places[site.place] = names
      names[site.name] = (names[site.name] or 0) + site.count
    end
  end
  return places
end

local function profiles_of(sides)
  return lists.joined(lists.map(sides, function(side) return side.profiles or {} end))
end

local function shares(counts)
  local sum, samples = 0, {}
  for _, count in pairs(counts) do sum = sum + count end
  for name, count in pairs(counts) do samples[name] = count / sum end
  return samples
end

-- The call that is made at an address, in shares: by what was traced there, and where several calls are made from
-- there, by the function in Linux. Samples that these do not tell apart belong to entering and leaving, which cost any
-- call the same. nil: unknown.
local function calls_at(places, address, name)
  local counts = address and places[address % PAGE_BYTES]
  if counts and not counts[name or ""] then return shares(counts) end
  return name and { [name] = 1 }
end

local function each_entry(profiles, kind, take)
  for _, profile in ipairs(profiles) do
    for _, entry in ipairs(profile.entries or {}) do
      if entry.kind == kind then take(entry, key_of(entry.file or "", entry.build_id, entry.address)) end
    end
  end
end

local function add_to(counts, name, count) counts[name] = (counts[name] or 0) + count end

-- Kinds of the faults at an instruction, else of all: the frames of some samples, at the beginning and end of a fault,
-- do not tell.
local function fault_kinds(profiles)
  local of_all, at = {}, {}
  each_entry(profiles, "fault", function(entry, key)
    at[key] = at[key] or {}
    if entry.name then
      add_to(of_all, entry.name, entry.samples)
      add_to(at[key], entry.name, entry.samples)
    end
  end)
  return function(key)
    local counts = at[key] and next(at[key]) and at[key] or of_all
    return next(counts) and shares(counts)
  end
end

-- ---- samples in user space that are Linux's ----

local OUTWEIGHS = 4             -- times the samples of the fault itself

-- Instructions whose user-space samples belong to the system call or fault made there.
local function owned(profiles)
  local owners, faults, own = {}, {}, {}
  each_entry(profiles, "fault", function(entry, key) add_to(faults, key, entry.samples) end)
  for _, profile in ipairs(profiles) do
    for _, line in ipairs(profile.lines) do
      for _, at in ipairs(line.kind ~= "kernel" and line.at or {}) do
        add_to(own, key_of(line.file, line.build_id, at.address), at.samples)
      end
    end
  end
  for key, samples in pairs(faults) do
    if (own[key] or 0) <= OUTWEIGHS * samples then owners[key] = "fault" end
  end
  each_entry(profiles, "call", function(entry, key) owners[key] = entry.file and "call" or nil end)
  return owners
end

-- ---- samples ----

---@class pmclua.LinuxTimes of one side, in ns by repetition
---@field call table<string, number[]>
---@field fault table<string, number[]>
---@field interrupts number[]
---@field unknown number[]
---@field samples table<string, number> by "call NAME", "fault KIND"
---@field owned table<string, "call"|"fault"> instructions whose samples in user space are Linux's

local function zeros(n)
  local list = {}
  for i = 1, n do list[i] = 0 end
  return list
end

local function adder(times, n)
  return function(what, of, i, samples, ns)
    local by_name = times[what]
    by_name[of] = by_name[of] or zeros(n)
    by_name[of][i] = by_name[of][i] + samples * ns
    local key = what .. " " .. of
    times.samples[key] = (times.samples[key] or 0) + samples
  end
end

--- The sums of one side's samples in Linux; nil: what Linux was entered for was not sampled.
---@param side pmclua.WhySide
---@param sides pmclua.WhySide[] both
---@return pmclua.LinuxTimes?
function M.times(side, sides)
  local profiles, of_both = side.profiles, profiles_of(sides)
  if not (profiles and lists.all(profiles, function(profile) return profile.entries end)) then return nil end
  local times = { call = {}, fault = {}, interrupts = zeros(side.n), unknown = zeros(side.n), samples = {},
    owned = owned(of_both) }
  local places, kinds_of, add = traced_places(side), fault_kinds(of_both), adder(times, side.n)
  local function take(i, what, parts, samples)
    local ns = side.sample_ns[i]
    if not parts then times.unknown[i] = times.unknown[i] + samples * ns end
    for of, share in pairs(parts or {}) do add(what, of, i, samples * share, ns) end
  end
  for i, profile in ipairs(profiles) do
    for _, entry in ipairs(profile.entries) do
      if entry.kind == "interrupt" then
        times.interrupts[i] = times.interrupts[i] + entry.samples * side.sample_ns[i]
      elseif entry.kind == "call" then
        take(i, "call", calls_at(places, entry.address, entry.name), entry.samples)
      else
        local key = key_of(entry.file or "", entry.build_id, entry.address)
        local kinds = entry.name and { [entry.name] = 1 } or kinds_of(key)
        take(i, "fault", entry.kind == "fault" and kinds, entry.samples)
      end
    end
  end
  --- Takes samples of user space at an instruction that is Linux's.
  function times.take_owned(i, key, address, samples)
    local what = times.owned[key]
    take(i, what, what == "call" and calls_at(places, address) or what == "fault" and kinds_of(key), samples)
  end
  return times
end

-- A line without the samples that are Linux's; nil: none is left.
local function without(line, at, times, i)
  local kept, count, samples = {}, line.count, line.samples
  for _, place in ipairs(at) do
    local key = key_of(line.file, line.build_id, place.address)
    if times.owned[key] then
      times.take_owned(i, key, place.address, place.samples)
      count, samples = count - place.count, samples - place.samples
    else
      kept[#kept + 1] = place
    end
  end
  if samples == line.samples then return line end
  if samples == 0 then return nil end
  return setmetatable({ at = kept, count = count, samples = samples }, { __index = line })
end

--- The profiles of a side without what Linux took, which goes to `times`.
---@param side pmclua.WhySide
---@param times? pmclua.LinuxTimes
---@return pmclua.Profile[]
function M.of_user_space(side, times)
  local list = {}
  for i, profile in ipairs(side.profiles) do
    local own = lists.where(profile.lines, function(line) return line.kind ~= "kernel" end)
    if times then own = lists.map(own, function(line) return without(line, line.at or {}, times, i) end) end
    list[i] = { event = profile.event, unit = profile.unit, lines = own, rest = {}, total = profile.total,
      program = profile.program, source = profile.source }
  end
  return list
end

-- ---- what was traced ----

-- Counts and ns off CPU, by repetition; blocked: the traced repetitions split the first thread's time off CPU.
local function traced(side, with_others)
  local traced_calls = { count = {}, blocked = {} }
  local function add(field, name, i, value)
    traced_calls[field][name] = traced_calls[field][name] or zeros(side.n)
    traced_calls[field][name][i] = traced_calls[field][name][i] + value
  end
  for i, calls in ipairs(side.calls or {}) do
    local scale = chains.scale_of(side, i)
    for _, row in ipairs(calls.rows) do
      if row.is_first or with_others then add("count", row.name, i, row.count) end
      if row.is_first and row.blocked_ns > 0 then
        add("blocked", row.name, i, row.blocked_ns * scale)
      end
    end
  end
  return traced_calls
end

--- Sums of a side's traced calls: how often each was made, how long the first thread was blocked in it, and how much of
--- that others of the command worked.
---@param side pmclua.WhySide
---@param with_others boolean other threads' and children's time is in the ledger: waiting for it is not
---@return { count: table<string, number[]>, blocked: table<string, number[]>, waited: number[] }
function M.traced(side, with_others)
  local traced_calls = traced(side, with_others)
  traced_calls.waited = zeros(side.n)
  for name, worked in pairs(with_others and chains.worked(side) or {}) do
    local blocked = traced_calls.blocked[name] or zeros(side.n)
    for i = 1, side.n do
      local ns = math.min(worked[i] or 0, blocked[i])
      blocked[i], traced_calls.waited[i] = blocked[i] - ns, traced_calls.waited[i] + ns
    end
  end
  return traced_calls
end

-- ---- lines ----

local LABELS = { open = "system calls that did not return", none = "blocked in page faults",
  execve = "execve: the start of the program" }

local function added(counts, other, n)
  local list = zeros(n)
  for _, values in pairs { counts or false, other or false } do
    for i, value in ipairs(values or {}) do list[i] = list[i] + value end
  end
  return list
end

local function mean_of(values) return values and mean(values) or 0 end

local function call_line(name, sides, times)
  local label = LABELS[name] or name
  local line = { kind = name == "none" and "blocked" or "call", key = "call " .. name, label = label,
    name = label, call = name, count = {}, blocked = {}, samples = 0 }
  for key, side in pairs(sides) do
    local own = times[key]
    line[key] = added(own and own.call[name], side.traced.blocked[name], side.n)
    line.count[key] = mean_of(side.traced.count[name])
    line.blocked[key] = mean_of(side.traced.blocked[name])
    line.samples = line.samples + (own and own.samples["call " .. name] or 0)
  end
  line.has_time = line.samples > 0 or line.blocked.a > 0 or line.blocked.b > 0
  if line.blocked.a > 0 or line.blocked.b > 0 then line.samples = nil end
  return line
end

local FAULTS = { anonymous = { "faults: fresh", "page faults of fresh memory" },
  huge = { "faults: huge", "page faults of huge pages" }, file = { "faults: files", "page faults of files" },
  ["copy on write"] = { "faults: copied", "page faults that copy on write" },
  major = { "faults: major", "page faults that read from storage" } }

local function fault_line(kind, sides, times)
  local label, name = unpack(FAULTS[kind] or { kind, kind })
  local line = { kind = "faults", key = "faults " .. kind, label = label, name = name, samples = 0,
    count = sides.faults }
  for key, side in pairs { a = sides.a, b = sides.b } do
    line[key] = added(times[key].fault[kind], nil, side.n)
    line.samples = line.samples + (times[key].samples["fault " .. kind] or 0)
  end
  return line
end

local function names_of(...)
  local names = {}
  for _, by_name in pairs { ... } do
    for name in pairs(by_name) do names[name] = true end
  end
  return lists.keys(names)
end

--- System calls and page faults, in ns; and calls of which only the number is known.
---@param sides { a: pmclua.WhySide, b: pmclua.WhySide, faults?: { a: number, b: number } } faults: mean numbers;
---  each side has `traced`
---@param times { a?: pmclua.LinuxTimes, b?: pmclua.LinuxTimes }
---@return pmclua.WhyLine[] lines
---@return pmclua.WhyLine[] numbers
function M.lines(sides, times)
  local both = { a = sides.a, b = sides.b }
  local has_times, lines, numbers = times.a and times.b, {}, {}
  local names = names_of(sides.a.traced.count, sides.b.traced.count, has_times and times.a.call or {},
    has_times and times.b.call or {})
  for _, name in ipairs(names) do
    local line = call_line(name, both, has_times and times or {})
    if line.has_time then lines[#lines + 1] = line
    elseif not LABELS[name] then numbers[#numbers + 1] = line end
  end
  local kinds = has_times and names_of(times.a.fault, times.b.fault) or {}
  for _, kind in ipairs(kinds) do lines[#lines + 1] = fault_line(kind, sides, times) end
  return lines, numbers
end

return M
