--- plan.lua (report): what `--plan` prints: what would run, how often, in which passes.

local text = require "pmclua.text"

local M = {}

local function names(events, indices)
  local list = {}
  for i, index in ipairs(indices) do list[i] = text.safe(events[index].name) end
  return table.concat(list, ", ")
end

local function add_events(lines, declaration)
  for _, event in ipairs(declaration.events) do
    if event.status then
      lines[#lines + 1] = ("  not counted: %s <%s>: %s"):format(text.safe(event.name), event.status, event.why)
    end
  end
end

local function add_passes(lines, declaration, made)
  for i, pass in ipairs(made.passes) do
    for j, group in ipairs(pass.groups) do
      lines[#lines + 1] = ("  pass %d%s: %s"):format(i, #pass.groups > 1 and (", group %d"):format(j) or "",
        names(declaration.events, group.events))
    end
    if #pass.groups == 0 then lines[#lines + 1] = ("  pass %d: times and resource usage alone"):format(i) end
  end
end

--- The plan in lines.
---@param declaration pmclua.Declaration
---@param made table of experiment/plan.lua
---@return string
function M.render(declaration, made)
  local lines = {
    ("%s × %s × %s × (%d warm-up + %d counted) = %d runs, interleaved, seed %d"):format(
      text.plural(#declaration.workloads, "workload"),
      text.plural(#made.cells / math.max(1, #declaration.workloads), "cell"), text.plural(#made.passes, "pass", "passes"),
      declaration.warmup, declaration.repetitions, made.runs, declaration.seed),
  }
  add_passes(lines, declaration, made)
  add_events(lines, declaration)
  for _, cell in ipairs(made.cells) do
    local levels = {}
    for _, factor in ipairs(declaration.factors) do
      levels[#levels + 1] = ("%s=%s"):format(factor.name, tostring(cell.levels[factor.name]))
    end
    lines[#lines + 1] = ("  cell %d: %s %s"):format(cell.index, text.safe(cell.workload.name), text.safe(table.concat(levels, " ")))
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
