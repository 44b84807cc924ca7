--- encode.lua: records to the repetition lines of a result file.
--
-- Invariant: what is written reads back equal: counts exact to 2^64-1, absent ones absent. A record that
-- is not one of the plan raises, and nothing of it is written.

local core = require "pmclua.core"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local shapes = require "pmclua.store.shape"

local M = {}

local SCALARS, OPTIONAL = shapes.SCALARS, shapes.OPTIONAL

--- Turns records of one plan into lines.
---@class pmclua.store.Encoder
local Encoder = {}
Encoder.__index = Encoder

--- An encoder for the records of the plan in `header` (its cells and pass_events).
---@param header table
---@return pmclua.store.Encoder
function M.new(header)
  local self = setmetatable({ cells = header.cells, pass_events = header.pass_events,
    cell_text = {}, heads = { repetition = {}, repetitions = {} }, values = {} }, Encoder)
  local order = lists.column(header.factors or {}, 1)
  for i, cell in ipairs(header.cells) do
    self.cell_text[i] = ('"workload":%s,"levels":%s,"cell":%d'):format(json.string(cell.workload),
      json.encode(json.object(cell.levels), { order = order }), i)
  end
  return self
end

local SCALAR_FORM = {}
for i, name in ipairs(SCALARS) do SCALAR_FORM[i] = ('"%s":%%'):format(name) end
local COUNTS_FORM = '"counts":[%],"times":[%],"enabled":[%],"running":[%]'
local SINGLE_TAIL = "," .. table.concat(SCALAR_FORM, ",") .. "," .. COUNTS_FORM

