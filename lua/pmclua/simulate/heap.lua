--- heap.lua: what commands allocate, counted by DHAT in one run, with all the programs that they start.
--
-- DHAT sees the blocks of malloc, calloc, realloc, new and their like. It writes a file when a process ends: a forked
-- child's has what its parent had allocated, too, and a program that another one replaces has none. Such runs have no
-- counts, with the reason.

local heap_file = require "pmclua.simulate.heap_file"
local lists = require "pmclua.base.lists"
local out_file = require "pmclua.simulate.out_file"
local running = require "pmclua.simulate.running"
local text = require "pmclua.base.text"

local M = {}

-- The log of "-v" tells which programs have Valgrind's malloc.
local HOW = { name = "dhat", tool = "dhat",
  words = { "-v", "--demangle=no", "--fullpath-after=", ("--num-callers=%d"):format(heap_file.DEPTH) } }

---@class pmclua.HeapCommand: pmclua.SimulatedWorkload
local Heap = {}
Heap.__index = Heap

--- Counts what a cell's command allocates.
---@param context pmclua.SimulationContext
---@param cell pmclua.PlannedCell
---@return pmclua.HeapCommand
function M.new(context, cell)
  local run = running.new(context, cell)
  return setmetatable({ context = context, workload = cell.workload, running = run, scratch = run.scratch },
    Heap)
end

local FORKED = "it forks a child that executes no program: DHAT cannot tell what that allocates from what "
  .. "its parent had"
local REPLACED = "it executes %s in place of another program, and DHAT forgets what that had allocated: "
  .. "run %s itself"
local NO_MALLOC = "%s is a static program: Valgrind's malloc, by which DHAT counts, is put in by the dynamic "
  .. "loader"

-- Why a run's files are not what it allocated; nil where they are.
local function why_not(report)
  if report.forks > 0 then return FORKED end
  for _, process in ipairs(report.processes) do
    local last = text.safe(process.starts[#process.starts] or "?")
    if #process.starts > 1 then return REPLACED:format(last, last:match "^%S*") end
    if not process.has_malloc then return NO_MALLOC:format(last:match "^%S*") end
  end
end

local MANY = "%s runs %s: peak-heap is that of the process with the largest one; what a forked child "
  .. "allocates before it executes a program is not counted"

local function remark_on(self, processes)
  if #processes == 1 then return end
  local many = text.plural(#processes, "process", "processes")
  self.context.remark(MANY:format(text.safe(self.workload.name), many))
end

function Heap:run(pass)
  local before = self.running:refused()
  if before then return before end
  local result, run_log = self.running:run(HOW)
  if not run_log then return result end
  local files, why = self.running:files(heap_file.read)
  local problem = why_not(run_log) or not files and why or #files == 0 and "Valgrind wrote no counts"
  if problem then return running.lost(result, "%s", problem) end
  remark_on(self, run_log.processes)
  heap_file.keep_largest_peak(files)
  local has_threads = lists.any(files, function(file) return file.has_threads end)
  result.is_certain = #run_log.processes == 1 and not has_threads
  result.simulated = running.by_event(self.context.declaration.events, pass, out_file.sum(files))
  result.files = files
  function result.chains(counters) return heap_file.chains(files, counters) end
  return result
end

function Heap:forget() self.running:forget() end

return M
