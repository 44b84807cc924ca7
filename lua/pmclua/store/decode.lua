--- decode.lua: the repetition lines of a result file back to records.
--
-- Invariant: a line has passed every check against the plan of its own file, or it raises and nothing of
-- it is used.

local new_table = require "table.new"
local shapes = require "pmclua.store.shape"

local M = {}

local SCALARS = shapes.SCALARS
local SHAPES_KEPT = 4096        -- forms remembered; a hostile file may have a new one in each line

--- Turns lines of one plan into records.
---@class pmclua.store.Decoder
local Decoder = {}
Decoder.__index = Decoder

--- A decoder for the records of the plan in `header` (its workloads, cells and pass_events).
---@param header table
---@param reuse? boolean a record is valid only until the next one is read: most are then the same table, which halves
---   the time that reading takes
---@return pmclua.store.Decoder
function M.new(header, reuse)
  local iterates = {}
  for _, workload in ipairs(header.workloads) do iterates[workload.name] = workload.per == "iteration" end
  return setmetatable({ cells = header.cells, pass_events = header.pass_events, iterates = iterates,
    known = {}, known_count = 0, reused = reuse and {} or nil }, Decoder)
end

local function shape_of(self, form)
  local shape = self.known[form]
  if shape then return shape end
  if self.known_count == SHAPES_KEPT then self.known, self.known_count = {}, 0 end
  shape = shapes.compile(form)
  self.known[form], self.known_count = shape, self.known_count + 1
  return shape
end

local function count_of(map)
  local count = 0
  for _ in pairs(map) do count = count + 1 end
  return count
end

local function check_written_levels(shape, cell)
  for name, value in pairs(shape.levels) do
    if cell.levels[name] ~= value then error(("level '%s' is not that of its cell"):format(name), 0) end
  end
  if shape.level_count ~= count_of(cell.levels) then error("its levels are not those of its cell", 0) end
end

-- The cell that the values name; checked once for each form and cell but for levels among the values.
local function cell_of(self, shape, values)
  local index = values[shape.cell_at]
  local cell = self.cells[index]
  if shape.checked[index] then return cell end
  if not cell or cell.workload ~= shape.workload then error("the plan has no such cell", 0) end
  if not self.pass_events[values[shape.cell_at + 1]] then error("the plan has no such pass", 0) end
  check_written_levels(shape, cell)
  shape.checked[index] = true
  return cell
end

local function read_head(self, shape, values)
  local cell = cell_of(self, shape, values)
  local head = shape.head
  for i = 1, shape.cell_at - 1 do
    if cell.levels[head[i]] ~= values[i] then
      error(("level '%s' is not that of its cell"):format(head[i]), 0)
    end
  end
  if not self.pass_events[values[shape.cell_at + 1]] then error("the plan has no such pass", 0) end
  return cell, #head
end

local function set_optional(record, shape, values)
  for name, value in pairs(shape.fixed) do record[name] = value end
  for i = shape.cell_at + 2, #shape.head do record[shape.head[i]] = values[i] end
end

-- `iterates`: its counts are divided by its iterations.
local function check_numbers(record, iterates)
  if type(record.index) ~= "number" or type(record.order) ~= "number" then
    error("'index' or 'order' is no index", 0)
  end
  local iterations = record.iterations
  local is_right = iterations == nil or type(iterations) == "number"
  if iterates and record.outcome == "done" then is_right = is_right and iterations and iterations > 0 end
  if not is_right then error("'iterations' is no number of them", 0) end
end

local function time_entry(own, count)
  local there = type(own) == "number" and own >= 1 and own <= count
  return there and own or error("'times' names an entry that is not there", 0)
end

-- The tables of a record's counts and times, as it has them or new.
local function tables_for(counted, n)
  counted.counts = counted.counts or new_table(n, 0)
  counted.enabled, counted.running = counted.enabled or new_table(n, 0), counted.running or new_table(n, 0)
  return counted.counts, counted.enabled, counted.running
end

-- Reads counts, times, enabled and running from after `at` into `counted`, and into its tables if it has them;
-- where they end.
local function read_counts(values, at, counted, events)
  local n = #events
  local counts_at = at + 1
  local times_at = counts_at + n + 1
  if values[counts_at] ~= n or values[times_at] ~= n then
    error("'counts' is not of this pass's length", 0)
  end
  local enabled_at = times_at + n + 1
  local entries = values[enabled_at]
  local running_at = enabled_at + entries + 1
  if values[running_at] ~= entries then error("'enabled' and 'running' differ in length", 0) end
  local numbers, on, ran = tables_for(counted, n)
  for i = 1, n do
    local event, own = events[i], values[times_at + i] and time_entry(values[times_at + i], entries)
    numbers[event] = values[counts_at + i]
    on[event], ran[event] = own and values[enabled_at + own], own and values[running_at + own]
  end
  return running_at + entries
end

-- A record with all its fields. A table that is born with them is copied whole; one that gets them one by one
-- costs four times as much.
local function blank_record()
  return {
    workload = false, levels = false, cell = 0, pass = 0, warmup = false, outcome = false, exit = 0,
    signal = 0,
    index = 0, order = 0, start_ns = 0, wall_ns = 0, iterations = 0, user_ns = 0, system_ns = 0,
    max_rss_bytes = 0, minor_faults = 0, major_faults = 0, voluntary_switches = 0, involuntary_switches = 0,
    counts = false, enabled = false, running = false, host = false,
  }
end

-- Records with optional fields are tables of their own; the others share one for each pass.
local function table_for(self, shape, pass)
  if not self.reused or shape.has_optional or shape.threads > 0 then return blank_record() end
  self.reused[pass] = self.reused[pass] or blank_record()
  return self.reused[pass]
