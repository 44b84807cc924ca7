--- targets.lua: who is counted, as a command line says it, in perf's letters: a target, or a command.
--
--     local opt = pmc.options(pmc.targets.options { { "command", rest = true } })
--     local target, command = pmc.targets.from(opt), pmc.targets.command(opt.command)

local lists = require "pmclua.base.lists"
local listed = require("pmclua.base.text").list

local M = {}

local LIST = {
  { "pid", short = "p", value = "PID", help = "count these processes with all their threads, e.g. 1,2" },
  { "tid", short = "t", value = "TID", help = "count these threads only, e.g. 1,2" },
  { "all-cpus", false, short = "a", help = "count everything on all CPUs" },
  { "cpu", short = "C", value = "CPUS", help = "count everything on these CPUs, e.g. 0,2-3" },
  { "cgroup", short = "G", value = "NAME",
    help = "count the tasks of these cgroups, each separately, e.g. a,b" },
  { "per-cpu", false, short = "A", help = "each CPU separately" },
  { "per-core", false, help = "each core separately" },
  { "per-die", false, help = "each die separately" },
  { "per-socket", false, help = "each socket separately" },
  { "per-node", false, help = "each NUMA node separately" },
  { "per-thread", false, help = "each thread of -p or -t separately" },
}

--- A script's own options with those of targets after them.
---@param own (pmclua.Option|string)[] as pmc.options takes them
---@return (pmclua.Option|string)[]
function M.options(own)
  return lists.append(lists.copy(own), lists.map(LIST, lists.copy))
end

local function refuse(form, ...) error(require("pmclua.base.problem").usage_error(form:format(...)), 0) end

-- The kind by which it is divided, of the options given; nil: none.
local function by_of(opt)
  local division
  for _, kind in ipairs { "cpu", "core", "die", "socket", "node", "thread" } do
    if opt["per_" .. kind] then
      if division then refuse("--per-%s and --per-%s cannot be combined", division, kind) end
      division = kind
    end
  end
  return division
end

local GIVEN = { { "pid", "-p" }, { "tid", "-t" }, { "cgroup", "-G" }, { "all_cpus", "-a" } }

local BY_TASK = { pid = true, tid = true }

-- The kind of target that the options name: "pid", "tid", "cgroup", "all_cpus", "cpu"; nil: none.
local function kind_of(opt)
  local given = lists.where(GIVEN, function(pair) return opt[pair[1]] end)
  if #given > 1 then
    refuse("%s name different targets: give only one of them", listed(lists.column(given, 2)))
  end
  local kind = given[1] and given[1][1]
  if opt.cpu and BY_TASK[kind or ""] then
    refuse("-C selects CPUs, alone or for -G: a process is counted wherever it runs")
  end
  return kind or opt.cpu and "cpu" or nil
end

local make = {}

function make.pid(opt, by) return require("pmclua.counting.target").pid { opt.pid, by = by } end
function make.tid(opt, by) return require("pmclua.counting.target").thread { opt.tid, by = by } end
function make.cpu(opt, by) return require("pmclua.counting.target").cpus { opt.cpu, by = by } end

function make.all_cpus(opt, by)
  if opt.cpu then return make.cpu(opt, by) end
  return require("pmclua.counting.target").system { by = by }
end

function make.cgroup(opt, by)
  local names = lists.collect(opt.cgroup:gmatch "[^,]+")
  return require("pmclua.counting.target").cgroup { by = by, cpus = opt.cpu, unpack(names) }
end

local LETTERS = { pid = "-p", tid = "-t", cgroup = "-G", all_cpus = "-a", cpu = "-C" }

--- The target that options name; nil where they name none. Raises a usage error (exit status 2).
---@param opt table as pmc.options gives it
---@return pmclua.Target?
function M.from(opt)
  local kind, by = kind_of(opt), by_of(opt)
  if by == "thread" and not BY_TASK[kind or ""] then refuse("--per-thread needs -p or -t") end
  if by and by ~= "thread" and (not kind or BY_TASK[kind]) then
    refuse("--per-%s needs -a, -C or -G", by)
  end
  if not kind then return nil end
  local ok, target = pcall(make[kind], opt, by)
  if ok then return target end
  if type(target) == "table" and target.misuse then
    refuse("%s", (target.message:gsub("^pmc%.%a+", LETTERS[kind])))
  end
  error(target, 0)
end

--- A command that runs as if it were started without pmclua: nothing is split, and its streams are pmclua's own.
--- nil if argv is empty.
---@param words string[]
---@param launch? string what starts it several times
---@return pmclua.Command?
function M.command(words, launch)
  if #words == 0 then return nil end
  local spec = { stdin = "inherit", stdout = "inherit", foreground = true, launch = launch, unpack(words) }
  -- One string alone would be split: a program's path may have blanks.
  if #words == 1 and words[1] ~= "" then spec[1] = require("pmclua.workload.shellwords").join(words) end
  return require("pmclua.workload").command(spec)
end

--- The values of --launch and --ranks: the launcher's words, and the factor that {ranks} in them is. Without --ranks it is
--- the number of tasks of the Slurm job that this process is in.
---@param opt { launch?: string, ranks?: string[] }
---@return { words: string, factors?: table[] }? nil: nothing is launched
function M.launch(opt)
  local ranks = #(opt.ranks or {}) > 0 and opt.ranks or nil
  if not opt.launch then
    return ranks and refuse("--ranks goes with --launch") or nil
  end
  local is_asked = opt.launch:find("{ranks}", 1, true)
  if ranks and not is_asked then refuse("--ranks: write {ranks} into --launch, as in 'srun -n {ranks}'") end
  if not is_asked then return { words = opt.launch } end
  ranks = ranks or { os.getenv "SLURM_NTASKS" }
  if not ranks[1] then refuse("--launch: how many are {ranks}? --ranks 4, or --ranks 1,2,4") end
  local list = table.concat(ranks, ","):gmatch "[^,]+"
  local levels = lists.map(lists.collect(list), function(word)
    return word:find "^%d+$" and tonumber(word) > 0 and tonumber(word)
      or refuse("--ranks takes numbers of ranks, not '%s'", word)
  end)
  return { words = opt.launch, factors = { { "ranks", levels } } }
end

--- Seconds of an interval or delay as perf has them: a bare number is milliseconds; "1s" says its unit.
---@param text string
---@param option string for the message
---@return number seconds
function M.seconds(text, option)
  local bare = text:match "^%d+%.?%d*$"
  local seconds = bare and tonumber(bare) / 1000 or require("pmclua.base.units").seconds(text)
  if not seconds or seconds <= 0 then
    refuse("%s takes milliseconds, or a time with a unit, not '%s'", option, text)
  end
  return seconds
end

return M
