--- lines.lua: what takes a command's time, each as a line in nanoseconds with its value in each repetition.
--
-- Functions have the time of their samples in user space; a system call its own duration, blocked or not,
-- but not what others took of the CPU meanwhile; page faults what one costs here, as often as they came;
-- waiting for a CPU what Linux has on account. So lines hardly overlap, and what they lack of the whole is
-- said.

local code = require "pmclua.ledger.code"
local lists = require "pmclua.base.lists"
local mean, differences = require("pmclua.stats.mean").average, require("pmclua.stats.mean").differences
local sides = require "pmclua.why.sides"
local tracing = require("pmclua.base.lazy").module "pmclua.experiment.tracing"

local M = {}

---@class pmclua.WhyLine: pmclua.LedgerLine
---@field kind "code"|"call"|"faults"|"wait"|"blocked"|"together"
---@field name string as the closing sentence says it
---@field count? { a: number, b: number } mean number of calls or faults
---@field blocked? { a: number, b: number } mean ns of it off CPU

-- ---- functions ----

local function is_linux(line)
  local place = line.place or line.other
  return place and (place.is_linux or place.file == "[kernel]" or place.file == "vmlinux")
end

-- Without Linux's part: what system calls and faults take is in other lines.
local function of_user_space(profile)
  local lines = lists.where(profile.lines, function(line) return line.kind ~= "kernel" end)
  return { event = profile.event, unit = profile.unit, lines = lines, rest = {}, total = profile.total,
    program = profile.program }
end

local function user_profiles(cell, event, indices)
  local all = sides.profiles(cell)
  local list = lists.map(indices, function(index)
    local found = all[index] and all[index][event]
    return found and of_user_space(found)
  end)
  return #list == #indices and list or nil
end

-- The lines of a code ledger, those that it joined as others apart again.
local function raw_lines(found)
  return lists.joined(lists.map(found.lines, function(row) return row.line.of or { row.line } end))
end

--- Functions, in time of user space.
---@param a pmclua.Cell
---@param b pmclua.Cell
---@param event string that was sampled, in ns
---@param indices { a: integer[], b: integer[] }
---@param paired boolean
---@return pmclua.WhyLine[]?
function M.functions(a, b, event, indices, paired)
  local ours, theirs = user_profiles(a, event, indices.a), user_profiles(b, event, indices.b)
  if not (ours and theirs) then return nil end
  local list = {}
  for _, line in ipairs(raw_lines(code.new { a = ours, b = theirs, paired = paired })) do
    if not line.rest and not is_linux(line) then
      list[#list + 1] = { kind = "code", key = line.key, label = line.label, a = line.a, b = line.b,
        samples = line.samples, place = line.place, other = line.other, name = line.name }
    end
  end
  return list
end

-- ---- system calls ----

local function sum_into(sums, profile, i, field)
  for _, line in ipairs(profile and profile.lines or {}) do
    sums[line.fn] = sums[line.fn] or {}
    sums[line.fn][i] = (sums[line.fn][i] or 0) + (field == "calls" and line.samples or line.count)
  end
end

-- Sums by the name of the call: { name = { by repetition } }.
local function calls_of(cell, indices, events, field)
  local sums, all = {}, sides.profiles(cell)
  for i, index in ipairs(indices) do
    local found = all[index]
    if not (found and found[tracing.TIME]) then return nil end
    for _, event in ipairs(events) do sum_into(sums, found[event], i, field) end
  end
  return sums
end

local function dense(values, n)
  local list = {}
  for i = 1, n do list[i] = values and values[i] or 0 end
  return list
end

local LABELS = { open = "system calls that did not return", none = "blocked in page faults",
  execve = "execve: the start of the program" }

local function call_line(name, own, other)
  local label = LABELS[name] or name
  local line = { kind = name == "none" and "blocked" or "call", key = "call " .. name, label = label,
    name = label, call = name, count = {}, blocked = {} }
  for _, side in ipairs { own, other } do
    line[side.side] = dense(side.time[name], side.n)
    line.count[side.side] = mean(dense(side.calls[name], side.n))
    line.blocked[side.side] = mean(dense(side.blocked[name], side.n))
  end
  return line
end

local function side_of(side, cell, indices, with_others)
  local events = { tracing.TIME, with_others and tracing.OTHERS or nil }
  local time = calls_of(cell, indices, events, "time")
  if not time then return nil end
  local blocked = calls_of(cell, indices, { tracing.BLOCKED }, "time")
  -- Off CPU in no call: only what was blocked there, since waiting for a CPU is a line of its own.
  time.none = blocked.none
  return { side = side, n = #indices, time = time, calls = calls_of(cell, indices, events, "calls"),
    blocked = blocked }
