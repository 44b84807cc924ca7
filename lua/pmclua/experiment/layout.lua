--- layout.lua: the memory layout of a program, as a nuisance to randomise or a factor to study.
--
-- Environment size and stack offset alone change benchmarks by several percent (Mytkowicz et al., ASPLOS 2009).
-- layout = "randomise" draws them anew every other repetition, so that variance between layouts can be separated
-- from variance between runs; with few repetitions for each; "fixed" keeps them constant. Factors with the names below set one of them.

local lists = require "pmclua.base.lists"
local placing = require "pmclua.experiment.placing"
local random = require("pmclua.base.lazy").module "pmclua.stats.random"
local units = require("pmclua.base.lazy").module "pmclua.base.units"

local M = {}

-- Whether a level is a size in whole bytes below `limit`: 4096, "4 KiB".
local function is_size(level, limit)
  local bytes = units.bytes(level)
  return bytes ~= nil and bytes % 1 == 0 and bytes < limit
end

local function is_whole(level) return type(level) == "number" and level >= 0 and level % 1 == 0 end
local function is_flag(level) return type(level) == "boolean" end

local UNKNOWN_CACHE_BYTES = 64 * 2 ^ 20

-- Of the largest cache of CPU 0.
local function cache_bytes()
  local line = require("pmclua.host.machine").line
  local largest = 0
  for index = 0, 9 do
    local size = line(("/sys/devices/system/cpu/cpu0/cache/index%d/size"):format(index))
    largest = math.max(largest, units.bytes(size) or 0)
  end
  return largest > 0 and largest or UNKNOWN_CACHE_BYTES
end

-- Factor name -> what its level must be, and the layout that it makes.
M.FACTORS = {
  environment_bytes = { 'a number of bytes below 1 MiB, or "4 KiB"',
    function(level) return { padding = units.bytes(level) } end,
    function(level) return is_size(level, 2 ^ 20) end },
  stack_offset = { 'a number of bytes below 65536, or "4 KiB"',
    function(level) return { stack_offset = units.bytes(level) } end,
    function(level) return is_size(level, 2 ^ 16) end },
  aslr = { "true or false", function(level) return { fixed_addresses = not level or nil } end, is_flag },
  on_cpu = { "a CPU number", function(level) return { cpus = ("%d"):format(level) } end, is_whole },
  cold_caches = { "true or false",
    function(level) return { cold_bytes = level and cache_bytes() * 2 or nil } end, is_flag },
  huge_pages = { '"never" or "default"',
    function(level) return { no_huge_pages = level == "never" or nil } end,
    function(level) return level == "never" or level == "default" end },
  code_layout = { "a whole number from 0, the seed of where code lies (0: as compiled)",
    function(level) return { code = level } end,
    function(level) return is_whole(level) and level < 2 ^ 31 end },
  numa_node = { "a node number", function(level) return { node = level } end, is_whole },
}

-- Why this machine cannot have a level of the right kind; nil: it can.
local ABSENT = {
  on_cpu = function(cpu) return select(2, require("pmclua.workload.pinning").cpus(("%d"):format(cpu))) end,
  numa_node = function(node)
    local nodes = require("pmclua.host.machine").line "/sys/devices/system/node/has_memory"
    if not nodes or lists.contains(require("pmclua.host.topology").parse(nodes) or { node }, node) then
      return nil
    end
    return ("there is no NUMA node %d with memory here, only %s"):format(node, nodes)
  end,
}

-- Whether the place of some workload's code is drawn too: it is compiled here, or `build` makes it anew.
local function places_code(declaration)
  return declaration.build ~= nil or lists.any(declaration.workloads, function(workload)
    return workload.can_place and workload:can_place()
  end)
end

-- Where nothing can place code, its factor would be ignored; nor can a build that replaces the one before be had
-- again.
local function check_code(declaration, wrong)
  if not places_code(declaration) then
    wrong "factor code_layout: no kernel is compiled here; layout = { build = … } places the code of commands"
  elseif declaration.build and not placing.names_seed(declaration) then
    wrong "factor code_layout: the command must name what was built, as in ./prog-{seed}"
  end
end

--- Checks the levels of layout's own factors.
function M.check(declaration, wrong)
  for _, factor in ipairs(declaration.factors) do
    local known = M.FACTORS[factor.name]
    if factor.name == "code_layout" then check_code(declaration, wrong) end
    for _, level in ipairs(known and factor.levels or {}) do
      if not known[3](level) then
        wrong("factor %s: a level must be %s, not %s", factor.name, known[1], tostring(level))
      else
        local problem = ABSENT[factor.name] and ABSENT[factor.name](level)
        if problem then wrong("factor %s: %s", factor.name, problem) end
      end
    end
  end
end

local STEP_BYTES, PAGE_BYTES = 16, 4096

local MOST_SEED = 2 ^ 31 - 1        -- what linkers take

--- The i-th layout of a declaration.
local function draw(declaration, i)
  local source = random.new(declaration.seed, "layout " .. i)
  local drawn = { padding = STEP_BYTES * source:integer(PAGE_BYTES / STEP_BYTES),
    stack_offset = STEP_BYTES * (source:integer(PAGE_BYTES / STEP_BYTES) - 1) }
  if places_code(declaration) then drawn.code = source:integer(MOST_SEED) end
  return drawn
end

M.FEWEST = 6                        -- values that an interval of 95 % takes

--- For how many repetitions a layout is kept: two, which tell layouts from runs; one, where there would be too few layouts.
---@param declaration pmclua.Declaration
---@return integer
function M.runs(declaration)
  return (declaration.stop or declaration.repetitions >= 2 * M.FEWEST) and 2 or 1
end

--- The layouts that a declaration's repetitions get, for its header; nil where they are not drawn.
---@param repetitions integer at most
---@return table[]?
function M.draws(declaration, repetitions)
  if declaration.layout ~= "randomise" then return nil end
  local list = {}
  for i = 1, math.ceil(repetitions / declaration.layout_runs) do list[i] = draw(declaration, i) end
  return list
end

--- The layout of a step: drawn or fixed, then what its factors say.
---@param declaration pmclua.Declaration
---@param step table of plan.steps
---@return table? layout of Session:run
function M.of(declaration, step)
  local layout
  if declaration.layout == "randomise" then
    layout = draw(declaration, math.ceil(step.index / declaration.layout_runs))
  elseif declaration.layout == "fixed" then
    layout = { padding = PAGE_BYTES, stack_offset = 0, fixed_addresses = true }
  end
  for _, factor in ipairs(declaration.factors) do
    local known = M.FACTORS[factor.name]
    if known then
      layout = layout or {}
      for name, value in pairs(known[2](step.cell.levels[factor.name])) do layout[name] = value end
    end
  end
  return layout
end

return M
