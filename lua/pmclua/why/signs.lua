--- signs.lua: lines that the signs of the pairs name though their mean does not.
--
-- One repetition in which something else had the CPU for long widens the interval of a mean beyond any use, on
-- machines that others use too. The signs of the pairs do not mind. So a line is named where either of the two
-- tests names it; for equals that is two tests of 1 %.

local order = require "pmclua.stats.order"

local M = {}

local function is_named(row) return row.verdict == "more" or row.verdict == "fewer" end

local function median_difference(line)
  local list = {}
  for i, a in ipairs(line.a) do list[i] = line.b[i] - a end
  return order.median_of(order.sorted(list))
end

local function by_weight(x, y)
  if (x.key == "others") ~= (y.key == "others") then return y.key == "others" end
  if is_named(x) ~= is_named(y) then return is_named(x) end
  if math.abs(x.difference) ~= math.abs(y.difference) then
    return math.abs(x.difference) > math.abs(y.difference)
  end
  return x.label < y.label
end

--- Names such lines in a ledger, and what follows from it.
---@param found pmclua.Ledger
---@return pmclua.Ledger found
function M.name(found)
  local names = {}
  for _, row in ipairs(found.lines) do
    if row.disagrees == "t" and row.verdict == "undecided" then
      row.verdict, row.by_signs = median_difference(row.line) > 0 and "more" or "fewer", true
    end
  end
  table.sort(found.lines, by_weight)
  for _, row in ipairs(found.lines) do
    if is_named(row) and row.key ~= "others" then names[#names + 1] = row end
  end
  found.conclusion.names = names
  if #names > 0 then found.conclusion.kind = "named" end
  return found
end

return M
