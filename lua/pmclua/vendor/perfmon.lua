--- perfmon.lua: files of github.com/intel/perfmon: { Header, Events } and { Header, Metrics }.
--
-- A formula names its events and constants by letters; here they stand for what they mean, in perf's language. Names of
-- the top-down method are written as perf writes them: "metric_TMA_Frontend_Bound(%)" is tma_frontend_bound; its levels
-- and parents make perf's groups (TopdownL1, tma_frontend_bound_group). Values of
-- metrics in percent are percent in formulae and thresholds, and a share of 1 to whoever asks.

local jevents = require "pmclua.vendor.jevents"
local json_file = require "pmclua.vendor.json_file"
local lists = require "pmclua.base.lists"

local M = {}

-- ---- names ----

local SHARES = { RETIRING = "topdown-retiring", BAD_SPECULATION = "topdown-bad-spec",
  FRONTEND_BOUND = "topdown-fe-bound", BACKEND_BOUND = "topdown-be-bound",
  HEAVY_OPERATIONS = "topdown-heavy-ops", BRANCH_MISPREDICTS = "topdown-br-mispredict",
  FETCH_LATENCY = "topdown-fetch-lat", MEMORY_BOUND = "topdown-mem-bound" }

local CONSTANTS = { SYSTEM_TSC_FREQ = "#system_tsc_freq", HYPERTHREADING_ON = "#smt_on",
  THREADS_PER_CORE = "(1 + #smt_on)", SOCKET_COUNT = "#num_packages",
  CORES_PER_SOCKET = "(#num_cores / #num_packages)",
  CHAS_PER_SOCKET = "source_count(UNC_CHA_CLOCKTICKS)", TSC = "msr@tsc@",
  DURATIONTIMEINSECONDS = "duration_time", DURATIONTIMEINMILLISECONDS = "(duration_time * 1000)" }

-- A suffix of an event's name to a term, or to a modifier.
local function suffix_of(word, is_uncore)
  local letter, value = word:match "^([ceiu])(%w*)$"
  local terms = { c = is_uncore and "thresh" or "cmask", e = "edge", i = "inv", u = "umask" }
  if word == "SUP" then return nil, "k" end
  if word == "USER" then return nil, "u" end
  if word == "perf_metrics" or word == "percore" then return nil, nil end
  local register = word:match "^ocr_msr_val=(0x%x+)$" or word:match "^msr_val=(0x%x+)$"
  if register then return "offcore_rsp=" .. register end
  local filter = word:match "^filter1=(0x%x+)$"       -- the upper half of config1
  if filter then return ("config1=%s00000000"):format(filter) end
  if letter and tonumber(value ~= "" and value or "1") then
    return ("%s=%s"):format(terms[letter], value ~= "" and value or "1")
  end
  return false
end

local function escaped(text) return (text:gsub("[-,=]", "\\%0"):gsub("/", "@")) end

-- The first of the PMUs that have an event: "UNC_CHA_CLOCKTICKS:one_unit" is counted on one of many.
local function one_unit(name, collection)
  for _, event in ipairs(collection.events) do
    if event.name == name and event.pmu then return ("%s_0@%s@"):format(event.pmu, escaped(name)) end
  end
end

