--- iterations.lua: how many iterations a repetition of a kernel has: as many as the script says, else so many that it
--- is long enough.

local planner = require "pmclua.experiment.plan"

local M = {}

local TARGET_NS = 1e6       -- a repetition long enough that two reads (about 2 µs) are under 1 % of it
local TARGET_INSTRUCTIONS = 1e6    -- of a simulated one, which has to be as long on every machine
local MOST_ITERATIONS = 2 ^ 40

local function is_long(result)
  if result.instructions then return result.instructions >= TARGET_INSTRUCTIONS end
  return result.wall_ns >= TARGET_NS
end

--- The iterations with which a kernel's repetition takes 1 ms, or a simulated one a million instructions, found by
--- doubling; nil and the result of a run that went badly.
---@param run fun(iterations: integer): table a result; of a simulated run with its `instructions`
local function long_enough(run)
  local iterations = 1
  while true do
    local result = run(iterations)
    if result.outcome ~= "done" then return nil, result end
    if is_long(result) or iterations >= MOST_ITERATIONS then return iterations end
    iterations = iterations * 2
  end
end

--- How many iterations a repetition has; nil and a result where looking for them failed.
---@param declaration pmclua.Declaration
---@param step table of plan.steps
---@param found table what was found before for this cell and kind of pass, as [1]; it is kept there
---@param run fun(iterations: integer): table
---@return integer?
---@return table? failed
function M.of(declaration, step, found, run)
  local declared = declaration.iterations
  if step.cell.workload.per ~= "iteration" then return 1 end
  if type(declared) == "number" then return declared end
  if type(declared) == "table" then return declared[step.choice] end
  local failed
  if not found[1] then found[1], failed = long_enough(run) end
  if not found[1] then return nil, failed end
  if declared ~= "fit" then return found[1] end
  -- Equal steps up to the whole: 1/5, 2/5 … of it.
  return math.max(1, math.ceil(found[1] / planner.iteration_counts(declaration))) * step.choice
end

return M
