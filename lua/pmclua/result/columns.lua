--- columns.lua: the records of one cell as columns of numbers.
--
-- Invariant: a raw count is kept exactly as it came, beside how much of the time it ran where that was
-- not all of it; what was not counted is `false` and never 0. A million repetitions are columns of
-- numbers (core/column.lua), not tables, and what a summary does not need (times of repetitions that ran throughout) is
-- not kept.

local core = require "pmclua.core"
local reading = require "pmclua.counting.reading"

local M = {}

--- Repetitions of one cell in one pass.
---@class pmclua.Block
---@field n integer
---@field index integer[] repetition: equal in cells that ran in the same block
---@field order integer[] place in time
---@field wall (number|ffi.cdata*|false)[] ns
---@field iterations (number|ffi.cdata*)[]
---@field process? table<integer, integer> which process of its cell's kernel each ran in
---@field incomplete? table<integer, string> why the counts of some are not all that there was to count
---@field launcher? table<integer, string> a program of some that had others do its work
---@field own { source: integer?, host: string? } the file of the first, if there are several, and where it was made
---@field source? table<integer, integer> of those that differ from the first
---@field host? table<integer, string> the same
---@field counts table<integer, (number|ffi.cdata*|false)[]> raw, by event
---@field partial table<integer, table<integer, number[]>> event -> repetition -> { enabled, running } ns,
---  where it did not run all the time that it was enabled, or its count is more than there can be in that time
---@field resources? table<string, (number|ffi.cdata*|false)[]> of commands: user_ns, system_ns, max_rss_bytes,
---  exit, and how long its events were enabled

local RESOURCES = { "user_ns", "system_ns", "max_rss_bytes", "exit", "enabled_ns" }

local function new_block(with_resources)
  local block = { n = 0, index = core.column(), order = core.column(), wall = core.column(),
    iterations = core.column(), counts = {}, partial = {}, own = {} }
  if with_resources then
    block.resources = {}
    for _, name in ipairs(RESOURCES) do block.resources[name] = core.column() end
  end
  return block
end

--- All that was recorded of one cell.
---@class pmclua.Columns
---@field passes table<integer, pmclua.Block>
---@field warmups table<integer, pmclua.Block> apart: never in a summary
---@field failed table<string, integer> repetitions that failed, by outcome
---@field exits table<integer, integer> of those that ended by themselves, by exit status
---@field first_failure table? the first record left out: outcome, exit, signal, why
---@field failures table[] each that failed or was rejected, warm-ups too: pass, index, order, warmup,
---  outcome, exit, signal, why; row: where it is summarised all the same
---@field warmup_count integer
---@field rejected integer
---@field first_rejected string? why the first was

---@return pmclua.Columns
function M.new(with_resources)
  return { passes = {}, warmups = {}, failed = {}, exits = {}, rejected = 0, warmup_count = 0, failures = {},
    with_resources = with_resources }
end

local function block_of(columns, record)
  local blocks = record.warmup and columns.warmups or columns.passes
  if not blocks[record.pass] then blocks[record.pass] = new_block(columns.with_resources) end
  return blocks[record.pass]
end

local function sparse(notes, of)
  if not notes[of] then notes[of] = {} end
  return notes[of]
end

local function note_times(block, event, i, value, enabled, running, most)
  local is_plain = reading.is_throughout(enabled, running)
    and not (most and value and reading.is_impossible(most, value, running))
  if is_plain then return true end
  sparse(block.partial, event)[i] = { enabled, running }
  return running == nil or running > 0
end

local function add_count(block, event, i, value, enabled, running, most)
  local ran = note_times(block, event, i, value, enabled, running, most)
  if not block.counts[event] then block.counts[event] = core.column() end
  block.counts[event][i] = ran and value ~= nil and value or false
end

-- How long a command's events were enabled: the longest of its groups, without those that lost their place on
-- the PMU.
local function enabled_of(record, events)
  local longest = false
  for k = 1, record.enabled and #events or 0 do
    local enabled, running = record.enabled[events[k]], record.running[events[k]]
    local counts = enabled and not reading.is_lost(enabled, running)
    if counts and (not longest or enabled > longest) then longest = enabled end
  end
  return longest
end

-- By number: LuaJIT compiles no loop over pairs, and there are millions of records.
local function add_resources(block, record, i, events)
  if not block.resources then return end
  for k = 1, #RESOURCES do
    local name = RESOURCES[k]
    block.resources[name][i] = name == "enabled_ns" and enabled_of(record, events) or record[name] or false
  end
end

-- A count that needs no descriptor is read from a field of the record.
local function value_of(record, tools, event)
  local value = record.counts and record.counts[event]
  if value == nil and tools[event] then return record[tools[event]] end
  return value
end

-- Notes on a repetition besides its counts.
M.NOTES = { "process", "incomplete", "launcher" }

-- Fields that most repetitions of a block share.
M.COMMON = { "source", "host" }

local function add_notes(block, record, i)
  for k = 1, #M.NOTES do
    local note = record[M.NOTES[k]]
    if note then sparse(block, M.NOTES[k])[i] = note end
  end
  for k = 1, #M.COMMON do
    local name = M.COMMON[k]
    if i == 1 then block.own[name] = record[name]
    elseif record[name] ~= block.own[name] then sparse(block, name)[i] = record[name] end
  end
