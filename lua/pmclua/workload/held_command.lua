--- held_command.lua: a command that is stopped before its exec, so that this process can open events on it.
--
-- The runner starts a shell that stops itself; when continued, it becomes the command by exec. Events opened on it
-- in between, with enable_on_exec, count the command from its first instruction.

local binding = require "pmclua.core.processes"
local command = require "pmclua.workload.command"
local core = require "pmclua.core"
local ending = require("pmclua.base.lazy").module "pmclua.workload.ending"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local paths = require "pmclua.host.paths"
local tasks = require "pmclua.host.tasks"
local shellwords = require "pmclua.workload.shellwords"

---@class pmclua.Held
---@field pid integer of the command
---@field command pmclua.Command
---@field result? table as a runner gives it, once it has ended; `lost`: why it is not known how
local Held = {}
Held.__index = Held

local M = {}

local STOP_THEN_EXEC = 'kill -STOP $$; exec "$@"'

local function behind_shell(inner)
  local argv = lists.append({ "/bin/sh", "-c", STOP_THEN_EXEC, "sh" }, inner.argv)
  for _, key in ipairs { "cwd", "env", "stdin", "stdout", "stderr", "foreground" } do
    argv[key] = inner[key]
  end
  return command.new(argv)
end

local WAIT_NS, POLL_NS = 10e9, 2e5
local EACCES = 13

-- The runner's only child, once it has stopped; nil and the errno's name where the runner cannot be heard.
local function wait_for_stop(self)
  local deadline, pid = core.now_ns() + WAIT_NS, nil
  while core.now_ns() < deadline do
    pid = pid or tasks.child_of(self.runner:pid())
    if pid and tasks.state(pid) == "T" then return pid end
    local result, why = self.runner:receive(POLL_NS)
    self.result = result
    if result or why == "EPIPE" then return nil, why end
  end
end

-- Why it did not stop.
local function why_not_held(self, lost)
  if lost == "EPIPE" then return ending.why(self.runner:finish(false)) end
  local result = self.result
  if result and result.outcome == "not-started" then return tostring(self.command:refusal(result)) end
  return require("pmclua.host.machine").unmounted() or result and "it ended" or "it did not stop in time"
end

-- Why it cannot be executed, checked beforehand: otherwise the shell would report it on the command's stderr.
local function problem_of(inner, levels)
  local name = shellwords.fill(inner.argv[1], levels)
  local facts = name:find("/", 1, true) and not inner.cwd and core.stat(name)
  local mode = facts and facts.mode or 1
  local has_x = mode % 2 + math.floor(mode / 8) % 2 + math.floor(mode / 64) % 2 > 0
  return inner:problem(levels) or not has_x and explain.system(EACCES, "execute", name) or nil
end

--- Starts a command and holds it before its exec. Raises a problem if it cannot be executed.
---@param inner pmclua.Command
---@param options? { pin?: string, levels?: table<string, any> } levels: of the factors in its words
---@return pmclua.Held
function M.start(inner, options)
  options = options or {}
  inner:check_alone()
  local problem = problem_of(inner, options.levels or {})
  if problem then error(problem, 0) end
  local runner, _, errnum = core.runner(paths.runner())
  if not runner then error(explain.system(errnum, "start the runner", paths.runner()), 0) end
  local self = setmetatable({ command = inner, runner = runner }, Held)
  local definition = core.message("workload", 1)
  behind_shell(inner):define(definition, options.levels or {}, options)
  local is_sent = runner:send(definition) and runner:send(core.message("run", 1):number("workload", 1))
  local lost = "EPIPE"
  if is_sent then self.pid, lost = wait_for_stop(self) end
  if self.pid then return self end
  local why = why_not_held(self, lost)
  self:close()
  error(explain.problem { code = "EWORKLOAD", operation = "execute",
    message = ("'%s' could not be held before its start: %s"):format(inner.name, why) }, 0)
end

--- Lets it continue. Raises a problem if that is refused.
function Held:release()
  local ok, _, errnum = binding.continue(self.pid)
  if not ok then error(explain.system(errnum, "let go on", self.command.name), 0) end
end

-- The result of a command whose runner ended: unknown, unless we were told to end both.
local function result_of_loss(self, why)
  local exit, signal = self.runner:finish(true)
  if core.interrupts() > 1 then
    return { outcome = "interrupted", exit = -1, signal = core.interrupt_signal(), errnum = 0 }
  end
  local lost = why == "EPIPE" and ending.why(exit, signal) or ending.UNHEARD .. why
  return { outcome = "quit", lost = lost, exit = -1, signal = 0, errnum = 0 }
end

--- Waits until it ends, a signal arrives, or `timeout_ns` has passed. After "ended", `result` says how.
---@param timeout_ns number
---@return "ended"|"signal"|"timeout"
function Held:wait(timeout_ns)
  if self.result then return "ended" end
  local result, why = self.runner:receive(math.max(0, timeout_ns))
  if result then
    self.result = result
    return "ended"
  end
  if why == "timeout" then return "timeout" elseif why == "EINTR" then return "signal" end
  self.result = result_of_loss(self, why)
  return "ended"
end

--- Ends it, if it still runs.
function Held:close() self.runner:finish(self.result == nil) end

return M
