--- target/init.lua: who is counted: this thread, processes, threads, CPUs, everything, cgroups.
--
--     pmc.group { "task-clock", target = pmc.pid(1234) }
--     pmc.measure("sleep 1", { events = { "cycles" }, target = pmc.system { by = "socket" } })
--
-- A target is a description; what it means on this machine now (`places`) is found when it is opened.
-- One that ends while it is counted is a result, not an error.

local cgroup = require "pmclua.counting.target.cgroup"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local tasks = require "pmclua.host.tasks"
local text = require "pmclua.base.text"
local topology = require "pmclua.host.topology"

local M = {}

---@class pmclua.Target
---@field kind "self"|"process"|"thread"|"held"|"cpus"|"system"|"cgroup"
---@field name string shown
---@field by? string it is divided by cpu, core, die, socket, node, thread, process or cgroup; nil: summed
---@field part_field? "cpu"|"thread" the field of a record that a part's name goes to
---@field inherits boolean threads and children to come are counted
---@field from_exec? boolean counting starts by itself when the process executes a program
---@field by_cpu boolean counted CPU by CPU, whatever runs there
local Target = require("pmclua.public.class").new("workloads", "target",
  "by part_field from_exec ids cpus names one_group")
Target.__tostring = function(self) return "target: " .. self.name end

--- Whether a value is a target.
---@param value any
---@return boolean
function M.is(value) return getmetatable(value) == Target end

-- ---- arguments ----------------------------------------------------------------------------------------

-- `pmc.pid(5)` is `pmc.pid { 5 }`.
local function arguments_of(value, record)
  if type(value) ~= "table" then return { value } end
  return require("pmclua.public.call").current(value, record, "workloads")
end

