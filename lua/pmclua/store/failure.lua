--- failure.lua: refusals of result files as error objects.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local text = require "pmclua.base.text"

local M = {}

local HINTS = {
  ENOSPC = "the disk is full: what was written is kept; make room, or name another file with --store FILE",
  EDQUOT = "the disk quota is used up: what was written is kept; name another file with --store FILE",
  EEXIST = "it is there already: results are never overwritten; name another file",
  EWOULDBLOCK = "another pmclua is writing to it",
  EAGAIN = "another pmclua is writing to it",
  ELOOP = "it is a symbolic link, or one of another user is on the way: these are not followed",
  EPERM = "another user has put a file there",
  ENODATA = "it has not one whole line",
}

--- Raises an error object.
---@param operation string "create", "write to", …
---@param subject string path
---@param why string errno name, or words
---@param number? integer errno
---@param hint? string
function M.refuse(operation, subject, why, number, hint)
  local code = why:match "^E[%u%d]+$"
  local reason = number and core.errno_text(number) or text.safe(why)       -- it may cite the file
  error(explain.problem { code = code or "EFILE", operation = operation, hint = hint or HINTS[why],
    message = ("cannot %s %s: %s"):format(operation, text.safe(subject), reason) }, 0)
end

return M
