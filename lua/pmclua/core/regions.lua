--- regions.lua: the binding of regions: their points in a message to the runner, and the block of u64 values that
--- the runner answers with.
--
-- Invariant: everything read from a block is an exact copy; C owns the block itself.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C "regions"
local exact = core.exact

local M = {}

M.KINDS = {
  entry = C.PMCLUA_POINT_ENTRY, ["return"] = C.PMCLUA_POINT_RETURN, tail = C.PMCLUA_POINT_TAIL,
  whole = C.PMCLUA_POINT_WHOLE, return_probe = C.PMCLUA_POINT_RETURN_PROBE,
  from = C.PMCLUA_POINT_FROM, to = C.PMCLUA_POINT_TO,
}

local PATHS = {
  [C.PMCLUA_REGIONS_ALL_THREADS] = "all threads", [C.PMCLUA_REGIONS_ONE_THREAD] = "one thread",
  [C.PMCLUA_REGIONS_ONE_THREAD_OLD] = "old OS kernel",
  [C.PMCLUA_REGIONS_ONE_THREAD_NO_TRACEFS] = "no tracefs",
}

-- ---- to the runner ----

local function add_costs(message, costs)
  local values = ffi.new("int64_t[?]", #costs)
  for i, cost in ipairs(costs) do values[i - 1] = math.floor(cost + 0.5) end
  message:raw("region_costs", values, ffi.sizeof(values))
end

local function add_point(message, point)
  if point.file then
    message:text("file", point.file)
    local place = ffi.new("struct pmclua_point", M.KINDS[point.kind], point.offset)
    message:raw("point", place, ffi.sizeof(place))
  else
    message:number("point_event", M.KINDS[point.kind])
    message:attr(point.attr)
  end
end

local function flags_of(region)
  return (region.loops and C.PMCLUA_REGION_LOOPS or 0) + (region.switches and C.PMCLUA_REGION_SWITCHES or 0)
end

---@class pmclua.core.Point where a region is entered or left: an offset in a file, or an event
---@field kind "entry"|"return"|"tail"|"whole"|"return_probe"|"from"|"to"
---@field file string? path
---@field offset number? in the file
---@field attr table? of an event

--- Adds regions to the definition of a command.
---@param message pmclua.core.Message
---@param regions { name: string, loops: boolean?, switches: boolean?, costs: number[]?, points: pmclua.core.Point[]
---   }[]  costs: of its probes, as pmclua_calls_setup in pmclua.h has them
---@param options? { one_thread?: boolean, keep?: integer, ring_bytes?: integer }
function M.define(message, regions, options)
  options = options or {}
  for _, region in ipairs(regions) do
    message:text("region", region.name)
    local flags = flags_of(region)
    if flags ~= 0 then message:number("region_flags", flags) end
    if region.costs then add_costs(message, region.costs) end
    for _, point in ipairs(region.points) do add_point(message, point) end
  end
  if options.one_thread then message:number("one_thread", 1) end
  if options.keep then message:number("keep_calls", options.keep) end
  if options.ring_bytes then message:number("ring_bytes", options.ring_bytes) end
end

--- An executable file in memory, which exists until it is closed.
---@param bytes string
---@return { path: string, close: fun(self) }?
---@return integer? errnum
function M.code_file(bytes)
  local path = ffi.new "char[64]"
  local fd = C.pmclua_memory_file(bytes, #bytes, path, 64)
  if fd < 0 then return nil, -fd end
  return { path = ffi.string(path), handle = core.private_descriptor(fd), close = core.private_close }
end

-- ---- from the runner ----

local U64 = 8
M.FACTS = { "entries", "calls", "nested", "tails", "unwound", "unfinished", "orphans", "cut", "partial",
  "unsure", "moved", "switching" }
local SUMS = { "outermost", "unsure_sums", "spent" }
local HEADER = { "samples", "lost", "threads_seen", "observed_ns", "target_ended" }

--- Takes structs and lists of values from a block, one after the other.
local function reader(block)
  local next_value = ffi.cast("const uint64_t *", block)
  return {
    struct = function(_, name)
      local value = ffi.cast(("const struct %s *"):format(name), next_value)[0]
      next_value = next_value + ffi.sizeof("struct " .. name) / U64
      return value
    end,
    values = function(_, count)
      local list = {}
      for i = 1, count do list[i] = exact(next_value[i - 1]) end
      next_value = next_value + count
      return list
    end,
    skip = function(_, count)
      local start = next_value
      next_value = next_value + count
      return start
    end,
  }
end

local function read_spreads(from, count)
  local list = {}
  for i = 1, count do
    local raw = from:struct "pmclua_spread"
    local n = exact(raw.n)
    list[i] = { n = n, sum = exact(raw.sum), min = n ~= 0 and exact(raw.min) or nil,
      max = n ~= 0 and exact(raw.max) or nil, buckets = {} }
  end
  return list
end

local LOADING = { [C.PMCLUA_LOADED] = "loaded", [C.PMCLUA_NEVER_LOADED] = "never" }

local function read_region(from, width)
  local raw, region = from:struct "pmclua_region", { threads = {} }
  region.loading = LOADING[tonumber(raw.loading)]            -- of its file; nil: not known
  for _, name in ipairs(M.FACTS) do region[name] = exact(raw[name]) end
  region.total, region.self = read_spreads(from, width), read_spreads(from, width)
  for _, name in ipairs(SUMS) do region[name] = from:values(width) end
  return region
end

local function read_thread(from, width, regions)
  local raw = from:struct "pmclua_region_thread"
  local thread = { pid = tonumber(raw.pid), tid = tonumber(raw.tid), calls = exact(raw.calls),
    name = ffi.string(raw.name) }
  local list = regions[tonumber(raw.region) + 1].threads
  thread.outermost, thread.self = from:values(width), from:values(width)
  list[#list + 1] = thread
end

local function read_bucket(from, width, regions)
  local raw = from:struct "pmclua_region_bucket"
  local region, value = regions[tonumber(raw.region) + 1], tonumber(raw.value)
  local spread = value < width and region.total[value + 1] or region.self[value - width + 1]
  local bucket = tonumber(raw.bucket)
  table.insert(spread.buckets, { low = exact(C.pmclua_bucket_low(bucket)),
    next_low = exact(C.pmclua_bucket_low(bucket + 1)), count = exact(raw.count) })
end

---@class pmclua.core.Calls the calls that were kept, each with its values
---@field count integer
local Calls = {}
Calls.__index = Calls

local CALL_VALUES = ffi.sizeof "struct pmclua_region_call" / U64

local function copy_calls(from, count, width)
  local stride = CALL_VALUES + 2 * width
  local rows = ffi.new("uint64_t[?]", math.max(1, count * stride))
  ffi.copy(rows, from:skip(count * stride), count * stride * U64)
  return setmetatable({ rows = rows, count = count, width = width, stride = stride }, Calls)
end

--- Call `index`, from 1, in the order of their ends.
---@return { region: integer, tid: integer, start_ns: number, level: integer }
function Calls:at(index)
  local row = self.rows + (index - 1) * self.stride
  local raw = ffi.cast("const struct pmclua_region_call *", row)[0]
  return { region = tonumber(raw.region) + 1, tid = tonumber(raw.thread), start_ns = exact(raw.start_ns),
    level = tonumber(raw.level) }
end

--- One value of call `index`, with its callees, exactly.
---@param index integer from 1
---@param value integer from 1: duration ns, enabled ns, running ns, events
---@return number|ffi.cdata*
function Calls:value(index, value)
  return exact(self.rows[(index - 1) * self.stride + CALL_VALUES + value - 1])
end

local I64 = ffi.typeof "int64_t"

--- The values of a region's kept calls, in the order of their ends, as plain numbers; costs may be negative.
---@param region integer
---@param value integer from 1: duration ns, enabled ns, running ns, events
---@param is_self? boolean
---@return number[]
function Calls:values(region, value, is_self)
  local list, n = {}, 0
  local offset = CALL_VALUES + (is_self and self.width or 0) + value - 1
  for i = 0, self.count - 1 do
    local row = self.rows + i * self.stride
    if row[0] == region - 1 then
      n = n + 1
      list[n] = tonumber(ffi.cast(I64, row[offset]))
    end
  end
  return list
end

--- The calls as one list of numbers, from which `calls_of` restores them.
---@return (number|ffi.cdata*)[]
function Calls:words()
  local words = {}
  for i = 0, self.count * self.stride - 1 do words[i + 1] = exact(self.rows[i]) end
  return words
end

--- Restores the calls of such a list; nil if it does not fit this many regions.
---@param words (number|ffi.cdata*)[]
---@param width integer
---@param count integer of regions
---@return pmclua.core.Calls?
function M.calls_of(words, width, count)
  local stride = CALL_VALUES + 2 * width
  if #words % stride ~= 0 then return nil end
  local rows = ffi.new("uint64_t[?]", math.max(1, #words))
  for i, word in ipairs(words) do
    rows[i - 1] = word
    if (i - 1) % stride == 0 and word >= count then return nil end
  end
  return setmetatable({ rows = rows, count = #words / stride, width = width, stride = stride }, Calls)
end

--- A value that may be negative, as a number.
---@param value number|ffi.cdata* as `exact` leaves it
---@return number
function M.signed(value) return tonumber(ffi.cast(I64, ffi.cast("uint64_t", value))) end

---@class pmclua.core.Regions what was counted of a command's regions; each is at its index
---@field path string "all threads", or why only one was followed
---@field samples number
---@field lost number records for which a ring had no space
---@field width integer values of a call: duration ns, enabled ns, running ns, events
---@field costs_from? integer how many columns behind a value its cost of probing is, or in a spread its corrected
---   value; values are half of `width` then
---@field calls pmclua.core.Calls

--- Reads a block of u64 values.
---@param block ffi.cdata*
---@param path? integer enum pmclua_region_path
---@return pmclua.core.Regions
function M.read(block, path)
  local from = reader(block)
  local header = from:struct "pmclua_regions"
  local width = tonumber(header.values) + 1
  local result = { path = PATHS[path or 0], width = width }
  if header.has_costs ~= 0 then result.costs_from = width / 2 end
  for _, name in ipairs(HEADER) do result[name] = exact(header[name]) end
  for i = 1, tonumber(header.regions) do result[i] = read_region(from, width) end
  for _ = 1, tonumber(header.threads) do read_thread(from, width, result) end
  result.calls = copy_calls(from, tonumber(header.kept), width)
  for _ = 1, tonumber(header.histogram) do read_bucket(from, width, result) end
  local names = ffi.string(from:skip(0), tonumber(header.name_bytes))
  local index = 0
  for name in names:gmatch "([^%z]*)%z" do
    index = index + 1
    if result[index] then result[index].name = name end
  end
  return result
end

return M
