--- say.lua: a script's own messages on standard error, in the characters of the terminal, and its failures.

local M = {}

local STATUS = { failed = 1, usage = 2 }

-- Statuses of scripts that run a command, which may itself exit with 1 or 2: those of env(1) and timeout(1).
local COMMAND = { failed = 125, ENOENT = 127, EACCES = 126, ENOEXEC = 126 }

-- Raised when all has been said.
local Ended = {}
Ended.__index = Ended
Ended.__tostring = function(self) return ("the script ended with status %d"):format(self.status) end

local function status_of(facts, how)
  if how == "command" then return facts.operation == "execute" and COMMAND[facts.code] or COMMAND.failed end
  return facts.status or facts.misuse and STATUS.usage or how or STATUS.failed
end

-- A mistake in what was typed is not one in the script: its place there says nothing to whoever typed it.
local function said_of(problem, facts) return facts.misuse and facts.message or tostring(problem) end

-- By script: what it has said.
local told = setmetatable({}, { __mode = "k" })

-- Mistakes say which public function was called, as `pmc.monitor: …`: of the script's own name once is enough.
local function without_name(text, script)
  local name, rest = text:match "^pmc%.(%a+): (.*)$"
  if not name then name, rest = text:match "^(%a+): (.*)$" end
  return script and name == script.name and rest or text
end

local function write(text)
  local script = require("pmclua.host.running").script
  local message = ("pmclua %s: %s"):format(script and script.word or "-", without_name(text, script))
  require("pmclua.host.output").say(message)
end

--- Says `pmclua NAME: TEXT` on standard error, the same text once in a run of the script.
---@param text string
---@return nil
function M.say(text)
  local run = require("pmclua.host.running").script or M
  told[run] = told[run] or {}
  if not told[run][text] then write(text) end
  told[run][text] = true
end

--- Ends the running script: says `pmclua NAME: …` on standard error. A problem that has been told, as that of
--- `--help`, only ends it.
---@param problem any a message, or what was raised
---@param how? integer|"command" the exit status (1, and 2 for misuse of the command line); "command": the script
---   runs one, so 125, or 126 and 127 where it could not be executed
---@return nil it does not return
function M.fail(problem, how)
  local facts = type(problem) == "table" and problem or {}
  if facts.quiet then error(problem, 0) end
  write(said_of(problem, facts))
  error(setmetatable({ status = status_of(facts, how), quiet = true }, Ended), 0)
end

return M
