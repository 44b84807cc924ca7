--- profile.lua: the binding of samplers, part of core/: the block that a sampler gives, and samplers of
--- this process.
--
-- Invariant: everything read from a block is an exact copy; C owns the block itself.

local core = require "pmclua.core"
local ffi = require "ffi"

local exact = core.exact

local C = core.private_C "profile"

local M = {}

---@class pmclua.core.HitFile
---@field path string "[linux]", "[memory]" (code that was made at run time), or a file's
---@field pid? integer of "[memory]"
---@field build_id? string in hexadecimal
---@field device number as Linux has it where it is mapped; 0: not known, as where there is a build id
---@field inode number
---@field since_ns number by `core.now_ns`: it was mapped then, or the process of "[memory]" began; 0: not known
---@field task integer that had it mapped
---@field from number|ffi.cdata* where
---@field to number|ffi.cdata*
---@field held? pmclua.core.File the file itself, where its path is not known to lead to it

---@class pmclua.core.Samples what a sampler found
---@field total number|ffi.cdata* counted, exact
---@field files pmclua.core.HitFile[]
---@field records number samples that are kept by themselves: `pmclua.core.data`
---@field is_partial? boolean a CPU came or went meanwhile: not all was counted that there was
local Samples = {}
Samples.__index = Samples

local FACTS = { "total", "enabled_ns", "running_ns", "period", "samples", "lost", "unmapped", "begun",
  "throttled", "news_lost", "tasks", "drops", "places", "ring_bytes", "chains_lost",
  "frames_max", "thread_offset", "records_lost", "records" }

-- The sampler closes its own descriptors.
local function reopened(descriptor)
  return core.open_plain(("/proc/self/fd/%d"):format(descriptor))
end

-- is_own: the sampler belongs to this process.
local function read_file(place, is_own)
  local raw = ffi.cast("const struct pmclua_profile_file *", place)
  local path_bytes = tonumber(raw.path_bytes)
  local file = { device = exact(raw.device), inode = exact(raw.inode), since_ns = exact(raw.since_ns),
    task = tonumber(raw.task), from = exact(raw.from), to = exact(raw.to),
    held = is_own and raw.held > 0 and reopened(tonumber(raw.held) - 1) or nil,
     path = ffi.string(ffi.cast("const char *", raw + 1), path_bytes),
    pid = raw.pid ~= 0 and tonumber(raw.pid) or nil,
    build_id = core.private_hex(raw.build_id, tonumber(raw.id_bytes)) }
  return file, ffi.cast("const uint64_t *", raw + 1) + math.floor(path_bytes / 8) + 1
end

-- A copy of a block that has samples by themselves, and the files of their instructions.
local function keep_records(profile, block, maps)
  local raw = ffi.cast("const struct pmclua_profile *", block)
  local records = ffi.cast("const uint64_t *", maps + tonumber(raw.maps))
  local size = tonumber(raw.record_u64s)
  local words = records + profile.records * size - block
  profile.block, profile.record_files = ffi.new("uint64_t[?]", tonumber(words)), {}
  ffi.copy(profile.block, block, ffi.sizeof(profile.block))
  for i = 0, profile.records - 1 do
    local file = ffi.cast("const struct pmclua_profile_sample *", records + i * size).file
    profile.record_files[tonumber(file) + 1] = true
  end
end

--- A block as a sampler gives it.
---@param block ffi.cdata* const uint64_t *
---@param is_own? boolean of a sampler of this process, whose descriptors can be used here
---@return pmclua.core.Samples
function M.read(block, is_own)
  local raw = ffi.cast("const struct pmclua_profile *", block)
  local profile = { files = {}, knows_lost = raw.knows_lost ~= 0,
    drop = raw.drops > 0 and ffi.string(raw.drop) or nil }
  for _, name in ipairs(FACTS) do profile[name] = exact(raw[name]) end
  local place = ffi.cast("const uint64_t *", raw + 1)
  for i = 1, tonumber(raw.files) do profile.files[i], place = read_file(place, is_own) end
  local count = tonumber(raw.hits)
  profile.hits = ffi.new("struct pmclua_profile_hit[?]", count)
  ffi.copy(profile.hits, place, ffi.sizeof(profile.hits))
  local frames = tonumber(raw.frames)
  profile.frames, profile.frame_count = ffi.new("struct pmclua_profile_frame[?]", frames), frames
  local first = place + count * ffi.sizeof "struct pmclua_profile_hit" / 8
  ffi.copy(profile.frames, first, ffi.sizeof(profile.frames))
  if profile.records > 0 then
    keep_records(profile, block, ffi.cast("const struct pmclua_profile_map *",
      ffi.cast("const struct pmclua_profile_frame *", first) + frames))
  end
  profile.thread_file = raw.thread_file > 0 and profile.files[tonumber(raw.thread_file)] or nil
  profile.count, profile.program = count, raw.program > 0 and profile.files[tonumber(raw.program)].path or nil
  return setmetatable(profile, Samples)