end

--- System calls by name.
---@param a pmclua.Cell
---@param b pmclua.Cell
---@param indices { a: integer[], b: integer[] }
---@param with_others boolean those of other threads and of children too
---@return pmclua.WhyLine[]?
function M.calls(a, b, indices, with_others)
  local ours, theirs = side_of("a", a, indices.a, with_others), side_of("b", b, indices.b, with_others)
  if not (ours and theirs) then return nil end
  local names = lists.unique(lists.joined { lists.keys(ours.time), lists.keys(theirs.time) })
  table.sort(names)
  return lists.map(names, function(name) return call_line(name, ours, theirs) end)
end

--- How long the first thread was blocked in calls that wait for its own threads and children, by
--- repetition.
---@param cell pmclua.Cell
---@param indices integer[]
---@return number[]?
function M.waited_for_own(cell, indices)
  local blocked, list = calls_of(cell, indices, { tracing.BLOCKED }, "time"), {}
  if not blocked then return nil end
  for i = 1, #indices do
    list[i] = (blocked.wait4 and blocked.wait4[i] or 0) + (blocked.waitid and blocked.waitid[i] or 0)
  end
  return list
end

-- ---- page faults and waiting ----

-- The median cost of a fault in the repetitions of both.
local function fault_ns(a, b, indices)
  local costs = {}
  for _, side in ipairs { { a, indices.a }, { b, indices.b } } do
    local all = sides.profiles(side[1])
    for _, index in ipairs(side[2]) do
      local found = all[index] and all[index][tracing.FAULT]
      if found and found.total > 0 then costs[#costs + 1] = found.total end
    end
  end
  return (require("pmclua.stats").median(costs))
end

--- Page faults, at what one costs here.
---@param a pmclua.Cell
---@param b pmclua.Cell
---@param indices { a: integer[], b: integer[] }
---@return pmclua.WhyLine?
function M.faults(a, b, indices)
  local ours, theirs = sides.values(a, "page_faults"), sides.values(b, "page_faults")
  local cost = ours and theirs and fault_ns(a, b, indices)
  if not cost then return nil end
  local counts = { a = sides.listed(ours, indices.a), b = sides.listed(theirs, indices.b) }
  local function at_cost(count) return count * cost end
  return { kind = "faults", key = "page faults", label = "page faults", name = "page faults", cost_ns = cost,
    a = lists.map(counts.a, at_cost), b = lists.map(counts.b, at_cost),
    count = { a = mean(counts.a), b = mean(counts.b) } }
end

-- What B waited because it used the CPU for longer than A: on a machine that others use too, any work
-- brings waiting along. How much is seen best on the side that used it for longer; the other may end before
-- its turn does.
local function brought(on, wait)
  local longer = mean(on.b) >= mean(on.a) and "b" or "a"
  local rate = mean(on[longer]) > 0 and mean(wait[longer]) / mean(on[longer]) or 0
  local whole = mean(on.a)
  return lists.map(on.b, function(ns) return rate * (ns - whole) end)
end

--- Off CPU, whatever it was blocked in: where system calls, which tell, were not timed.
---@param a pmclua.Cell
---@param b pmclua.Cell
---@param indices { a: integer[], b: integer[] }
---@return pmclua.WhyLine
function M.off_cpu(a, b, indices)
  local name = "asleep or blocked"
  return { kind = "blocked", key = "off CPU", label = name, name = name,
    a = sides.listed(sides.values(a, "off_cpu_time"), indices.a),
    b = sides.listed(sides.values(b, "off_cpu_time"), indices.b) }
end

--- Waiting for a CPU; and apart, as no cause of its own, what comes with more work.
---@param a pmclua.Cell
---@param b pmclua.Cell
---@param indices { a: integer[], b: integer[] }
---@return pmclua.WhyLine[]
function M.wait(a, b, indices)
  local wait, on = {}, {}
  for side, cell in pairs { a = a, b = b } do
    local waits, ons = sides.values(cell, "wait_time"), sides.values(cell, "on_cpu_time")
    if not (waits and ons) then return {} end
    wait[side], on[side] = sides.listed(waits, indices[side]), sides.listed(ons, indices[side])
  end
  local more = brought(on, wait)
  return {
    { kind = "wait", key = "wait", label = "waiting for a CPU", name = "waiting for a CPU", a = wait.a,
      b = differences(more, wait.b) },
    { key = "brought", label = "waiting that comes with more time on CPUs", rest = true,
      a = dense(nil, #wait.a), b = more },
  }
end

return M
