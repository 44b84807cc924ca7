--- confirm.lua: cache lines that samples say are shared, watched with breakpoints in another run of the command.
--
-- Invariant: only bytes whose address is certain (confirm_places.lua) are watched, for windows of 50 ms; afterwards no
-- breakpoint is left, and the command has ended. A window counts accesses, the next one writes: x86 has no breakpoint for
-- reads alone.

local core = require "pmclua.core"
local confirm_places = require "pmclua.experiment.confirm_places"
local lists = require "pmclua.base.lists"
local sharing = require "pmclua.profile.sharing"
local tasks = require "pmclua.host.tasks"
local text = require "pmclua.base.text"

local M = {}

local BREAKPOINT, WRITES, ACCESSES = 5, 2, 3    -- linux/perf_event.h, linux/hw_breakpoint.h
local SLOTS, WIDEST = 4, 8                      -- breakpoints of a thread, bytes of one: of x86; Arm has no fewer
local WINDOW_NS, SCOUT_NS, POLL_NS, WAIT_NS = 5e7, 1e7, 5e6, 1e10
local MOST_SUSPECTS, MOST_WINDOWS, MOST_THREADS, MOST_SCOUTED = 2, 10, 16, 40
local WATCHED = lists.set { "false", "true", "latent" }
local NOTABLE = 0.01            -- of the total: such lines are watched, too, where samples cannot tell

---@class pmclua.WatchedWord bytes that one breakpoint watches
---@field name string "slots[0].count"
---@field accesses table<integer, integer> by thread, 1: the process's first
---@field writes table<integer, integer> in windows of their own

---@class pmclua.Confirmation what breakpoints counted at a cache line
---@field label string
---@field kind pmclua.Sharing as samples have it
---@field counted? pmclua.Sharing as the counts have it; nil: too little was counted to tell
---@field words pmclua.WatchedWord[]
---@field why? string nothing could be counted, or too little

local function size_of(part)
  local size = WIDEST
  while size > part.size or part.offset % size ~= 0 do size = size / 2 end
  return size
end

