--- results: headers and records made by hand, for specs of the store, of results and of reports.

local result = require "pmclua.result"
local store = require "pmclua.store"
local support = require "tests.support"
local add_record = require("pmclua.result").add

local M = {}

---@param name string
---@param more? table fields to add or replace
function M.event(name, more)
  return support.merged({ name = name, field = (name:gsub("-", "_")), spec = name, unit = "", scale = 1,
    attr = { type = 0, config = 0 } }, more)
end

--- A header: two cells of one kernel over n, one pass of cycles, instructions and page-faults.
---@param more? table fields to replace
function M.header(more)
  return support.merged({
    name = "matrix", question = "What does walking a matrix cost?", seed = 7, repetitions = 3, warmup = 0,
    workloads = { { name = "rows", kind = "kernel", per = "iteration" } },
    factors = { { "n", { 256, 512 } } },
    cells = { { workload = "rows", levels = { n = 256 } }, { workload = "rows", levels = { n = 512 } } },
    events = { M.event "cycles", M.event "instructions", M.event "page-faults" },
    pass_events = { { 1, 2, 3 } }, metrics = {}, per = {}, host = { cpu = "made by hand" },
  }, more)
end

--- A record of cell 1, pass 1, all events counted all the time.
---@param counts (number|ffi.cdata*)[]
---@param more? table fields to add or replace; `false` takes one away
function M.record(counts, more)
  local record = {
    workload = "rows", levels = { n = 256 }, cell = 1, pass = 1, index = 1, order = 1, warmup = false,
    outcome = "done", start_ns = 5000000000, wall_ns = 1000000, iterations = 10, user_ns = 900000,
    system_ns = 100000, minor_faults = 3, major_faults = 0, voluntary_switches = 0,
    involuntary_switches = 0, counts = counts, enabled = {}, running = {},
  }
  for i in pairs(counts) do record.enabled[i], record.running[i] = 990000, 990000 end
  for field, value in pairs(more or {}) do record[field] = value or nil end
  return record
end

--- Records of one cell: `columns[i]` has the counts of event i in each repetition.
---@param columns number[][]
---@param more? table
---@return table[]
function M.records(columns, more)
  local records, count = {}, 0
  for _, column in pairs(columns) do count = math.max(count, #column) end
  for index = 1, count do
    local counts = {}
    for event, column in pairs(columns) do counts[event] = column[index] end
    local record = M.record(counts, more)
    record.index, record.order = index, index
    records[index] = record
  end
  return records
end

--- A result of these records.
---@param header table
---@param records table[]
---@return pmclua.Result
function M.result(header, records)
  local made = result.new(header)
  for _, record in ipairs(records) do add_record(made, record) end
  return made
end

--- A stored result of these records.
---@param path string where nothing is
---@param header table
---@param records table[]
---@return string path
function M.stored(path, header, records)
  local writer = store.create(path, header)
  for _, record in ipairs(records) do writer:add(record) end
  writer:finish "complete"
  return writer.path
end

--- What is stored in a file.
---@param path string
---@return table[] records
---@return table stored
function M.read(path)
  local stored, records = store.open(path), {}
  stored.each(function(record) records[#records + 1] = record end)
  return records, stored
end

--- The same of a run that came to its end.
---@return pmclua.Result
function M.complete(header, records)
  local made = M.result(header, records)
  made.status = "complete"
  return made
end

return M
