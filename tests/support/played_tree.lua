--- played_tree.lua: a real CPU's tree (perf's table of Ice Lake servers) on a played PMU: all of its events, with counts
-- that are made up.

local played = require "tests.support.played"
local pmc = require "pmclua"
local support = require "tests.support"

local M = {}

M.ENV = { SYSFS_PATH = support.fixture "played/sysfs/intel", PERF_CPUID = "GenuineIntel-6-6A-6" }
M.FIXED = { "0 0", "0 1", "4 0x3c", "4 0x400", "4 0x8000", "4 0x8100", "4 0x8200", "4 0x8300" }

-- What a piece of work of each kind counts: for what decides where to look as it might be, else by the name.
local COUNTS = { ["cycles"] = { 50, 100 }, ["CPU_CLK_UNHALTED.THREAD"] = { 50, 100 },
  ["instructions"] = { 60, 60 },
  ["TOPDOWN.SLOTS"] = { 250, 500 }, ["topdown-retiring"] = { 100, 50 }, ["topdown-bad-spec"] = { 10, 10 },
  ["topdown-fe-bound"] = { 20, 20 }, ["topdown-be-bound"] = { 120, 420 } }

function M.made_up(name)
  local hash = 7
  for i = 1, #name do hash = (hash * 31 + name:byte(i)) % 10007 end
  return { 1 + hash % 9, 1 + hash % 17 }
end

function M.key_of(event)
  local attr = event.attr
  return ("%d 0x%x 0x%x"):format(attr.type, tonumber(attr.config or 0), tonumber(attr.config1 or 0))
end

local function add(found, spec)
  local ok, list = pcall(pmc.events.encode, spec)
  for _, event in ipairs(ok and list or {}) do
    if event.attr and (event.attr.type == 4 or event.attr.type == 0) then
      local key = M.key_of(event)
      found.events[key] = found.events[key] or COUNTS[event.name] or M.made_up(event.name)
      found.of_field[event.field] = found.events[key]
    end
  end
end

local function find()
  local found = { events = {}, of_field = {} }
  for _, spec in ipairs { "cycles", "instructions" } do add(found, spec) end
  for level = 1, 6 do
    for _, name in ipairs(pmc.metrics.group("TopdownL" .. level)) do
      for _, spec in ipairs(pmc.metrics.named(name).events) do add(found, spec) end
    end
  end
  return found
end

local found

-- Every event of the tree, found once: `events` by what is opened, `of_field` by its name in formulae.
local function tree()
  support.need(support.have "perf", "perf is not installed")
  if not found then support.with_env(M.ENV, function() found = find() end) end
  return found
end

--- What each event counts of an amount of work, by field.
---@param work number[] of each kind
---@return table<string, number>
function M.total(work)
  local total = {}
  for field, counts in pairs(tree().of_field) do total[field] = work[1] * counts[1] + work[2] * counts[2] end
  return total
end

--- What the table's formula makes of such counts.
---@param name string
---@param total table<string, number>
---@return number?
function M.truth(name, total)
  return (pmc.metrics.named(name).evaluate(function(field) return total[field], "not counted" end))
end

--- A machine with that PMU.
---@param counters integer
---@param kinds? string[] played.kinds()
---@return table
function M.machine(counters, kinds)
  local led = {}
  for _, config in ipairs { "0x8000", "0x8100", "0x8200", "0x8300" } do led["4 " .. config] = "0x400" end
  return played.machine { counters = counters, kinds = kinds, own = M.FIXED, led = led, env = M.ENV,
    events = tree().events }
end

return M
