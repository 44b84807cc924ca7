--- experiment_options.lua: what every experiment takes on the command line, without code of its own.

local lists = require "pmclua.base.lists"
local options = require "pmclua.cli.options"
local select_cells = require("pmclua.base.lazy").module "pmclua.result.select"
local usage_error = require("pmclua.base.problem").usage_error

local M = {}

---@type pmclua.Option[]
M.list = require("pmclua.cli.options.shared").resolved {
  { "events", many = true, value = "LIST", help = "count these events instead, in perf's syntax" },
  { "repetitions", type = "integer", help = "number of repetitions of each cell" },
  { "processes", type = "integer", help = "processes that the repetitions of a kernel are divided among" },
  { "warmup", type = "integer", help = "warm-up repetitions of each cell, discarded" },
  { "set", many = true, value = "NAME=V[,V...]", help = "levels of a factor" },
  "baseline",
  { "fit", value = "FACTOR", help = "show how quantities grow over a numeric factor" },
  { "passes", choices = { "rerun", "multiplex" }, value = "HOW",
    help = "how events that do not fit together are counted" },
  "simulate", "simulation", "vendor",
  { "seed", type = "integer", help = "seed of the order in which cells run" },
  { "pin", value = "CPUS", help = "run workloads on these CPUs: 0,2-3, cores, S0:0-3" },
  { "timeout", value = "T", help = "time limit of one repetition, e.g. 500ms" },
  { "format", choices = require("pmclua.report").formats(), value = "F", help = "report format" },
  "show", "columns",
  { "output", value = "FILE", help = "write the report to FILE, in the format of its ending" },
  { "store", value = "FILE", help = "where repetitions are stored; - is standard output" },
  { "resume", value = "FILE", help = "run what is missing from this stored result" },
  { "no-store", false, help = "store nothing" },
  { "job", value = "DIR", help = "run one shard of it into this folder, or what it still lacks" },
  { "shard", value = "I/N", help = "with --job: which of how many (as Slurm or the launcher says)" },
  { "shard-by", choices = { "cells", "blocks" }, value = "WHAT",
    help = "with --job: what shards divide (cells)" },
  { "together", false, help = "with --job: each rank runs all of it, and begins each block with the others" },
  "note",
  { "gate", many = true, value = "FILE", help = "check the experiment's limits against stored results" },
  { "against", value = "CELL", help = "check the limits against this cell of the same run" },
  { "any-host", false, help = "with --gate: accept another microcode or Linux version; with --resume: host" },
  { "any-cpu", false, help = "with --gate: accept another CPU or architecture; with --resume: CPU" },
  { "any-arguments", false, help = "with --gate: accept workloads that were given other arguments" },
  { "run-spread", value = "SHARE", help = "spread between runs if --gate names one (times: 15%)" },
  "strict",
  { "why", false, help = "look for the cause of a limit that fails or is undecided" },
  "budget", "gate-output",
  { "plan", false, help = "show what would run, then exit" },
  { "plan-all", false, help = "the same with every cell and the whole order" },
  { "quiet", false, help = "show no progress and no notes" },
}

local function levels_of(word)
  local name, list = word:match "^([%a_][%w_]*)=(.+)$"
  if not name then
    error(usage_error(("--set takes NAME=LEVEL[,LEVEL...], not '%s'"):format(word)), 0)
  end
  return name, lists.map(lists.collect(list:gmatch "[^,]+"), select_cells.level)
end

--- { n = { 256, 512 } } of "n=256,512"; the last of two for one name holds.
local function settings(words)
  local set = {}
  for _, word in ipairs(words) do
    local name, levels = levels_of(word)
    set[name] = levels
  end
  return set
end

---@class pmclua.Overrides what the command line says differently, as M.list explains it; nil where it says nothing
---@field events? string[]
---@field repetitions? integer
---@field warmup? integer
---@field set? table<string, any[]> levels by factor
---@field baseline? table partial cell, { workload =, FACTOR = level }
---@field passes? "rerun"|"multiplex"
---@field seed? integer
---@field notes? string[] "NAME=TEXT"
---@field gate? string[] paths of stored results
---@field against? table partial cell, as baseline
---@field [string] string|string[]|boolean|nil the others: words as they were given, true for flags

--- Reads `given` (words by option).
local function overrides(given)
  if given.store == "-" and given.output == "-" then
    error(usage_error "--store - and --output -: only one of them can write to standard output", 0)
  end
  for _, name in ipairs { "shard", "shard_by", "together" } do
    if given[name] and not given.job then
      error(usage_error(("--%s goes with --job DIR"):format((name:gsub("_", "-")))), 0)
    end
  end
  if not (given.plan or given.plan_all) then require("pmclua.host.output").check(given.output) end
  local out = lists.copy(given)
  out.set = given.set and settings(given.set)
  out.baseline = given.baseline and select_cells.cell(given.baseline)
  out.against = given.against and select_cells.cell(given.against)
  out.notes = given.note
  return out
end

--- Reads the words that a script's own options have left (`args` is then the script's own table of
--- them). Raises a usage error (exit status 2) for one that no experiment takes; prints the help and ends
--- the script for --help.
---@param args string[]
---@return pmclua.Overrides
function M.parse(args)
  local script = require("pmclua.host.running").script
  local given = options.read(args, {}, M.list, options.about(script))
  if script and args == script.args then
    for name, value in pairs(script.given or {}) do given[name] = value end
    script.args, script.given, script.taken = {}, given, true
  end
  return overrides(given)
end

for _, option in ipairs(M.list) do
  option.kind = option.type or option[2] == false and "flag" or "string"
end

return M
