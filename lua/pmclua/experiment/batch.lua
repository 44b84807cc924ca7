--- batch.lua: groups steps of a plan that the runner can do by itself, one after the other.
--
-- Invariant: a batch does the same as its steps one by one, in the plan's order. They share cell, pass, iterations
-- and layout, and nothing has to be done here between them.

local planner = require "pmclua.experiment.plan"

local M = {}

-- Steps in one batch: so many results of a command come in within a minute.
local MOST = 1000

--- Whether steps of this run can be in one batch at all. A script's functions, conditions and stop rules are
--- asked between two steps, and a counter that is not the runner's is read there.
local function can_batch(declaration, run)
  return not (declaration.prepare or declaration.conclude or declaration.reject_if or run.enough
    or run.counter or run.sampling or run.processes
    or declaration.layout == "randomise")
end

--- The block of a step, warm-ups counted.
---@param declaration pmclua.Declaration
---@param step table
---@return integer
function M.block(declaration, step) return step.index + (step.warmup and 0 or declaration.warmup) end

local function goes_with(run, step, first)
  if run.barrier and (step.index ~= first.index or step.warmup ~= first.warmup) then return false end
  return step.cell == first.cell and step.pass == first.pass and step.choice == first.choice
    and not step.cell.workload.in_process
end

-- Whether a step is done, or need not be.
local function is_over(run, step)
  return run.done and run.done:has(step) or run.simulation and run.simulation:has_enough(step)
end

-- Limits on simulated counts may take more blocks than were asked for, and short kernels more than declared.
local function declared_enough(declaration, run)
  return function(blocks)
    local more = run.processes and run.processes:more() or 0
    return blocks >= declaration.repetitions + more
      and not (run.simulation and run.simulation:wants_more(blocks))
  end
end

--- The steps of a plan that are still to be done, in batches of at least one.
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@param run pmclua.Run
---@return fun(): table[]? steps
function M.batches(declaration, plan, run)
  local next_step = planner.steps(declaration, plan, run.enough or declared_enough(declaration, run))
  local most = can_batch(declaration, run) and MOST or 1
  local function next_wanted()
    local step = next_step()
    while step and is_over(run, step) do step = next_step() end
    return step
  end
  local ahead
  return function()
    -- The runs since then may have been enough for it.
    if ahead and is_over(run, ahead) then ahead = nil end
    local steps = { ahead or next_wanted() }
    -- A simulated pass is run under Valgrind from here, one repetition after the other.
    local is_simulated = steps[1] and plan.passes[steps[1].pass].simulated
    ahead = nil
    while steps[1] and #steps < most and not ahead and not is_simulated do
      local step = next_wanted()
      if not step then break end
      if goes_with(run, step, steps[1]) then steps[#steps + 1] = step else ahead = step end
    end
    return steps[1] and steps or nil
  end
end

return M
