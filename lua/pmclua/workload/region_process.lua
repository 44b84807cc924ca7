--- region_process.lua: functions of a process that runs already, followed for a while: what
--- `pmc.regions(pmc.pid(N), …)` runs.
--
-- Its files are found where the process has them: in its own mount namespace, and also when they were replaced on
-- the disk meanwhile.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local files = require "pmclua.event.function_files"
local region = require "pmclua.workload.region"
local tasks = require "pmclua.host.tasks"
local text = require "pmclua.base.text"

local M = {}

---@class pmclua.RegionProcess
---@field pid integer
---@field task integer a thread of it that lives: where /proc has its program and memory
---@field name string
---@field spec pmclua.RegionSpec
---@field duty integer? parts per million of the time that following may cost
---@field hit_ns number? what a sample costs it, as measured
---@field loaded table<integer, true> by region
local RegionProcess = { kind = "process" }
RegionProcess.__index = RegionProcess

--- A process whose regions are followed.
---@param pid integer
---@param spec pmclua.RegionSpec from region.check
---@return pmclua.RegionProcess  raises where there is no such process
function M.of(pid, spec)
  pid = tasks.process_of(pid) or pid
  local living = tasks.living(pid)
  if not living then
    error(explain.problem { code = "ESRCH", operation = "find",
      message = ("there is no process %d"):format(pid) }, 0)
  end
  if spec.threads == "one" and living ~= pid then
    error(explain.problem { code = "ESRCH", operation = "find",
      message = ("the first thread of process %d has ended"):format(pid),
      hint = "its other threads are followed without threads = \"one\" (--one-thread)" }, 0)
  end
  return setmetatable({ pid = pid, task = living, spec = spec, loaded = {},
    name = ("%s (process %d)"):format(text.safe(tasks.name(pid)), pid) }, RegionProcess)
end

--- The regions, found once. Raises a problem.
---@return pmclua.Region[]
function RegionProcess:regions()
  if self.found then return self.found end
  local program = require("lfs").symlinkattributes(("/proc/%d/exe"):format(self.task), "target")
  if not program then
    error(explain.problem { code = "EACCES", operation = "find",
      message = ("this user may not see the program of process %d"):format(self.pid),
      hint = "it belongs to another user, or is a thread of Linux itself" }, 0)
  end
  self.image = { pid = self.task, program = program }
  self.found = region.find(self.spec, self.image)
  self:note_loaded()
  return self.found
end

--- Notes which regions are in a file that the process has mapped now.
function RegionProcess:note_loaded()
  for i, followed in ipairs(self.found) do
    local file = followed.points[1].file
    self.loaded[i] = self.loaded[i] or not file or files.has_mapped(self.image, file)
  end
end

--- Puts into what came of a run whether the files of its regions were loaded.
---@param pending pmclua.core.Regions
function RegionProcess:put_loading(pending)
  self:note_loaded()
  for i in ipairs(self.found) do pending[i].loading = self.loaded[i] and "loaded" or "never" end
end

--- Why its regions cannot be followed, as far as can be seen now: an error object, or nil.
function RegionProcess:problem()
  local ok, why = pcall(self.regions, self)
  if not ok then return why end
end

--- Its identity as text: equal for equal ones.
---@return string
function RegionProcess:identity() return ("process %d of %s"):format(self.pid, self.image.program) end

--- What a result stores of it.
---@return table
function RegionProcess:facts()
  local program = self.image.program
  return { program = program, program_hash = require("pmclua.workload.evidence").identity(program) }
end

--- Adds it to a definition.
function RegionProcess:define(message)
  message:number("pid", self.pid)
  if self.duty then message:number("duty", self.duty):number("hit_ns", math.ceil(self.hit_ns or 0)) end
  region.define(message, self.spec, self:regions())
end

--- How it failed, in words; nil: it did not.
function RegionProcess.complaint(_, result)
  local refusal = region.refusal(result)
  if refusal then return tostring(refusal) end
  if result.outcome == "done" then return nil end
  if result.outcome == "interrupted" then return "a second interrupt ended it at once" end
  return (result.errnum or 0) ~= 0 and core.errno_text(result.errnum) or "it ended before it was followed"
end

return M