end

local function add_to_block(block, record, events, tools, most)
  local i = block.n + 1
  block.n = i
  block.index[i], block.order[i] = record.index, record.order
  block.wall[i], block.iterations[i] = record.wall_ns or false, record.iterations or 1
  add_notes(block, record, i)
  local enabled, running = record.enabled or {}, record.running or {}
  for k = 1, #events do
    local event = events[k]
    add_count(block, event, i, value_of(record, tools, event), enabled[event], running[event], most[event])
  end
  add_resources(block, record, i, events)
end

-- It did not end by itself, or ended with a status but 0.
local function is_failed(record)
  return record.outcome ~= "done" or (record.exit or 0) ~= 0
end

-- ---- many repetitions at once ------------------------------------------------------------------------------

local function append(column, n, values, start, same, plus)
  local before = column.n
  core.column_expects(column, n)
  for k = 1, n do
    local value = same
    if start then value = values[start + k] end
    column[before + k] = value and value + plus or false
  end
end

local function append_counts(block, event, own, packed, values, most)
  local before, enabled, running = block.index.n - packed.n, nil, nil
  if own.count then enabled, running = packed.enabled[own.times], packed.running[own.times] end
  if not block.counts[event] then block.counts[event] = core.column() end
  core.column_expects(block.counts[event], packed.n)
  for k = 1, packed.n do
    local value
    if own.count then value = values[own.count + k]
    elseif own.start then value = values[own.start + k] else value = own.same end
    local on, ran = enabled and values[enabled + k], running and values[running + k]
    add_count(block, event, before + k, value, on, ran, most)
  end
end

-- Where the counts of an event are in a packed line: a column of counts, or a field that stands for it.
local function place_of(packed, event_at, tool)
  if event_at then return { count = packed.counts[event_at], times = packed.own[event_at] } end
  return { start = packed.starts[tool], same = packed.constants[tool] }
end

--- Adds the records of a packed line (store/decode.lua), all of one outcome. False: they have to be added one by one.
---@param columns pmclua.Columns
---@param first table the first of them as a record
---@param packed table
---@param values (number|ffi.cdata*|nil)[]
---@param events integer[] as for add
---@param place table<integer, integer> event -> its place in the line's counts
---@param tools table<integer, string>
---@param most table<integer, number>
---@return boolean
function M.add_packed(columns, first, packed, values, events, place, tools, most)
  if first.warmup or packed.starts.exit or is_failed(first) or columns.with_resources then return false end
  local block, n = block_of(columns, first), packed.n
  for k = 1, n do add_notes(block, first, block.n + k) end
  append(block.index, n, values, packed.starts.index, nil, first.index - values[packed.starts.index + 1])
  append(block.order, n, values, packed.starts.order, packed.constants.order, 0)
  append(block.wall, n, values, packed.starts.wall_ns, packed.constants.wall_ns, 0)
  append(block.iterations, n, values, packed.starts.iterations, packed.constants.iterations or 1, 0)
  for _, event in ipairs(events) do
    append_counts(block, event, place_of(packed, place[event], tools[event]), packed, values, most[event])
  end
  block.n = block.n + n
  return true
end

-- ---- one repetition ----------------------------------------------------------------------------------------

-- Outcomes of which a repetition has counts.
local COUNTED = { done = true, signalled = true, ["timed-out"] = true, raised = true }

local function count_failure(columns, record)
  if record.outcome == "rejected" then
    columns.rejected = columns.rejected + 1
    columns.first_rejected = columns.first_rejected or record.why
    return
  end
  local outcome = record.outcome == "done" and "exit" or record.outcome
  columns.failed[outcome] = (columns.failed[outcome] or 0) + 1
  if outcome == "exit" then columns.exits[record.exit] = (columns.exits[record.exit] or 0) + 1 end
  columns.first_failure = columns.first_failure
    or { outcome = outcome, exit = record.exit, signal = record.signal, why = record.why }
end

local function note_failure(columns, record, row)
  columns.failures[#columns.failures + 1] = { pass = record.pass, index = record.index, order = record.order,
    warmup = record.warmup, outcome = record.outcome, exit = record.exit, signal = record.signal,
    why = record.why, row = row }
end

---@param columns pmclua.Columns
---@return boolean whether anything was recorded, be it a failure
function M.has_records(columns)
  return next(columns.passes) ~= nil or next(columns.failed) ~= nil or columns.rejected > 0
    or columns.warmup_count > 0
end

--- Adds a record.
---@param columns pmclua.Columns
---@param record table
---@param events integer[] of its pass, those that need no descriptor among them
---@param tools table<integer, string> event -> field of the record
---@param most table<integer, number> event -> reading.most_per_ns
---@param keep_failed boolean summarise failed repetitions that have counts
function M.add(columns, record, events, tools, most, keep_failed)
  if record.warmup then columns.warmup_count = columns.warmup_count + 1 end
  local failed = is_failed(record)
  if failed and not record.warmup then count_failure(columns, record) end
  local is_kept = not failed or keep_failed and COUNTED[record.outcome]
  local block = is_kept and block_of(columns, record)
  if is_kept then add_to_block(block, record, events, tools, most) end
  if failed then note_failure(columns, record, is_kept and block.n or nil) end
end

return M
