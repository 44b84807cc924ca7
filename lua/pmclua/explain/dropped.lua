--- dropped.lua: what is said where Linux ended the events of a program when it was executed.

local text = require "pmclua.base.text"

local M = {}

--- Why a count is absent then.
M.WHY = "Linux stopped counting a program when it was executed"

M.HINT = "count by CPU (-a, -C), which misses nothing, or leave that program out"

-- No word of root: it is exec that drops the events, whoever counts, but of files that only root may read.
local CAUSES = "it is setuid or setgid, has capabilities, or may not be read by its user"

--- The remark on a program that was dropped.
---@param name string of the program
---@return string
function M.remark(name)
  return ("Linux stopped counting '%s', and all that it started, when it was executed: %s. Counts that "
    .. "include it are incomplete and left out: %s"):format(text.safe(name), CAUSES, M.HINT)
end

--- The status of a count where it is not known whether each program that was executed is in it.
M.UNWATCHED = "unwatched"

--- Why a count is `UNWATCHED`.
M.WHY_UNWATCHED = "not every program that was executed could be checked"

local REASONS = { ENOSPC = "too many at once", E2BIG = "too many threads and CPUs to watch" }

local function not_each(who)
  return ("not every program that %s executed"):format(who and text.safe(who) or "the target")
end

--- The remark where it is not known whether a program was dropped.
---@param code string the errno of watching: "ENOSPC", "E2BIG", …
---@param who? string the workload; nil: the target
---@return string
function M.unseen(code, who)
  return ("%s could be checked (%s): Linux may have stopped counting one that is setuid or setgid, "
    .. "has capabilities or may not be read. The counts are marked '%s'"):format(
    not_each(who), REASONS[code] or code, M.UNWATCHED)
end

--- Whether a remark is one of `unseen`, on this workload or on a target.
---@param remark string
---@param who string
---@return boolean
function M.is_unseen(remark, who)
  return remark:find(not_each(who), 1, true) ~= nil or remark:find(not_each(), 1, true) ~= nil
end

--- `unseen` where calls are followed.
---@param code string
---@return string
function M.unlooked(code)
  return ("%s could be checked (%s): Linux may have stopped following one that is setuid or setgid, "
    .. "has capabilities or may not be read"):format(not_each "it", REASONS[code] or code)
end

--- The message for a program that Linux dropped while calls are followed.
---@param name string of the program
---@return string
function M.unfollowed(name)
  return ("Linux stopped following '%s', and all that it started, when it was executed: %s. Their calls "
    .. "are missing, and shares are of the rest of the run"):format(text.safe(name), CAUSES)
end

--- Whether a remark is one of `remark`.
---@param remark string
---@return boolean
function M.is_remark(remark) return remark:find("Linux stopped counting", 1, true) ~= nil end

--- The remark on processes that a command left running.
---@param left { count: integer, pid: integer, name: string } the first of them
---@return string
function M.left(left)
  local others = left.count - 1
  local more = others > 0 and " and " .. text.plural(others, "more process", "more processes") or ""
  return ("the command has ended, but left running: %s (process %d)%s; what they do from then on is not "
    .. "counted"):format(text.safe(left.name), left.pid, more)
end

--- The same where only the time that is missing tells.
M.CAUSES = "it does so when a program is executed that is setuid or setgid, has capabilities or may not be "
  .. "read by its user: " .. M.HINT

return M
