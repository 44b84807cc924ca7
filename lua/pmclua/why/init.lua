--- why: what the difference between two cells of a result consists of. This file is the table of contents.
--
-- Invariant: everything follows from the records of the result. What was not measured costs its ledger,
-- with a line of reason, and none of the others.

local cell_key = require "pmclua.result.cell_key"
local complete = require "pmclua.result.complete"
local cycles = require "pmclua.why.cycles"
local clusters = require "pmclua.result.clusters"
local ledger = require "pmclua.ledger"
local lines = require "pmclua.why.lines"
local lists = require "pmclua.base.lists"
local sides = require "pmclua.why.sides"
local suspects = require "pmclua.why.suspects"
local together = require "pmclua.why.together"

local M = {}

---@class pmclua.Why
---@field a pmclua.Cell
---@field b pmclua.Cell
---@field n integer pairs, or repetitions of each where they are not paired
---@field time? pmclua.Ledger the first thread's time: on CPUs, waiting for one, off CPU
---@field ledger? pmclua.Ledger what takes the time
---@field cycles? pmclua.Ledger cycles, or slots (`of` says which), by node of the vendor's tree
---@field others? { a: number, b: number } mean ns of CPU time of other threads and of children, in the
---  ledger's total
---@field suspects pmclua.Suspect[] what else differs
---@field absent { what: string, why: string }[] what was not measured
---@field sentence string
local Why = require("pmclua.public.class").new("measuring", "why", "time ledger cycles others plan of")
Why.__tostring = function(self) return self:report() end

-- ---- what there is ----

local function all_values(cell, names)
  local values = {}
  for _, name in ipairs(names) do values[name] = sides.values(cell, name) end
  return values
end

local NAMES = { "duration_time", "on_cpu_time", "wait_time", "off_cpu_time" }

-- Repetitions with a profile of an event.
local function with_profile(cell, event)
  local list = {}
  for index, found in pairs(sides.profiles(cell)) do
    if found[event] then list[index] = true end
  end
  return next(list) and list or nil
end

local function sampled_event(result)
  for cell in result:cells() do
    for _, found in pairs(sides.profiles(cell)) do
      for name, profile in pairs(found) do
        if profile.unit == "ns" and profile.source == "samples" then return name end
      end
    end
  end
end

-- Of each side the repetitions that have all that some side has any of; of sides that ran interleaved the
-- same.
local function indices_of(self, own)
  local function all_of(side)
    local values = lists.map(NAMES, function(name) return side.values[name] end)
    return #values == #NAMES and lists.append(values, lists.map(own.events, function(event)
      return side.profiles[event]
    end))
  end
  local a, b = all_of(own.a), all_of(own.b)
  if not (a and b) then return nil end
  if self.paired then a = lists.joined { a, b } end
  local found = { a = sides.common(unpack(a)) }
  found.b = self.paired and found.a or sides.common(unpack(b))
  found.groups = self.paired and clusters.of_pairs(self.a, self.b, found.a) or nil
  return #found.a > 0 and #found.b > 0 and found or nil
end

-- ---- the ledgers ----

-- Of the time on CPUs that in user space, as Linux samples it; nil where other threads and children had a
-- share.
local function split_cpu(self, values, indices, side)
  local user, system = sides.cpu_times(self[side])
  if not user or self.others then return nil end
  local list, kernel = {}, {}
  for i, index in ipairs(indices[side]) do
    local both = (user[index] or 0) + (system[index] or 0)
    local on = values.on_cpu_time[index]
    list[i] = both > 0 and math.floor(on * (user[index] or 0) / both) or on
    kernel[i] = on - list[i]
  end
  return list, kernel
end

local function time_lines(self, own, indices)
  local user_a, kernel_a = split_cpu(self, own.a.values, indices, "a")
  local user_b, kernel_b = split_cpu(self, own.b.values, indices, "b")
  local list = {}
  if user_a and user_b then
    list[1] = { key = "user", label = "in user space", a = user_a, b = user_b }
    list[2] = { key = "system", label = "in Linux", a = kernel_a, b = kernel_b }
  end
  for _, one in ipairs { { "on_cpu_time", "on a CPU" }, { "wait_time", "waiting for a CPU" },
    { "off_cpu_time", "off CPU" } } do
    if one[1] ~= "on_cpu_time" or #list == 0 then
      list[#list + 1] = { key = one[1], label = one[2], a = sides.listed(own.a.values[one[1]], indices.a),
        b = sides.listed(own.b.values[one[1]], indices.b) }
    end
  end
  return list
end

local function time_ledger(self, own, indices)
  return ledger.new { unit = "ns", paired = self.paired, groups = indices.groups,
    lines = time_lines(self, own, indices), a = sides.listed(own.a.values.duration_time, indices.a),
    b = sides.listed(own.b.values.duration_time, indices.b) }
end

-- Less than that of others is what it takes to launch a command, and no thread of its own.
local OTHERS_NS, OTHERS_SHARE = 1e6, 0.05

local function others_of(self, own, indices, side)
  local user, system = sides.cpu_times(self[side])
  if not user then return nil end
  local list, sum, whole = {}, 0, 0
  for i, index in ipairs(indices[side]) do
    local on = own[side].values.on_cpu_time[index]
    list[i] = math.max(0, (user[index] or 0) + (system[index] or 0) - on)
    sum, whole = sum + list[i], whole + own[side].values.duration_time[index]
  end
  local mean = sum / #list
  return list, mean, mean > OTHERS_NS and sum > OTHERS_SHARE * whole
end

local function find_others(self, own, indices)
  local a, mean_a, is_a = others_of(self, own, indices, "a")
  local b, mean_b, is_b = others_of(self, own, indices, "b")
  if not (a and b and (is_a or is_b)) then return end
  self.others = { a = mean_a, b = mean_b }
  own.a.others, own.b.others = a, b
