--- save.lua: a result as a stored file, also where nothing was stored while it ran.
--
-- Invariant: what is read back has the same cells, values and failures. Of a result that has a file, every
-- record is copied. Of one that is in memory alone its columns are written; what columns do not keep is
-- absent in the file, never made up, and `lacks` in its header names it.

local cell_key = require "pmclua.result.cell_key"
local kept = require "pmclua.result.columns"
local ending = require "pmclua.result.ending"
local lists = require "pmclua.base.lists"
local store = require "pmclua.store"

local M = {}

local LACKS = { "start_ns", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches",
  "threads", "read", "enabled", "running" }
local RESOURCES = { "user_ns", "system_ns", "max_rss_bytes", "exit" }

-- ---- the header ------------------------------------------------------------------------------------------

-- A view's header is that of its result, but for what it changes.
local function flat(header)
  local meta = getmetatable(header)
  local copy = meta and type(meta.__index) == "table" and flat(meta.__index) or {}
  for name, value in pairs(header) do copy[name] = value end
  return copy
end

-- The plan's numbers of the result's cells to those in the file: `where` may have left some out.
local function file_numbers(result)
  local numbers, cells = {}, {}
  for cell in result:cells(true) do
    if not numbers[cell.number] then
      cells[#cells + 1] = result.header.cells[cell.number]
      numbers[cell.number] = #cells
    end
  end
  return numbers, cells
end

local function header_of(result, cells)
  local header = flat(require("pmclua.base.lazy").complete(result.header))
  header.cells, header.metrics = cells, lists.column(result.metrics, "source")
  return header
end

-- ---- columns to records ----------------------------------------------------------------------------------

-- Times are kept for commands, and for repetitions that were multiplexed.
local function add_counts(record, block, row, tools)
  record.counts, record.enabled, record.running = {}, {}, {}
  local own = block.resources and block.resources.enabled_ns[row]
  for event, column in pairs(block.counts) do
    local partial = block.partial[event] and block.partial[event][row]
    record.counts[event] = column[row] or nil
    if tools[event] then record[tools[event]] = column[row] or nil end
    if partial then
      record.enabled[event], record.running[event] = partial[1], partial[2]
    elseif own and not tools[event] then
      record.enabled[event], record.running[event] = own, own
    end
  end
end

local function record_of(block, row, tools)
  local record = { outcome = "done", index = block.index[row], order = block.order[row],
    wall_ns = block.wall[row] or nil, iterations = block.iterations[row] }
  for _, name in ipairs(kept.COMMON) do
    record[name] = block[name] and block[name][row] or block.own[name]
  end
  for _, name in ipairs(kept.NOTES) do record[name] = block[name] and block[name][row] end
  for _, name in ipairs(block.resources and RESOURCES or {}) do
    record[name] = block.resources[name][row] or nil
  end
  add_counts(record, block, row, tools)
  return record
end

-- Kept repetitions that ended badly are rows too.
local function add_failure(record, failure)
  for name, value in pairs(failure) do
    if name ~= "row" then record[name] = value end
  end
  return record
end

local function failures_by_row(columns)
  local by_row, alone = {}, {}
  for _, failure in ipairs(columns.failures) do
    if failure.row then
      by_row[failure.pass] = by_row[failure.pass] or {}
      by_row[failure.pass][failure.row] = failure
    else
      alone[#alone + 1] = failure
    end
  end
  return by_row, alone
end

-- In this order: warm-ups, rows, what was left out.
local function each_record(columns, tools, take)
  local by_row, alone = failures_by_row(columns)
  for _, phase in ipairs { "warmups", "passes" } do
    for pass, block in pairs(columns[phase]) do
      for row = 1, block.n do
        local record = record_of(block, row, tools)
        record.pass, record.warmup = pass, phase == "warmups"
        local failure = by_row[pass] and by_row[pass][row]
        if failure and failure.warmup == record.warmup then add_failure(record, failure) end
        take(record)
      end
    end
  end
  for _, failure in ipairs(alone) do take(add_failure({}, failure)) end
end

-- ---- writing ---------------------------------------------------------------------------------------------

local function from_memory(result, numbers, take)
  local profiles = require "pmclua.result.profiles"
  for _, part in ipairs(result.parts) do
    local cell = numbers[part.number] and result.header.cells[part.number]
    if cell then
      each_record(part.columns, result.tools, function(record)
        record.workload, record.levels, record.cell = cell.workload, cell.levels, numbers[part.number]
        for _, name in ipairs(cell_key.PARTS) do record[name] = part[name] end
        profiles.give(result, part.number, record)
        if next(result.followed) then require("pmclua.result.regions").give(result, part.number, record) end
        take(record)
      end)
    end
  end
end

local function from_file(path, numbers, take)
  store.open(path).each(function(record)
    record.cell = numbers[record.cell]
    if record.cell then take(record) end
  end)
end

-- The file has all that was recorded, unless it could not be written to the end.
local function has_whole_file(result)
  local _, problem = ending.of(result)
  return result.path and not (problem and problem.operation == "write to")
end

--- Stores a result in a new file.
---@param result pmclua.Result
---@param path string raises an error object where it is there already or cannot be written
function M.write(result, path)
  local numbers, cells = file_numbers(result)
  local header, is_whole = header_of(result, cells), has_whole_file(result)
  header.lacks = not is_whole and LACKS or header.lacks
  local writer = store.create(path, header)
  local function take(record) writer:add(record) end
  local ok, why = pcall(function()
    if is_whole then from_file(result.path, numbers, take) else from_memory(result, numbers, take) end
    writer:finish(ending.of(result) == "complete" and "complete" or "interrupted",
      { waits = not result.is_chosen and result.waits or nil, remarks = result.remarks })
  end)
  if ok then return end
  writer:close()
  os.remove(path)
  error(why, 0)
end

return M
