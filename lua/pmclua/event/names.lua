--- names.lua: the generic events, which Linux translates for the CPU that it runs on.
--
-- Tables only; numbers are those of linux/perf_event.h (PERF_TYPE_*, PERF_COUNT_*).

local lists = require "pmclua.base.lists"

local M = {}

M.TYPE_HARDWARE, M.TYPE_SOFTWARE, M.TYPE_TRACEPOINT = 0, 1, 2
M.TYPE_CACHE, M.TYPE_RAW, M.TYPE_BREAKPOINT = 3, 4, 5

--- name, alias or false, config, what it counts; in the order in which they are listed.
M.hardware = {
  { "cpu-cycles", "cycles", 0, "CPU cycles; they follow the frequency" },
  { "instructions", false, 1, "retired instructions" },
  { "cache-references", false, 2, "cache accesses, usually of the last level" },
  { "cache-misses", false, 3, "cache misses, usually of the last level" },
  { "branch-instructions", "branches", 4, "retired branch instructions" },
  { "branch-misses", false, 5, "mispredicted branch instructions" },
  { "bus-cycles", false, 6, "bus cycles" },
  { "stalled-cycles-frontend", "idle-cycles-frontend", 7, "cycles in which no instruction could be issued" },
  { "stalled-cycles-backend", "idle-cycles-backend", 8, "cycles in which nothing could be retired" },
  { "ref-cycles", false, 9, "cycles at a constant rate, whatever the frequency" },
}

M.software = {
  { "cpu-clock", false, 0, "time by the CPU's clock" },
  { "task-clock", false, 1, "time the task was on a CPU" },
  { "page-faults", "faults", 2, "page faults" },
  { "context-switches", "cs", 3, "context switches" },
  { "cpu-migrations", "migrations", 4, "moves to another CPU" },
  { "minor-faults", false, 5, "page faults without input or output" },
  { "major-faults", false, 6, "page faults that read from a disk" },
  { "alignment-faults", false, 7, "unaligned accesses that Linux handled" },
  { "emulation-faults", false, 8, "instructions that Linux emulated" },
  { "dummy", false, 9, "nothing: a placeholder" },
  { "bpf-output", false, 10, "samples that BPF programs write" },
  { "cgroup-switches", false, 11, "switches to a task of another cgroup" },
}

--- Caches in the order of PERF_COUNT_HW_CACHE_*: their names (the first is the usual one) and which
--- operations the kernel's tables can have at all.
M.caches = {
  { names = { "L1-dcache", "l1-d", "l1d", "L1-data" }, read = true, write = true, prefetch = true },
  { names = { "L1-icache", "l1-i", "l1i", "L1-instruction" }, read = true, prefetch = true },
  { names = { "LLC", "L2" }, read = true, write = true, prefetch = true },
  { names = { "dTLB", "d-tlb", "Data-TLB" }, read = true, write = true, prefetch = true },
  { names = { "iTLB", "i-tlb", "Instruction-TLB" }, read = true },
  { names = { "branch", "bpu", "btb", "bpc" }, read = true },
  { names = { "node" }, read = true, write = true, prefetch = true },
}

--- Operations and results in the order of PERF_COUNT_HW_CACHE_OP_* and _RESULT_*.
M.operations = {
  { key = "read", names = { "load", "loads", "read" } },
  { key = "write", names = { "store", "stores", "write" } },
  { key = "prefetch", names = { "prefetch", "prefetches", "speculative-read", "speculative-load" } },
}
M.results = {
  { key = "access", names = { "refs", "Reference", "ops", "access" } },
  { key = "miss", names = { "misses", "miss" } },
}

local function index_of(list, source, type)
  local index = {}
  for _, row in ipairs(list) do
    local entry = { source = source, type = type, config = row[3], name = row[1] }
    index[row[1]] = entry
    if row[2] then index[row[2]] = entry end
  end
  return index
end

local hardware = index_of(M.hardware, "hardware", M.TYPE_HARDWARE)
local software = index_of(M.software, "software", M.TYPE_SOFTWARE)

--- The generic hardware or software event of that very name (case matters, as it does to perf).
---@param name string
---@return { source: string, type: integer, config: integer, name: string }?
function M.find(name)
  return hardware[name] or software[name]
end

local function row_of(type, config)
  local rows = type == M.TYPE_HARDWARE and M.hardware or M.software
  return lists.find(rows, function(row) return row[3] == config end) or {}
end

--- The generic event of a type and config, by its first name.
---@param type integer 0 or 1
---@param config integer
---@return string?
function M.name_of(type, config) return row_of(type, config)[1] end

--- The name of the generic event of a type and config.
---@param type integer 0 or 1
---@param config integer
---@return string?
function M.description(type, config) return row_of(type, config)[4] end

--- The unit that an attr's counts are in: those of the two clocks are nanoseconds. perf prints them in
--- milliseconds (json.lua).
---@param attr table
---@return "ns"|""
function M.unit(attr)
  local is_clock = attr.type == M.TYPE_SOFTWARE and (attr.config == 0 or attr.config == 1)
  return is_clock and "ns" or ""
end

--- Names for a search or a hint: every generic name and alias.
---@return string[]
function M.all()
  local rows = lists.joined { M.hardware, M.software }
  return lists.joined(lists.map(rows, function(row) return { row[1], row[2] or nil } end))
end

return M
