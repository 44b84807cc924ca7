--- records.lua: records of a made-up experiment: one command with three events of one group.

local core = require "pmclua.core"
local store = require "pmclua.store"

local M = {}

M.HEADER = {
  name = "bench", workloads = { { name = "true", kind = "command", per = "run" } }, factors = {},
  cells = { { workload = "true", levels = {} } },
  events = { { name = "page-faults", field = "page_faults" }, { name = "task-clock", field = "task_clock" },
    { name = "context-switches", field = "context_switches" } },
  pass_events = { { 1, 2, 3 } }, repetitions = 1, warmup = 0, seed = 1,
}

--- The i-th record. Every number that a run gives differs from those of its neighbours.
function M.record(i)
  local enabled = 351000 + i
  return { workload = "true", levels = {}, cell = 1, pass = 1, index = i, order = i, warmup = false,
    outcome = "done", exit = 0, start_ns = 123456789000 + i * 450000, wall_ns = 400000 + i, iterations = 1,
    user_ns = 100000, system_ns = 200000, max_rss_bytes = 1500000, minor_faults = 50, major_faults = 0,
    voluntary_switches = 1, involuntary_switches = 0, counts = { 50, 350000 + i, 1 },
    enabled = { enabled, enabled, enabled }, running = { enabled, enabled, enabled } }
end

-- As many as wait in the store's writer at most: in a run, too, those that are written are gone.
local ALIVE = 8192

local pool = {}

local function fill_pool(count)
  for i = #pool + 1, math.min(count, ALIVE) do pool[i] = M.record(i) end
end

--- Stores so many records.
---@param path string of a file that is made
---@param count integer
function M.write(path, count)
  fill_pool(count)
  local writer = store.create(path, M.HEADER)
  for i = 1, count do
    local record = pool[(i - 1) % ALIVE + 1]
    record.index, record.order = i, i
    writer:add(record)
  end
  writer:finish "complete"
end

--- Mean ns of a record, stored and read back.
---@param path string of a file that is made and removed
---@param count integer
---@return number
function M.write_and_read(path, count)
  local read = 0
  fill_pool(count)
  local before = core.now_ns()
  M.write(path, count)
  store.open(path).each(function() read = read + 1 end, true)
  local ns = core.now_ns() - before
  os.remove(path)
  assert(read == count)
  return ns / count
end

return M
