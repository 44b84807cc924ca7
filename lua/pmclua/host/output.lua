--- output.lua: the one place that writes to standard output, to standard error and to files of reports.
--
-- Invariant: a report is written to its end, or an error object is raised. Whatever a name, a stored result or a word of
-- the command line holds, no control character of it reaches a terminal.

local core = require "pmclua.core"
local problem = require "pmclua.base.problem"
local terminal = require "pmclua.host.terminal"
local text = require "pmclua.base.text"

local M = {}

local function refuse(name, why)
  error(problem.problem { code = "EWRITE", operation = "write",
    message = ("cannot write the report to %s: %s"):format(name,
      (tostring(why or "the disk may be full"):gsub("^.*: ", ""))) }, 0)
end

-- ---- reports ------------------------------------------------------------------------------------------------

---@alias pmclua.OutputPlace string|integer|nil a path; 1, "-" or nil: standard output; 2: standard error

local STREAMS = { ["-"] = 1 }
local FILES, NAMES = { io.stdout, io.stderr }, { "standard output", "standard error" }

local LONG = 4096               -- bytes: of longer pieces C looks 10 times as fast as a pattern

local function printed(piece)
  return #piece > LONG and core.is_plain(piece) and piece or text.printed(piece)
end

-- A writer to it, which closes it where it is ours to close.
local function open(to, mode)
  local stream = not to and 1 or STREAMS[to] or type(to) == "number" and to
  if not stream then
    local file, why = core.open_written(to, mode == "a")
    if not file then refuse(to, why) end
    local function check(ok, _, errnum)
      if not ok then refuse(to, core.errno_text(errnum)) end
    end
    return function(bytes) check(file:write(bytes)) end, function() check(file:finish()) end
  end
  return function(bytes)
    local ok, why = FILES[stream]:write(bytes)
    if ok then ok, why = FILES[stream]:flush() end
    if not ok then refuse(NAMES[stream], why) end
  end, function() end
end

--- Raises an error object where a report could not be written, before hours are spent on it. What is there is
--- not changed; what is no plain file (a pipe, a device) is not opened.
---@param path? string nil or "-": standard output
function M.check(path)
  if not path or path == "-" then return end
  local before = require("lfs").attributes(path, "mode")
  if before and before ~= "file" then return end
  local _, close = open(path, "a")
  close()
  if not before then os.remove(path) end
end

--- Where a report of this process goes: of the ranks of a launch each has a file of its own, and rank 0 alone the
--- standard streams; nil: nowhere.
---@param to? pmclua.OutputPlace
---@return pmclua.OutputPlace?
function M.place(to)
  local ranks, is_file = require "pmclua.host.rank", type(to) == "string" and not STREAMS[to]
  if is_file then return ranks.number() and ranks.path(to) or to end
  return ranks.reports() and (to or 1) or nil
end

--- Opens what a report goes to. Raises an error object where it cannot be.
---@param to? pmclua.OutputPlace
---@param mode? "w"|"a"
---@param by_rank? boolean each rank of a launch writes to it, as of what is kept nowhere else
---@return fun(piece: string) put writes a text at once; raises an error object where it could not be
function M.open(to, mode, by_rank)
  if not by_rank then
    to = M.place(to)
    if not to then return function() end end
  end
  local put = open(to, mode)
  return function(piece) put(printed(piece)) end
end

--- Writes bytes as they are: a picture, or what a command has written.
---@param bytes string
---@param to? pmclua.OutputPlace
function M.bytes(bytes, to)
  local put, close = open(to)
  put(bytes)
  close()
end

--- Writes a report. Raises an error object where it could not be written.
---@param content string|fun(put: fun(piece: string)) text, or what writes it in pieces
---@param to? pmclua.OutputPlace
---@param mode? "w"|"a"
function M.write(content, to, mode)
  local put, close = open(to, mode)
  local function piece(bytes) put(printed(bytes)) end
  if type(content) == "string" then piece(content) else content(piece) end
  close()
end

-- ---- messages -----------------------------------------------------------------------------------------------

-- In the characters of the terminal and its width, but for tracebacks and what a program reads: these keep their lines.
local function fitted(message)
  local is_read_by_people = core.is_terminal(2) and not message:find("\n\t", 1, true)
  return terminal[is_read_by_people and "fit" or "spelled"](message, { stream = 2 })
end

--- Says something on standard error, in lines of its own. Where nobody listens nothing is lost that was measured.
---@param message string
function M.say(message)
  io.stdout:flush()
  io.stderr:write(fitted(text.plain(message)), "\n")
end

--- Says it as pmclua itself.
---@param form string
---@param ... any
function M.note(form, ...) M.say("pmclua: " .. form:format(...)) end

--- Shows a line on a terminal's standard error that the next one takes the place of; nil: none.
---@param line? string
function M.status(line)
  io.stderr:write("\r\27[K", terminal.spelled(text.plain(line or ""), { stream = 2 }))
end

return M
