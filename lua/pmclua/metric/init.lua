--- metric/init.lua: metrics by name, of groups' files and of vendors, and all other formulae over counts.

local lazy = require "pmclua.base.lazy"
local formula = lazy.module "pmclua.metric.formula"
local grammar = lazy.module "pmclua.metric.grammar"
local groups = require "pmclua.metric.groups"
local lists = require "pmclua.base.lists"
local nearest = require "pmclua.base.text"

-- Vendors' metrics are loaded when a name is none of pmclua's own. `of_vendor` finds theirs also where
-- pmclua has one of that name: tables of AMD and Arm have a backend_bound, too.
local M = lazy.fields({}, {
  ["pmclua.metric.vendor"] = { vendor_group = "group", vendor_groups = "groups", of_vendor = "named",
    vendor_list = "list", vendor_names = "names", vendor_absent = "absent" },
  ["pmclua.metric.definition"] = { "restore" }, ["pmclua.metric.evaluate"] = { "holds" },
  ["pmclua.metric.formula"] = { "formula", "condition", "comparison", "limit", "unknown" },
})

---@class pmclua.metric.Threshold
---@field text string a condition in perf's language
---@field events string[] specs of all that it needs
---@field needs string[] fields
---@field evaluate fun(lookup: pmclua.Lookup): boolean?, string? whether the metric is a problem

---@class pmclua.Metric: pmclua.Formula
---@field name string
---@field unit string "" for a plain number; "%": a share of 1
---@field kind "ratio"
---@field meaning? string of named metrics
---@field events? string[] of named metrics: the specs it brings
---@field description? string of vendors' metrics, and:
---@field groups? string[] that it is in
---@field parent? string the metric that it is a part of
---@field level? integer of the vendor's tree, from 1, where the table says it
---@field children? string[] what is below it, where the table says it
---@field threshold? pmclua.metric.Threshold
---@field constraint? string how its events may not be grouped, in the table's words
---@field apart? boolean its events may not be grouped here
---@field table? string where it is from
---@field pmu? string its kind of core
---@field stored? pmclua.metric.Definition plain data, of which `restore` makes the metric without any table
---@field variants? pmclua.Metric[] of named metrics: alternatives, itself the first
---@field where? string of a variant: on which machines, or on which kind of core

-- ---- metrics of groups' files -------------------------------------------------------------------------

-- The metric that a line of a group's file defines, with the events that it needs. Nil and what is wrong with the line.
local function metric_of(group, set, entry)
  local metric, problem = formula.definition(entry.source)
  if not metric then return nil, groups.mistake(group, entry.line, tostring(problem)) end
  local missing
  metric.events, missing = groups.specs(set, metric.needs)
  if missing then
    local hint = nearest.meant(missing, lists.joined(lists.column(set.events, "fields")), "; ")
    return nil, groups.mistake(group, entry.line,
      ("%s needs '%s', which is none of its events%s"):format(metric.name, missing, hint))
  end
  metric.meaning, metric.where = entry.meaning, set.where
  return metric
end

-- An event that no metric of its set needs.
local function check_events(group, set, metrics)
  local needed = lists.joined(lists.column(metrics, "needs"))
  for _, event in ipairs(set.events) do
    local is_needed = lists.any(event.fields, function(field) return lists.contains(needed, field) end)
    if not is_needed then
      return groups.mistake(group, event.line, ("no metric needs '%s'"):format(event.spec))
    end
  end
end

-- The metrics of a set; nil and the first mistake.
local function metrics_of_set(group, set)
  local metrics = {}
  for i, entry in ipairs(set.metrics) do
    local metric, why = metric_of(group, set, entry)
    if not metric then return nil, why end
    metrics[i] = metric
  end
  local why = check_events(group, set, metrics)
  return not why and metrics or nil, why
end

-- Metrics of one name become variants of the first.
local function with_variants(list)
  return lists.map(lists.groups(list, function(metric) return metric.name end), function(variants)
    local metric = variants[1]
    metric.variants = { unpack(variants) }
    return metric
  end)
end

--- The metrics of a group's file.
---@param name string a group's, or the path of a file that ends in ".group"
---@return pmclua.Metric[]? metrics nil where there is no such file
---@return string? why where there is one, and it is wrong
function M.of_group(name)
  local group, problem = groups.named(name)
  if not group then return nil, problem end
  local all = {}
  for _, set in ipairs(group.sets) do
    local metrics, why = metrics_of_set(group, set)
    if not metrics then return nil, why end
    lists.append(all, metrics)
  end
  return with_variants(all)
end

local by_name, names

