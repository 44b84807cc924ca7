--- missing.lua: what the counts of a repetition lack: programs that Linux does not let be counted, work that others
-- did, what went on after the end; and whether its parts show that something is missing.
--
-- Invariant: no part of a repetition has more than the whole. Where one has, the whole is not what it seems, and its
-- count is left out.

local core = require "pmclua.core"
local dropped = require("pmclua.base.lazy").module "pmclua.explain.dropped"
local explain = require "pmclua.explain"
local launcher = require("pmclua.base.lazy").module "pmclua.explain.launcher"
local reading = require("pmclua.base.lazy").module "pmclua.counting.reading"
local remarks = require "pmclua.base.remarks"
local text = require "pmclua.base.text"

local M = {}

---@class pmclua.Missing
---@field remarks pmclua.Remarks
local Missing = {}
Missing.__index = Missing

---@param declaration pmclua.Declaration
---@return pmclua.Missing
function M.new(declaration)
  return setmetatable({ declaration = declaration, remarks = remarks.new() }, Missing)
end

-- A launcher's tasks are not children of the command; with inherit = false no child is counted anyway.
local function launcher_of(self, step, pass, result)
  local workload, declaration = step.cell.workload, self.declaration
  if not workload.launcher or declaration.inherit == false or declaration.target then return nil end
  return pass.simulated and workload:launcher(step.cell.levels) or result.launcher
end

--- Notes what came of a run, and in the result what its counts lack.
---@param step table
---@param pass table of the plan
---@param result table of Session:run, changed
function Missing:note(step, pass, result)
  local list = self.remarks
  if result.untraced then
    list:add("system calls could not be traced in some repetitions: " .. result.untraced)
  end
  if result.unseen then list:add(dropped.unseen(result.unseen, step.cell.workload.name)) end
  -- Once: each repetition leaves its own.
  if result.left and not self.left then list:add(dropped.left(result.left)) end
  self.left = self.left or result.left
  if result.dropped then list:add(dropped.remark(result.dropped)) end
  result.launcher = launcher_of(self, step, pass, result)
  if result.launcher then list:add(launcher.remark(result.launcher)) end
end

-- Whether a part has more of an event than the whole. Estimates are not compared, nor times, which threads have at once.
local function is_larger(whole, part, index, event)
  local count, total = part.counts[index], whole.counts[index]
  return total and not event.tool and count > total
    and reading.is_throughout(whole.enabled[index], whole.running[index])
    and reading.is_throughout(part.enabled[index], part.running[index])
end

local function why_larger(self, whole, part, index)
  local cause = whole.launcher and launcher.why(whole.launcher)
    or "what it is of is no child of the command, or went on after its end"
  return ("its part '%s' counted %s of %s, and the whole run %s: %s"):format(text.safe(part.region),
    core.decimal(part.counts[index]), self.declaration.events[index].name, core.decimal(whole.counts[index]),
    cause)
end

--- Leaves out what a record counted of an event of which a region in it has more.
---@param record table changed
---@param parts table[] its parts
---@return pmclua.Problem? problem what the first of them has
function Missing:check(record, parts)
  local declaration = self.declaration
  if not declaration.regions or declaration.inherit == false then return nil end
  for _, part in ipairs(parts) do
    for index in pairs(part.counts) do
      if is_larger(record, part, index, declaration.events[index]) then
        record.incomplete = record.incomplete or why_larger(self, record, part, index)
        record.counts[index] = nil
      end
    end
  end
  return record.incomplete and explain.problem { code = "EPARTS", operation = "count",
    message = ("%s: %s"):format(record.workload, record.incomplete) }
end

return M
