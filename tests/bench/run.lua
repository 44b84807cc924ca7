#!/usr/bin/env pmclua
-- What does pmclua itself cost, beside its peers and beside the same done by hand in C?
--
-- method: the two sides of a row are measured in turn, A B A B …, so that what disturbs one disturbs the
--   other; the ratio is the median of neighbouring turns' ratios, with its 95 % interval. The references
--   in C are compiled here.
-- usage: pmclua tests/bench/run.lua [--only NAME,…] [--wait MINUTES] [--short] [--install] [--growth]
-- reading: a ratio at most the goal is what is wanted. Ratios carry over to another machine; what stands in
--   brackets, the median of each side, does not.
-- caveats: a row whose peer is missing is left out and says so; --install installs them (Debian).

local pmc = require "pmclua"

local opt = pmc.options {
  experiment = false,
  { "only", type = "list", value = "NAMES", help = "these rows alone" },
  { "short", false, help = "a few turns of small workloads: shows that it works, not how fast" },
  { "install", false, help = "install the peers first: linux-perf, hyperfine, libpapi-dev" },
  { "wait", type = "number", value = "MINUTES",
    help = "wait before each turn until nobody else uses the machine" },
  { "growth", false, help = "what grows with events, threads, CPUs, repetitions and records, instead" },
}

local lists = require "pmclua.base.lists"
local programs = require "programs"
local quiet = require "quiet"
local text = require "pmclua.base.text"
local turns = require "turns"

local here = arg[0]:match "^(.*)/" or "."

local function machine_line()
  local facts = pmc.machine()
  return ("%s, %d CPUs, Linux %s, %s"):format(facts.cpu, facts.cpus, facts.os_kernel, facts.architecture)
end

local SHOWN = {
  ns = text.time,
  bytes = function(bytes) return ("%.1f MB"):format(bytes / 1e6) end,
  instructions = function(count) return ("%.1f instructions"):format(count) end,
}

local function wanted(row)
  if not opt.only then return true end
  for _, name in ipairs(opt.only) do
    if name == row.name then return true end
  end
  return false
end

local function outcome_cells(row, outcome)
  local shown = SHOWN[row.unit]
  local interval = outcome.low and (" (%.2f … %.2f)"):format(outcome.low, outcome.high) or ""
  return ("**%.2f**%s"):format(outcome.ratio, interval), ("%s / %s"):format(shown(outcome.mine),
    shown(outcome.other)),
    outcome.ratio <= row.goal and "yes" or "no"
end

-- Why a row cannot be measured here; nil: it can.
local function obstacle(row)
  if row.needs and not programs.have(row.needs) then return row.needs .. " is not installed" end
  return row.prepare and row.prepare(opt.short)
end

local function measure(row)
  local why = obstacle(row)
  if why then return "–", why, "–" end
  local outcome = turns.compare(opt.short and 2 or row.turns, function() return row.mine(opt.short) end,
    function() return row.other(opt.short) end, opt.wait and function() quiet.wait(opt.wait) end)
  return outcome_cells(row, outcome)
end

-- Raises where --only names no row.
local function check_names()
  local names = lists.column(require "rows", "name")
  for _, name in ipairs(opt.only or {}) do
    if not lists.contains(names, name) then
      pmc.fail(("--only: there is no row '%s': %s"):format(name, text.meant_or_all(name, names)), 2)
    end
  end
end

local function print_rows()
  print "| what | against | goal | ratio | medians | reached |\n|---|---|---|---|---|---|"
  for _, row in ipairs(require "rows") do
    if wanted(row) then
      local ratio, medians, reached = measure(row)
      print(("| %s | %s | ≤ %g | %s | %s | %s |"):format(row.what, row.against, row.goal, ratio, medians,
        reached))
      io.stdout:flush()
    end
  end
end

check_names()
if opt.install and os.execute("'" .. here .. "/../packages' bench") ~= 0 then os.exit(1) end
print(machine_line() .. "\n")
local ok, why = pcall(opt.growth and function() require("growth").print(opt.short) end or print_rows)
programs.clean()
if not ok then error(why, 0) end
return 0          -- what is declared for its cost alone is not run
