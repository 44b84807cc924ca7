--- budget.lua: descriptors: how many a target takes, and the soft limit raised for as long as it does.
--
-- Invariant: the soft limit is as it was found whenever nobody needs more. It stays raised while the
-- descriptors are open, since a new one takes the lowest number that is free.

local binding = require "pmclua.core.processes"
local explain = require "pmclua.explain"
local machine = require "pmclua.host.machine"
local text = require "pmclua.base.text"

local M = {}

local SPARE, LEAST_SPARE = 64, 16       -- for files, pipes and the runner, opened meanwhile
local found                             -- the soft limit before it was raised; nil: it was not
local taken = 0                         -- by all targets that are open

local function too_many(count, needed, hard, what)
  return explain.problem { code = "EMFILE", operation = "open",
    message = ("counting %s takes %s descriptors, %s with those already open and a few to spare; at most %s "
      .. "are allowed here"):format(what, text.count(count), text.count(needed), text.count(hard)),
    hint = ("count fewer events, CPUs or threads, or raise the hard limit: ulimit -Hn %d as root")
      :format(needed) }
end

--- Makes room for `count` descriptors; `give_back` undoes it. Raises a problem that names the number
--- needed where the hard limit is below it.
---@param count integer
---@param what string for the message: "5 events on 400 threads"
function M.take(count, what)
  local soft, hard = binding.descriptor_limits()
  local open = #machine.entries "/proc/self/fd"
  if open == 0 then open = SPARE end                    -- nobody says how many there are
  local least, wanted = open + count + LEAST_SPARE, math.min(hard, open + count + SPARE)
  if least > hard then error(too_many(count, least, hard, what), 0) end
  if wanted > soft then
    local ok, code = binding.limit_descriptors(wanted)
    if not ok then
      error(explain.problem { code = code, operation = "open",
        message = ("cannot raise the limit on open descriptors to %s"):format(text.count(wanted)) }, 0)
    end
    found = found or soft
  end
  taken = taken + count
end

--- Gives back what `take` took.
---@param count integer
function M.give_back(count)
  taken = taken - count
  if taken > 0 or not found then return end
  binding.limit_descriptors(found)
  found = nil
end

return M
