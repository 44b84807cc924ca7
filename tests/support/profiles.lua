--- profiles: profiles made by hand, for specs of ledgers and of what shows and stores them.

local M = {}

--- A line: `count` counts of a function of the program ./parse, at line numbers `at` (number to count).
---@param fn string
---@param count number
---@param more? table fields to add or replace; `lines`: counts by source line
---@return table
function M.line(fn, count, more)
  local line = { file = "/home/u/parse", build_id = "aa", fn = fn, source = "/home/u/parse.c", count = count,
    samples = count, at = {} }
  for field, value in pairs(more or {}) do line[field] = value end
  for number, part in pairs(line.lines or {}) do
    table.insert(line.at, { line = number, address = 0x1000 + 16 * number, source = line.source, count = part,
      samples = part })
  end
  table.sort(line.at, function(x, y) return x.line < y.line end)
  line.lines = nil
  return line
end

--- A profile whose total is what its lines and rest hold.
---@param lines table[]
---@param more? table fields to add or replace
---@return table
function M.profile(lines, more)
  local profile = { event = "page-faults", period = 1, unit = "", lines = lines, rest = {}, exact = true,
    source = "samples", program = "/home/u/parse", total = 0 }
  for field, value in pairs(more or {}) do profile[field] = value end
  for _, line in ipairs(lines) do profile.total = profile.total + line.count end
  for _, count in pairs(profile.rest) do profile.total = profile.total + count end
  return profile
end

return M
