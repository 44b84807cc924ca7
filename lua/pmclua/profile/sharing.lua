--- sharing.lua: which cache lines several threads access, and how, by samples of what they accessed.
--
-- Invariant: nothing is said of bytes whose address is not certain, nor of a line that its second thread has few samples
-- of. A sample is time, and no transfer: that a line costs is said of lines which take time alone.

local lists = require "pmclua.base.lists"

local M = {}

M.LINE = 64                     -- bytes of a cache line
local FEWEST = 3                -- samples of a line's second thread, and LEAST of all samples: fewer tell nothing
local LEAST = 0.001
M.RARELY = 0.02                 -- another thread that touches bytes less often than this share does not share them
local HANDED_OVER = 0.25        -- of the changes of thread that a random order would have
local SHORT, MET = 2, 0.4       -- samples of a short run; more than this share of runs: threads meet
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

-- Notes that a thread was sampled. Threads are numbered by those that were; the process's own is the first.
function Finder:saw(pid, tid)
  self.tids[pid] = self.tids[pid] or { [pid] = true }
  self.tids[pid][tid] = true
end

local function new_line(self, pid, number)
  -- order: the part of each sample; of: the places in it of each thread's samples.
  local line = { pid = pid, number = number, samples = 0, of = {}, parts = {}, order = {} }
  local key = pid .. " " .. number
  self.lines[key], self.lines[#self.lines + 1] = line, line
  return line
end

--- Takes an access to bytes whose address is certain. Accesses come in the order of time.
---@param access { pid: integer, tid: integer, address: number, size: integer, is_write: boolean }
---@param what { object: string, member: string?, place: integer?, fn: string, source: string?, line: integer? }
function Finder:add(access, what)
  self:saw(access.pid, access.tid)
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
  part.samples, line.order[line.samples] = part.samples + 1, part
end

--- Whether two have a byte of the line in common.
---@param a { offset: integer, size: integer }
---@param b { offset: integer, size: integer }
---@return boolean
function M.overlap(a, b) return a.offset < b.offset + b.size and b.offset < a.offset + a.size end

local overlap = M.overlap

-- Of the samples of two threads at bytes (nil: of the whole line): how often the thread changes, how often it would in
-- a random order, (n - 1) (1 - Σ p²), and how many runs of one thread are short. Only the two's samples are looked at:
-- of many threads there are many pairs.
local function changes_of(line, one, two, bytes)
  local counts, changes, short, last, length = { [one] = 0, [two] = 0 }, 0, 0, nil, 0
  local first, second, i, j = line.of[one], line.of[two], 1, 1
  while first[i] or second[j] do
    local is_first = (first[i] or math.huge) < (second[j] or math.huge)
    local part = line.order[is_first and first[i] or second[j]]
    if is_first then i = i + 1 else j = j + 1 end
    if not bytes or overlap(part, bytes) then
      counts[part.tid] = counts[part.tid] + 1
      if last and last ~= part.tid then
        changes, short, length = changes + 1, short + (length <= SHORT and 1 or 0), 0
      end
      last, length = part.tid, length + 1
    end
  end
  local n = counts[one] + counts[two]
  local same = n > 0 and (counts[one] ^ 2 + counts[two] ^ 2) / n ^ 2 or 1
  return changes, (n - 1) * (1 - same), short
end

-- Where other work takes the CPUs most of the time, threads that meet have long runs as well, each alone on a CPU; but
-- most of their runs are from when they are not, and short.
local function is_in_turns(changes, expected, short)
  return changes < HANDED_OVER * expected and (short < FEWEST or short < MET * changes)
end

-- Who meets whom in a line: at bytes, or anywhere in it. Two threads of which one comes after the other do not: a table
-- that one has filled before others read it, a buffer that is passed on, what a goroutine takes along to another thread.
-- "turns": they had it in turns; nil: too few samples to tell that from meeting.
local function new_meetings(line)
  local known = {}
  return function(one, two, bytes)
    local key = table.concat({ math.min(one, two), math.max(one, two), bytes and bytes.offset or "",
      bytes and bytes.size or "" }, " ")
    if known[key] == nil then
      local changes, expected, short = changes_of(line, one, two, bytes)
      local is_told = expected * HANDED_OVER > 1
      known[key] = is_told and (is_in_turns(changes, expected, short) and "turns" or "meet")
        or false
    end
    return known[key] or nil
  end
end

local function touches(parts, bytes)
  return lists.any(parts, function(part) return overlap(part, bytes) end)
end

local function writes_at(parts, bytes)
  return lists.any(parts, function(part) return part.is_write and overlap(part, bytes) end)
end

-- What another thread does beside a part of one: whether both have the part's bytes and one of them writes there, and
-- whether the other writes elsewhere what the one does not have at the same time: of a structure whose members both
-- have, the line is shared truly, whichever member waits.
local function beside(own, mine, theirs, meetings)
  local same, is_written, writes_elsewhere = 0, writes_at(mine, own), false
  for _, other in ipairs(theirs) do
    if overlap(own, other) then
      same, is_written = same + other.samples, is_written or other.is_write
    else
      writes_elsewhere = writes_elsewhere or other.is_write
        and not (touches(mine, other) and meetings(own.tid, other.tid, other) ~= "turns")
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

-- What a line's only thread writes: the first and the last of it.
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

-- Two lines side by side of one thread each, which write less than a line apart in objects of one name: they would share
-- a line at another address.
local function neighbours(self, line, all)
  local after = self.lines[line.pid .. " " .. (line.number + 1)]
  if not after then return nil end
  local one, two = only_thread(line), only_thread(after)
  if not one or not two or one == two then return nil end
  local fewest = math.min(line.samples, after.samples)
  local _, last = written(line)
  local first = written(after)
  if fewest < FEWEST or fewest < LEAST * all or not last or not first or last.object ~= first.object
    or first.offset >= last.offset then return nil end
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
