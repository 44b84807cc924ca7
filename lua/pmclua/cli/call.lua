--- call.lua: scripts called from Lua, as from the command line: pmc.script("matrix", "--set", "n=64").
--
-- Invariant: whatever the script does, the one that called it is the running script again afterwards.

local paths = require "pmclua.host.paths"
local running = require "pmclua.host.running"
local script = require "pmclua.cli.script"

local M = {}

-- Raised in the place of os.exit, which would end who called.
local Exit = {}
Exit.__index = Exit
Exit.__tostring = function(self) return ("the script ended with status %d"):format(self.status) end

local function exit(status)
  if status == nil or status == true then status = 0 elseif status == false then status = 1 end
  error(setmetatable({ status = status, quiet = true }, Exit), 0)
end

local function scope_of(words)
  local scope = require("pmclua.base.scope").new()
  scope.arg = words
  scope.os = setmetatable({ exit = exit }, { __index = os })
  return scope
end

--- Runs an experiment with what its own options have left of the words.
local function run(experiment)
  local on_command_line = require "pmclua.cli.experiment"
  local changed, overrides = on_command_line.override(experiment, running.script.args, running.script)
  local planned = on_command_line.planned(changed, overrides)
  if planned then return planned end
  return on_command_line.run(changed, overrides)
end

local function conclude(word, before, value, ...)
  local experiment = package.loaded["pmclua.experiment"]
  local several = experiment and script.several(value, ...)
  if several then require("pmclua.explain").misuse(("%s: %s"):format(word, several)) end
  if experiment and experiment.is(value) then return run(value) end
  local forgotten = script.forgotten(before)
  if forgotten then require("pmclua.explain").misuse(("%s: %s"):format(word, forgotten)) end
  if value ~= nil then return value end
  return (running.end_status())
end

--- Runs a script by its name or path. Raises what it raises, and for a script that is not there.
---@param word string
---@param ... string|number its arguments
---@return any value the result where the script returns an experiment, which is run; else what it returns,
---   or its exit status
function M.call(word, ...)
  local path, why = script.find(word)
  if not path then require("pmclua.explain").misuse(why, 3) end
  local chunk = assert(loadfile(path))
  local current, folder = running.script, paths.script_folder
  local words, before = { [0] = word, ... }, script.waiting()
  script.enter(word, path, { ... })
  local ok, value = pcall(function(...)
    return conclude(word, before, setfenv(chunk, scope_of(words))(...))
  end, ...)
  running.script, paths.script_folder = current, folder
  if ok then return value end
  if getmetatable(value) == Exit then return value.status end
  if type(value) == "table" and value.quiet and value.status then return value.status end      -- --help
  error(value, 0)
end

return M
