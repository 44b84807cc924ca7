--- failure.lua: the message and exit status of an uncaught error.
--
-- An error object that prints itself is the user's mistake or a refusal by the system: it is shown as a paragraph
-- without traceback. Anything else is a bug in the script or in pmclua: the traceback shows the script's frames.

local M = {}

local STATUS = { failed = 1, interrupted = 130 }

-- Frames from here on are those of the command line and the prompt.
local OUR_FRAMES = "\n[^\n]*pmclua[./]cli[:.].*$"

--- A message with its traceback; without, where its one line is in the message already.
local function add_traceback(message, trace)
  trace = trace:gsub(OUR_FRAMES, "")
  local lines, location = 0, nil
  for frame in trace:gmatch "\n%s+([^\n]*)" do
    if not frame:find "^%[C%]" then lines, location = lines + 1, frame:match "^(.-:%d+:)" end
  end
  local said = lines == 0 or lines == 1 and location and message:sub(1, #location) == location
  return said and message or message .. trace
end

--- For xpcall's handler, called by it: objects that print themselves stay, as does `error()`.
---@param problem any
---@return any
function M.describe(problem)
  local meta = type(problem) == "table" and getmetatable(problem)
  if problem == nil or meta and meta.__tostring then return problem end
  return add_traceback(tostring(problem), debug.traceback("", 3))      -- from whom error() was called
end

--- The exit status of a described error, and what to print; nil: nothing.
---@param problem any
---@return integer status, string? said
function M.status(problem)
  if problem == nil then return STATUS.failed end
  if type(problem) ~= "table" then return STATUS.failed, tostring(problem) end
  local status = problem.status or problem.code == "EINTR" and STATUS.interrupted or STATUS.failed
  return status, not problem.quiet and tostring(problem) or nil
end

--- What is said on standard error in the characters of the terminal, and its width, but for tracebacks and
--- what a program reads: these keep their lines.
---@param said string
---@return string
function M.shown(said)
  local terminal = require "pmclua.host.terminal"
  local is_read_by_people = require("pmclua.core").is_terminal(2) and not said:find("\n\t", 1, true)
  return terminal[is_read_by_people and "fit" or "spelled"](said, { stream = 2 })
end

return M
