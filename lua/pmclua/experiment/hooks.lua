--- hooks.lua: the functions of the script, and commands or kernels that run beside what is measured: never counted.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local raised = require "pmclua.base.raised"

--- INTERRUPTED, FAILED: raised in place of what ended the run; FAILED: with self.problem.
local M = { INTERRUPTED = {}, FAILED = {} }

local function fail(self, problem)
  self.problem = self.problem or problem
  error(M.FAILED, 0)
end

--- Calls a function of the script: what it returns first. What it raises ends the run.
---@param self pmclua.Run
---@param what string it is, for what is said of its failure
---@param fn function
---@return any
function M.call(self, what, fn, ...)
  local ok, caught = core.call_script(fn, ...)
  if ok then return caught end
  if raised.field(caught.value, "quiet") then error(caught.value, 0) end       -- it ends the script
  if raised.field(caught.value, "code") == "EINTR" then error(M.INTERRUPTED, 0) end
  fail(self, raised.problem(caught, { code = "EHOOK", operation = what, before = what .. " failed: " }))
end

--- Runs a hook of a cell, if there is one.
---@param self pmclua.Run
---@param hook? function|table
---@param cell pmclua.PlannedCell
---@param what string
function M.run(self, hook, cell, what)
  if not hook then return end
  local interrupts = core.interrupts()
  local in_process = type(hook) == "function" and hook
    or type(hook) == "table" and hook.in_process and hook.fn
  if in_process then
    self.flush()
    return M.call(self, what, in_process, lists.copy(cell.levels), cell.workload.name)
  end
  local result = self.session:run_only(function(message)
    hook:define(message, cell.levels, { session = self.session })
  end, { in_runner = hook.in_runner })
  local complaint = hook:complaint(result)
  if (complaint or result.outcome == "interrupted") and core.interrupts() > interrupts then
    error(M.INTERRUPTED, 0)
  end
  if complaint then
    fail(self, explain.problem { code = "EHOOK", operation = what,
      message = ("%s '%s' failed: %s"):format(what, hook.name, complaint) })
  end
end

return M
