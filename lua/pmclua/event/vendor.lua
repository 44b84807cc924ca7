--- vendor.lua: events that vendors' tables name, as if the PMU's folder in sysfs named them.
--
-- Asked after sysfs and tracefs and before libpfm4. Case does not matter, as to perf.

local core = require "pmclua.core"
local term = require "pmclua.event.term"
local vendor = require "pmclua.vendor"

local M = {}

-- Names of the PMU of the CPU itself in tables.
local CORE = { cpu = true, core = true, default_core = true }

--- The PMUs of a tree that a record's unit means.
---@param tree pmclua.event.Tree
---@param unit string?
---@return pmclua.event.Pmu[]
function M.of_unit(tree, unit)
  if not unit then return tree:core_pmus() end
  local pmus = tree:resolve(unit)
  return #pmus == 0 and CORE[unit] and tree:core_pmus() or pmus
end

--- Whether a PMU has room for the terms of a record: an older Linux, or another CPU's PMU, may have less.
---@param pmu pmclua.event.Pmu
---@param terms string
---@return boolean
function M.fits(pmu, terms)
  for name, value in terms:gmatch "([^,=]+)=?([^,]*)" do
    local format, number = pmu:format(name), core.u64(value == "" and "1" or value)
    if format and number and 0ULL + number > term.maximum(format) then return false end
    if not format and not name:find "^config%d?$" then return false end
  end
  return true
end

-- "64Bytes" to 64 and "Bytes"; "%" and the like belong to metrics.
local function split_scale(scale)
  local number, unit = (scale or ""):match "^([%d.]+[eE]?[+-]?%d*)%s*(.*)$"
  if not tonumber(number) then return 1, "" end
  return tonumber(number), unit
end

local function alias_of(record)
  local scale, unit = split_scale(record.scale)
  return { name = record.name, terms = record.terms, scale = scale, unit = unit, table = record.table,
    description = record.description, deprecated = record.deprecated ~= nil }
end

-- By tables, and name: of one sysfs there may be tables for several CPUs.
local known_by_tables = setmetatable({}, { __mode = "k" })

local function aliases(tree, name)
  local tables, key = vendor.tables(tree.root), name:lower()
  local known = known_by_tables[tables] or {}
  known_by_tables[tables] = known
  if not known[key] then
    known[key] = {}
    for i, record in ipairs(tables:events(name)) do
      known[key][i] = { alias = alias_of(record), pmus = M.of_unit(tree, record.pmu) }
    end
  end
  return known[key]
end

--- The event of that name that tables have for a PMU.
---@param tree pmclua.event.Tree
---@param pmu pmclua.event.Pmu
---@param name string
---@return pmclua.event.Alias? alias with `table` and `description`
function M.alias(tree, pmu, name)
  for _, entry in ipairs(aliases(tree, name)) do
    for _, listed in ipairs(entry.pmus) do
      if listed.name == pmu.name then return entry.alias end
    end
  end
end

--- The PMUs for which tables have an event of that name, in natural order of each kind.
---@param tree pmclua.event.Tree
---@param name string
---@return pmclua.event.Pmu[]
function M.pmus(tree, name)
  local list, seen = {}, {}
  for _, entry in ipairs(aliases(tree, name)) do
    for _, pmu in ipairs(entry.pmus) do
      if not seen[pmu.name] then list[#list + 1], seen[pmu.name] = pmu, true end
    end
  end
  return list
end

return M
