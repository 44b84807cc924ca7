--- sharing.lua: which cache lines several threads access, and how, by samples of what they accessed.
--
-- Invariant: nothing is said of bytes whose address is not certain, nor of a line that its second thread has few samples
-- of. A sample is time, and no transfer: that a line costs is said of lines which take time alone.

local lists = require "pmclua.base.lists"
local order = require "pmclua.stats.order"

local M = {}

M.LINE = 64                     -- bytes of a cache line
local FEWEST = 3                -- samples of a line's second thread, and LEAST of all samples: fewer tell nothing
local LEAST = 0.001
M.RARELY = 0.02                 -- another thread that touches bytes less often than this share does not share them
local HANDED_OVER = 0.25        -- of the changes of thread that a random order would have
local PAUSE = 1.5               -- times a running thread's time between samples: more, and it did not run all of it
local BY_CHANCE = 0.01          -- likelier than this, a thread that has bytes as another has may show no sample of them
local MOST_LINES, MOST_PARTS = 50, 16

---@alias pmclua.Sharing "false"|"true"|"handed over"|"latent"|"read-only"|"cannot tell"

---@class pmclua.SharedPart what a thread does to bytes of a line in one function
---@field thread integer 1: the process's first; the others that were sampled by their tid
---@field offset integer of the bytes in the cache line
---@field size integer
---@field is_write boolean
---@field object string
---@field member? string
---@field place? integer of the bytes in the object
---@field fn string
---@field source? string file of the line
---@field line? integer
---@field samples integer

---@class pmclua.SharedLine a cache line that several threads access
---@field kind pmclua.Sharing
---@field samples integer
---@field count number in the event's unit
---@field parts pmclua.SharedPart[] those with most samples; by thread and offset

---@class pmclua.SharingFinder
local Finder = {}
Finder.__index = Finder

---@return pmclua.SharingFinder
function M.new() return setmetatable({ lines = {}, tids = {} }, Finder) end

