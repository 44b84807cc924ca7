--- hyperfine.lua: the wall times of a result in the JSON format of hyperfine 1 (--export-json), for its
--- scripts and for what tracks benchmarks by it.
--
-- One entry a cell; times in seconds, per iteration for kernels. What hyperfine does not know (counts,
-- verdicts) is in the other formats. Cells without a repetition have no entry.

local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local stats = require "pmclua.stats"
local times = require "pmclua.report.times"

local M = {}

local NS = 1e9
local ORDER = { "results", "command", "mean", "stddev", "median", "user", "system", "min", "max", "times",
  "memory_usage_byte", "exit_codes", "parameters" }

local function seconds(list) return lists.map(list, function(ns) return ns / NS end) end

local function all_known(list) return not lists.contains(list, false) and list or nil end

-- hyperfine's parameters are texts.
local function parameters(cell)
  local map = {}
  for name, level in pairs(cell.levels) do
    map[name] = type(level) == "number" and json.number(level) or tostring(level)
  end
  return next(map) and json.object(map) or nil
end

local function in_seconds(ns) return ns and ns / NS or json.null end

local function entry(cell)
  local timing = times.of(cell)
  if #timing.rows == 0 then return nil end
  local wall = times.list(timing, "wall")
  local mean, deviation = times.moments(wall)
  local summary = stats.summary(wall)
  return { command = cell.workload, mean = mean / NS, stddev = in_seconds(deviation),
    median = summary.median / NS, user = in_seconds(times.known_mean(times.list(timing, "user"))),
    system = in_seconds(times.known_mean(times.list(timing, "system"))), min = summary.minimum / NS,
    max = summary.maximum / NS, times = seconds(wall),
    memory_usage_byte = all_known(times.list(timing, "memory")),
    exit_codes = all_known(times.list(timing, "exit")), parameters = parameters(cell) }
end

--- Writes the result as hyperfine would export it.
---@param result pmclua.Result
---@param put fun(piece: string)
function M.write(result, put)
  local results = lists.map(lists.collect(result:cells()), entry)
  json.write(put, { results = results }, { order = ORDER, indent = 1 })
  put("\n")
end

return M
