--- budget.lua: descriptors: how many a target takes, and the soft limit raised for as long as it does.

local binding = require "pmclua.core.processes"
local explain = require "pmclua.explain"
local machine = require "pmclua.host.machine"
local text = require "pmclua.base.text"

local M = {}

local SPARE, LEAST_SPARE = 64, 16       -- for files, pipes and the runner, opened meanwhile

local function too_many(count, needed, hard, what)
  return explain.problem { code = "EMFILE", operation = "open",
    message = ("counting %s takes %s descriptors, %s with those already open and a few to spare; at most %s "
      .. "are allowed here"):format(what, text.count(count), text.count(needed), text.count(hard)),
    hint = ("count fewer events, CPUs or threads, or raise the hard limit: ulimit -Hn %d as root")
      :format(needed) }
end

--- Makes room for `count` descriptors, until `give_back` of what it returns, or until that is collected. Raises a
--- problem that names the number needed where the hard limit is below it.
---@param count integer
---@param what string for the message: "5 events on 400 threads"
---@return ffi.cdata* taken
function M.take(count, what)
  local _, hard = binding.descriptor_limits()
  local open = #machine.entries "/proc/self/fd"
  if open == 0 then open = SPARE end                    -- nobody says how many there are
  local least, wanted = open + count + LEAST_SPARE, math.min(hard, open + count + SPARE)
  if least > hard then error(too_many(count, least, hard, what), 0) end
  local taken, code = binding.take_descriptors(count, wanted)
  if taken then return taken end
  error(explain.problem { code = code, operation = "open",
    message = ("cannot raise the limit on open descriptors to %s"):format(text.count(wanted)) }, 0)
end

--- Gives back what `take` took.
---@param taken ffi.cdata*
function M.give_back(taken) binding.give_back_descriptors(taken) end

return M