local function make_head(self, kind, record)
  local parts = { ('{"kind":"%s",%s,"pass":%d,"warmup":%s,"outcome":"%s"'):format(kind,
    self.cell_text[record.cell], record.pass, tostring(record.warmup == true), record.outcome) }
  for _, name in ipairs(OPTIONAL) do
    if record[name] ~= nil then parts[#parts + 1] = ('"%s":%s'):format(name, json.encode(record[name])) end
  end
  return table.concat(parts, ",")
end

local function is_plain(record)
  return not (record.why or record.region or record.thread or record.cpu or record.interval
    or record.task or record.incomplete or record.launcher or record.source)
end

-- The line's form up to its numbers; of ordinary repetitions it is made once, and the whole form of one without
-- threads too.
local function head(self, kind, record)
  if record.warmup or record.outcome ~= "done" or not is_plain(record) then
    return make_head(self, kind, record)
  end
  local key, heads = record.cell * #self.pass_events + record.pass, self.heads[kind]
  local known = heads[key]
  local is_same = known and known.read == record.read and known.process == record.process
    and known.host == record.host
  if not is_same then
    local text = make_head(self, kind, record)
    known = { read = record.read, process = record.process, host = record.host, text = text,
      single = text .. SINGLE_TAIL .. "}\n" }
    heads[key] = known
  end
  return known.text, known.single
end

local function check_count(value, name)
  if type(value) == "number" and not (value >= 0 and value % 1 == 0) then
    error(("record.%s is %s: only whole numbers from 0 can be stored"):format(name, tostring(value)), 0)
  end
  return value
end

--- Raises a text where `record` is not one of the plan.
---@param self pmclua.store.Encoder
---@param record table
function M.check(self, record)
  if not self.cells[record.cell] then error(("the plan has no cell %s"):format(tostring(record.cell)), 0) end
  if not self.pass_events[record.pass] then
    error(("the plan has no pass %s"):format(tostring(record.pass)), 0)
  end
  if not shapes.OUTCOMES[record.outcome] then
    error(("there is no outcome '%s'"):format(tostring(record.outcome)), 0)
  end
  if not record.index or not record.order then error("a record needs its index and order", 0) end
end

-- Appends a list of values, its length first.
local function put_list(values, at, list, count)
  values[at + 1] = count
  for i = 1, count do values[at + 1 + i] = list[i] end
  return at + 1 + count
end

-- Events that were counted together share their times: `times` says for each event which entry of
-- enabled and running is its own (nil: it has none). Fills the three lists; the number of entries.
local function share_times(counted, events, times, enabled, running)
  local entries = 0
  for i, event in ipairs(events) do
    local on, ran = counted.enabled and counted.enabled[event], counted.running and counted.running[event]
    local own
    if on and ran then
      for k = 1, entries do
        if enabled[k] == on and running[k] == ran then own = k break end
      end
      if not own then
        entries = entries + 1
        enabled[entries], running[entries], own = on, ran, entries
      end
    end
    times[i] = own
  end
  return entries
end

local times, enabled, running, counts = {}, {}, {}, {}       -- used anew by each line

local function put_counts(values, at, counted, events)
  local n = #events
  for i = 1, n do
    counts[i] = counted.counts and check_count(counted.counts[events[i]], "counts")
  end
  local entries = share_times(counted, events, times, enabled, running)
  at = put_list(values, at, counts, n)
  at = put_list(values, at, times, n)
  at = put_list(values, at, enabled, entries)
  return put_list(values, at, running, entries)
end

local function thread_forms(count)
  if count == 0 then return "" end
  return ',"threads":[' .. ("{" .. COUNTS_FORM .. "},"):rep(count - 1) .. "{" .. COUNTS_FORM .. "}]"
end

local function single_form(self, record, threads)
  local start, whole = head(self, "repetition", record)
  if whole and threads == 0 then return whole end
  return start .. SINGLE_TAIL .. thread_forms(threads) .. "}\n"
end

--- Adds the line of one record, newline included. Raises a text where the record is not one of the plan.
---@param record table
---@param buffer userdata a string.buffer
function Encoder:write(record, buffer)
  M.check(self, record)
  local values, at = self.values, #SCALARS
  for i = 1, at do values[i] = check_count(record[SCALARS[i]], SCALARS[i]) end
  local events, threads = self.pass_events[record.pass], record.threads
  at = put_counts(values, at, record, events)
  for i = 1, threads and #threads or 0 do at = put_counts(values, at, threads[i], events) end
  core.line_write(buffer, single_form(self, record, threads and #threads or 0), values, at)
end

local function same_in_all(records, name)
  local first = records[1][name]
  for i = 2, #records do
    if records[i][name] ~= first then return false end
  end
  return true
end

local function put_column(values, at, records, field, event)
  local n = #records
  values[at + 1] = n
  for i = 1, n do
    local value = records[i][field]
    if event and value then value = value[event] end
    values[at + 1 + i] = check_count(value, field)
  end
  return at + 1 + n
end

local function same_times(records, first, second)
  for i = 1, #records do
    local on, ran = records[i].enabled, records[i].running
    if on[first] ~= on[second] or ran[first] ~= ran[second] then return false end
  end
  return true
end

-- share_times for whole columns: which event's times each event shares, and those events.
local function share_columns(records, events)
  local own, leaders = {}, {}
  for i, event in ipairs(events) do
    for k, leader in ipairs(leaders) do
      if same_times(records, leader, event) then own[i] = k break end
    end
    if not own[i] then
      leaders[#leaders + 1] = event
      own[i] = #leaders
    end
  end
  return own, leaders
end

local function columns_form(count)
  return count == 0 and "[%]" or "[[%]" .. (",[%]"):rep(count - 1) .. "]"
end

local function put_columns(values, at, records, field, events)
  if #events == 0 then return put_list(values, at, {}, 0) end
  for _, event in ipairs(events) do at = put_column(values, at, records, field, event) end
  return at
end

--- Adds one line for several records of one cell and pass that differ in numbers alone, newline included.
---@param records table[]
---@param buffer userdata a string.buffer
function Encoder:write_packed(records, buffer)
  local first = records[1]
  M.check(self, first)
  local values, at, forms = self.values, 0, {}
  for i, name in ipairs(SCALARS) do
    if name ~= "index" and same_in_all(records, name) then
      at, forms[i] = at + 1, ('"%s":%%'):format(name)
      values[at] = check_count(first[name], name)
    else
      at, forms[i] = put_column(values, at, records, name), ('"%s":[%%]'):format(name)
    end
  end
  local events = self.pass_events[first.pass]
  local own, leaders = share_columns(records, events)
  at = put_columns(values, at, records, "counts", events)
  at = put_list(values, at, own, #events)
  at = put_columns(values, at, records, "enabled", leaders)
  at = put_columns(values, at, records, "running", leaders)
  local form = ('%s,%s,"counts":%s,"times":[%%],"enabled":%s,"running":%s}\n'):format(
    head(self, "repetitions", first), table.concat(forms, ","), columns_form(#events),
    columns_form(#leaders), columns_form(#leaders))
  core.line_write(buffer, form, values, at)
end

--- Adds a packed line of another file as one of this plan, newline included: the numbers of its records but their index
--- are as they were.
---@param first table its first record, renumbered
---@param packed table as store/decode.lua has it
---@param values (number|ffi.cdata*|nil)[]
---@param buffer userdata a string.buffer
function Encoder:copy_packed(first, packed, values, buffer)
  local before, index = packed.first - 1, packed.starts.index
  local count, plus = packed.last - before, first.index - values[index + 1]
  for i = 1, count do self.values[i] = values[before + i] end
  for k = index - before + 1, index - before + packed.n do self.values[k] = self.values[k] + plus end
  local form = head(self, "repetitions", first) .. packed.form:match ',"exit":.*$' .. "\n"
  core.line_write(buffer, form, self.values, count)
end

--- Whether `record` may be packed with others of its cell and pass.
---@param record table
---@return boolean
function M.is_packable(record)
  return record.outcome == "done" and record.enabled ~= nil and record.running ~= nil
    and not record.threads and not record.profiles and not record.system_calls
    and not record.followed and is_plain(record)
end

return M
