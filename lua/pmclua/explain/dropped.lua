--- dropped.lua: what is said where Linux ended the events of a program when it was executed.

local text = require "pmclua.base.text"

local M = {}

--- Why a count is absent then.
M.WHY = "Linux ended the counting of a program that was executed"

M.HINT = "count by CPU (-a, -C), which misses nothing, or leave that program out"

-- No word of root: it is exec that drops the events, whoever counts, but of files that only root may read.
local CAUSES = "it is setuid or setgid, has capabilities, or may not be read by its user"

--- The remark on a program that was dropped.
---@param name string of the program
---@return string
function M.remark(name)
  return ("Linux ended the counting of '%s' when it was executed, and of all that it started: %s. The counts "
    .. "with it are incomplete and left out: %s"):format(text.safe(name), CAUSES, M.HINT)
end

--- Where more programs were executed, or more threads came and went, than there is room to record.
M.UNSEEN = "so many programs or threads were started that not each program could be looked at: whether Linux "
  .. "ended the counting of one that is setuid or setgid, has capabilities or may not be read is not known"

--- The same where calls are followed.
---@param name string of the program
---@return string
function M.unfollowed(name)
  return ("Linux ended the following of '%s' when it was executed, and of all that it started: %s. Calls "
    .. "there are missing, and shares are of the rest of the run"):format(text.safe(name), CAUSES)
end

--- Whether a remark is one of `remark`.
---@param remark string
---@return boolean
function M.is_remark(remark) return remark:find("^Linux ended the counting of") ~= nil end

--- The remark on processes that a command left running.
---@param left { count: integer, pid: integer, name: string } the first of them
---@return string
function M.left(left)
  local others = left.count - 1
  local more = others > 0 and " and " .. text.plural(others, "more process", "more processes") or ""
  return ("the command has ended, and left running: %s (process %d)%s; what they do from then on is not "
    .. "counted"):format(text.safe(left.name), left.pid, more)
end

--- The same where only the time that is missing tells.
M.CAUSES = "it does so when a program is executed that is setuid or setgid, has capabilities or may not be "
  .. "read by its user: " .. M.HINT

return M