-- The bytes to watch: those of each thread with most samples first.
local function words_of(line)
  local parts, has_word, words = { unpack(line.parts) }, {}, {}
  table.sort(parts, function(a, b) return a.samples > b.samples end)
  local function take(part)
    local word = { object = part.object, place = part.place, offset = part.offset, size = size_of(part),
      label = part.object .. (part.member or ""),
      name = sharing.name_of(part), accesses = {}, writes = {} }
    if #words < SLOTS and not lists.any(words, function(other) return sharing.overlap(word, other) end) then
      words[#words + 1] = word
    end
  end
  for _, part in ipairs(parts) do
    if not has_word[part.thread] then take(part) end
    has_word[part.thread] = true
  end
  for _, part in ipairs(parts) do take(part) end
  table.sort(words, function(a, b) return a.offset < b.offset end)
  return words
end

local function attrs_of(words, access)
  return lists.map(words, function(word)
    return { type = BREAKPOINT, config = 0, bp_type = access, bp_addr = word.address, bp_len = word.size,
      exclude_kernel = 1, exclude_hv = 1 }
  end)
end

local REASONS = {
  ENOSPC = "its threads' breakpoints are taken, as by a debugger",
  EOPNOTSUPP = "there are no breakpoints for data here, as in some virtual machines",
  EACCES = "this user may set no breakpoints on it (kernel.perf_event_paranoid)",
}

-- A thread keeps its number, whichever others end. One that ends before it is watched is no reason.
local function open_groups(words, held, access)
  local groups, numbers, why = {}, held.numbers, nil
  for _, tid in ipairs { unpack(tasks.threads(held.watched), 1, MOST_THREADS) } do
    if not numbers[tid] then
      held.threads = held.threads + 1
      numbers[tid] = held.threads
    end
    local group, failure = core.group(attrs_of(words, access), { pid = tid })
    if group then groups[#groups + 1] = { group = group, thread = numbers[tid] }
    elseif failure.code ~= "ESRCH" then
      why = REASONS[failure.code] or ("Linux sets no breakpoint on its threads (%s)"):format(failure.code)
    end
  end
  return groups, why
end

local function read_group(opened, words, name)
  local buffer = opened.group:buffer()
  opened.group:stop()
  if not opened.group:read_into(buffer) then return end
  for i, word in ipairs(words) do
    local counts = word[name]
    counts[opened.thread] = (counts[opened.thread] or 0) + core.number(buffer, 2 + i)
  end
end

-- One window; why it could not be.
local function watch(words, held, access, name, window_ns)
  local groups, why = open_groups(words, held, access)
  if not why then
    for _, opened in ipairs(groups) do opened.group:start() end
    held:wait(window_ns or WINDOW_NS)
    for _, opened in ipairs(groups) do read_group(opened, words, name) end
  end
  for _, opened in ipairs(groups) do opened.group:close() end
  return why
end

-- ---- what the counts say ---------------------------------------------------------------------------------

local function threads_at(word)
  local most = 0
  for _, count in pairs(word.accesses) do most = math.max(most, count) end
  return lists.where(lists.keys(word.accesses), function(thread)
    return word.accesses[thread] > 0 and word.accesses[thread] >= sharing.RARELY * most
  end)
end

-- Whether a thread wrote it; with `thread`, another one than that.
local function is_written(word, thread)
  for other, count in pairs(word.writes) do
    if other ~= thread and count > 0 then return true end
  end
  return false
end

local function is_beside_writes(words, own, thread)
  return lists.any(words, function(word) return word ~= own and is_written(word, thread) end)
end

-- As of samples: accesses at words that several threads have, and beside what another thread writes.
local function kind_of(words)
  local together, apart, threads = 0, 0, {}
  for _, word in ipairs(words) do
    local here = threads_at(word)
    for _, thread in ipairs(here) do
      threads[thread] = true
      if #here > 1 and is_written(word) then together = together + word.accesses[thread]
      elseif is_beside_writes(words, word, thread) then apart = apart + word.accesses[thread] end
    end
  end
  if #lists.keys(threads) < 2 then return nil end
  if together + apart == 0 then
    return lists.any(words, function(word) return is_written(word) end) and "cannot tell" or "read-only"
  end
  return apart > together and "false" or "true"
end

-- ---- the run ---------------------------------------------------------------------------------------------

-- A process and those that it has started, as far as their parents live.
local function family(pid)
  local children, list = {}, { pid }
  for _, process in ipairs(tasks.processes()) do
    local _, parent = tasks.stat(process)
    if parent then children[parent] = lists.append(children[parent] or {}, { process }) end
  end
  local at = 1
  while list[at] do
    lists.append(list, children[list[at]] or {})
    at = at + 1
  end
  return list
end

-- The command's first process of several threads that has the words, and where; nil and why none has.
local function find_once(held, places)
  local why
  for _, pid in ipairs(held.watched and { held.watched } or family(held.pid)) do
    if #tasks.threads(pid) > 1 then
      local placed, no = places:find(pid)
      if placed then return pid, placed end
      why = why or no
    end
  end
  return nil, nil, why
end

local function find(held, places, deadline)
  local last
  repeat
    local pid, placed, why = find_once(held, places)
    if pid then
      held.watched = pid
      return placed
    end
    last = why or last
    if held.watched and #tasks.threads(held.watched) == 0 then held.watched = nil end
  until held:wait(POLL_NS) ~= "timeout" or core.now_ns() > deadline
  return nil, last or "it had no second thread while it was watched"
end

local function forget_counts(words)
  for _, word in ipairs(words) do word.accesses, word.writes = {}, {} end
end

local function move_to(words, placed)
  forget_counts(words)
  for i, word in ipairs(words) do word.address = placed.addresses[i] end
end

local function is_touched(words)
  return lists.any(words, function(word)
    return lists.any(lists.keys(word.accesses), function(thread) return word.accesses[thread] > 0 end)
  end)
end

-- One of several equal places, such as blocks of one site: the one that is watched already, or the first that a thread
-- accesses.
local function choose(words, held, list)
  local known = lists.find(list, function(placed) return placed.addresses[1] == words[1].address end)
  if known or #list == 1 then return known or list[1] end
  for i = 1, math.min(#list, MOST_SCOUTED) do
    move_to(words, list[i])
    if watch(words, held, ACCESSES, "accesses", SCOUT_NS) or held.result or is_touched(words) then
      forget_counts(words)
      return list[i]
    end
  end
  words[1].address = nil
  return list[1]
end

-- Both windows of a place; why they could not be. What is counted where a block ended meanwhile is nobody's.
local function watch_place(words, held, places, placed)
  if words[1].address ~= placed.addresses[1] then move_to(words, placed) end
  local why = watch(words, held, ACCESSES, "accesses") or watch(words, held, WRITES, "writes")
  local is_theirs = why or held.result or places:still_there(held.watched, placed)
  if not is_theirs then forget_counts(words) end
  return why
end

local function count(words, held, places)
  local deadline, interrupts = core.now_ns() + WAIT_NS, core.interrupts()
  for window = 1, MOST_WINDOWS do
    local placed, why = find(held, places, deadline)
    if core.interrupts() > interrupts then return "it was interrupted" end
    if not placed then return window == 1 and why or nil end
    why = watch_place(words, held, places, choose(words, held, placed))
    if why or held.result or kind_of(words) then return why end
  end
end

local function run_and_count(words, command, options)
  local places = confirm_places.new(words, options.log, options.sites)
  local refusal = places:refusal()
  if refusal then return refusal end
  if options.log then options.log:reset() end
  local held = require("pmclua.workload.held_command").start(command, options)
  held.numbers, held.threads = {}, 0
  local ok, why = pcall(function()
    held:release()
    return count(words, held, places)
  end)
  held:close()
  if not ok then error(why, 0) end
  return why
end

local function confirmation(line, command, options)
  local words = words_of(line)
  local why = run_and_count(words, command, options)
  local counted = not why and kind_of(words) or nil
  local objects = lists.unique(lists.column(line.parts, "object"))
  return { label = text.list(objects), kind = line.kind, words = words, counted = counted,
    why = why or not counted and "no two threads accessed it while it was watched" or nil }
end

--- Watches the lines of a profile that are worth it, each in a run of the command.
---@param lines pmclua.SharedLine[] those with most samples first
---@param command pmclua.Command
---@param options? { pin?: string, levels?: table<string, any>, log?: pmclua.HeapLog, sites?: table, total?: number }
---  of the run; sites: pmclua.DataProfile's; total: of the profile
---@return pmclua.Confirmation[]
function M.of(lines, command, options)
  local notable = NOTABLE * (options and options.total or math.huge)
  local suspects = lists.where(lines, function(line)
    return WATCHED[line.kind] ~= nil or line.kind == "cannot tell" and line.count >= notable
  end)
  return lists.map({ unpack(suspects, 1, MOST_SUSPECTS) }, function(line)
    return confirmation(line, command, options or {})
  end)
end

return M
