--- launch.lua: a command that a launcher starts several times, each behind a runner of its own that counts it.
--
-- pmclua writes a plan into a folder that all nodes see; the launcher starts `pmclua-runner task FOLDER PROGRAM …`; each
-- leaves a file there (core/runner/launching/task.c). The folder is private to the user. A launch has a number, so that
-- what a task of an earlier one leaves late is not taken for a later one's.
--
-- Invariant: what was not left by every rank is no number of the whole.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local paths = require "pmclua.host.paths"
local ranks = require "pmclua.host.rank"
local shellwords = require "pmclua.workload.shellwords"
local temporary = require "pmclua.host.temporary"
local text = require "pmclua.base.text"

local M = {}

local HOSTNAME, CPU = "/proc/sys/kernel/hostname", "/proc/cpuinfo"
local RESULT_BYTES = 2 ^ 26
local GRACE_NS = 5e9            -- in which a launcher ends its tasks before it is killed

---@class pmclua.Launch
---@field folder string
---@field number integer of the latest launch
local Launch = {}
Launch.__index = Launch

--- The first folder that all nodes are likely to see: the working directory, else one for temporary files.
---@return pmclua.Launch
function M.new()
  local here = require("lfs").currentdir()
  local folders = paths.is_our_folder(here) and { here } or {}
  lists.append(folders, paths.temporary())
  local folder = temporary.make("launch", { folders = folders })
  return setmetatable({ folder = core.real_path(folder) or folder, number = 0 }, Launch)
end

--- The command that starts a workload's tasks.
---@param workload pmclua.Command
---@return pmclua.Command
function Launch:command(workload)
  local mine = lists.copy(workload)
  mine.argv = lists.joined { workload.launch or {}, { paths.runner(), "task", self.folder }, workload.argv }
  mine.grace_ns, mine.launch = GRACE_NS, nil
  return setmetatable(mine, getmetatable(workload))
end

-- ---- the plan ----

local function add_changes(message, workload, levels)
  local changes = workload.env or {}
  for _, name in ipairs(lists.keys(changes)) do
    local value = changes[name]
    message:text("change", value and name .. "=" .. shellwords.fill(tostring(value), levels) or name)
  end
end