-- "DTLB_LOAD_MISSES.STLB_HIT:c1" to "DTLB_LOAD_MISSES.STLB_HIT@cmask\=1@"; what is not understood stays as it is, so
-- that there is no such event.
local function event_word(name, collection)
  local alone = name:match "^(.*):one_unit$"
  local unit = alone and one_unit(alone, collection)
  if unit then return unit end
  if CONSTANTS[name:upper()] then return CONSTANTS[name:upper()] end
  local share = SHARES[name:match "^PERF_METRICS%.([%w_]+)$" or ""]
  if share then return escaped(share) end
  local head, rest = name:match "^([^:]+):?(.*)$"
  local terms, modifiers = {}, ""
  for word in (rest or ""):gmatch "[^:]+" do
    local term, modifier = suffix_of(word, head:find "^UNC_" ~= nil)
    if term == false then return escaped(name) end
    terms[#terms + 1] = term
    modifiers = modifiers .. (modifier or "")
  end
  if #terms > 0 then return ("%s@%s@%s"):format(head, escaped(table.concat(terms, ",")), modifiers) end
  return modifiers == "" and head or ("%s:%s"):format(head, modifiers)
end

local function constant_word(name)
  if tonumber(name) then return name end
  return CONSTANTS[name:upper()] or "#" .. name:lower():gsub("[^%w_]", "_")
end

local function plain(name)
  return (name:gsub("%(%%%)", ""):gsub("[^%w_.]+", "_"):gsub("^_+", ""):gsub("_+$", ""))
end

-- The name by which a metric is asked for.
local function name_of(metric)
  local method = metric.LegacyName and metric.LegacyName:match "^metric_TMA_"
  local name = plain(metric.MetricName or "")
  return method and "tma_" .. name:lower():gsub("%.", "") or name
end

-- ---- formulae ----

local KEPT = { ["if"] = true, ["else"] = true, min = true, max = true }

local function replaced(formula, words)
  return (formula:gsub("[%w_.]+", function(word)
    if not word:find "^[%a_]" or KEPT[word] then return nil end
    return words[word] or CONSTANTS[word]             -- most have a letter, some stand for themselves
  end))
end

local function expression_of(metric, collection)
  local words, shares, has_slots = {}, false, false
  for _, event in ipairs(metric.Events) do
    local name = event.Name or ""
    words[event.Alias or ""] = event_word(name, collection)
    shares = shares or name:find "^PERF_METRICS%." ~= nil
    has_slots = has_slots or name:find "^TOPDOWN%.SLOTS" ~= nil
  end
  for _, constant in ipairs(metric.Constants) do
    words[constant.Alias or ""] = constant_word(constant.Name or "")
  end
  local formula = replaced(metric.Formula, words)
  -- Linux opens shares only behind slots.
  return shares and not has_slots and ("%s + 0 * slots"):format(formula) or formula
end

local function threshold_of(metric, names)
  local words = {}
  for _, alias in ipairs(metric.ThresholdMetrics) do words[alias.Alias or ""] = names[alias.Value or ""] end
  return metric.ThresholdFormula and replaced(metric.ThresholdFormula, words)
end

-- ---- files ----

local function parent_of(metric)
  local parent = metric.ParentCategory
  return parent and parent ~= "" and "tma_" .. plain(parent):lower() or nil
end

-- Its groups, and those that perf's tables have for nodes of the top-down method: of the level, and of what is below
-- one node. Facts and bottlenecks beside the tree have a level, too.
local function groups_of(metric)
  local groups = metric.MetricGroup or ""
  local level, parent = tonumber(metric.Level), parent_of(metric)
  local is_root = (";" .. groups .. ";"):find(";TmaL1;", 1, true)
  if not level or not (parent or is_root) or name_of(metric):find("_info_", 1, true) then return groups end
  local below = parent and (";%s_group"):format(parent) or ""
  return ("%s;TopdownL%d;tma_L%d_group%s"):format(groups, level, level, below)
end

local function take_metric(metric, names, file, collection)
  if not metric.MetricName or not metric.Formula then
    return collection:problem("%s: %s has no formula", file.path, metric.MetricName or "a metric")
  end
  local unit = metric.UnitOfMeasure or ""
  collection:metric { name = name_of(metric), expression = expression_of(metric, collection),
    threshold = threshold_of(metric, names), groups = groups_of(metric), pmu = file.pmu,
    scale = unit == "percent" and "1%" or unit ~= "" and "1" .. unit or nil, parent = parent_of(metric),
    description = metric.BriefDescription }
end

local function texts_of(list) return lists.map(json_file.objects(list), json_file.texts) end

-- The texts of a metric, and its lists of them.
local function metric_of(object)
  local metric = json_file.texts(object)
  local threshold = type(object.Threshold) == "table" and object.Threshold or {}
  metric.Events, metric.Constants = texts_of(object.Events), texts_of(object.Constants)
  metric.ThresholdFormula = json_file.texts(threshold).Formula
  metric.ThresholdMetrics = texts_of(threshold.ThresholdMetrics)
  return metric
end

local function take_metrics(list, file, collection)
  local metrics, names = lists.map(json_file.objects(list), metric_of), {}
  for _, metric in ipairs(metrics) do
    if metric.LegacyName then names[metric.LegacyName] = name_of(metric) end
  end
  for _, metric in ipairs(metrics) do take_metric(metric, names, file, collection) end
end

-- Bits of an event's mask are listed apart, under no name of an event.
local function take_event(object, file, collection)
  local row, other = json_file.texts(object)
  if row.BitName or not other and jevents.take(row, collection, file.pmu) then return end
  local why = other and other .. " is no text" or "it has no code"
  collection:problem("%s: %s: %s", file.path, row.EventName or "an event", why)
end

--- Reads a file.
---@param file { path: string, pmu: string? }
---@param collection pmclua.vendor.Collection
function M.read(file, collection)
  local value, problem = json_file.read(file.path)
  if problem then collection:problem("%s: %s", file.path, problem) end
  if type(value) ~= "table" then return end
  -- A broken file gives a list of its intact entries.
  local rest = json_file.objects(value)
  local function has_name(row) return row.EventName ~= nil end
  local function has_none(row) return row.EventName == nil end
  local events = lists.joined { json_file.objects(value.Events), lists.where(rest, has_name) }
  for _, row in ipairs(events) do take_event(row, file, collection) end
  local metrics = lists.joined { json_file.objects(value.Metrics), lists.where(rest, has_none) }
  take_metrics(metrics, file, collection)
end

return M
