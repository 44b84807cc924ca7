--- merge.lua: several stored results as one, told apart by a factor: file, rank or host; or by nothing, where their
-- cells are one sweep.
--
-- Invariant: no record is changed but for the numbers of its cell, pass, repetition and events.
-- Repetitions of different files did not run in one block: they are compared unpaired (header.unpaired).
-- Where files share a level (the ranks of a host), their repetitions are those of one cell. What does not
-- mean the same in all files (a unit, what a workload's values refer to) is refused.

local comparable = require "pmclua.result.comparable"
local clusters = require "pmclua.result.clusters"
local cell_key = require "pmclua.result.cell_key"
local kinds = require "pmclua.workload.kinds"
local lists = require "pmclua.base.lists"
local origins = require "pmclua.result.origins"
local several = require("pmclua.result.hosts").several

local M = {}

-- ---- what tells files apart ------------------------------------------------------------------------------

local function short_names(paths)
  local function short(path) return (path:match("([^/]+)/*$"):gsub("%.gz$", ""):gsub("%.jsonl$", "")) end
  local alike = lists.by(lists.groups(lists.unique(paths), short), "key")
  return lists.map(paths, function(path) return #alike[short(path)] == 1 and short(path) or path end)
end

-- Notes on which files differ get the files' names.
local function notes_of(headers, names)
  local notes, first, differs = {}, {}, {}
  for _, header in ipairs(headers) do
    for name, note in pairs(header.notes or {}) do
      first[name] = first[name] or note
      differs[name] = differs[name] or note ~= first[name]
    end
  end
  for name, note in pairs(first) do
    local parts = {}
    for i, header in ipairs(headers) do
      local own = (header.notes or {})[name]
      parts[#parts + 1] = own and ("%s: %s"):format(names[i], own)
    end
    notes[name] = differs[name] and table.concat(parts, ", ") or note
  end
  return next(notes) and notes or nil
end

local function ranks(headers)
  local list = lists.unique(lists.column(headers, "rank"))
  return #list == #headers and list or nil
end

local function hosts(headers)
  return lists.map(headers, function(header) return header.host and header.host.hostname or "unknown" end)
end

local function free_name(headers, name)
  local factors = lists.by(lists.joined(lists.column(headers, "factors")), 1)
  local free, number = name, 1
  while factors[free] do
    number = number + 1
    free = name .. number
  end
  return free
end

-- By rank where each file has one of its own, unless something else was asked for. No factor: nothing tells
-- them apart.
local function grouping(headers, paths, by, origins_of)
  local levels = by == "file" and short_names(origins_of or paths) or by == "host" and hosts(headers)
    or ranks(headers)
  if by == "none" then return nil, {} end
  if by == "rank" and not levels then error("the files do not each have a different rank", 0) end
  local name = by or levels and "rank" or "file"
  return free_name(headers, name), levels or short_names(paths)
end

-- ---- headers ---------------------------------------------------------------------------------------------

local Merging = {}
Merging.__index = Merging

local function value_words(value) return value == nil and "not given" or tostring(value) end

local function must_agree(what, before, now, name)
  if before == now then return end
  error(("%s is %s in %s, and %s before"):format(what, value_words(now), name, value_words(before)), 0)
end

-- Counts of one event that files ran otherwise: cells of several files cannot hold both, and others are not compared by
-- it.
local function note_difference(before, event, headers, name, shares_cells)
  local ours, theirs = comparable.event(before, event)
  if not ours and event.simulated then ours, theirs = comparable.simulation(headers[1], headers[2]) end
  if not ours then return end
  if shares_cells then
    error(("%s was counted differently, %s in %s, %s before"):format(event.name, theirs, name, ours), 0)
  end
  before.unlike = before.unlike or ("%s in %s, %s before"):format(theirs, name, ours)
end

-- Two files count an event in one unit; what was changed to open it may differ, and is noted.
local function must_count_alike(before, event, headers, name, shares_cells)
  must_agree("the unit of " .. event.name, before.unit or "", event.unit or "", name)
  must_agree("the scale of " .. event.name, before.scale or 1, event.scale or 1, name)
  note_difference(before, event, headers, name, shares_cells)
  if before.note == event.note then return end
  local note = ("in %s: %s"):format(name, event.note or "as asked")
  before.note = before.note and before.note .. "; " .. note or note
end

-- Adds the events of a file, by field; returns where each of its events now is. An event counts as
-- absent only where no file could count it. shares_cells: a file before it has the same level.
function Merging:add_events(header, name, shares_cells)
  local events, indices = self.header.events, {}
  for i, event in ipairs(header.events) do
    local at = self.event_at[event.field]
    if not at then
      at = #events + 1
      events[at], self.event_at[event.field] = lists.copy(event), at
    elseif events[at].status and not event.status then
      local why = events[at].why
      events[at] = lists.copy(event)
      events[at].why = why
    elseif event.status and not events[at].status then
      events[at].why = ("in %s: %s"):format(name, event.why or event.status)
    elseif not event.status then
      must_count_alike(events[at], event, { self.first, header }, name, shares_cells)
    end
    indices[i] = at
  end
  return indices
end

-- Returns where each pass of a file now is. Files that were planned alike share passes.
function Merging:add_passes(header, indices)
  local passes, list, seen = self.header.pass_events, {}, {}
  for i, events in ipairs(header.pass_events) do
    local pass = lists.map(events, function(event) return indices[event] end)
    local key = table.concat(pass, ",")
    seen[key] = (seen[key] or 0) + 1
    key = ("%s/%d"):format(key, seen[key])
    if not self.pass_at[key] then
      passes[#passes + 1] = pass
      self.pass_at[key] = #passes
    end
    list[i] = self.pass_at[key]
  end
  return list
end

local function merged_factors(headers)
  local factors = lists.joined(lists.column(headers, "factors"))
  return lists.map(lists.groups(factors, function(factor) return factor[1] end), function(same)
    return { same.key, lists.unique(lists.joined(lists.column(same, 2))) }
  end)
end

function Merging:add_workloads(header, name)
  for _, workload in ipairs(header.workloads) do
    local before = self.workload_at[workload.name]
    if before then
      must_agree("the kind of " .. workload.name, before.kind, workload.kind, name)
      must_agree("what the values are per of " .. workload.name, before.per, workload.per, name)
      if before.launch ~= workload.launch then before.launch = "several launchers" end
    else
      local own = lists.copy(workload)
      table.insert(self.header.workloads, own)
      self.workload_at[workload.name] = own
    end
  end
end

local function has_entries(header) return (header.regions or {}).entries == true end

-- Settings that decide how values are shown and judged are those of every file, not only the first.
function Merging:add_meaning(header, name)
  local mine = self.header
  must_agree("delay", mine.delay, header.delay, name)
  must_agree("inherit", mine.inherit ~= false, header.inherit ~= false, name)
  must_agree("regions.entries", has_entries(self.first), has_entries(header), name)
  must_agree("whether a target was counted", mine.target ~= nil, header.target ~= nil, name)
  if header.target and not self.targets[header.target] then
    self.targets[header.target] = true
    mine.target = ("%s, %s"):format(mine.target, header.target)
  end
  if header.layouts then
    mine.layout_runs = math.max(clusters.runs_of_a_layout(mine) or 1, clusters.runs_of_a_layout(header))
  end
  for _, key in ipairs { "regions", "layouts", "lacks" } do mine[key] = mine[key] or header[key] end
  if header.level then mine.level = math.max(mine.level or 0, header.level) end
end

local function must_be_given_the_same(workload, before, now, name)
  local function words(text) return (text or "") ~= "" and ("'%s'"):format(text) or "nothing" end
  for place = 1, before and now and math.max(#before, #now) or 0 do
    must_agree("what " .. workload .. " was given", words(before[place]), words(now[place]), name)
  end
end

-- Returns where each cell of a file now is, and whether files before it have some of them. Without a factor a cell says
-- in which file's blocks it ran.
function Merging:add_cells(header, factor, level, name, number)
  local cells, indices, are_shared = self.header.cells, {}, false
  for i, cell in ipairs(header.cells) do
    local levels = lists.copy(cell.levels)
    if factor then levels[factor] = level end
    local key = cell_key.of(cell.workload, levels)
    local at = self.cell_at[key]
    local given = cell.given or comparable.given(header, cell.workload, cell.levels)
    if not at then
      at = #cells + 1
      cells[at] = { workload = cell.workload, levels = levels,
        iterations = cell.iterations or header.iterations or false,
        layout_runs = clusters.runs_of_a_layout(header), given = given, run = not factor and number or nil }
      self.cell_at[key] = at
    else
      are_shared = true
      -- Two layouts with one run each, taken for one, are still independent of others; not the other way round.
      cells[at].layout_runs = math.max(cells[at].layout_runs or 1, clusters.runs_of_a_layout(header) or 1)
      must_be_given_the_same(cell.workload, cells[at].given, given, name)
    end
    indices[i] = at
  end
  return indices, are_shared
end

-- Totals of the files that share cells. A file without such cells begins anew.
function Merging:taken_of(indices, are_shared)
  local taken = { most = 0, processes = 0 }
  if are_shared then
    for _, cell in ipairs(indices) do taken = self.taken[cell] or taken end
  end
  for _, cell in ipairs(indices) do self.taken[cell] = taken end
  return taken
end

local KEPT = { "name", "question", "per", "primary", "margin", "repetitions", "warmup", "on_failure", "host",
  "gate", "expect", "target", "delay", "inherit", "simulation" }

local IF_AGREED = { "layout", "iterations", "reject_if", "seed" }

local function new_merging(first)
  local header = { events = {}, pass_events = {}, workloads = {}, cells = {}, anchors = {} }
  for _, name in ipairs(KEPT) do header[name] = first[name] end
  return setmetatable({ header = header, first = first, event_at = {}, pass_at = {}, workload_at = {},
    cell_at = {}, taken = {}, targets = { [first.target or ""] = true } }, Merging)
end

---@class pmclua.MergeMap how the records of one file are renumbered
---@field cells integer[]
---@field passes integer[]
---@field events integer[]
---@field taken { most: integer, processes: integer } the highest numbers of a repetition and of a process
---  so far, of the files that share its cells
---@field host string? its host, for records that do not name it
---@field sources table<integer, integer> which of the merged header's its own are; 0: of records
---  that name none

--- One header of several, and how to renumber the records of each.
---@param headers table[]
---@param paths string[]
---@param by? "file"|"rank"|"host"|"none" what tells them apart; nil: ranks where they have them, else files
---@param origins_of? string[] what each is called by file: those of a job its folder
---@return table header
---@return pmclua.MergeMap[] maps
function M.headers(headers, paths, by, origins_of)
  local merging, maps, names = new_merging(headers[1]), {}, short_names(paths)
  local factor, levels = grouping(headers, paths, by, origins_of)
  local sources = {}
  for k, header in ipairs(headers) do
    local level, name = levels[k], names[k]
    local cells, are_shared = merging:add_cells(header, factor, level, name, k)
    local indices = merging:add_events(header, name, are_shared)
    maps[k] = { events = indices, passes = merging:add_passes(header, indices), cells = cells,
      taken = merging:taken_of(cells, are_shared), host = (header.host or {}).hostname,
      sources = origins.add(sources, header, paths[k]) }
    merging:add_workloads(header, name)
    merging:add_meaning(header, name)
  end
  local merged = merging.header
  merged.factors = merged_factors(headers)
  if factor then table.insert(merged.factors, { factor, lists.unique(levels) }) end
  merged.sources = sources
  for _, name in ipairs(IF_AGREED) do
    local first = headers[1][name]
    merged[name] = lists.all(headers, function(header) return header[name] == first end) and first or nil
  end
  merged.metrics = lists.unique(lists.joined(lists.column(headers, "metrics")))
  merged.unpaired = factor
  merged.hosts = several(lists.joined(lists.map(headers, function(header)
    return header.hosts or { header.host or {} }
  end)))
  merged.notes = notes_of(headers, names)
  if not factor then merged.baseline, merged.against = headers[1].baseline, headers[1].against
  elseif factor:find "^file" then merged.baseline = { [factor] = levels[1] } end
  return merged, maps
end

-- ---- records ---------------------------------------------------------------------------------------------

--- Remarks on events, by their new indices.
---@param by_event? table<integer, any>
---@param indices integer[] the new ones, by the old
---@return table<integer, any>
function M.renumbered(by_event, indices)
  local out = {}
  for event, value in pairs(by_event or {}) do out[indices[event]] = value end
  return out
end

--- Changes the indices of events in a record, or in one of its threads.
---@param counted table changed
---@param indices integer[] as of renumbered
---@return table counted the same
function M.renumber_events(counted, indices)
  for _, name in ipairs { "counts", "enabled", "running" } do
    counted[name] = M.renumbered(counted[name], indices)
  end
  return counted
end

--- A function that makes each record of a file one of the merged result, changing it. Asked for when it is
--- the file's turn: repetitions go on counting where those of a file with the same cells ended.
---@param map pmclua.MergeMap
---@param header table merged
---@return fun(record: table, most: integer?): table  most: the highest index of all that the record stands for
function M.renumber(map, header)
  local taken, size = map.taken, clusters.runs_of_a_layout(header) or 1
  local before = math.ceil(taken.most / size) * size            -- no layout spans two files
  -- The first process of a file may have no number.
  local processes = taken.most > 0 and taken.processes + 1 or 0
  local workloads = lists.by(header.workloads, "name")
  return function(record, most)
    record.cell, record.pass = map.cells[record.cell], map.passes[record.pass]
    record.index = record.index + before
    record.source = map.sources[record.source or 0] or map.sources[0]
    record.host = record.host or map.host
    taken.most = math.max(taken.most, most and most + before or record.index)
    if record.process or processes > 0 and kinds.of((workloads[record.workload] or {}).kind).in_runner then
      record.process = (record.process or 0) + processes
      taken.processes = math.max(taken.processes, record.process)
    end
    record.levels = header.cells[record.cell].levels
    M.renumber_events(record, map.events)
    for _, thread in ipairs(record.threads or {}) do M.renumber_events(thread, map.events) end
    return record
  end
end

return M
