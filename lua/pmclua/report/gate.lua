--- gate.lua (report): which limits did not hold, in one line each.

local text = require "pmclua.text"
local terminal = require "pmclua.report.terminal"
local words = require "pmclua.report.words"

local M = {}

local function moved(result)
  if not result.ratio then return "" end
  local function percent(ratio)
    return ("%s%s"):format(ratio == 1 and "±" or ratio > 1 and "+" or "", text.percent(ratio - 1))
  end
  local shown = percent(result.ratio)
  if result.low == result.high then return (" (%s)"):format(shown) end
  return (" (%s, interval %s … %s)"):format(shown, percent(result.low), percent(result.high))
end

local function line_of(result)
  local head = ("'%s', %s: "):format(text.safe(result.text), text.safe(result.cell))
  local observed, allowed = text.value(result.observed, result.unit), text.value(result.allowed, result.unit)
  if not result.baseline then return ("%sfails: %s, allowed %s"):format(head, observed, allowed) end
  local before = text.value(result.baseline, result.unit)
  return ("%sfails: %s, was %s%s"):format(head, observed, before, moved(result))
end

-- What a limit that holds was not seen to hold in.
local function unseen_line(result)
  return ("'%s', %s: %d of %d repetitions have no value"):format(text.safe(result.text),
    text.safe(result.cell), result.missing, result.repetitions)
end

-- The cause without what needed what.
local function cause(reason) return words.brief((reason:gsub("^needs [^:]+: ", ""))) end

-- Limits that cannot be checked for one reason in several cells are said once.
local function uncountable_lines(results)
  local lines, cells, order = {}, {}, {}
  for _, result in ipairs(results) do
    local said = ("'%s' cannot be checked%%s: %s"):format(text.safe(result.text):gsub("%%", "%%%%"),
      (cause(result.reason):gsub("%%", "%%%%")))
    if not cells[said] then cells[said], order[#order + 1] = {}, said end
    table.insert(cells[said], text.safe(result.cell))
  end
  for i, said in ipairs(order) do
    local count = #cells[said]
    lines[i] = said:format(count > 1 and (" in %d cells"):format(count) or ", " .. cells[said][1])
  end
  return lines
end

--- What did not hold, a line each; one line where all did. And where a value is missing.
---@param gate pmclua.Gate
---@return string without a newline at its end
function M.render(gate)
  local lines, held, uncountable, unseen = {}, 0, {}, {}
  for _, result in ipairs(gate.results) do
    if result.state == "pass" then
      held = held + 1
      if (result.missing or 0) > 0 then unseen[#unseen + 1] = unseen_line(result) end
    elseif result.state == "fail" then lines[#lines + 1] = line_of(result)
    else uncountable[#uncountable + 1] = result end
  end
  for _, line in ipairs(uncountable_lines(uncountable)) do lines[#lines + 1] = line end
  if #lines == 0 then lines[1] = held == 1 and "the limit holds" or ("all %d limits hold"):format(held) end
  for _, line in ipairs(unseen) do lines[#lines + 1] = line end
  for i, line in ipairs(lines) do lines[i] = "gate: " .. line end
  return terminal.spelled(table.concat(lines, "\n"))
end

return M