end

--- For how much of the time the event was on the PMU: that of a task is enabled on all CPUs, and runs on one.
---@return number
function Samples:share_of_time()
  local enabled = tonumber(self.enabled_ns) / self.places
  return enabled > 0 and math.min(1, tonumber(self.running_ns) / enabled) or 1
end

--- Each instruction that was hit: the number of its file (from 1), its offset there (an address where the file is
--- "[linux]" or "[memory]"), how often, and by which thread, counted from 1 in the order of their start (0: not told;
--- with entries one instruction comes once for each thread).
---@return fun(): integer?, number?, number?, integer?
function Samples:each()
  local i = -1
  return function()
    i = i + 1
    if i >= self.count then return nil end
    local hit = self.hits[i]
    return tonumber(hit.file) + 1, exact(hit.offset), tonumber(hit.count), tonumber(hit.thread)
  end
end

--- The frames of call chains from number 1 on: the number of the caller's frame (0: none is known), of its file, its
--- offset there, how many samples were taken in it with these callers, and whether it is a guess: a caller only where
--- the function of the next frame has no frame of its own. A frame comes after its caller's.
---@return fun(): integer?, integer?, integer?, number?, number?, boolean?
function Samples:each_frame()
  local i = -1
  return function()
    i = i + 1
    if i >= self.frame_count then return nil end
    local frame = self.frames[i]
    return i + 1, tonumber(frame.parent), tonumber(frame.file) + 1, exact(frame.offset),
      tonumber(frame.count), frame.is_guess ~= 0
  end
end

---@class pmclua.core.Sampler an event that this process samples
local Sampler = {}
Sampler.__index = Sampler

local function list_of(numbers)
  if not numbers or #numbers == 0 then return nil, 0 end
  return ffi.new("int32_t[?]", #numbers, numbers), #numbers
end

--- Opens a sampler on what runs already, stopped. Returns it, or nil and a failure table.
---@param asked { attr: table, period: number, cpus: integer[], tasks: integer[]?, directory: integer?,
---   is_alone: boolean?, ring_bytes: integer?, call_chains: boolean?, data: boolean? } tasks: thread ids; without them all of the CPUs,
---   or what a cgroup, whose folder's descriptor is `directory`, runs there; is_alone: without threads and children
---   to come
---@return pmclua.core.Sampler?
---@return table? failure
function M.open(asked)
  local raw, failure = ffi.new "struct pmclua_sampling", ffi.new "struct pmclua_failure"
  local text = core.private_fill_attr(raw.attr, asked.attr)
  local cpus, tasks
  cpus, raw.cpu_count = list_of(asked.cpus)
  tasks, raw.task_count = list_of(asked.tasks)
  raw.cpus, raw.tasks, raw.pid = cpus, tasks, asked.directory or -1
  raw.period, raw.ring_bytes, raw.filter = asked.period, asked.ring_bytes or 0, asked.attr.filter
  raw.options = C.PMCLUA_RUNNING + (asked.directory and C.PMCLUA_CGROUP or 0)
    + (asked.is_alone and C.PMCLUA_ALONE or 0) + (asked.call_chains and C.PMCLUA_CHAINS or 0)
    + (asked.data and C.PMCLUA_DATA or 0)
  local handle = ffi.new "struct pmclua_sampler *[1]"
  if C.pmclua_sampler_open(handle, raw, failure) < 0 then
    local facts = core.private_failure_table(failure, asked.directory ~= nil)
    facts.text = text
    return nil, facts
  end
  return setmetatable({ handle = ffi.gc(handle[0], C.pmclua_sampler_close) }, Sampler)
end

local function open_handle(sampler) return sampler.handle or error("this sampler is closed", 0) end

--- Starts sampling; what cannot be started any more has ended.
function Sampler:start() C.pmclua_sampler_start(open_handle(self)) end

--- Stops it and gives what it found; nil and an errno's name where that could not be read.
---@return pmclua.core.Samples?, string?
function Sampler:finish()
  local handle = open_handle(self)
  C.pmclua_sampler_stop(handle)
  local result = C.pmclua_sampler_end(handle)
  local block, count = ffi.new "uint64_t *[1]", ffi.new "uint32_t[1]"
  if result == 0 then result = C.pmclua_sampler_block(handle, block, count) end
  if result < 0 then return nil, core.errno_name(-result) end
  local profile = M.read(block[0], true)
  C.pmclua_free_block(block[0])
  return profile
end

--- Closes it; a second time does nothing.
function Sampler:close() core.private_close(self, C.pmclua_sampler_close) end

return M
