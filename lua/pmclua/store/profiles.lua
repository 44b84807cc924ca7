--- profiles.lua: profiles and traced system calls of a repetition to lines of a result file, before the repetition's own
--- line, and back.
--
-- Invariant: what is written reads back equal. A line is used only if every member has its kind;
-- lines whose repetition does not follow (the run was killed between them) are orphans, and are dropped.

local calls = require("pmclua.base.lazy").module "pmclua.store.calls"
local core = require "pmclua.core"
local followed = require("pmclua.base.lazy").module "pmclua.store.followed"
local dkjson = require "dkjson"
local json = require "pmclua.base.json"
local lists = require "pmclua.base.lists"
local objects = require("pmclua.base.lazy").module "pmclua.store.objects"
local taken = require "pmclua.store.taken"

local M = {}

local refuse, take, counts_by_name = taken.refuse, taken.take, taken.counts_by_name
local is_text, is_flag, is_table, is_count = taken.is_text, taken.is_flag, taken.is_table, taken.is_count
local is_offset, is_share, LARGEST = taken.is_offset, taken.is_share, taken.LARGEST

local MOST_PLACES = 5000        -- instructions that one line tells of, some 300 kB
local MOST_TEXT = 2 ^ 23        -- bytes of the texts of sources on one line

-- ---- writing -------------------------------------------------------------------------------------------

local ORDER = { "kind", "cell", "pass", "index", "warmup", "event", "period", "unit", "total", "exact",
  "source", "program", "rest", "entries", "files", "file", "build_id", "functions", "fn", "full", "nameless",
  "count", "samples", "at", "chains", "calls", "threads", "sources", "code", "texts", "data", "more" }

local function array(list) return setmetatable(list, { __jsontype = "array" }) end

local function address_of(value)
  if type(value) == "cdata" or value and value > LARGEST then return ("0x%x"):format(value) end
  return value or json.null
end

-- [address, line, count, samples, source, inlined]: what is not known is null, or left out at the end.
local function place_of(at, line)
  local source = at.source ~= line.source and at.source or nil
  local place = { address_of(at.address), at.line or json.null, at.count, at.samples or json.null }
  if source or at.inlined then place[5] = source or json.null end
  if at.inlined then place[6] = at.inlined end
  return array(place)
end

local function function_of(line)
  local places = lists.map(line.at or {}, function(at) return place_of(at, line) end)
  return { fn = line.fn, full = line.full, which = line.which, is_local = line.is_local,
    text = line.text, source = line.source, nameless = line.nameless, kind = line.kind, count = line.count,
    samples = line.samples, at = array(places) }
end

local function by_file(items)
  return lists.groups(items, function(item)
    return ("%s\0%s"):format(item.file or "", item.build_id or "")
  end)
end

-- Functions by file, in the order of each file's first.
local function files_of(lines, from, to)
  return array(lists.map(by_file({ unpack(lines, from, to) }), function(same)
    return { file = same[1].file, build_id = same[1].build_id,
      functions = array(lists.map(same, function_of)) }
  end))
end

-- The last function that still goes on the line that begins with `from`.
local function last_on_line(lines, from)
  local places = 0
  for i = from, #lines do
    places = places + #(lines[i].at or {}) + 1
    if i > from and places > MOST_PLACES then return i - 1 end
  end
  return #lines
end

local function entries_of(entries)
  return array(lists.map(by_file(entries), function(same)
    return { file = same[1].file, build_id = same[1].build_id, at = array(lists.map(same, function(entry)
      return array { entry.kind, entry.name or json.null, address_of(entry.address), entry.samples }
    end)) }
  end))
end

local function threads_entry(threads)
  local entry = {}
  for thread, counts in pairs(threads) do entry[thread] = json.object(counts) end
  return json.object(entry)
end

local HEAD = { "event", "period", "unit", "total", "exact", "source", "program", "iterations", "ran" }

-- Texts by their hashes, of which a line has those that no line before had, as far as there is room: the next profile has
-- the others.
---@param written table<string, true>
local function new_texts(written)
  local texts, bytes = {}, 0
  return texts, function(text)
    local id = core.hash(text)
    if not written[id] and bytes + #text < MOST_TEXT then
      written[id], texts[id], bytes = true, text, bytes + #text
    end
    return id
  end
end

local function put_sources(entry, profile, keep)
  local names = {}
  for path, text in pairs(profile.sources or {}) do
    names[path] = text.hashes and { text = keep(text.hashes) } or { why = text.why }
  end
  entry.sources = profile.sources and json.object(names)
end

