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
      lines[#lines + 1] = ("  not counted: %s <%s>: %s"):format(text.safe(event.name), event.status,
        event.why)
    end
  end
end

local function add_passes(lines, declaration, made)
  for i, pass in ipairs(made.passes) do
    for j, group in ipairs(pass.groups) do
      local number = #pass.groups > 1 and (", group %d"):format(j) or ""
      lines[#lines + 1] = ("  pass %d%s: %s"):format(i, number, names(declaration.events, group.events))
    end
    if #pass.groups == 0 then lines[#lines + 1] = ("  pass %d: times and resource usage alone"):format(i) end
  end
end

local function add_cells(lines, declaration, made)
  for _, cell in ipairs(made.cells) do
    local words = { text.safe(cell.workload.name) }
    for _, factor in ipairs(declaration.factors) do
      words[#words + 1] = text.safe(("%s=%s"):format(factor.name, tostring(cell.levels[factor.name])))
    end
    lines[#lines + 1] = ("  cell %d: %s"):format(cell.index, table.concat(words, " "))
  end
end

--- The plan in lines.
---@param declaration pmclua.Declaration
---@param made table of experiment/plan.lua
---@return string
function M.render(declaration, made)
  local lines = { ("%s × %s × (%d warm-up + %d counted) = %d runs, interleaved, seed %d"):format(
    text.plural(#made.cells, "cell"), text.plural(#made.passes, "pass", "passes"), declaration.warmup,
    declaration.repetitions, made.runs, declaration.seed) }
  add_passes(lines, declaration, made)
  add_events(lines, declaration)
  add_cells(lines, declaration, made)
  return table.concat(lines, "\n") .. "\n"
end

return M
