--- header.lua: the first line of a result file: what was asked, planned and found.
--
-- Invariant: a header that was read has schema 1 and is whole: its cells name its workloads, its passes
-- name its events. Everything later may index by it without asking again.

local core = require "pmclua.core"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local members = require "pmclua.store.members"
local version = require "pmclua.store.version"

local M = {}

M.SCHEMA = 1

local ORDER = {
  "kind", "schema", "pmclua", "needs", "name", "question", "started", "status", "seed", "repetitions",
  "warmup", "workloads", "factors", "levels", "cells", "events", "pass_events", "metrics", "per",
  "baseline", "primary", "margin", "spec", "workload", "field", "attr", "type", "config", "host", "how",
}
-- Words of 64 bits whose digits mean nothing in decimal.
local HEX_FIELDS = { config = true, config1 = true, config2 = true, config3 = true, config4 = true }
local OBJECTS = { levels = true, attr = true, host = true, per = true, notes = true, how = true,
  environment = true, env = true, params = true, libraries = true }

-- ---- writing ----

-- A copy in which 64-bit words are "0x…" texts and maps are marked.
local function portable(value, key, depth)
  local is_word = type(value) == "cdata" or HEX_FIELDS[key] and type(value) == "number"
  if is_word then return ("0x%x"):format(value) end
  if type(value) ~= "table" or rawequal(value, json.null) then return value end
  if depth > 60 then error("the header is nested too deep", 0) end
  local copy = {}
  for name, item in pairs(value) do copy[name] = portable(item, name, depth + 1) end
  return OBJECTS[key] and json.object(copy) or setmetatable(copy, getmetatable(value))
end

--- The header's line, newline included. Raises a text where it holds what JSON cannot.
---@param header table
---@return string
function M.encode(header)
  local copy = portable(header, nil, 0)
  copy.kind, copy.schema, copy.pmclua = "experiment", M.SCHEMA, header.pmclua or core.version
  copy.needs = version.NEEDED
  return json.encode(copy, { order = ORDER }) .. "\n"
end

-- ---- reading ----

local function expect(holds, ...)
  if not holds then error((...):format(select(2, ...)), 0) end
end

local function expect_kinds(value, kinds, what)
  local wrong = members.wrong(value, kinds)
  expect(not wrong, "%s of %s is not what it should be", tostring(wrong), what)
end

local function expect_list(header, name)
  local list = header[name]
  expect(type(list) == "table", "it has no list of %s", name)
  expect(members.list(list), "its %s are not a list", name)
  return list
end

local STATUSES = { unsupported = true, ["constant-zero"] = true, ["not-counted"] = true }

local function check_events(header)
  local seen = {}
  for i, event in ipairs(expect_list(header, "events")) do
    expect(type(event) == "table" and type(event.name) == "string" and type(event.field) == "string",
      "event %d has no name or field", i)
    expect(not event.field:find("-", 1, true), "event %d has a field that no formula can name", i)
    expect(not seen[event.field], "two events are called '%s'", event.field)
    expect(event.status == nil or STATUSES[event.status], "event %d has an unknown status", i)
    expect_kinds(event, members.event, "event " .. i)
    seen[event.field] = true
  end
end

local function check_workloads(header)
  local names = {}
  for i, workload in ipairs(expect_list(header, "workloads")) do
    expect(type(workload) == "table" and type(workload.name) == "string" and type(workload.kind) == "string",
      "workload %d has no name or kind", i)
    expect_kinds(workload, members.workload, "workload " .. i)
    names[workload.name] = true
  end
  return names
end

local function check_factors(header)
  if header.factors == nil then header.factors = {} end
  for i, factor in ipairs(expect_list(header, "factors")) do
    expect(type(factor) == "table" and type(factor[1]) == "string" and members.levels(factor[2]),
      "factor %d has no name or levels", i)
  end
end

local function check_cells(header, workloads)
  for i, cell in ipairs(expect_list(header, "cells")) do
    expect(type(cell) == "table" and workloads[cell.workload], "cell %d names no workload", i)
    expect(type(cell.levels) == "table", "cell %d has no levels", i)
    expect_kinds(cell, members.cell, "cell " .. i)
    for name, value in pairs(cell.levels) do
      expect(type(name) == "string" and type(value) ~= "table", "cell %d has a level that is none", i)
    end
  end
end

local function has_level(header, workloads, name, wanted)
  if name == "workload" then return workloads[wanted] == true end
  return lists.any(header.factors, function(factor)
    return factor[1] == name and lists.contains(factor[2], wanted)
  end)
end

local function check_baseline(header, workloads)
  local baseline = header.baseline
  if type(baseline) == "string" then baseline = { workload = baseline } end
  for name, wanted in pairs(baseline or {}) do
    expect(has_level(header, workloads, name, wanted), "its baseline is of no %s '%s'", name,
      tostring(wanted))
  end
end

local function check_passes(header)
  for i, events in ipairs(expect_list(header, "pass_events")) do
    expect(members.indices(events), "pass %d has no list of events", i)
    local seen = {}
    for _, index in ipairs(events) do
      expect(type(index) == "number" and header.events[index] and not seen[index],
        "pass %d names an event that is not there, or twice", i)
      seen[index] = true
    end
  end
end

-- Files of before say `hybrid = true` and not which CPUs these are.
local function read_core_cpus(header)
  for _, event in ipairs(header.events) do
    if event.hybrid then event.core_cpus, event.hybrid = event.core_cpus or "", nil end
  end
end

-- "0x…" texts of an attr back to numbers.
local function read_attrs(header)
  for i, event in ipairs(header.events) do
    for name, value in pairs(event.attr or {}) do
      if type(value) == "string" and value:find "^0x%x+$" then
        event.attr[name] = core.u64(value)
        expect(event.attr[name], "'%s' of event %d is above 2^64-1", name, i)
      end
    end
  end
end

local function check_integers(values, count)
  for i = 1, count do
    expect(type(values[i]) ~= "cdata", "it has an integer above 2^53 that is not written as \"0x…\"")
  end
end

-- "1e999": it could be reckoned with, and never written again.
local function check_finite(value)
  local is_finite = type(value) ~= "number" or math.abs(value) < math.huge
  expect(is_finite, "it has a number above the largest double")
  for _, item in pairs(type(value) == "table" and value or {}) do check_finite(item) end
end

--- The header of a file's first line. Raises a text that says what is wrong with it.
---@param line string
---@return table
function M.decode(line)
  local values = {}
  expect(not line:find "^\127ELF" and not line:find "^#!",
    "it is a program, and no result: pmclua compare, and pmclua gate --against, run programs")
  local form, count = core.line_scan(line, values)
  expect(form, "its first line is not a JSON object")
  check_integers(values, count)
  local ok, header = pcall(require("dkjson").decode, line)
  expect(ok and type(header) == "table", "its first line is not a JSON object")
  check_finite(header)
  expect(header.kind == "experiment", "its first line is not of kind \"experiment\"")
  local refusal = version.refusal(header, M.SCHEMA)
  expect(not refusal, "%s", refusal)
  expect_kinds(header, members.header, "its first line")
  check_events(header)
  check_factors(header)
  local workloads = check_workloads(header)
  check_cells(header, workloads)
  check_baseline(header, workloads)
  check_passes(header)
  read_attrs(header)
  read_core_cpus(header)
  return header
end

return M
