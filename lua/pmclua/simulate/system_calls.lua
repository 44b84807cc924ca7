--- system_calls.lua: the system calls of commands, counted in one run, with all that they start.
--
-- The runner starts the program, traces it and has a filter stop the calls that are counted
-- (core/runner/launching/call_counts.c). It runs in its own environment, as in other passes.

local bit = require "bit"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local numbers = require "pmclua.core.system_calls"
local paths = require "pmclua.host.paths"
local running = require "pmclua.simulate.running"
local scratch = require "pmclua.simulate.scratch"
local system_call = require "pmclua.event.system_call"

local M = {}

---@class pmclua.CountedCommand: pmclua.SimulatedWorkload
local Counted = {}
Counted.__index = Counted

--- Counts the system calls of a cell's command.
---@param context pmclua.SimulationContext
---@param cell pmclua.PlannedCell
---@return pmclua.CountedCommand
function M.new(context, cell)
  return setmetatable({ context = context, workload = cell.workload, levels = cell.levels,
    scratch = scratch.new() }, Counted)
end

local function list_of(self) return self.scratch.path .. "/calls" end

local function events_of(self, pass)
  return lists.map(pass.events, function(index) return self.context.declaration.events[index] end)
end

local function defined(self, pass, path)
  if not self.id then
    local mine, context = lists.copy(self.workload), self.context
    mine.argv = { paths.runner(), "calls", list_of(self), system_call.asked(events_of(self, pass)), path,
      unpack(self.workload.argv) }
    setmetatable(mine, getmetatable(self.workload))
    self.id = context.session:workload(function(message)
      mine:define(message, self.levels, { session = context.session, pin = context.declaration.pin })
    end)
  end
  return self.id
end

local LEFT = "it has left processes running, whose calls are not counted to their end: they were ended"
local REFUSED = "Linux lets nobody trace it here (%s): ptrace(2) and seccomp(2) have to be allowed"
local SETUID = 0xc00                   -- of the user or of the group
local GAINS = "%s gains rights when it is executed (setuid), which Linux denies who is traced: be root"

-- Why a run has no counts; nil where it has.
local function why_not(self, result, listing, path)
  if result.outcome == "not-started" then return tostring(self.workload:refusal(result)) end
  if result.outcome ~= "done" and result.outcome ~= "signalled" then return nil end
  local errnum = tonumber(listing:match "! exec (%d+)")
  if errnum then return tostring(explain.system(errnum, "execute", path)) end
  errnum = tonumber(listing:match "! (%d+)")
  if errnum then return REFUSED:format(core.errno_name(errnum)) end
  local is_there, mode = core.signature(path)
  if listing:find "rights\n" and is_there and bit.band(mode, SETUID) ~= 0 then return GAINS:format(path) end
  return listing:find "! left" and LEFT or nil
end

-- Counts by index of the event.
local function counts_of(self, pass, listing)
  local by_number, counts, total = {}, {}, 0
  for number, count in listing:gmatch "(%d+) (%d+)\n" do
    by_number[tonumber(number)] = core.u64(count)
    total = core.sum(total, core.exact(core.u64(count)))
  end
  local number_of = numbers.numbers()
  for _, index in ipairs(pass.events) do
    local name = self.context.declaration.events[index].simulated[1]
    local count = by_number[number_of[name]]
    counts[index] = name == system_call.TOTAL and total or count and core.exact(count) or 0
  end
  return counts
end

function Counted:run(pass)
  local path = self.workload:program(self.levels) or self.workload.argv[1]
  self.scratch:clear()
  local result = self.context.session:run { workload = defined(self, pass, path), iterations = 1,
    timeout_ns = self.context.declaration.timeout_ns }
  if result.outcome == "interrupted" or result.outcome == "quit" then return result end
  result.iterations = 1
  local listing = machine.text(list_of(self)) or ""
  local why = why_not(self, result, listing, path)
  if why then return running.lost(result, "%s", why) end
  local has_counts = result.outcome == "done" or result.outcome == "signalled"
  result.simulated = has_counts and counts_of(self, pass, listing) or nil
  result.is_certain = false
  return result
end

function Counted:forget()
  if self.id then self.context.session:forget(self.id) end
  self.id = nil
end

return M