end

local function record_for(self, shape, values, cell)
  local pass = values[shape.cell_at + 1]
  local record = table_for(self, shape, pass)
  record.workload, record.levels = shape.workload, cell.levels
  record.cell, record.pass = values[shape.cell_at], pass
  record.warmup, record.outcome, record.host = shape.warmup, shape.outcome, shape.fixed.host
  if shape.has_optional then set_optional(record, shape, values) end
  return record
end

local function read_single(self, shape, values)
  local cell, at = read_head(self, shape, values)
  local record = record_for(self, shape, values, cell)
  -- In the order of shape.SCALARS.
  record.exit, record.signal = values[at + 1], values[at + 2]
  record.index, record.order = values[at + 3], values[at + 4]
  record.start_ns, record.wall_ns, record.iterations = values[at + 5], values[at + 6], values[at + 7]
  record.user_ns, record.system_ns, record.max_rss_bytes = values[at + 8], values[at + 9], values[at + 10]
  record.minor_faults, record.major_faults = values[at + 11], values[at + 12]
  record.voluntary_switches, record.involuntary_switches = values[at + 13], values[at + 14]
  check_numbers(record, self.iterates[record.workload])
  local events = self.pass_events[record.pass]
  at = read_counts(values, at + #SCALARS, record, events)
  if shape.threads > 0 then record.threads = {} end
  for i = 1, shape.threads do
    record.threads[i] = {}
    at = read_counts(values, at, record.threads[i], events)
  end
  return record
end

-- Where each column begins: its length is there, its elements follow. All must be n long.
local function columns_from(values, at, count, n)
  local starts = {}
  for i = 1, count do
    if values[at + 1] ~= n then error("its columns differ in length", 0) end
    starts[i] = at + 1
    at = at + 1 + n
  end
  if count == 0 then
    if values[at + 1] ~= 0 then error("a column is missing", 0) end
    at = at + 1
  end
  return starts, at
end

local function scalar_columns(shape, values, at)
  local starts, constants, n = {}, {}, nil
  for _, name in ipairs(SCALARS) do
    if shape.column[name] then
      n = n or values[at + 1]
      if values[at + 1] ~= n then error("its columns differ in length", 0) end
      starts[name] = at + 1
      at = at + 1 + n
    else
      constants[name] = values[at + 1]
      at = at + 1
    end
  end
  return starts, constants, n, at
end

-- Where everything of a packed line is: columns by their starts, constants by value.
local function lay_out(self, shape, values)
  local cell, at = read_head(self, shape, values)
  local line = { cell = cell, iterates = self.iterates[shape.workload] }
  line.events = self.pass_events[values[shape.cell_at + 1]]
  line.starts, line.constants, line.n, at = scalar_columns(shape, values, at)
  local count = #line.events
  if shape.counts ~= count then error("'counts' is not of this pass's length", 0) end
  line.counts, at = columns_from(values, at, count, line.n)
  if values[at + 1] ~= count then error("'times' is not of this pass's length", 0) end
  line.own = {}
  for i = 1, count do line.own[i] = time_entry(values[at + 1 + i], shape.enabled) end
  line.enabled, at = columns_from(values, at + 1 + count, shape.enabled, line.n)
  line.running, line.last = columns_from(values, at, shape.running, line.n)
  line.first = #shape.head + 1
  return line
end

-- The k-th value of a column, or the constant that stands for it.
local function pick(line, values, name, k)
  local start = line.starts[name]
  if start then return values[start + k] end
  return line.constants[name]
end

local function unpack_counts(line, values, k, counted)
  local events, n = line.events, #line.events
  local numbers, on, ran = tables_for(counted, n)
  for i = 1, n do
    local event, own = events[i], line.own[i]
    numbers[event] = values[line.counts[i] + k]
    on[event], ran[event] = values[line.enabled[own] + k], values[line.running[own] + k]
  end
end

--- Reads a line that was scanned into `form` and `values`. Raises a text that says what is wrong with it.
---@param form string
---@param values (number|ffi.cdata*|nil)[]
---@return integer count of its records
---@return table? record the only one; nil for a packed line
---@return table? packed for `unpack`
function Decoder:read(form, values)
  local shape = shape_of(self, form)
  if shape.kind == "repetition" then return 1, read_single(self, shape, values), nil end
  local line = lay_out(self, shape, values)
  line.shape, line.form = shape, form
  return line.n, nil, line
end

--- The fields that a packed line's records share, where all of them can be read from its columns.
---@param packed table of `read`, with a record at least
---@param values (number|ffi.cdata*|nil)[]
---@return table? first its first record; nil: some record is not as it should be
---@return integer most the highest of their indices
function Decoder:common(packed, values)
  local starts, most = packed.starts, 0
  local index, order, iterations = starts.index, starts.order or starts.index, starts.iterations
  for k = 1, packed.n do
    local at, count = values[index + k], iterations and values[iterations + k] or 1
    if type(at) ~= "number" or type(values[order + k]) ~= "number" then return nil, 0 end
    if type(count) ~= "number" or count <= 0 then return nil, 0 end
    most = math.max(most, at)
  end
  return self:unpack(packed, values, 1), most
end

--- A record of a packed line, while `values` stays as it is.
---@param packed table of `read`
---@param values (number|ffi.cdata*|nil)[]
---@param k integer from 1
---@return table record
function Decoder:unpack(packed, values, k)
  local record = record_for(self, packed.shape, values, packed.cell)
  for i = 1, #SCALARS do record[SCALARS[i]] = pick(packed, values, SCALARS[i], k) end
  unpack_counts(packed, values, k, record)
  check_numbers(record, packed.iterates)
  return record
end

return M