--- Writes the plan of the next launch.
---@param workload pmclua.Command
---@param levels table
---@param asked { groups: table[], files: string[], table?: string, table_bytes?: integer } groups: by which a task is
---   counted; files: that are facts, too; table: the beginning of its table of marks
function Launch:prepare(workload, levels, asked)
  self:clear()
  self.number = self.number + 1
  local about = core.message("task", self.number):text("build", core.BUILD)
  for _, name in ipairs(ranks.variables()) do about:text("tell_variable", name) end
  for _, path in ipairs(lists.append({ HOSTNAME, CPU }, asked.files)) do about:text("tell_file", path) end
  add_changes(about, workload, levels)
  if asked.table then
    about:raw("table", asked.table, #asked.table):number("table_bytes", asked.table_bytes)
  end
  local own = core.message("workload", 1):number("inherit_stdin", 1):number("foreground", 1)
  own:number("output", core.OUTPUT.inherit):number("errors", core.OUTPUT.inherit)
  if asked.table then own:number("watched", 1) end
  local parts = { about, own, core.message("run", 1):number("workload", 1):number("iterations", 1) }
  if #asked.groups > 0 then parts[#parts + 1] = core.event_set(1, asked.groups) end
  if asked.take then parts[3]:number("take", asked.take) end
  local plan = table.concat(lists.map(parts, function(part) return part:packed() end))
  local ok, _, errnum = core.replace(self.folder .. "/plan", plan)
  if not ok then error(explain.system(errnum, "write", self.folder .. "/plan"), 0) end
end

-- ---- what they left ----

---@class pmclua.LaunchedTask
---@field rank integer from 0
---@field host string
---@field facts table<string, string>
---@field result? table as Session:run has it; nil: it left none
---@field refused? table the result that says why it has no counts
---@field marks string path of its table of marks

local function task_of(path, launch)
  local bytes = core.read_plain(path, RESULT_BYTES, { owner = core.uid() })
  local task = bytes and core.task(bytes)
  if not task or task.launch ~= launch then return nil end
  local function fact(name) return task.facts[name] end
  local rank, size = ranks.number(fact)
  local host = fact(ranks.NODE) or (fact(HOSTNAME) or "unknown"):match "^[^\n]*"
  local last = task.results[#task.results]
  return { rank = rank, size = size, host = host, facts = task.facts, marks = path .. ".marks",
    result = task.is_whole and last or nil, refused = #task.results > 1 and task.results[1] or nil,
    name = path:match "[^/]*$" }
end

-- Whether a task is numbered as pmclua is: by another launch, of which that is a rank.
local function is_numbered_elsewhere(task)
  return lists.all(ranks.variables(), function(name) return task.facts[name] == os.getenv(name) end)
end

local function read_all(self)
  local list = {}
  for name in require("lfs").dir(self.folder) do
    if name:find "^task%-.*%-%d+$" then list[#list + 1] = task_of(self.folder .. "/" .. name, self.number) end
  end
  local only = #list == 1 and list[1]
  if only and is_numbered_elsewhere(only) then only.rank, only.size = 0, nil end
  return list
end

-- Tasks whose launcher numbers none of them, or several alike, are numbered in the order in which they began.
local function number_all(list)
  local numbers = lists.unique(lists.column(list, "rank"))
  if #numbers == #list then
    table.sort(list, function(a, b) return a.rank < b.rank end)
    return
  end
  local function key(task) return task.result and tonumber(task.result.start_ns) or math.huge end
  table.sort(list, function(a, b)
    if key(a) ~= key(b) then return key(a) < key(b) end
    return a.name < b.name
  end)
  for i, task in ipairs(list) do task.rank, task.size = i - 1, nil end
end

local function is_whole(list, expected)
  return #list > 0 and #list >= (expected or 0) and lists.all(list, function(task) return task.result end)
end

-- A network's file system shows what other nodes wrote a little later; a change of our own has it look again.
local TRIES, PAUSE_NS = 6, 1e8

--- The results that the tasks of the latest launch left, by rank.
---@param expected? integer how many there must be; nil: as many as the launcher said
---@return pmclua.LaunchedTask[] tasks
---@return string? lacks why they are not all
function Launch:collect(expected)
  local list
  for try = 1, TRIES do
    list = read_all(self)
    local most = expected or (list[1] or {}).size
    if is_whole(list, most) then break end
    if try < TRIES then
      core.replace(self.folder .. "/looked", tostring(try))
      core.pause(PAUSE_NS)
    end
  end
  number_all(list)
  return list, M.lacks(list, expected or (list[1] or {}).size, self.folder)
end

local LEFT_NOTHING = "no task of the launch left a record: its launcher started none, or a node does not see "
  .. "%s or %s; start pmclua in a folder that all nodes see"

--- Why tasks are not all of a launch; nil: they are.
---@param list pmclua.LaunchedTask[]
---@param expected? integer
---@param folder string
---@return string?
function M.lacks(list, expected, folder)
  if #list == 0 then return LEFT_NOTHING:format(text.safe(folder), paths.runner()) end
  local lost = lists.where(list, function(task) return not task.result end)
  local reasons = lists.map(lost, function(task)
    return ("rank %d on %s left no result: it was killed, or its node was lost"):format(task.rank,
      text.safe(task.host))
  end)
  local there, missing = lists.set(lists.column(list, "rank")), {}
  for rank = 0, (expected or 0) - 1 do
    if not there[rank] then missing[#missing + 1] = rank end
  end
  if #missing > 0 then
    reasons[#reasons + 1] = ("%s of %d left nothing: not started, or on a node that does not see %s"):format(
      (#missing == 1 and "rank " or "ranks ") .. text.ranges(missing), expected, text.safe(folder))
  end
  if expected and #list > expected then
    reasons[#reasons + 1] = ("%d ranks ran where %d were asked for"):format(#list, expected)
  end
  return reasons[1] and table.concat(reasons, "; ")
end

-- ---- whether an event means the same there ----

-- Fields of /proc/cpuinfo that tell apart CPUs with other event codes.
local IDENTITY = { "vendor_id", "cpu family", "model", "CPU implementer", "CPU part" }

local function identity(cpuinfo)
  return table.concat(lists.map(IDENTITY, function(name)
    return ("\n" .. cpuinfo):match("\n" .. name .. "%s*:%s*([^\n]*)") or ""
  end), " ")
end

local function read(path) return require("pmclua.host.machine").text(path) or "" end

local RAW, FIRST_DYNAMIC, TRACEPOINT = 4, 6, 2
local SOFT = lists.set { "uprobe", "kprobe", "msr", "tracepoint" }

--- The files that say whether an event's attr means the same elsewhere.
---@param event pmclua.Event
---@return string[]
function M.files_of(event)
  local kind = event.attr and event.attr.type or 0
  if kind == TRACEPOINT then
    local system, name = event.name:match "^([^:]+):([^:]+)"
    local root = require("pmclua.event.tracepoint").root()
    return system and { ("%s/events/%s/%s/id"):format(root, system, name) } or {}
  end
  local is_dynamic = kind >= FIRST_DYNAMIC and event.pmu
  return is_dynamic and { ("/sys/bus/event_source/devices/%s/type"):format(event.pmu) } or {}
end

--- Why an event means something else on a task's node; nil: it means the same.
---@param event pmclua.Event
---@param task pmclua.LaunchedTask
---@return string?
function M.unlike(event, task)
  local kind, node = event.attr and event.attr.type or 0, text.safe(task.host)
  local is_of_cpu = kind == RAW or kind >= FIRST_DYNAMIC and not SOFT[event.pmu or ""]
  local theirs = identity(task.facts[CPU] or "")
  if is_of_cpu and theirs ~= identity(read(CPU):sub(1, 4095)) then
    return ("%s has another CPU (%s), where %s means something else"):format(node, theirs, event.name)
  end
  for _, path in ipairs(M.files_of(event)) do
    if (task.facts[path] or ""):match "^[^\n]*" ~= read(path):match "^[^\n]*" then
      return ("%s has another number for the PMU or tracepoint of %s (%s)"):format(node, event.name, path)
    end
  end
end

--- The model of a task's CPU.
---@param task pmclua.LaunchedTask
---@return string
function M.cpu(task) return (require("pmclua.host.machine").cpu(task.facts[CPU] or "")) end

-- ---- the end ----

--- Removes what tasks have left.
function Launch:clear()
  for name in require("lfs").dir(self.folder) do
    if name:find "^task%-" then os.remove(self.folder .. "/" .. name) end
  end
end

function Launch:close() temporary.remove(self.folder) end

return M
