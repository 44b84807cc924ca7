--- lines.lua: what takes a command's time, each as a line in nanoseconds with its value in each repetition.
--
-- Invariant: lines split what the repetitions took in which nothing was traced. Samples say how the time on CPUs is
-- shared, traced calls how the time off CPU is; neither says how much it was.

local code = require "pmclua.ledger.code"
local complete = require "pmclua.result.complete"
local linux = require "pmclua.why.linux"
local lists = require "pmclua.base.lists"
local mean, differences = require("pmclua.stats.mean").average, require("pmclua.stats.mean").differences
local profiles = require "pmclua.ledger.profiles"

local M = {}

---@class pmclua.WhyLine: pmclua.LedgerLine
---@field kind? "code"|"call"|"faults"|"wait"|"blocked"|"together"
---@field name? string as the closing sentence says it
---@field count? { a: number, b: number } mean number of calls or faults
---@field blocked? { a: number, b: number } mean ns of it off CPU

-- ---- functions ----

-- The lines of a code ledger, those that it joined as others apart again.
local function raw_lines(ledger)
  return lists.joined(lists.map(ledger.lines, function(row) return row.line.of or { row.line } end))
end

-- The ns of something in a side's profiles, scaled to the repetitions that were not sampled.
local function scaled(side, counts)
  local list = {}
  for i = 1, side.n do list[i] = counts[i] * side.scale[i] end
  return list
end

local function functions(sides, times, paired)
  local code_result = code.new { paired = paired, a = linux.of_user_space(sides.a, times.a),
    b = linux.of_user_space(sides.b, times.b) }
  return lists.map(raw_lines(code_result), function(line)
    if line.rest then return nil end
    return { kind = "code", key = line.key, label = line.label, name = line.name, samples = line.samples,
      a = scaled(sides.a, line.a), b = scaled(sides.b, line.b), place = line.place, other = line.other }
  end)
end

-- ---- what samples do not attribute ----

local IN_LINUX = "in Linux, not attributed"

-- By repetition: samples in Linux, and what was counted there and not sampled, that no other line has.
local function linux_rest(side, times)
  local list = {}
  for i, profile in ipairs(side.profiles) do
    local sampled = times and times.unknown[i] or 0
    for _, line in ipairs(times and {} or profile.lines) do
      if line.kind == "kernel" then sampled = sampled + line.count * side.scale[i] end
    end
    list[i] = sampled + (profile.rest.kernel_unsampled or 0) * side.scale[i]
  end
  return list
end

local function rest_line(label, key, sides, value)
  return { key = key, label = label, rest = true, a = value(sides.a, "a"), b = value(sides.b, "b") }
end

local function unattributed(sides, times)
  local lines = { rest_line(IN_LINUX, "linux", sides, function(side, key)
    return linux_rest(side, times[key])
  end) }
  if times.a then
    lines[2] = rest_line("interrupts", "interrupts", sides, function(_, key)
      return times[key].interrupts
    end)
  end
  for _, reason in ipairs(profiles.reasons(sides.a.profiles, sides.b.profiles)) do
    if reason[1] ~= "kernel_unsampled" and not lists.contains(complete.CAUSES, reason[1]) then
      lines[#lines + 1] = rest_line(reason[2], "rest " .. reason[1], sides, function(side)
        return scaled(side, lists.map(side.profiles, function(profile)
          return profile.rest[reason[1]] or 0
        end))
      end)
    end
  end
  return lines
end

local function sum_of(lists_of_times, n)
  local sums = {}
  for i = 1, n do
    sums[i] = 0
    for _, values in ipairs(lists_of_times) do sums[i] = sums[i] + values[i] end
  end
  return sums
end

local function linux_time(side, times)
  local all = { linux_rest(side, times), times and times.interrupts }
  for _, what in ipairs(times and { "call", "fault" } or {}) do
    for _, values in pairs(times[what]) do all[#all + 1] = values end
  end
  return sum_of(all, side.n)
end

--- Lines of the time on CPUs, by samples of all threads and children.
---@param sides { a: pmclua.WhySide, b: pmclua.WhySide, faults?: table } with `profiles`
---@param paired boolean
---@return { functions: pmclua.WhyLine[], rest: pmclua.WhyLine[], times: table, in_linux: { a: number[], b: number[] } }
function M.sampled(sides, paired)
  local both = { sides.a, sides.b }
  local times = { a = linux.times(sides.a, both), b = linux.times(sides.b, both) }
  if not (times.a and times.b) then times = {} end
  local by_kind = { functions = functions(sides, times, paired), times = times }
  by_kind.rest = unattributed(sides, times)
  by_kind.in_linux = { a = linux_time(sides.a, times.a), b = linux_time(sides.b, times.b) }
  return by_kind
end

-- ---- waiting ----

-- B waits longer because it uses the CPU for longer: on a shared machine any work brings waiting along. The longer side
-- shows how much; the other may end before its turn does.
local function brought(on, wait)
  local longer = mean(on.b) >= mean(on.a) and "b" or "a"
  local rate = mean(on[longer]) > 0 and mean(wait[longer]) / mean(on[longer]) or 0
  local whole = mean(on.a)
  return lists.map(on.b, function(ns) return rate * (ns - whole) end)
end

--- Off CPU, whatever it was blocked in: where system calls, which tell, were not traced.
---@param sides { a: pmclua.WhySide, b: pmclua.WhySide }
---@return pmclua.WhyLine
function M.off_cpu(sides)
  local name = "asleep or blocked"
  return { kind = "blocked", key = "off CPU", label = name, name = name, a = sides.a.off_cpu_time,
    b = sides.b.off_cpu_time }
end

--- Waiting for a CPU; and apart, as no cause of its own, what comes with more work.
---@param sides { a: pmclua.WhySide, b: pmclua.WhySide }
---@return pmclua.WhyLine[]
function M.wait(sides)
  local wait = { a = sides.a.wait_time, b = sides.b.wait_time }
  local more = brought({ a = sides.a.on_cpu_time, b = sides.b.on_cpu_time }, wait)
  return {
    { kind = "wait", key = "wait", label = "waiting for a CPU", name = "waiting for a CPU", a = wait.a,
      b = differences(more, wait.b) },
    { key = "brought", label = "waiting that comes with more time on CPUs", rest = true,
      a = lists.map(wait.a, function() return 0 end), b = more },
  }
end

return M