-- Ids as given, each once: numbers, or text with commas as the command line has it.
local function ids_of(what, given)
  local list = {}
  for _, item in ipairs(given) do
    for word in tostring(item):gmatch "[^,%s]+" do
      local id = tonumber(word)
      if not id or id < 1 or id % 1 ~= 0 then
        explain.misuse(("%s takes ids (whole numbers from 1), not '%s'"):format(what, word), 4)
      end
      list[#list + 1] = id
    end
  end
  if #list == 0 then explain.misuse(what .. " needs an id", 4) end
  return lists.unique(list)
end

local function cpus_of(what, given)
  return explain.asked(topology.parse, given ~= nil and tostring(given) or nil, what .. ": %s")
end

local function new(fields)
  fields.inherits, fields.by_cpu = fields.inherits or false, fields.by_cpu or false
  return setmetatable(fields, Target)
end

-- ---- tasks --------------------------------------------------------------------------------------------

--- The thread that opens it.
---@return pmclua.Target
function M.self()
  return new { kind = "self", name = "this thread" }
end

--- Processes: all their threads, and those and the children that they start while they are counted.
---@param pid integer|string|table a pid (or the id of one of its threads), or { pid, …, by = "thread" | "process" }
---@return pmclua.Target
function M.pid(pid)
  local given = arguments_of(pid, "pid_options")
  local ids = lists.unique(lists.map(ids_of("pmc.pid", given), function(id)
    return tasks.process_of(id) or id
  end))
  return new { kind = "process", ids = ids, inherits = true,
    by = given.by, part_field = "thread",
    name = ("process%s %s"):format(#ids > 1 and "es" or "", table.concat(ids, ", ")) }
end

--- Threads, each alone: without what they start.
---@param tid integer|string|table a tid, or { tid, …, by = "thread" }
---@return pmclua.Target
function M.thread(tid)
  local given = arguments_of(tid, "thread_options")
  local ids = ids_of("pmc.thread", given)
  return new { kind = "thread", ids = ids,
    by = given.by, part_field = "thread",
    name = ("thread%s %s"):format(#ids > 1 and "s" or "", table.concat(ids, ", ")) }
end

--- A process that is held before it executes, by its pid: with `from_exec` it is counted from there on.
---@param pid integer
---@param from_exec boolean
---@return pmclua.Target
function M.held(pid, from_exec)
  return new { kind = "held", ids = { pid }, inherits = true, from_exec = from_exec,
    name = ("process %d"):format(pid) }
end

local function no_such(kind, id)
  if not machine.has_proc() then
    return explain.problem { code = "ENOENT", operation = "open",
      message = ("%s %d cannot be looked up: /proc is not mounted"):format(kind, id),
      hint = "mount -t proc proc /proc" }
  end
  local is_hidden = not tasks.state(id) and require("pmclua.core.processes").exists(id)
  if is_hidden then
    return explain.problem { code = "EACCES", operation = "open",
      message = ("%s %d belongs to another user, and /proc hides it (hidepid)"):format(kind, id),
      hint = "run as that user, or as root" }
  end
  return explain.problem { code = "ESRCH", operation = "open",
    message = ("there is no %s %d"):format(kind, id),
    hint = "ps -eLo pid,tid,comm lists what runs" }
end

local function thread_label(tid) return ("%s-%d"):format(text.safe(tasks.name(tid)), tid) end

local list_places = {}

function list_places.held(self) return { { pid = self.ids[1], cpu = -1 } } end

function list_places.self() return { { pid = 0, cpu = -1 } } end

function list_places.process(self)
  local places, seen = {}, {}
  for _, pid in ipairs(self.ids) do
    local threads = tasks.living(pid) and tasks.threads(pid) or {}
    -- The first thread stays listed when it has ended before others.
    seen[pid] = seen[pid] or #threads > 0 and not tasks.is_alive(pid)
    for _, tid in ipairs(threads) do
      -- The id of a thread names its process too, which may be there already.
      if not seen[tid] then
        places[#places + 1] = { pid = tid, cpu = -1, part = self.by == "thread" and thread_label(tid)
          or self.by == "process" and thread_label(pid) or nil }
      end
      seen[tid] = true
    end
    if #threads == 0 then error(no_such("process", pid), 0) end
  end
  return places
end

function list_places.thread(self)
  return lists.map(self.ids, function(tid)
    if not tasks.is_alive(tid) then error(no_such("thread", tid), 0) end
    return { pid = tid, cpu = -1, part = self.by and thread_label(tid) }
  end)
end

-- ---- CPUs ---------------------------------------------------------------------------------------------

--- All that happens on some CPUs, whoever runs there.
---@param cpus string|integer|table "0-3", or { "0-3", by = "cpu" | "core" | "die" | "socket" | "node" }
---@return pmclua.Target
function M.cpus(cpus)
  local given = arguments_of(cpus, "cpus_options")
  if given[1] == nil or given[2] ~= nil then
    explain.misuse("pmc.cpus needs one list of CPUs, such as \"0,2-3\"", 3)
  end
  local list = cpus_of("pmc.cpus", given[1])
  return new { kind = "cpus", cpus = list, by_cpu = true, part_field = "cpu",
    by = given.by, name = "CPU " .. topology.format(list) }
end

--- All that happens on all CPUs.
---@param options? table { by = "cpu" | "core" | "die" | "socket" | "node" }
---@return pmclua.Target
function M.system(options)
  local given = arguments_of(options or {}, "system_options")
  return new { kind = "system", by_cpu = true, part_field = "cpu",
    by = given.by, name = "all CPUs" }
end

local function check_online(cpus)
  local absent = topology.without(cpus, topology.present())
  if #absent > 0 then
    error(explain.problem { code = "EINVAL", operation = "open",
      message = ("there is no CPU %s here, only %s"):format(topology.format(absent),
        topology.format(topology.present())) }, 0)
  end
  local offline = topology.without(cpus, topology.online())
  if #offline > 0 then
    error(explain.problem { code = "ENODEV", operation = "open",
      message = ("CPU %s is offline; online: %s"):format(topology.format(offline),
        topology.format(topology.online())) }, 0)
  end
end

-- The CPUs that a target counts on, now.
local function cpus_now(self)
  if not self.cpus then return topology.online() end
  check_online(self.cpus)
  return self.cpus
end

local function cpu_part(self, cpu)
  if self.by and self.by ~= "cgroup" then return topology.part(cpu, self.by) end
end

local function cpu_places(self)
  return lists.map(cpus_now(self), function(cpu)
    return { pid = -1, cpu = cpu, part = cpu_part(self, cpu) }
  end)
end
list_places.cpus, list_places.system = cpu_places, cpu_places

-- ---- cgroups ------------------------------------------------------------------------------------------

--- The tasks of cgroups, with those of the cgroups below them; of several, each apart. The sum has each task
--- once: a cgroup that is below another one in the list adds nothing to it.
---@param name string|table "a.slice", or { "a.slice", "b.slice", cpus = "0-3", by = "cgroup" | "cpu" | … }
---@return pmclua.Target
function M.cgroup(name)
  local given = arguments_of(name, "cgroup_options")
  -- Several names of one cgroup: the first.
  local names = lists.map(lists.groups(given, cgroup.plain), function(same) return same[1] end)
  if #names == 0 then explain.misuse("pmc.cgroup needs the name of a cgroup, such as \"system.slice\"", 3) end
  local by = given.by or (#names > 1 and "cgroup" or nil)
  return new { kind = "cgroup", names = names, cpus = cpus_of("pmc.cgroup", given.cpus), by_cpu = true,
    by = by, part_field = by == "cgroup" and "thread" or "cpu",
    name = ("cgroup%s %s"):format(#names > 1 and "s" or "", text.safe(table.concat(names, ", "))) }
end

local function open_folder(path)
  local folder, why = require("pmclua.core.processes").folder(path)
  if folder then return folder end
  error(explain.problem { code = "EACCES", operation = "open",
    message = "cannot open the cgroup's folder: " .. why }, 0)
end

local function say_nesting(entry, per)
  local form = per == "cgroup" and "cgroup %s is inside %s: the sum counts it once, as part of %s"
    or "cgroup %s is inside %s: it is counted once, as part of %s"
  local outer = text.safe(entry.below)
  return form:format(text.safe(entry.name), outer, outer)
end

-- A cgroup below another one of the list: its tasks are in that one's counts.
function list_places.cgroup(self)
  local places, folders = {}, {}
  local cpus, list, notes = cpus_now(self), cgroup.distinct(self.names)
  for _, entry in ipairs(list) do
    if entry.below then notes[#notes + 1] = say_nesting(entry, self.by) end
    if not entry.below or self.by == "cgroup" then
      local folder = open_folder(entry.path)
      folders[#folders + 1] = folder
      for _, cpu in ipairs(cpus) do
        places[#places + 1] = { pid = -1, cpu = cpu, directory = folder.fd, is_apart = entry.below ~= nil,
          part = self.by == "cgroup" and "cgroup " .. text.safe(entry.name) or cpu_part(self, cpu) }
      end
    end
  end
  return places, function()
    for _, folder in ipairs(folders) do folder:close() end
  end, notes
end

-- ---- what all have ------------------------------------------------------------------------------------

--- Where its groups are to be opened, here and now. Raises a problem where the target is not there.
---@param target pmclua.Target
---@return pmclua.Place[] places
---@return fun() release what is needed only for opening
---@return string[] notes what is to be said of them
function M.places(target)
  local places, release, notes = list_places[target.kind](target)
  return places, release or function() end, notes or {}
end

--- Raises a problem where the target is not there; opens nothing.
---@param target pmclua.Target
function M.check(target)
  local _, release = M.places(target)
  release()
end

--- Whether its places are still these. Only those of a process change by themselves.
---@param target pmclua.Target
---@param places pmclua.Place[]
---@return boolean
function M.is_same(target, places)
  if target.kind ~= "process" then return true end
  local ok, now = pcall(M.places, target)
  -- All ended meanwhile: what they did is counted.
  if not ok then return true end
  local was = lists.set(lists.column(places, "pid"))
  return not lists.any(now, function(place) return not was[place.pid] end)
end

--- Where an event can be tried out for this target: on its first CPU, or on this thread in place of
--- somebody else's. nil and why where this target cannot have such an event.
---@param target pmclua.Target
---@param event pmclua.Event
---@return { pid: integer, cpu: integer }? place
---@return string? why
function M.trial(target, event)
  if not target.by_cpu then return { pid = 0, cpu = -1 } end
  local allowed = M.cpus_for(event)
  local cpus = target.cpus or topology.online()
  if not allowed then return { pid = -1, cpu = cpus[1] } end
  local others = topology.without(cpus, allowed)
  local shared = topology.without(cpus, others)
  if target.kind == "cgroup" and event.cpus then
    return nil, "its PMU counts a whole machine or socket, never a single cgroup"
  end
  if #shared > 0 then return { pid = -1, cpu = shared[1] } end
  return nil, ("its PMU counts only on CPU %s, which is not among %s"):format(topology.format(allowed),
    topology.format(cpus))
end

--- A caution where an event counts more than this target; nil: it does not.
---@param target pmclua.Target
---@param event pmclua.Event
---@return string?
function M.excess(target, event)
  if not target.cpus or not event.cpus or target.kind == "cgroup" then return nil end
  local others = topology.without(topology.online(), target.cpus)
  return #others > 0 and "of the whole machine or socket, not only of the CPUs asked for" or nil
end

--- Whether any of its processes or threads still runs; true for CPUs and cgroups.
---@return boolean
function Target:is_alive()
  return not self.ids or lists.any(self.ids, self.kind == "process" and tasks.living or tasks.is_alive)
end

local SLICE_S = 0.1         -- the end of a thread, and of one of several processes, is seen after this

--- Waits until it has ended (CPUs and cgroups never do), a signal to end came, or `seconds` have passed.
---@param seconds? number
---@return "ended"|"signal"|"timeout"
---@return integer? signal
function Target:wait(seconds)
  local core, binding = require "pmclua.core", require "pmclua.core.processes"
  local deadline = core.now_ns() + (seconds or math.huge) * 1e9
  local process = self.kind == "process" and #self.ids == 1 and binding.process(self.ids[1]) or nil
  local caught, what, signal = core.catch_interrupts "second-kills", nil, nil
  repeat
    local left = math.min(SLICE_S * 1e9, deadline - core.now_ns())
    require("pmclua.counting.target.watch").look()
    if core.interrupts() > 0 then what, signal = "signal", core.interrupt_signal()
    elseif left <= 0 then what = "timeout"
    elseif binding.wait(process, left) == "ready" or not self:is_alive() then what = "ended" end
  until what
  core.catch_interrupts(caught, true)
  if process then process:close() end
  return what, signal
end

--- The CPUs on which alone an event can be opened for all tasks; nil: any.
---@param event pmclua.Event
---@return integer[]?
function M.cpus_for(event)
  local list = event.cpus or event.core_cpus
  return list and topology.parse(list) or nil
end

return M
