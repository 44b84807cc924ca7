--- follower.lua: hands a spec's own samples to the part of the core that puts calls together (core/calls).

local core = require "pmclua.core"
local ffi = require "ffi"
local regions = require "pmclua.core.regions"

local C = core.private_C()

local Follower = {}
Follower.__index = Follower

local PER_REGION = 3                 -- costs of an entry, of a return, and what of both is within a call
local TIMES = 2                      -- enabled and running ns come before the events

local function costs_of(list, events)
  if not list[1].costs then return nil end
  local width = PER_REGION * (1 + TIMES + events)
  local costs = ffi.new("int64_t[?]", #list * width)
  for i, region in ipairs(list) do
    for k, cost in ipairs(region.costs) do costs[(i - 1) * width + k - 1] = cost end
  end
  return costs
end

local function flags_of(region)
  return (region.loops and C.PMCLUA_REGION_LOOPS or 0) + (region.switches and C.PMCLUA_REGION_SWITCHES or 0)
end

local function sample_of(self, fields)
  local values = ffi.new("uint64_t[?]", self.width, fields.values)
  local sample = ffi.new("struct pmclua_calls_sample", {
    time_ns = fields.time or 0, stack_pointer = fields.sp or 0, pid = fields.pid or fields.tid,
    tid = fields.tid, cpu = fields.cpu or 0, region = (fields.region or 1) - 1,
    kind = fields.kind and regions.KINDS[fields.kind] or 0, values = values,
  })
  return sample, values              -- the sample points to the values
end

--- A thread was at a point.
---@param fields { time: number, sp: number, tid: integer, pid: integer?, cpu: integer?, region: integer,
---   kind: string, values: number[] }  values: enabled ns, running ns, events
---@return integer result 0 or a negative errno
function Follower:point(fields)
  local sample, values = sample_of(self, fields)
  return C.pmclua_calls_point(self.handle, sample), values
end

--- A thread left a CPU.
function Follower:switch(fields)
  local sample, values = sample_of(self, fields)
  return C.pmclua_calls_switch(self.handle, sample), values
end

function Follower:name(tid, name, executed)
  return C.pmclua_calls_name(self.handle, tid, tid, name, executed and 1 or 0)
end

function Follower:fork(tid, parent) return C.pmclua_calls_fork(self.handle, tid, tid, parent) end

function Follower:ends(tid) return C.pmclua_calls_end(self.handle, tid) end

function Follower:lost(cpu, records) C.pmclua_calls_lost(self.handle, cpu, records) end

--- What came of it.
---@return pmclua.core.Regions
function Follower:finish()
  local words, count = ffi.new "uint64_t *[1]", ffi.new "uint32_t[1]"
  assert(C.pmclua_calls_finish(self.handle, words, count) == 0)
  local found = regions.read(words[0])
  C.pmclua_free_block(words[0])
  return found
end

--- A new one. Costs are of all regions or of none.
---@param setup { regions: { name: string, loops: boolean?, switches: boolean?, costs: number[]? }[],
---   events: integer, cpus: integer?, keep: integer?, link_register: boolean?, return_bytes: integer? }
return function(setup)
  local count = #setup.regions
  local flags, names = ffi.new("uint64_t[?]", count), ffi.new("const char *[?]", count)
  for i, region in ipairs(setup.regions) do
    flags[i - 1], names[i - 1] = flags_of(region), region.name
  end
  local costs, width = costs_of(setup.regions, setup.events), TIMES + setup.events
  local raw = ffi.new("struct pmclua_calls_setup", { regions = count, cpus = setup.cpus or 1, values = width,
    keep = setup.keep or 1000, link_register = setup.link_register and 1 or 0,
    return_bytes = setup.return_bytes or 0, flags = flags, names = names, costs = costs })
  local handle = ffi.new "struct pmclua_calls *[1]"
  assert(C.pmclua_calls_new(handle, raw) == 0)
  return setmetatable({ handle = ffi.gc(handle[0], C.pmclua_calls_free), width = width }, Follower)
end