--- Notes when a thread was sampled, whatever it did: it ran. Threads are numbered by those that were; the process's own
--- is the first. Samples come in the order of time.
---@param sample { pid: integer, tid: integer, time: number }
function Finder:saw(sample)
  local tids = self.tids[sample.pid] or { [sample.pid] = {} }
  local times = tids[sample.tid] or {}
  self.tids[sample.pid], tids[sample.tid], times[#times + 1] = tids, times, sample.time
end

local function new_line(self, pid, number)
  -- order: the part of each sample; at: its time; of: the places in both of each thread's samples.
  local line = { pid = pid, number = number, samples = 0, of = {}, parts = {}, order = {}, at = {},
    times = self.tids[pid] }
  local key = pid .. " " .. number
  self.lines[key], self.lines[#self.lines + 1] = line, line
  return line
end

--- Takes an access to bytes whose address is certain, of a sample that it saw.
---@param access { pid: integer, tid: integer, time: number, address: number, size: integer, is_write: boolean }
---@param what { object: string, member: string?, place: integer?, fn: string, source: string?, line: integer? }
function Finder:add(access, what)
  local offset = access.address % M.LINE
  local number = (access.address - offset) / M.LINE
  local line = self.lines[access.pid .. " " .. number] or new_line(self, access.pid, number)
  line.samples = line.samples + 1
  local times = line.of[access.tid] or {}
  line.of[access.tid], times[#times + 1] = times, line.samples
  local key = table.concat({ access.tid, offset, access.size, tostring(access.is_write), what.fn,
    what.line or 0, what.object }, "\0")
  local part = line.parts[key]
  if not part then
    part = lists.copy(what)
    part.tid, part.offset, part.is_write, part.samples = access.tid, offset, access.is_write, 0
    part.size = math.max(1, math.min(access.size, M.LINE - offset))
    line.parts[key], line.parts[#line.parts + 1] = part, part
  end
  part.samples, line.order[line.samples], line.at[line.samples] = part.samples + 1, part, access.time
end

--- Whether two have a byte of the line in common.
---@param a { offset: integer, size: integer }
---@param b { offset: integer, size: integer }
---@return boolean
function M.overlap(a, b) return a.offset < b.offset + b.size and b.offset < a.offset + a.size end

local overlap = M.overlap

--- The bytes of a part by the object's name: "counters[3].hits", "heap from main (x.c:4) +24"; of an array whose elements
--- have no numbers "memory[] +8".
---@param part { object: string, member: string?, place: integer? }
---@return string
function M.name_of(part)
  local member = part.member or ""
  local is_exact = member ~= "" and not member:find "^ " and not member:find("[]", 1, true)
  local name = part.object .. member
  return part.place and not is_exact and ("%s +%d"):format(name, part.place) or name
end

-- How far apart samples of a thread are while it runs.
local function usual_pause(times)
  if not times.pause then
    local pauses = {}
    for i = 2, #times do pauses[i - 1] = times[i] - times[i - 1] end
    times.pause = #pauses > 0 and order.median_of(order.sorted(pauses)) or 0
  end
  return times.pause
end

-- Tells of times, in their order, whether a thread ran: it was sampled before and after, no further apart than when it
-- runs. A thread that waited for a CPU meanwhile was not. The next sample is looked for in growing steps.
local function running(times)
  local before, pause = 0, PAUSE * usual_pause(times)
  local function is_before(place, time) return times[place] ~= nil and times[place] < time end
  return function(time)
    local step = 1
    while is_before(before + step, time) do before, step = before + step, 2 * step end
    while step > 1 do
      step = step / 2
      if is_before(before + step, time) then before = before + step end
    end
    local last, next_one = times[before], times[before + 1]
    return last ~= nil and next_one ~= nil and next_one - last <= pause
  end
end

-- How many of a thread's samples are from when another one ran; known once for all lines.
local function count_beside(times, others)
  times.beside = times.beside or {}
  if not times.beside[others] then
    local ran, n = running(others), 0
    for _, time in ipairs(times) do
      if ran(time) then n = n + 1 end
    end
    times.beside[others] = n
  end
  return times.beside[others]
end

-- A line's samples of two threads while both ran, in the order of time. The others tell how Linux shared out the CPUs,
-- not how the program shares the line.
local function samples_together(line, thread, other)
  local together, first, second, i, j = {}, line.of[thread], line.of[other], 1, 1
  local thread_ran, other_ran = running(line.times[thread]), running(line.times[other])
  while first[i] or second[j] do
    local is_first = (first[i] or math.huge) < (second[j] or math.huge)
    local at = is_first and first[i] or second[j]
    if is_first then i = i + 1 else j = j + 1 end
    if (is_first and other_ran or thread_ran)(line.at[at]) then together[#together + 1] = line.order[at] end
  end
  return together
end

-- Among samples of two threads at some bytes (nil: the whole line), how often the thread changes, and each thread's
-- count.
local function changes_of(samples, bytes)
  local counts, changes, last = {}, 0, nil
  for _, part in ipairs(samples) do
    if not bytes or overlap(part, bytes) then
      counts[part.tid] = (counts[part.tid] or 0) + 1
      if last and last ~= part.tid then changes = changes + 1 end
      last = part.tid
    end
  end
  return changes, counts
end

-- How often the thread of n and m samples in a random order changes: (n + m - 1) (1 - Σ p²).
local function expected_changes(n, m)
  return n + m > 0 and (n + m - 1) * 2 * n * m / (n + m) ^ 2 or 0
end

-- Two threads of a line: its samples while both ran, and how many samples each took beside the other.
local function new_pair(line, thread, other)
  return { samples = samples_together(line, thread, other),
    beside = { [thread] = count_beside(line.times[thread], line.times[other]),
      [other] = count_beside(line.times[other], line.times[thread]) } }
end

-- As often as a thread was at the line in all its time, it would have been while both ran.
local function usual(line, pair, tid) return #line.of[tid] * pair.beside[tid] / #line.times[tid] end

-- Who meets whom in a line: at bytes, or anywhere in it. Two threads of which one comes after the other do not: a buffer
-- that is passed on, what a goroutine takes along to another thread. "turns": they had it in turns while both ran; nil:
-- too few samples of that time to tell it from meeting.
local function new_meetings(line)
  local known, pairs_of = {}, {}
  return function(thread, other, bytes)
    local names = math.min(thread, other) .. " " .. math.max(thread, other)
    local key = table.concat({ names, bytes and bytes.offset or "", bytes and bytes.size or "" }, " ")
    if known[key] == nil then
      local pair = pairs_of[names] or new_pair(line, thread, other)
      pairs_of[names] = pair
      local changes, counts = changes_of(pair.samples, bytes)
      local expected = expected_changes(counts[thread] or 0, counts[other] or 0)
      if not bytes then
        expected = math.max(expected, expected_changes(usual(line, pair, thread), usual(line, pair, other)))
      end
      local is_told = expected * HANDED_OVER > 1
      known[key] = is_told and (changes < HANDED_OVER * expected and "turns" or "meet") or false
    end
    return known[key] or nil
  end
end

local function samples_at(parts, bytes)
  local samples = 0
  for _, part in ipairs(parts) do
    if not bytes or overlap(part, bytes) then samples = samples + part.samples end
  end
  return samples
end

-- Whether bytes of one thread are not another's: it shows no sample there, and would if it had them as that one does.
local function leaves_alone(mine, theirs, bytes)
  if samples_at(mine, bytes) > 0 then return false end
  return (1 - samples_at(theirs, bytes) / samples_at(theirs)) ^ samples_at(mine) < BY_CHANCE
end

local function writes_at(parts, bytes)
  return lists.any(parts, function(part) return part.is_write and overlap(part, bytes) end)
end

-- How another thread's accesses meet a part of a thread's own: whether both access the part's bytes and one of them
-- writes there (true sharing), and whether the other writes bytes that this thread does not access, or not at the same
-- time (false sharing). If both access all members of a structure, sharing is true, whichever member waits.
local function beside(own, mine, theirs, meetings)
  local same, is_written, writes_elsewhere = 0, writes_at(mine, own), false
  for _, other in ipairs(theirs) do
    if overlap(own, other) then
      same, is_written = same + other.samples, is_written or other.is_write
    else
      writes_elsewhere = writes_elsewhere or other.is_write and (leaves_alone(mine, theirs, other)
        or meetings(own.tid, other.tid, other) == "turns")
    end
  end
  return same > 0 and same >= M.RARELY * own.samples and is_written, writes_elsewhere
end

-- Samples at bytes that another thread has too, one of them writing, and samples beside what another one writes; of
-- threads that meet, or that had the line in turns.
local function together_and_apart(parts, tids, how, meetings)
  local together, apart = 0, 0
  local by_tid = lists.by(lists.groups(parts, function(part) return part.tid end), "key")
  for _, own in ipairs(parts) do
    local is_together, is_apart = false, false
    for _, tid in ipairs(tids) do
      if tid ~= own.tid then
        local has_same, writes_elsewhere = beside(own, by_tid[own.tid], by_tid[tid], meetings)
        local is_so = meetings(own.tid, tid) == how
        -- Few of many samples in turns may fall like those of threads that meet, so bytes alone prove turns only.
        local takes_turns = how == "meet" and meetings(own.tid, tid, own) == "turns"
        is_together = is_together or is_so and has_same and not takes_turns
        is_apart = is_apart or is_so and writes_elsewhere
      end
    end
    if is_together then together = together + own.samples
    elseif is_apart then apart = apart + own.samples end
  end
  return together, apart
end

-- Threads with samples enough of a line. The first to fill it, and whoever looks at it at the end, have few.
local function judged(line, all)
  local fewest = math.max(FEWEST, LEAST * all)
  local tids = lists.where(lists.keys(line.of), function(tid) return #line.of[tid] >= fewest end)
  local is_judged = lists.set(tids)
  return tids, lists.where(line.parts, function(part) return is_judged[part.tid] end)
end

local function kind_of(line, all)
  local tids, parts = judged(line, all)
  if #tids < 2 then return "cannot tell" end
  if not lists.any(parts, function(part) return part.is_write end) then return "read-only" end
  local meetings = new_meetings(line)
  local together, apart = together_and_apart(parts, tids, "meet", meetings)
  if together + apart > 0 then return apart > together and "false" or "true" end
  together, apart = together_and_apart(parts, tids, "turns", meetings)
  if together + apart == 0 then return "cannot tell" end
  return apart > together and "latent" or "handed over"
end

local function only_thread(line)
  local tid = next(line.of)
  return next(line.of, tid) == nil and tid or nil
end

-- The first and last byte that a line's only thread writes.
local function written(line)
  local first, last
  for _, part in ipairs(line.parts) do
    if part.is_write then
      if not first or part.offset < first.offset then first = part end
      if not last or part.offset > last.offset then last = part end
    end
  end
  return first, last
end

-- Where a part's object begins, from the line on: two blocks of one site are two objects. nil: unknown.
local function start_of(line, part)
  return part.place and line.number * M.LINE + part.offset - part.place
end

-- Two lines side by side of one thread each, which write less than a line apart in one object: they would share a line
-- at another address.
local function neighbours(self, line, all)
  local after = self.lines[line.pid .. " " .. (line.number + 1)]
  if not after then return nil end
  local thread, other = only_thread(line), only_thread(after)
  if not thread or not other or thread == other then return nil end
  local fewest = math.min(line.samples, after.samples)
  local _, last = written(line)
  local first = written(after)
  if fewest < FEWEST or fewest < LEAST * all or not last or not first or first.offset >= last.offset
    or not last.place or start_of(line, last) ~= start_of(after, first) then return nil end
  local moved = lists.map(after.parts, function(part)
    local copy = lists.copy(part)
    copy.offset = part.offset + M.LINE
    return copy
  end)
  return { pid = line.pid, samples = line.samples + after.samples,
    parts = lists.joined { line.parts, moved } }
end

local function numbers_of(tids)
  local numbers = {}
  for number, tid in ipairs(lists.keys(tids)) do numbers[tid] = number end
  return numbers
end

local function by_samples(a, b)
  if a.samples ~= b.samples then return a.samples > b.samples end
  return (a.offset or 0) < (b.offset or 0)
end

local function by_thread(a, b)
  if a.thread ~= b.thread then return a.thread < b.thread end
  if a.offset ~= b.offset then return a.offset < b.offset end
  if a.fn ~= b.fn then return a.fn < b.fn end
  if a.is_write ~= b.is_write then return a.is_write end
  return (a.line or 0) < (b.line or 0)
end

local function finished(line, kind, numbers, period)
  table.sort(line.parts, by_samples)
  local parts = lists.map({ unpack(line.parts, 1, MOST_PARTS) }, function(part)
    local shown = lists.copy(part)
    shown.thread, shown.tid = numbers[part.tid], nil
    return shown
  end)
  table.sort(parts, by_thread)
  return { kind = kind, samples = line.samples, count = line.samples * period, parts = parts }
end

--- The lines that several threads access, those with most samples first.
---@param all integer samples of the repetition
---@param period number of the event, a sample's
---@return pmclua.SharedLine[]
function Finder:lines_of(all, period)
  local numbers, list = {}, {}
  for pid, tids in pairs(self.tids) do numbers[pid] = numbers_of(tids) end
  for _, line in ipairs(self.lines) do
    local is_alone = only_thread(line) ~= nil
    local shown = is_alone and neighbours(self, line, all) or not is_alone and line or nil
    if shown then
      local kind = is_alone and "latent" or kind_of(line, all)
      list[#list + 1] = finished(shown, kind, numbers[line.pid], period)
    end
  end
  table.sort(list, by_samples)
  return { unpack(list, 1, MOST_LINES) }
end

return M