local function to_hex(bytes)
  return (bytes:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

-- [from, text, machine] of each piece of code, by its line's number.
local function put_code(entry, profile, keep)
  local codes = {}
  for number, line in ipairs(profile.lines) do
    if line.code then
      codes[tostring(number)] = array(lists.map(line.code, function(code)
        return array { code.from, keep(to_hex(code.bytes)), code.machine }
      end))
    end
  end
  entry.code = next(codes) and json.object(codes) or nil
end

local function put_profile(record, profile, buffer, written)
  local from = 1
  repeat
    local to = last_on_line(profile.lines, from)
    local entry = { kind = "profile", cell = record.cell, pass = record.pass, index = record.index,
      warmup = record.warmup == true, files = files_of(profile.lines, from, to),
      more = to < #profile.lines or nil }
    for _, name in ipairs(HEAD) do entry[name] = profile[name] end
    if not entry.more then
      entry.rest = json.object(profile.rest or {})
      entry.entries = profile.entries and entries_of(profile.entries)
      entry.chains = profile.chains and json.object(profile.chains)
      entry.calls = profile.calls and json.object(profile.calls)
      entry.threads = profile.threads and threads_entry(profile.threads)
      entry.data = profile.data and objects.written(profile.data)
      local texts, keep = new_texts(written)
      put_sources(entry, profile, keep)
      put_code(entry, profile, keep)
      entry.texts = next(texts) and json.object(texts) or nil
    end
    buffer:put(json.encode(entry, { order = ORDER }), "\n")
    from = to + 1
  until not entry.more
end

--- Adds the lines of a record's profiles and system calls.
---@param record table store/README.md, "The record"
---@param buffer userdata a string.buffer
---@param written table<string, true> texts of sources that the file has, by their hash; changed
function M.write(record, buffer, written)
  for _, profile in ipairs(record.profiles or {}) do put_profile(record, profile, buffer, written) end
  if record.system_calls then buffer:put(calls.text(record), "\n") end
  if record.followed then followed.write(record, buffer) end
end

-- ---- reading -------------------------------------------------------------------------------------------

local function is_iterations(value) return type(value) == "number" and value >= 1 and value <= LARGEST end

local function threads_of(map)
  for thread, counts in pairs(map) do
    if not (is_text(thread) and is_table(counts)) then refuse "threads" end
    counts_by_name(counts, "threads")
  end
  return map
end

local function inlined_of(list)
  for _, item in ipairs(list) do
    if not is_table(item) then refuse "inlined" end
    for key, value in pairs(item) do
      if not is_text(key) or is_table(value) then refuse "inlined" end
    end
  end
  return list
end

local function is_hashes(value) return is_text(value) and not value:find "%X" end

local function read_texts(entry, texts)
  for id, hashes in pairs(take(entry, "texts", is_table, true) or {}) do
    if not is_hashes(hashes) then refuse "texts" end
    texts[id] = hashes
  end
end

local function from_hex(text)
  return (text:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end))
end

local function read_code(entry, lines, texts)
  for number, list in pairs(take(entry, "code", is_table, true) or {}) do
    local line = lines[tonumber(number)]
    if not line or not is_table(list) then refuse "code" end
    line.code = lists.map(list, function(code)
      if not is_table(code) or not is_text(code[2]) or not is_text(code[3]) then refuse "code" end
      local text = texts[code[2]]
      return text and { from = take(code, 1, is_offset), bytes = from_hex(text), machine = code[3] }
    end)
  end
end

local function read_sources(entry, texts)
  local sources = take(entry, "sources", is_table, true)
  if not sources then return nil end
  local list = {}
  for path, source in pairs(sources) do
    if not is_text(path) or not is_table(source) then refuse "sources" end
    local id = take(source, "text", is_text, true)
    list[path] = { hashes = id and texts[id], why = take(source, "why", is_text, true) }
  end
  return list
end

local function read_address(value)
  return taken.is_wide(value) and core.u64(value) or value
end

local function read_place(list, source)
  if not is_table(list) then refuse "at" end
  local at = { address = read_address(list[1]), line = list[2], count = list[3], samples = list[4],
    source = list[5] or source, inlined = list[6] and inlined_of(take(list, 6, is_table)) }
  take(at, "line", is_count, true)
  take(at, "count", is_count)
  take(at, "samples", is_count, true)
  take(at, "source", is_text, true)
  if type(at.address) == "number" then take(at, "address", is_count)
  elseif at.address ~= nil and type(at.address) ~= "cdata" then refuse "address" end
  return at
end

local function read_function(entry, file)
  if not is_table(entry) then refuse "functions" end
  local line = { file = take(file, "file", is_text), build_id = take(file, "build_id", is_text, true),
    fn = take(entry, "fn", is_text), full = take(entry, "full", is_text, true),
    which = take(entry, "which", is_count, true), is_local = take(entry, "is_local", is_flag, true),
    text = take(entry, "text", is_text, true), source = take(entry, "source", is_text, true),
    nameless = take(entry, "nameless", is_flag, true), kind = take(entry, "kind", is_text, true),
    count = take(entry, "count", is_count), samples = take(entry, "samples", is_count, true), at = {} }
  for i, place in ipairs(take(entry, "at", is_table)) do line.at[i] = read_place(place, line.source) end
  return line
end

local function add_functions(lines, files)
  for _, file in ipairs(files) do
    if not is_table(file) then refuse "files" end
    for _, entry in ipairs(take(file, "functions", is_table)) do
      lines[#lines + 1] = read_function(entry, file)
    end
  end
end

local ENTRY_KINDS = { call = true, fault = true, interrupt = true, other = true }

local function read_entries(files)
  local list = {}
  for _, file in ipairs(files) do
    local path, build_id = take(file, "file", is_text, true), take(file, "build_id", is_text, true)
    for _, place in ipairs(take(file, "at", is_table)) do
      if not is_table(place) or not ENTRY_KINDS[place[1]] then refuse "entries" end
      local entry = { kind = place[1], name = place[2], address = place[3], samples = place[4], file = path,
        build_id = build_id }
      take(entry, "name", is_text, true)
      take(entry, "address", is_offset, true)
      take(entry, "samples", is_count)
      list[#list + 1] = entry
    end
  end
  return list
end

local function read_head(entry)
  return { event = take(entry, "event", is_text), period = take(entry, "period", is_count),
    unit = take(entry, "unit", is_text), total = take(entry, "total", is_count),
    exact = take(entry, "exact", is_flag, true), source = take(entry, "source", is_text, true),
    program = take(entry, "program", is_text, true), lines = {},
    iterations = take(entry, "iterations", is_iterations, true), ran = take(entry, "ran", is_share, true) }
end

-- Lines and rest must add up to the total, so that no caller has to check.
local function check_sum(profile, total)
  local sum = lists.sum(profile.lines, function(line) return line.count end)
  for _, count in pairs(profile.rest) do sum = sum + count end
  if sum ~= total then error("the lines of a profile do not add up to its total", 0) end
end

local from_files = setmetatable({}, { __mode = "k" })

--- Whether a profile was read from a file, which may say anything.
---@param profile table
---@return boolean
function M.is_stored(profile) return from_files[profile] == true end

---@class pmclua.store.Profiles takes the lines of profiles and of system calls until their repetition comes
local Pending = {}
Pending.__index = Pending

---@return pmclua.store.Profiles
function M.new() return setmetatable({ list = {}, texts = {} }, Pending) end

local OWN = { "cell", "pass", "index", "warmup" }

-- Pmclua once stored the times of traced system calls as profiles; they were read too high.
local function is_obsolete(profile) return profile.source == "trace" end

local function is_of(self, owner)
  return lists.all(OWN, function(name) return self.owner[name] == owner[name] end)
end

--- Takes a line. Raises a text where it is no profile.
---@param text string
function Pending:read(text)
  local entry = dkjson.decode(text)
  if not is_table(entry) then refuse "it" end
  if not self.owner or not is_of(self, entry) then
    self.owner, self.list, self.calls, self.open, self.followed, self.words = {}, {}, nil, nil, nil, nil
    for _, name in ipairs(OWN) do self.owner[name] = entry[name] end
  end
  if entry.kind == "calls" then
    self.calls = calls.read(entry)
    return
  elseif entry.kind == "followed" then
    self.followed, self.words = followed.read(entry, self.words)
    return
  end
  local profile = self.open or read_head(entry)
  add_functions(profile.lines, take(entry, "files", is_table))
  self.open = entry.more == true and profile or nil
  if self.open then return end
  profile.rest = counts_by_name(take(entry, "rest", is_table), "rest")
  profile.chains = entry.chains and counts_by_name(take(entry, "chains", is_table), "chains")
  profile.calls = entry.calls and counts_by_name(take(entry, "calls", is_table), "calls")
  profile.threads = entry.threads and threads_of(take(entry, "threads", is_table))
  read_texts(entry, self.texts)
  read_code(entry, profile.lines, self.texts)
  profile.sources = read_sources(entry, self.texts)
  profile.entries = entry.entries and read_entries(take(entry, "entries", is_table))
  local data = take(entry, "data", is_table, true)
  profile.data = data and objects.read(data)
  check_sum(profile, profile.total)
  if profile.data then check_sum(profile.data, profile.total) end
  if is_obsolete(profile) then return end
  self.list[#self.list + 1], from_files[profile] = profile, true
end

--- Gives a record its profiles and system calls, which were read before it.
---@param record? table nil: the line was none of one repetition
function Pending:give(record)
  if record and self.owner and is_of(self, record) then
    record.profiles = #self.list > 0 and self.list or nil
    record.system_calls, record.followed = self.calls, self.followed
  end
  self.owner, self.list, self.calls, self.open, self.followed, self.words = nil, {}, nil, nil, nil, nil
end

return M
