--- refusal.lua: what the OS kernel refused, as error objects (base/problem.lua).
--
-- The rules of perf_event_open are in explain/open.lua, what is known of the machine in explain/facts.lua.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"
local problem = require("pmclua.base.problem").problem

local M = {}

-- ---- specs --------------------------------------------------------------------------------------------

local function spec_hint(hint)
  if not hint then return nil end
  return hint:find " " and hint or ("did you mean '%s'?"):format(hint)
end

--- The mistake in an event's spec, as one sentence.
---@param spec string
---@param mistake { message: string, position?: integer, length?: integer, hint?: string }
---@return string
function M.spec(spec, mistake)
  local sentence, hint = mistake.message, spec_hint(mistake.hint)
  local whole = not mistake.position or mistake.position == 1 and (mistake.length or 0) >= #spec
  if not whole then
    sentence = ("%s, at character %d of '%s'"):format(sentence, mistake.position, text.safe(spec))
  end
  return hint and sentence .. "; " .. hint or sentence
end

-- ---- ordinary errnos ----------------------------------------------------------------------------------

-- The name and the text of an errno; the binding has them, and needs not be there.
local function errno(errnum)
  local ok, core = pcall(require, "pmclua.core")
  if not ok then return "E" .. errnum, "error " .. errnum end
  local errno_words = core.errno_text(errnum)
  return core.errno_name(errnum) or "E" .. errnum, errno_words:sub(1, 1):lower() .. errno_words:sub(2)
end

local function commands_in_path()
  local folders = lists.collect((os.getenv "PATH" or ""):gmatch "[^:]+")
  local names = lists.joined(lists.map(folders, require("pmclua.host.machine").entries))
  table.sort(names)
  return names
end

local function no_such_command(name)
  if not name:find "/" then
    return "there is no such command in PATH", text.meant(name, commands_in_path())
  end
  if require("lfs").attributes(name, "mode") then
    return "the interpreter that it names does not exist",
           "see its first line, or: file " .. name
  end
  return "there is no such file", "paths are from the working directory"
end

local reasons = {}

function reasons.ENOENT(operation, subject)
  if operation == "execute" then return no_such_command(subject) end
  return "there is no such file"
end

function reasons.EACCES(operation, subject)
  if operation ~= "execute" then return "permission denied" end
  return "it is not executable", ("if it is a program: chmod +x %s"):format(subject)
end

function reasons.ENOEXEC() return "it is not a program, and has no #! line that names one" end
function reasons.ENOSPC() return "the disk is full", "free some space, or name another place" end
function reasons.EDQUOT() return "the disk quota is used up", "free some space, or name another place" end
function reasons.EROFS() return "the file system is read-only", "name another place" end
function reasons.EMFILE() return "too many open files", "raise the limit: ulimit -n" end
function reasons.ENOMEM() return "out of memory" end

--- The refusal of an ordinary system call.
---@param errnum integer
---@param operation string what was tried: "execute", "write", "start the runner", …
---@param subject? string the path, command or thing that it was tried on
---@return pmclua.Problem
function M.system(errnum, operation, subject)
  local code, words = errno(errnum)
  local why, hint
  if reasons[code] then why, hint = reasons[code](operation, subject or "") end
  local what = subject and ("cannot %s '%s'"):format(operation, text.safe(subject)) or "cannot " .. operation
  local message = what .. ": " .. (why or words)
  return problem { code = code, operation = operation, message = message, hint = hint }
end

-- ---- perf_event_open ----------------------------------------------------------------------------------

local function subject_of(failure)
  local members = failure.members and #failure.members or 1
  local name = failure.event and "'" .. text.safe(failure.event) .. "'"
    or ("an event of type %d, config 0x%x"):format(failure.attr.type or 0, failure.attr.config or 0)
  if members < 2 or not failure.index or failure.index < 1 then return name end
  if failure.index == 1 then return name .. " (leader)" end
  return ("%s (%d of a group of %d)"):format(name, failure.index, members)
end

-- An event that opened, and whose filter was refused.
local function filter_refused(failure)
  local why, hint = require("pmclua.explain.filter").why(failure.filter, failure.fields)
  return problem { code = failure.code, operation = "filter", event = failure.event, hint = hint,
    reason = why, message = ("cannot open %s with the filter '%s': %s"):format(subject_of(failure),
                       text.safe(failure.filter), why) }
end

--- Why perf_event_open refused, found by asking the machine in the order of its own checks.
---@param failure table { errnum, code, event, attr, pid, cpu, index (from 1), group, members }; of a filter that
---   was refused also `filter`, its text, and `fields`, what the tracepoint tells
---@param facts? pmclua.Facts default: this machine's
---@return pmclua.Problem
function M.open(failure, facts)
  if type(failure.filter) == "string" then return filter_refused(failure) end
  local rules = require "pmclua.explain.open"
  local asked = setmetatable({ attr = require("pmclua.explain.kinds").set_fields(failure.attr) },
                             { __index = failure })
  local why, hint = rules[failure.code](asked, facts or M.facts())
  if not why then why = select(2, errno(failure.errnum or 0)) end
  return problem { code = failure.code, operation = "open", event = failure.event, hint = hint,
    reason = why, message = ("cannot open %s: %s"):format(subject_of(asked), why) }
end

local facts

--- Facts of this machine; read from /proc and /sys when first asked for.
---@return pmclua.Facts
function M.facts()
  facts = facts or require("pmclua.explain.facts").new()
  return facts
end

return M