-- The lines of groups' files that define each metric, of the first file that has it.
local function definitions()
  if by_name then return by_name end
  by_name, names = {}, {}
  for _, group in ipairs(groups.all()) do
    for _, set in ipairs(group.sets) do
      for _, entry in ipairs(set.metrics) do
        local known = by_name[entry.name]
        if not known then
          known = { group = group, meaning = entry.meaning }
          by_name[entry.name], names[#names + 1] = known, entry.name
        end
        if known.group == group then known[#known + 1] = { set = set, entry = entry } end
      end
    end
  end
  return by_name
end

--- The metric that has this name: one of a group's file, else the vendor's.
---@param name string
---@return pmclua.Metric? metric nil where there is none
---@return string? why the file that has it is wrong
function M.find(name)
  local known, variants = definitions()[name], {}
  if not known then return M.of_vendor(name) end
  for i, line in ipairs(known) do
    local metric, why = metric_of(known.group, line.set, line.entry)
    if not metric then return nil, why end
    variants[i] = metric
  end
  return with_variants(variants)[1]
end

--- As `find`, with all the events that asking for the name brings: a vendor may have a metric and a group of
--- one name ("Retire"), and both are meant.
---@param name string
---@return pmclua.Metric?
function M.named(name)
  local metric = M.find(name)
  local members = metric and metric.table and M.vendor_group(metric.name)
  if not members then return metric end
  local events = { metric.events }
  for i, member in ipairs(members) do events[i + 1] = M.of_vendor(member).events end
  metric.events = lists.unique(lists.joined(events))
  return metric
end

--- The metrics of groups' files, in the order in which they are listed; their formulae are not parsed.
---@return { name: string, meaning: string }[]
function M.own_list()
  return lists.map(M.names(), function(name) return { name = name, meaning = by_name[name].meaning } end)
end

--- The metric of a group's file of this name.
---@param name string
---@return pmclua.Metric?
function M.own(name) return definitions()[name] and M.find(name) end

--- The names of the metrics in a group: of a file, or of the vendor. Nil: there is no such group. Raises a text where
--- the file is wrong.
---@param name string
---@return string[]?
function M.group(name)
  local metrics, why = M.of_group(name)
  if why then error(why, 0) end
  return metrics and lists.column(metrics, "name") or M.vendor_group(name)
end

--- The groups of files: pmclua's, and the user's. Says once which files are no groups.
---@return { name: string, meaning: string, path: string }[]
function M.group_list()
  return lists.map(groups.all(), function(group)
    return { name = group.name, meaning = group.meaning, path = group.path }
  end)
end

--- The names of all groups.
---@return string[]
function M.groups()
  return lists.unique(lists.joined { lists.column(groups.all(), "name"), M.vendor_groups() })
end

-- "cpu_atom/IPC/" to "cpu_atom_IPC", by which formulae can name it.
local function label_of(metric) return ("%s_%s"):format(metric.pmu, metric.name) end

--- The metrics that a vendor's name stands for: on a hybrid CPU that of each kind of core that has all its
--- events, as cpu_core_IPC and cpu_atom_IPC; nil: there is no choice.
---@param metric pmclua.Metric
---@return pmclua.Metric[]?
function M.of_each_kind(metric)
  local definition = require "pmclua.metric.definition"
  local whole = metric.pmu and lists.where(metric.variants, function(variant)
    return definition.is_whole(variant.stored)
  end) or {}
  if #whole < 2 then return nil end
  return lists.map(whole, function(variant) return definition.labelled(variant, label_of(variant)) end)
end

--- Names of the metrics of groups' files, in the order in which they are listed.
---@return string[]
function M.names()
  definitions()
  return names
end

local function unknown_name(source, name)
  local hint = nearest.meant(name, M.names()) or nearest.meant(name, lists.column(groups.all(), "name"))
    or nearest.meant(name, M.vendor_names())
    or M.vendor_absent() or "write a metric of your own as name = formula"
  return grammar.error(source, source:find(name, 1, true), ("there is no metric '%s'"):format(name), hint)
end

--- A metric: the name of a named one, or `name = formula`, with a `[unit]` after it if it has one.
---@param text string e.g. "ipc", "mpki = 1000 * cache_misses / instructions"
---@return pmclua.Metric? metric
---@return pmclua.FormulaError? error message, position, hint
function M.parse(text)
  local lone = type(text) == "string" and (text:match "^%s*([%w_][%w_.]*)%s*$"
    or text:match "^%s*([%a_][%w_]*/[%w_.]+/)%s*$")
  local is_data = not lone and type(text) == "string" and text:find "^vendor metric "
  local stored = is_data and require("pmclua.metric.definition").parse(text)
  if stored then return stored end
  if not lone then return formula.definition(text) end
  local metric, why = M.find(lone)
  if why then return nil, grammar.error(text, 1, why) end
  if not metric then return nil, unknown_name(text, lone) end
  if not lone:find "/" then return metric end
  return require("pmclua.metric.definition").labelled(metric, label_of(metric))
end

-- Replaces names in a formula outside of its unit. Digits and exponents are no names.
local function replace_names(source, by)
  return (source:gsub("()([%a_][%w_.:]*)", function(place, name)
    local is_name = by[name] and not source:sub(place - 1, place - 1):find "[%w.]"
    return is_name and by[name] or name
  end))
end

--- A metric, condition, prediction or limit in which names stand for sums of others: of the events that a
--- word stands for on several PMUs.
---@param metric { formula: string, needs: string[] } pmclua.Formula, or what comparison or limit gave
---@param parts table<string, string[]> name to the names that it is the sum of
---@param kind? "condition"|"comparison"|"limit" nil: a metric
---@return { formula: string, needs: string[] } the formula itself where it needs none of them
function M.with_sums(metric, parts, kind)
  if metric.stored then return metric end    -- a vendor's has the sums in it
  local by, is_needed = {}, false
  for _, name in ipairs(metric.needs) do
    if parts[name] then
      by[name] = #parts[name] == 1 and parts[name][1] or ("(%s)"):format(table.concat(parts[name], " + "))
      is_needed = true
    end
  end
  if not is_needed then return metric end
  if kind then return assert(M[kind](replace_names(metric.formula, by))) end
  local unit = metric.unit ~= "" and (" [%s]"):format(metric.unit) or ""
  local source = ("%s = %s%s"):format(metric.name, replace_names(metric.formula, by), unit)
  local bound = assert(formula.definition(source))
  bound.kind, bound.meaning, bound.events = metric.kind, metric.meaning, metric.events
  return bound
end

return M
