--- reports.lua: results with known figures, and the parts of a report that show them.

local assert = require "luassert"
local made = require "tests.support.results"
local report = require "pmclua.report"
local result = require "pmclua.result"
local support = require "tests.support"
local add_record = require("pmclua.result").add

local M = {}

local event = made.event

-- `count` whole numbers around `middle`, `share` away at most, in an order that does not drift.
function M.around(middle, share, count, step)
  local values = {}
  for i = 1, count do
    local place = (i * (step or 7)) % count / (count - 1) * 2 - 1
    values[i] = math.floor(middle * (1 + share * place * math.abs(place)) + 0.5)
  end
  return values
end

function M.duration() return event("duration_time", { tool = "wall_ns", unit = "ns" }) end

function M.same(value, count)
  return support.sequence(count, function() return value end)
end

-- A result: cells[c][e] has the values of event e in cell c.
function M.build(header, cells)
  header = made.header(header)
  local r, order = result.new(header), 0
  for i = 1, header.repetitions do
    for c, columns in ipairs(cells) do
      order = order + 1
      local counts = {}
      for e, values in pairs(columns) do
        if type(e) == "number" then counts[e] = values[i] end
      end
      local planned = header.cells[c]
      local is_kernel = r.workload_by_name[planned.workload].kind == "kernel"
      local more = { cell = c, index = i, order = order, iterations = 1, workload = planned.workload,
        levels = planned.levels, process = is_kernel and i or nil,
        wall_ns = columns.wall and columns.wall[i] or 1000 }
      local record = made.record(counts, more)
      local partly = columns.ran
      if partly then record.running[partly[1]] = record.enabled[partly[1]] * partly[2] end
      add_record(r, record)
    end
  end
  r.status = "complete"
  return r
end

local NO_EVENT = "cannot open 'LLC-load-misses': no such event on this PMU: try `pmclua events LLC`"

function M.one_cell(name)
  return M.build({
    question = false, repetitions = 20, warmup = 2, factors = {}, metrics = { "ipc" },
    workloads = { { name = name or "./parse large.json", kind = "command", per = "run" } },
    cells = { { workload = name or "./parse large.json", levels = {} } },
    events = { M.duration(), event "cycles", event "instructions",
      event "page-faults", event "branch-misses",
      event("LLC-load-misses", { status = "unsupported", why = NO_EVENT }) },
    pass_events = { { 2, 3, 4, 5 } },
  }, { { wall = M.around(41200000, 0.02, 20), [2] = M.around(128441020, 0.02, 20),
    [3] = M.around(302100000, 0.001, 20), [4] = M.same(1204, 20), [5] = M.around(746685, 0.1, 20),
    ran = { 5, 0.62 } } })
end

function M.two_compilers(other, name)
  name = name or "clang"
  return M.build({
    question = false, repetitions = 30, warmup = 0, factors = {}, metrics = {},
    baseline = { workload = other or "gcc" }, primary = "duration_time",
    margin = { default = 0.01, instructions = 0.001 },
    workloads = { { name = other or "gcc", kind = "command", per = "run" },
      { name = name, kind = "command", per = "run" } },
    cells = { { workload = other or "gcc", levels = {} }, { workload = name, levels = {} } },
    events = { M.duration(), event "cycles", event "instructions",
      event "cache-misses", event("stalls", { status = "unsupported", why = "no such event on this PMU" }) },
    pass_events = { { 2, 3, 4 } },
  }, {
    { wall = M.around(41200000, 0.02, 30), [2] = M.around(128400000, 0.02, 30),
      [3] = M.around(302100000, 0.0002, 30), [4] = M.around(1200000, 0.3, 30) },
    { wall = M.around(38310000, 0.02, 30, 11), [2] = M.around(119500000, 0.02, 30, 11),
      [3] = M.around(302200000, 0.0002, 30, 11), [4] = M.around(1240000, 0.3, 30, 11) },
  })
end

function M.strides()
  local cells, values = {}, {}
  for _, bytes in ipairs { 4096, 65536, 67108864 } do
    for _, stride in ipairs { 64, 4096 } do
      if bytes > stride then
        cells[#cells + 1] = { workload = "walk", levels = { bytes = bytes, stride = stride } }
        local cost = bytes == 67108864 and (stride == 64 and 212 or 331) or 4
        values[#values + 1] = { M.around(cost * 1000, 0.05, 15), M.same(8000, 15) }
      end
    end
  end
  return M.build({
    question = "What does a load cost?", repetitions = 15, warmup = 2, baseline = { stride = 64 },
    primary = "cycles", factors = { { "bytes", { 4096, 65536, 67108864 } }, { "stride", { 64, 4096 } } },
    workloads = { { name = "walk", kind = "kernel", per = "iteration" } }, cells = cells,
    events = { event "cycles", event "instructions" }, pass_events = { { 1, 2 } },
  }, values)
end

-- Two workloads at two sizes whose counts are those of n * n elements; without a baseline one cell of them.
function M.elements(header)
  local cells, values = {}, {}
  local all = { per = { element = "n * n" }, question = false, repetitions = 8,
    metrics = { "ipc" }, factors = { { "n", { 10, 20 } } }, primary = "cycles",
    workloads = { { name = "rows", kind = "kernel", per = "iteration" },
      { name = "columns", kind = "kernel", per = "iteration" } },
    events = { M.duration(), event "cycles", event "instructions" }, pass_events = { { 2, 3 } },
    cells = cells }
  for _, n in ipairs { 10, 20 } do
    for _, name in ipairs { "rows", "columns" } do
      cells[#cells + 1] = { workload = name, levels = { n = n } }
      values[#values + 1] = { wall = M.same(4100, 8), [2] = M.same(900, 8), [3] = M.same(450, 8) }
    end
  end
  local r = M.build(support.merged(all, header), values)
  return header and r or r:only { workload = "rows", n = 10 }
end

function M.shown(r, options)
  options = options or {}
  options.width, options.colour = options.width or 80, options.colour or false
  if options.utf8 == nil then options.utf8 = true end
  return report.render(r, options)
end

-- The text of a golden file; PMCLUA_WRITE_GOLDEN=1 writes it anew, for a person to look at.
function M.golden(name, text)
  local path = support.fixture("report/" .. name)
  if os.getenv "PMCLUA_WRITE_GOLDEN" then support.write(path, text) end
  assert.equal(support.read(path), text)
end

return M