end

-- The first thread's time; with others, theirs on CPUs as well, and not what it waits for them.
local function totals(self, own, indices, side)
  local list = sides.listed(own[side].values.duration_time, indices[side])
  if not self.others then return list end
  local waited = lines.waited_for_own(self[side], indices[side])
  for i in ipairs(list) do list[i] = list[i] + own[side].others[i] - (waited and waited[i] or 0) end
  return list
end

local function leave_waiting_out(list)
  for _, line in ipairs(list) do
    if line.call == "wait4" or line.call == "waitid" then
      for i in ipairs(line.a) do line.a[i] = math.max(0, line.a[i] - line.blocked.a) end
      for i in ipairs(line.b) do line.b[i] = math.max(0, line.b[i] - line.blocked.b) end
    end
  end
end

local function all_lines(self, own, indices)
  local a, b = self.a, self.b
  local functions = own.sampled and lines.functions(a, b, own.sampled, indices, self.paired)
  local calls = own.is_traced and lines.calls(a, b, indices, self.others ~= nil)
  if calls and self.others then leave_waiting_out(calls) end
  local blocked = own.is_traced and lines.faults(a, b, indices)
  if not own.is_traced then blocked = lines.off_cpu(a, b, indices) end
  return together.join(lists.joined { functions or {}, calls or {}, { blocked }, lines.wait(a, b, indices) })
end

local function cost_ledger(self, own, indices)
  return ledger.new { unit = "ns", paired = self.paired, groups = indices.groups,
    a = totals(self, own, indices, "a"), b = totals(self, own, indices, "b"),
    lines = all_lines(self, own, indices) }
end

-- ---- what is not there ----

local FUNCTIONS, CALLS, SIMULATED = "functions", "system calls and page faults", "simulated counts"
local CYCLES = "cycles by node"

local function note_absent(self, what, why) self.absent[#self.absent + 1] = { what = what, why = why } end

-- Why the functions of what was sampled tell nothing of the rest; nil where they do.
local function why_few_samples(self, event)
  for _, cell in ipairs { self.a, self.b } do
    local list = {}
    for _, found in pairs(sides.profiles(cell)) do list[#list + 1] = found[event] end
    local why = complete.why_samples(list)
    if why then return why end
  end
end

local function why_no_functions(self)
  if self.a.kind ~= "command" or self.b.kind ~= "command" then return "only commands are sampled" end
  return self.result.header.unsampled or "nothing was sampled in time (sample = \"cpu-clock\")"
end

local function why_no_calls(self)
  local said = self.result.header.system_calls
  if type(said) == "string" then return said end
  return said and "none of the repetitions of both sides has them"
    or "system calls were not timed (system_calls = true)"
end

-- Calls whose records found no room are missing in their lines.
local function note_lost(self)
  local lost = 0
  for _, cell in ipairs { self.a, self.b } do
    for _, found in pairs(sides.profiles(cell)) do
      local profile = found[require("pmclua.experiment.tracing").LOST]
      lost = lost + (profile and profile.total or 0)
    end
  end
  if lost > 0 then
    note_absent(self, "some system calls", ("%d of their records found no room in the rings"):format(lost))
  end
end

local function add_cycles(self, reason)
  local absent
  self.cycles, absent = cycles.of(self)
  if not self.cycles then note_absent(self, CYCLES, reason or absent)
  elseif absent then note_absent(self, absent.what, absent.why) end
end

-- ---- the whole ----

local function measured(self)
  local tracing = require "pmclua.experiment.tracing"
  local own = { a = { values = all_values(self.a, NAMES), profiles = {} },
    b = { values = all_values(self.b, NAMES), profiles = {} }, events = {} }
  local sampled = sampled_event(self.result)
  own.why_unsampled = sampled and why_few_samples(self, sampled)
  if own.why_unsampled then sampled = nil end
  for _, event in ipairs { tracing.TIME, sampled } do
    own.a.profiles[event], own.b.profiles[event] = with_profile(self.a, event), with_profile(self.b, event)
    if own.a.profiles[event] and own.b.profiles[event] then
      own.events[#own.events + 1] = event
      if event == tracing.TIME then own.is_traced = true else own.sampled = event end
    end
  end
  return own
end

--- What the difference between two cells consists of.
---@param result pmclua.Result
---@param options? { a?: string|table, b?: string|table, reasons?: table<string, string> } reasons: why
---  something was not measured
---@return pmclua.Why
function M.of(result, options)
  options = options or {}
  local a, b = sides.cells(result, options.a, options.b)
  local self = setmetatable({ result = result, a = a, b = b, absent = {},
    paired = cell_key.share_blocks(a, b) }, Why)
  local own = measured(self)
  local indices = indices_of(self, own)
  self.n = indices and #indices.a or 0
  if indices then
    find_others(self, own, indices)
    self.time = time_ledger(self, own, indices)
    self.ledger = cost_ledger(self, own, indices)
  else
    note_absent(self, "time", "it takes duration_time, on_cpu_time, wait_time and off_cpu_time of both")
  end
  local reasons = options.reasons or {}
  if not own.sampled then
    note_absent(self, FUNCTIONS, reasons[FUNCTIONS] or own.why_unsampled or why_no_functions(self))
  end
  if not own.is_traced then note_absent(self, CALLS, reasons[CALLS] or why_no_calls(self)) end
  note_lost(self)
  add_cycles(self, reasons[CYCLES])
  if reasons[SIMULATED] then note_absent(self, SIMULATED, reasons[SIMULATED]) end
  self.suspects = suspects.of(self)
  self.sentence = require("pmclua.why.sentence").of(self)
  return self
end

return M
