--- command.lua: a command as a workload: run by the runner, counted from exec to exit with all its threads and
--- children.

local bit = require "bit"
local check = require "pmclua.base.arguments"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local kinds = require "pmclua.workload.kinds"
local lists = require "pmclua.base.lists"
local pinning = require("pmclua.base.lazy").module "pmclua.workload.pinning"
local shellwords = require "pmclua.workload.shellwords"

---@class pmclua.Command
---@field name string shown
---@field argv string[]
---@field cwd? string
---@field env? table<string, string|false> changes to the environment; false removes
---@field stdin? string path of a file; default /dev/null
---@field stdout? "null"|"inherit"|"capture"
---@field stderr? "null"|"inherit"|"capture"
---@field shell? boolean run by /bin/sh -c
---@field environment? string[] all of it, as "NAME=value", instead of changes to this process's
---@field standard? boolean signals as they are by default, no core file
---@field launch? string[] what starts it several times, on this machine or others: "srun -n 4"
---@field grace_ns? number between SIGTERM and SIGKILL at its time limit
---@field asked? string of a command string, what is outside its quotes
local Command = kinds.class "command"
Command.filled, Command.may_be_filled =
  { "asked", "launch_asked", "cwd", "stdin" }, { "argv", "env", "launch" }
Command.__tostring = function(self) return "command: " .. self.name end

local command = { Command = Command }

-- The words of a string; a list is taken as it is.
local function words_of(value, what, hint)
  if type(value) == "table" then return lists.map(value, tostring) end
  local argv, why = shellwords.split(value)
  if argv then return argv end
  explain.misuse(("%s %q has %s; %sgive a list of words"):format(what, value, why, hint or ""), 5)
end

--- One string is split as a shell would split it; a list is taken as it is.
local function argv_of(list, shell)
  if shell then
    if #list ~= 1 then explain.misuse("a command with shell = true must be one string", 4) end
    return { "/bin/sh", "-c", list[1] }
  end
  return #list > 1 and list or words_of(list[1], "the command", "say shell = true, or ")
end

-- The part of a command string outside quotes, where {name} can only be a factor.
local function unquoted(text)
  return (text:gsub("\\.", " "):gsub("'[^']*'", " "):gsub('"[^"]*"', " "))
end

--- A command.
---@param spec string|table "ls -l", or { "ls", "-l", cwd =, env =, stdin =, shell =, stdout =, stderr =, name = }
---@return pmclua.Command
function command.new(spec)
  if type(spec) == "string" then spec = { spec } end
  local list, named = lists.map(spec, tostring), check.named(spec)
  if not list[1] or list[1] == "" then explain.misuse("a command needs at least one word", 3) end
  local self = lists.deep_copy(named)
  self.argv = argv_of(list, named.shell)
  if #list == 1 and not named.shell then self.asked = unquoted(list[1]) end
  local hint = "let a shell run it, sh -c '…' sh, or "
  if named.launch then self.launch = words_of(named.launch, "launch", hint) end
  if type(named.launch) == "string" then self.launch_asked = unquoted(named.launch) end
  self.name = named.name or (named.shell and list[1]) or shellwords.join(self.argv)
  return setmetatable(self, Command)
end

--- Fixes it at levels: it has no factors any more.
---@param levels table
function Command:fix(levels)
  self.argv = shellwords.fill_all(self.argv, levels)
  self.cwd = self.cwd and shellwords.fill(self.cwd, levels)
  self.stdin = self.stdin and shellwords.fill(self.stdin, levels)
end

--- Has it run in a folder, in which its own is looked for.
---@param folder string absolute
function Command:move(folder)
  self.cwd = self.cwd and require("pmclua.host.paths").from(folder, self.cwd) or folder
end

-- ---- finding the program before anything runs ----

local function folder_of(self, levels) return self.cwd and shellwords.fill(self.cwd, levels or {}) end

-- argv[0]; a relative path, which is from the command's folder, as seen from ours.
local function name_of(self, levels)
  local name, folder = shellwords.fill(self.argv[1], levels or {}), folder_of(self, levels)
  local is_moved = folder and name:find("/", 1, true) and name:sub(1, 1) ~= "/"
  return is_moved and folder .. "/" .. name or name
end

--- The path of the program that is executed; nil where there is none of that name. Whether it is executable is left to
--- Linux.
---@param levels? table
---@return string?
function Command:program(levels)
  local name = name_of(self, levels)
  if name:find("/", 1, true) then return core.stat(name) and name or nil end
  local path = self.env and self.env.PATH or os.getenv "PATH" or "/usr/local/bin:/usr/bin:/bin"
  for part in (path .. ":"):gmatch "([^:]*):" do
    local candidate = (part == "" and "." or part) .. "/" .. name
    if core.stat(candidate) then return candidate end
  end
end

local KIND, REGULAR = 0xf000, 0x8000

-- Whether what is at a path, or what its link leads to, is a pipe with a name.
local function is_pipe(path)
  local facts = core.stat(path)
  local is_regular = facts and bit.band(facts.mode, KIND) == REGULAR
  return not is_regular and require("lfs").attributes(path, "mode") == "named pipe"
end

local ENOENT, EACCES = 2, 13

--- The problem with argv[0], if it can be seen now: an error object, or nil. What opens a program itself, as Valgrind
--- does, would wait at a pipe for ever.
function Command:problem(levels)
  local path, folder = self:program(levels), folder_of(self, levels)
  local launcher = self.launch and self.launch[1] and command.new(self.launch)
  local missing = launcher and launcher:problem(levels)
  if missing then return missing end
  if path and not is_pipe(path) then return nil end
  if folder and not core.stat(folder) then return explain.system(ENOENT, "run in the folder", folder) end
  return explain.system(path and EACCES or ENOENT, "execute", name_of(self, levels))
