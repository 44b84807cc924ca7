--- tables.lua: mutated files of vendors' tables in each form, and mutated tables as they are cached.

local collect = require "pmclua.vendor.collect"
local input = require "tests.fuzz.input"
local json_file = require "pmclua.vendor.json_file"
local records = require "pmclua.vendor.records"
local support = require "tests.support"

local hold, one_of = input.hold, input.one_of

local path

-- Gives `text` to a reader of files.
local function read_as(form)
  return function(text, collection)
    path = path or support.folder() .. "/table.json"
    support.write(path, text)
    require("pmclua.vendor." .. form).read({ path = path, form = form }, collection, path:match "^(.*)/")
  end
end

local function read_rows(text, collection)
  local rows = json_file.read_text(text)
  local takers = collection:takers()
  for _, row in ipairs(type(rows) == "table" and rows or {}) do
    if type(row) == "table" then require("pmclua.vendor.perf_json").row(row, takers) end
  end
end

local FORMS = {
  { "perf.txt", function(text, collection)
    require("pmclua.vendor.perf_text").read(text, collection:takers())
  end },
  { "perf.json", read_rows },
  { "linux/x86/toy/core.json", read_as "linux" },
  { "linux/x86/toy/constructs.json", read_as "linux" },
  { "perfmon/TOY/events/toylake_core.json", read_as "perfmon" },
  { "perfmon/TOY/metrics/toylake_metrics.json", read_as "perfmon" },
  { "arm/data/pmu/cpu/toy-n9.json", read_as "arm" },
}

local function check_record(record, text)
  hold(type(record.name) == "string" and record.name:find "^[%w_.:+-]+$", "no name", text)
  for _, value in pairs(record) do hold(not value:find "%c", "control characters", text) end
end

local function check_tables(tables, text)
  local count = 0
  for _, kind in ipairs { "E", "M" } do
    for record in records.each(tables, kind) do
      count = count + 1
      check_record(record, text)
    end
  end
  return count
end

local function try_form(random)
  local form = one_of(random, FORMS)
  local text = input.mutated(random, support.read(support.fixture("vendor/" .. form[1])))
  local collection = collect.new "a table"
  form[2](text, collection)
  local tables = { text = records.pack(collection.events, collection.metrics) }
  for _, event in ipairs(collection.events) do records.find(tables, "E", event.name) end
  return check_tables(tables, text) > 0
end

local CACHED = records.pack(
  { { name = "TOY.B", terms = "event=0x1", pmu = "cpu", table = "t" },
    { name = "toy.a", terms = "event=0x2" } },
  { { name = "toy_m", expression = "TOY.B / toy.a", groups = "A;B" } })

local function try_cached(random)
  local text = input.mutated(random, CACHED)
  local tables = { text = text }
  for _, name in ipairs { "TOY.B", "toy.a", "toy_m", "" } do
    for _, record in ipairs(records.find(tables, "E", name)) do check_record(record, text) end
    for _, record in ipairs(records.find(tables, "M", name)) do check_record(record, text) end
  end
  return check_tables(tables, text) > 0
end

--- Tries one file, or one cached table; whether anything of it was understood.
---@param random pmclua.Random
---@return boolean
return function(random)
  if random:integer(3) == 1 then return try_cached(random) end
  return try_form(random)
end
