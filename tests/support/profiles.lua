--- profiles: profiles made by hand, for specs of ledgers and of what shows and stores them.

local results = require "tests.support.results"
local support = require "tests.support"

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

--- The header of an experiment in which the commands old (baseline) and new were sampled.
---@param more? table fields to replace
function M.header(more)
  return results.header(support.merged({ factors = {}, repetitions = 3,
    workloads = { { name = "old", kind = "command", per = "run" },
      { name = "new", kind = "command", per = "run" } },
    cells = { { workload = "old", levels = {} }, { workload = "new", levels = {} } },
    events = { results.event "page-faults" }, pass_events = { { 1 } }, baseline = { workload = "old" } },
    more))
end

--- The record of a repetition with a profile.
---@param cell integer 1: old, 2: new
---@param index integer
---@param profile table
---@param more? table
function M.record(cell, index, profile, more)
  return results.record({ profile.total }, support.merged({ workload = ({ "old", "new" })[cell], levels = {},
    cell = cell, index = index, order = 2 * index + cell, exit = 0, profiles = { profile } }, more))
end

--- The code ledger of some pairs of profiles.
---@param a table[]
---@param b table[] as many
---@param more? table fields of the header
---@return pmclua.CodeResult
function M.code(a, b, more)
  local records = {}
  for i = 1, #a do
    records[#records + 1], records[#records + 2] = M.record(1, i, a[i]), M.record(2, i, b[i])
  end
  return results.result(M.header(more), records):where()
end

return M