end

--- The name of its program where that has others do its work (srun, ssh); nil: it does not. Of what a shell executes
--- the runner tells.
---@param levels table
---@return string?
function Command:launcher(levels)
  local name = shellwords.fill(self.argv[1], levels):match "[^/]*$"
  return require("pmclua.core.drops").is_launcher(name) and name or nil
end

--- Its identity when resuming.
function Command:identity()
  return { self.argv, self.cwd, self.env, self.stdin, self.stdout, self.stderr, self.shell, self.launch }
end

--- What a result stores of it, so that others can run it again.
---@param levels table
---@param how { pin?: string, is_alone?: boolean } is_alone: it is not run in the environment of this process
---@return table
function Command:facts(levels, how)
  local evidence = require "pmclua.workload.evidence"
  local program = self:program(levels)
  local facts = { argv = evidence.words(shellwords.fill_all(self.argv, levels)), program = program,
    program_hash = program and evidence.identity(program), cwd = folder_of(self, levels),
    stdin = self.stdin and shellwords.fill(self.stdin, levels), shell = self.shell,
    cpus = evidence.cpus(how.pin, levels),
    libraries = evidence.hashes(require("pmclua.workload.libraries").of_command(self, levels, how.is_alone)) }
  if self.launch then
    facts.launch = evidence.words(shellwords.fill_all(self.launch, levels))
    -- "mpirun" is a link to that of Open MPI or MPICH.
    local launcher = facts.launch[1] and command.new(facts.launch):program()
    facts.launcher = launcher and core.real_path(launcher)
  end
  for name, value in pairs(self.env or {}) do
    facts.env = facts.env or {}
    facts.env[name] = evidence.variable(name, value, levels)
  end
  return facts
end

-- ---- running ----

-- Changes to the environment by which what is allocated is logged.
local function with_log(env, log)
  local preloaded = env and env.LD_PRELOAD
  if preloaded == nil then preloaded = os.getenv "LD_PRELOAD" end
  local changes = lists.copy(env or {})
  for name, value in pairs(log:environment(preloaded or nil)) do changes[name] = value end
  return changes
end

--- Raises where it is to be run by itself, without what launches it.
function Command:check_alone()
  if not self.launch then return end
  error(explain.problem { code = "EINVAL", operation = "run",
    message = ("'%s' is launched by '%s': only an experiment's workloads are"):format(self.name,
      shellwords.join(self.launch)),
    hint = "leave `launch` out here" }, 0)
end

--- Adds this command, with its levels filled in, to a definition.
function Command:define(message, levels, options)
  self:check_alone()
  for _, word in ipairs(shellwords.fill_all(self.argv, levels)) do message:text("argument", word) end
  local log = options and options.log
  local changes = log and with_log(self.env, log) or self.env
  local environment = self.environment or changes and shellwords.environment(changes, levels)
  if options and options.pin then
    local cpus, by_openmp = pinning.list(options.pin)
    message:text("cpus", cpus)
    if by_openmp then
      environment = pinning.openmp(environment or shellwords.environment({}, levels), cpus)
    end
  end
  for _, entry in ipairs(environment or {}) do message:text("environment", entry) end
  if self.cwd then message:text("directory", shellwords.fill(self.cwd, levels)) end
  if self.stdin == "inherit" then message:number("inherit_stdin", 1)
  elseif self.stdin then message:text("stdin", shellwords.fill(self.stdin, levels)) end
  message:number("output", core.OUTPUT[self.stdout or "null"])
  message:number("errors", core.OUTPUT[self.stderr or self.stdout or "null"])
  -- In a process group of its own it would be stopped when it reads from the terminal.
  if self.foreground or self.stdin == "inherit" then message:number("foreground", 1) end
  if self.standard then message:number("standard", 1) end
  if self.watched then message:number("watched", 1) end
  if self.grace_ns then message:number("grace", self.grace_ns) end
end

-- The failed operation by the runner's stage; and the stages whose failure names a file.
local OPERATIONS = { enter = "run in the folder", read = "read the input", pin = "run on those CPUs",
  start = "start", wait = "learn the end of", node = "take memory from that NUMA node for",
  definition = "define" }
local NAMED = { enter = true, read = true, pin = true, start = true }

-- Why a repetition has no profile though it ended well.
local function dropped(name)
  return ("'%s': Linux dropped its counters when it was executed: it gains rights or may not be read; %s")
    :format(require("pmclua.base.text").safe(name), require("pmclua.explain.dropped").HINT)
end

--- How a repetition failed, as text; nil if it succeeded.
---@param result table of Session:run
---@return string?
function Command:complaint(result)
  if result.lost then return result.lost end
  if result.outcome == "done" then
    if result.errnum ~= 0 then return dropped(result.dropped or self.name) end
    return result.exit ~= 0 and ("exit status %d"):format(result.exit) or nil
  elseif result.outcome == "signalled" then return "killed by " .. core.signal_name(result.signal)
  elseif result.outcome == "timed-out" then return "killed at its time limit"
  elseif result.outcome == "not-started" then return tostring(self:refusal(result)) end
end

--- Why a result says that the command was not started: an error object. `refused_by`: a rank, in whose folder and on
--- whose node other files may be than here.
function Command:refusal(result)
  if result.refused_by and not NAMED[result.stage] then
    local problem = explain.system(result.errnum, "start", self.argv[1])
    problem.message = ("%s: %s"):format(result.refused_by, problem.message)
    problem.hint = "the launcher may start it in another folder"
    return problem
  end
  return explain.system(result.errnum, OPERATIONS[result.stage] or "execute",
    NAMED[result.stage] and result.output or result.program or self.argv[1])
end

return command
