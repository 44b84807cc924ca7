--- oracle.lua: reads what perf made of specs, and compares it with what pmclua.event makes of them.
--
-- A file has one row for each event that perf opened, or one for a spec that it rejected; its first line
-- names the columns.

local event = require "pmclua.event"
local json = require "dkjson"

local M = {}

local compared = { "type", "config", "config1", "config2", "bp_type", "bp_addr", "bp_len", "exclude_user",
  "exclude_kernel", "exclude_hv", "exclude_idle", "precise_ip", "pinned", "exclusive" }

local function split(line)
  local cells = {}
  for cell in (line .. "\t"):gmatch("([^\t]*)\t") do cells[#cells + 1] = cell end
  return cells
end

--- The cases of a file: { fixture, kind, spec, rejected, error, rows }.
---@param path string
---@return table[]
function M.read(path)
  local cases, columns, last = {}, nil, nil
  for line in io.lines(path) do
    local cells = split(line)
    if not columns then
      columns = cells
    else
      local row = {}
      for i, name in ipairs(columns) do row[name] = cells[i] end
      local is_first = row.index == "0" or row.index == ""
      if not last or last.spec ~= row.spec or last.fixture ~= row.fixture or is_first then
        last = { fixture = row.fixture, kind = row.kind, spec = row.spec, rejected = row.status == "rejected",
          error = row.error, rows = {} }
        cases[#cases + 1] = last
      end
      if not last.rejected then table.insert(last.rows, row) end
    end
  end
  return cases
end

local function read_line(path)
  local file = io.open(path)
  if not file then return nil end
  local line = file:read("*l")
  file:close()
  return line
end

local tracefs = "/sys/kernel/tracing/events/"

local function count_tracepoints(glob)
  local pipe = io.popen(("ls %s%s/id 2>/dev/null | wc -l"):format(tracefs, (glob:gsub(":", "/"))))
  local count = tonumber(pipe:read("*l"))
  pipe:close()
  return count
end

-- Whether the globs of a spec stand for as many tracepoints here as where the file was made.
local function has_same_tracepoints(case)
  local glob = case.spec:match("[%a_*?][%w_*?]*:[%w_*?]+")
  if case.rejected or not glob or not glob:find("[*?]") then return true end
  local rows = 0
  for _, row in ipairs(case.rows) do
    if row.type == "2" then rows = rows + 1 end
  end
  return count_tracepoints(glob) == rows
end

-- The numbers that an OS kernel hands out as it boots, as this one has them.
local function adapt_tracepoint(row)
  local id = read_line(tracefs .. row.name:gsub(":", "/") .. "/id")
  if not id then return ("no tracepoint %s that may be read"):format(row.name) end
  row.config = id
end

local function adapt_type(row, pmu)
  row.type = read_line(("/sys/bus/event_source/devices/%s/type"):format(pmu))
  if not row.type then return ("no PMU %s"):format(pmu) end
end

-- Why a sysfs event that a spec names alone ("msr/smi/") is not here; nil where it is, or where it names terms.
local function lacks_event(pmu, spec)
  local word = spec:match("^[%l_]+/([%w_-]+)/%a*$")
  local devices = "/sys/bus/event_source/devices/"
  if not word or read_line(devices .. pmu .. "/events/" .. word) then return nil end
  if read_line(devices .. pmu .. "/format/" .. word) then return nil end
  return ("the PMU %s has no event %s"):format(pmu, word)
end

--- Makes a case of the machine where the file was made one of this machine: nil, or why it cannot be.
---@param case table changed
---@return string? reason
function M.adapt(case)
  if read_line("/sys/bus/event_source/devices/cpu_core/cpus") then
    return "a hybrid CPU, where generic events are several"
  end
  if not has_same_tracepoints(case) then return "this Linux has other tracepoints" end
  local pmu = case.spec:match("^([%l_]+)/")
  for _, row in ipairs(case.rows) do
    local reason
    if row.type == "2" and row.name:find("^%a[%w_]*:[%w_]+$") then reason = adapt_tracepoint(row) end
    if pmu and tonumber(row.type) > 5 then reason = adapt_type(row, pmu) or lacks_event(pmu, case.spec) end
    if reason then return reason end
  end
end

-- perf opens an event of a PMU with a cpumask once for each of its CPUs; here it is one event.
local function one_for_all_cpus(rows)
  local kept, by_index = {}, {}
  for _, row in ipairs(rows) do
    local before = kept[#kept]
    local again = before and row.scope == "all" and row.cpu ~= before.cpu and row.type == before.type
      and row.config == before.config and row.name == before.name
    if not again then kept[#kept + 1] = row end
    by_index[row.index] = #kept
  end
  return kept, by_index
end

local function as_u64(text)
  local value = 0ULL
  local digits = text:match("^0x(%x+)$")
  for digit in (digits or text):gmatch("%x") do
    value = value * (digits and 16 or 10) + tonumber(digit, 16)
  end
  return value
end

local function field_of(attr, field)
  if attr.type == 5 and (field == "config1" or field == "config2") then return nil end
  return 0ULL + (attr[field] or 0)
end

-- perf's names leave out the modifiers of some events, and --no-merge adds the PMU of others.
local function same_name(ours, perfs)
  perfs = perfs:gsub(" %[.-%]$", "")
  if perfs == "" or ours == perfs then return true end
  local bare = ours:gsub("/?:?[ukhGHIpPDSWeb]*$", "", 1)
  return ours:sub(1, #perfs) == perfs or bare == perfs:gsub("/$", "") or perfs:find(":%a+/$") ~= nil
end

local function event_differences(ours, row, expected_leader, differ)
  local attr = ours.attr
  for _, field in ipairs(compared) do
    if row[field] ~= "" then
      local value = field_of(attr, field)
      if value ~= as_u64(row[field]) then
        local shown = value and ("0x%x"):format(value) or "absent"
        differ(("%s is %s, perf has %s"):format(field, shown, row[field]))
      end
    end
  end
  if ours.leader ~= expected_leader then
    differ(("leader is %s, perf has %s"):format(tostring(ours.leader), tostring(expected_leader)))
  end
  local unit = json.decode(event.json({ ours }, ours.spec)).events[1].unit
  if unit ~= row.unit then differ(("unit is '%s', perf has '%s'"):format(unit, row.unit)) end
  if not same_name(ours.name, row.name) then
    differ(("name is '%s', perf has '%s'"):format(ours.name, row.name))
  end
  if (ours.cpus ~= nil) ~= (row.scope == "all") then differ("cpus, perf's scope is " .. row.scope) end
end

--- How what pmclua makes of a case differs from what perf did; an empty list where it does not.
---@param case table
---@param options table of event.parse
---@return string[] differences
---@return table? problem of a rejected spec
function M.compare(case, options)
  local differences = {}
  local function differ(text) differences[#differences + 1] = text end
  local events, problem = event.parse(case.spec, options)
  if case.rejected then
    -- perf was not asked of the events that libpfm4 knows on the CPU that this runs on.
    local is_pfm = events and events[1].source == "pfm"
    if events and not is_pfm then differ("accepted, perf says " .. case.error) end
    return differences, problem
  end
  if not events then
    differ(("rejected at %d: %s"):format(problem.position, problem.message))
    return differences
  end
  local rows, by_index = one_for_all_cpus(case.rows)
  if #events ~= #rows then
    differ(("%d events, perf has %d"):format(#events, #rows))
    return differences
  end
  for i, row in ipairs(rows) do
    event_differences(events[i], row, by_index[row.leader], differ)
  end
  return differences
end

return M
