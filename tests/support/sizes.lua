--- sizes.lua: a result of two kernels, rows and columns, over n, made by hand.

local made = require "tests.support.results"
local support = require "tests.support"

local M = {}

M.REPETITIONS = 15
local STEPS = { 300, 100, 500, 200, 400 }

function M.header(more)
  local header = { factors = { { "n", { 8, 64, 512 } } }, repetitions = M.REPETITIONS,
    question = "What grows?", workloads = { { name = "rows", kind = "kernel", per = "iteration" },
      { name = "columns", kind = "kernel", per = "iteration" } }, cells = {}, primary = "cycles" }
  for _, n in ipairs { 8, 64, 512 } do
    for _, name in ipairs { "rows", "columns" } do
      header.cells[#header.cells + 1] = { workload = name, levels = { n = n } }
    end
  end
  return made.header(support.merged(header, more))
end

--- Cycles grow with n; in columns twice as fast.
function M.records(header)
  local list = {}
  for i = 1, M.REPETITIONS do
    for c, cell in ipairs(header.cells) do
      local iterations = header.iterations == "fit" and STEPS[i % #STEPS + 1] or 10
      local slope = (cell.levels.n or 8) * (c % 2 == 0 and 2 or 1) * 10
      list[#list + 1] = made.record({ 900 + iterations * slope + i * 7 % 11, 50, 0 }, { cell = c, index = i,
        order = #list + 1, iterations = iterations, workload = cell.workload, levels = cell.levels })
    end
  end
  return list
end

function M.result(more)
  local header = M.header(more)
  return made.complete(header, M.records(header))
end

function M.stored(more)
  local header = M.header(more)
  return made.stored(support.folder() .. "/r.jsonl", header, M.records(header))
end

return M
