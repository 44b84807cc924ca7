--- running.lua: the script that runs in this process. The command line sets it; messages and the header of a result
--- tell of it.

local M = {}

---@class pmclua.Script
---@field word string as the command line has it: a path, or a name
---@field path? string as given, or found; nil: it came by standard input
---@field name string without folder and ".lua"
---@field folder string where its sources are looked for; "." when it has no file
---@field modules? string the same folder from the root, where its modules are looked for; nil: it has no file
---@field args string[] the arguments that nothing has taken yet
---@field words string[] all arguments, as they were given
---@field given? table options of all experiments that pmc.options has met, by field
---@field taken? boolean an experiment has read args and given

--- nil at the prompt and for -e.
---@type pmclua.Script?
M.script = nil

-- ---- runs that did not complete ----

---@class pmclua.BadEnd
---@field status "interrupted"|"failed"|"complete"
---@field problem? pmclua.Problem
---@field signal? integer that interrupted it

local SIGINT = 2

-- `unseen`: results that the script has not looked at. `interrupted`: the signal that interrupted a run (false: none
-- yet; nil: pmclua is a library of a program, which decides for itself). `leave`: what the prompt does when a script
-- goes on to begin more runs.
local unseen, interrupted, leave = {}, nil, nil
-- Scripts and the prompt have a scope of their own, before anything else is loaded; a host program has none.
if package.loaded["pmclua.base.scope"] then interrupted = false end

--- Notes that a run did not complete: a script that never looks does not end as success.
---@param ended pmclua.BadEnd
function M.note_end(ended)
  unseen[#unseen + 1] = ended
  if interrupted == false and ended.status == "interrupted" then interrupted = ended.signal or SIGINT end
end

--- The script has looked at an end.
---@param ended pmclua.BadEnd
function M.see_end(ended)
  for i = #unseen, 1, -1 do
    if unseen[i] == ended then table.remove(unseen, i) end
  end
  -- A script that knows of an interrupt decides itself what comes next.
  local is_known = ended.status == "interrupted" and interrupted == SIGINT and not leave
  if is_known then interrupted = false end
end

--- The exit status of the first bad end that the script has not looked at, and its problem, if it has one.
---@return integer status 0: there is none
---@return pmclua.Problem? problem
function M.end_status()
  local ended = unseen[1]
  if not ended then return 0 end
  return ended.signal and 128 + ended.signal or 1, ended.problem
end

--- The prompt begins what was typed: an interrupt that ends a run there ends all of it.
---@param on_next fun() called where another run begins after that: a pcall around the first has kept the interrupt
function M.begin_typed(on_next) unseen, interrupted, leave = {}, false, on_next end

--- Raises where a run was interrupted before, in a script or in what was typed. A signal that ends processes ends this one.
function M.check_interrupted()
  if not interrupted then return end
  if interrupted ~= SIGINT then os.exit(128 + interrupted, true) end
  if leave then leave() end
  error(require("pmclua.base.problem").problem { code = "EINTR", operation = "run",
    message = "interrupted" }, 0)
end

return M
