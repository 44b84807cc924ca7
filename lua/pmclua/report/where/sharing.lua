--- sharing.lua: cache lines that threads share, as a table, sentences and facts.

local lists = require "pmclua.base.lists"
local sharing = require "pmclua.profile.sharing"
local text = require "pmclua.base.text"

local M = {}

local LINE = sharing.LINE
local NOTABLE = 0.01            -- of the total
local MOST_ROWS, MOST_NAMED = 8, 4

-- Where the object begins, from the line on: blocks of one place in the source are told apart by it.
local function start_of(part) return part.place and part.offset - part.place end

-- "block 2 of ": which of several blocks of one name in the line, in the order of bytes; else nothing.
local function which_block(part, parts)
  local same = lists.where(parts, function(other) return other.object == part.object and other.place end)
  local starts = lists.unique(lists.map(same, start_of))
  if #starts < 2 or not part.place then return "" end
  table.sort(starts)
  for i, start in ipairs(starts) do
    if start == start_of(part) then return ("block %d of "):format(i) end
  end
end

-- The line's own name: its objects, with its place in those that are larger.
local function label_of(line)
  local names = lists.unique(lists.map(line.parts, function(part)
    local start = part.place and -start_of(part)
    return start and start > 0 and ("%s +%d"):format(part.object, start - start % LINE) or part.object
  end))
  return text.list({ unpack(names, 1, 3) })
end

---@class pmclua.SharedRow
---@field label string
---@field kind pmclua.Sharing of most of its samples
---@field count number of all repetitions
---@field share number of the total
---@field parts pmclua.SharedPart[] of the repetition that has most of it

--- The lines of a repetition with their names: of several that have one name, as blocks of one place in the source,
--- each gets its number, by samples.
---@param profile pmclua.Profile with data
---@return { line: pmclua.SharedLine, label: string }[]
function M.named(profile)
  local seen = {}
  return lists.map(profile.data.sharing or {}, function(line)
    local label = label_of(line)
    seen[label] = (seen[label] or 0) + 1
    return { line = line, label = seen[label] > 1 and ("%s (%d)"):format(label, seen[label]) or label }
  end)
end

-- The same line of several repetitions is told by its name.
local function joined(profiles)
  local rows, total = {}, 0
  for _, profile in ipairs(profiles) do
    total = total + profile.total
    for _, named in ipairs(M.named(profile)) do
      local line, label = named.line, named.label
      local row = rows[label] or { label = label, count = 0, kinds = {}, most = 0 }
      if not rows[label] then rows[label], rows[#rows + 1] = row, row end
      row.count = row.count + line.count
      row.kinds[line.kind] = (row.kinds[line.kind] or 0) + line.count
      if line.count > row.most then row.most, row.parts = line.count, line.parts end
    end
  end
  return rows, total
end

--- The cache lines of a side that threads share, those with most of its total first.
---@param profiles pmclua.Profile[] with data
---@return pmclua.SharedRow[]
function M.rows(profiles)
  local rows, total = joined(profiles)
  for _, row in ipairs(rows) do
    for _, kind in ipairs(lists.keys(row.kinds)) do
      if not row.kind or row.kinds[kind] > row.kinds[row.kind] then row.kind = kind end
    end
    row.share, row.kinds, row.most = row.count / math.max(1, total), nil, nil
  end
  table.sort(rows, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    return a.label < b.label
  end)
  return rows
end

-- ---- in words ------------------------------------------------------------------------------------------

-- "thread 2 writes counters[0] in work (sum.c:12)": of each thread what it has most samples of.
local function deeds(row)
  local by_thread, list = {}, {}
  for _, part in ipairs(row.parts) do
    local known = by_thread[part.thread]
    if not known then list[#list + 1] = part.thread end
    if not known or part.samples > known.samples then by_thread[part.thread] = part end
  end
  table.sort(list)
  local most = #list > MOST_NAMED and MOST_NAMED - 1 or MOST_NAMED
  local shown = lists.map({ unpack(list, 1, most) }, function(thread)
    local part = by_thread[thread]
    local source = part.source and (" (%s:%d)"):format(part.source:match "[^/]+$", part.line) or ""
    return text.safe(("thread %d %s %s%s in %s%s"):format(thread, part.is_write and "writes" or "reads",
      which_block(part, row.parts), sharing.name_of(part), part.fn, source))
  end)
  if #list > #shown then shown[#shown + 1] = ("%d more threads"):format(#list - #shown) end
  return shown
end

---@class pmclua.ApartBytes bytes of a line that only some threads access, and padding would move to another
---@field from integer
---@field to integer
---@field threads integer[]

--- The bytes that each thread has, those that overlap together: what padding would separate.
---@param parts pmclua.SharedPart[]
---@return pmclua.ApartBytes[] in the order of bytes
function M.apart(parts)
  local sorted, groups = lists.copy(parts), {}
  table.sort(sorted, function(a, b) return a.offset < b.offset end)
  for _, part in ipairs(sorted) do
    local group, to = groups[#groups], part.offset + part.size - 1
    if group and part.offset <= group.to then
      group.to = math.max(group.to, to)
      group.threads = lists.unique(lists.append(group.threads, { part.thread }))
    elseif group and #group.threads == 1 and group.threads[1] == part.thread then group.to = to
    else groups[#groups + 1] = { from = part.offset, to = to, threads = { part.thread } }
    end
  end
  for _, group in ipairs(groups) do table.sort(group.threads) end
  return groups
end

-- "bytes 0 to 7 (thread 1) and 8 to 15 (threads 2-3)".
local function apart_words(parts)
  local groups = M.apart(parts)
  local shown = lists.map({ unpack(groups, 1, MOST_NAMED) }, function(group)
    local are_several = #group.threads > 1
    return ("%d to %d (%s %s)"):format(group.from, group.to, are_several and "threads" or "thread",
      text.ranges(group.threads))
  end)
  if #groups > #shown then shown[#shown + 1] = ("%d more"):format(#groups - #shown) end
  return "bytes " .. text.list(shown)
end

local ADVICE = {
  ["false"] = "%s: %s of the total is at a cache line that threads share without sharing data (%s); "
    .. "give each thread's data a line of its own (alignas(64)), which separates %s, and compare",
  ["true"] = "%s: %s of the total is at data that threads share (%s); padding does not help",
  ["handed over"] = "%s: %s of the total is at a line that one thread has after the other (%s): it is not "
    .. "shared at the same time",
  latent = "%s: %s of the total is at data of several threads less than 64 bytes apart (%s): another layout, "
    .. "or threads that meet there, would share a line falsely",
  ["cannot tell"] = "%s: %s of the total is at a line of several threads (%s), which hardly ran at the same "
    .. "time, or have few samples: run it on idle CPUs, or longer",
}

--- Notes on the lines with a share worth one.
---@param rows pmclua.SharedRow[]
---@return string[]
function M.notes(rows)
  local notable = lists.where(rows, function(row) return row.share >= NOTABLE and ADVICE[row.kind] end)
  return lists.map({ unpack(notable, 1, MOST_NAMED) }, function(row)
    return ADVICE[row.kind]:format(text.safe(row.label), text.percent(row.share),
      table.concat(deeds(row), "; "), apart_words(row.parts))
  end)
end

--- The lines as a table; nil: threads share none.
---@param rows pmclua.SharedRow[]
---@param side? string of several
---@return pmclua.ReportBlock?
function M.table(rows, side)
  if #rows == 0 then return nil end
  local shown = lists.map({ unpack(rows, 1, MOST_ROWS) }, function(row)
    local threads = lists.unique(lists.column(row.parts, "thread"))
    return { text.safe(row.label), row.kind, text.percent(row.share), tostring(#threads),
      tone = row.kind ~= "false" and row.kind ~= "true" and "dim" or nil }
  end)
  local of_whom = side and ("threads of %s"):format(side) or "threads"
  return { title = { ("cache lines that %s share"):format(of_whom) },
    columns = { { name = "cache line" }, { name = "sharing" }, { name = "share", align = "right" },
      { name = "threads", align = "right" } },
    rows = shown, notes = { #rows > MOST_ROWS and ("%d more"):format(#rows - MOST_ROWS) or nil } }
end

-- ---- what breakpoints counted ----------------------------------------------------------------------------

-- Latent sharing is false sharing but for the time: bytes alone tell no difference.
local function is_confirmed(line)
  return line.counted == line.kind or line.kind == "latent" and line.counted == "false"
end

local function conclusion_of(line)
  if line.kind == "cannot tell" then
    local form = line.counted and "samples cannot tell how it is shared: by its words it is %s"
      or "samples cannot tell how it is shared, nor breakpoints: %s"
    return form:format(line.counted or line.why)
  end
  if not line.counted then return ("%s sharing is not confirmed: %s"):format(line.kind, line.why) end
  if is_confirmed(line) then return ("%s sharing: confirmed"):format(line.kind) end
  return ("%s sharing: taken back: by its words it is %s"):format(line.kind, line.counted)
end

local function threads_of(line)
  local threads = {}
  for _, word in ipairs(line.words) do
    for thread, count in pairs(word.accesses) do threads[thread] = threads[thread] or count > 0 or nil end
  end
  return lists.keys(threads)
end

--- A table of what breakpoints counted at a line: accesses of each thread by word, and the conclusion.
---@param line pmclua.Confirmation
---@return pmclua.ReportBlock
function M.confirmation(line)
  local threads = threads_of(line)
  local columns = lists.map(threads, function(thread)
    return { name = ("thread %d"):format(thread), align = "right" }
  end)
  local rows = lists.map(line.words, function(word)
    return lists.append({ text.safe(word.name) }, lists.map(threads, function(thread)
      return text.count(word.accesses[thread] or 0)
    end))
  end)
  return { title = { ("accesses to %s that breakpoints counted"):format(text.safe(line.label)) },
    columns = lists.append({ { name = "word" } }, columns), rows = rows, notes = { conclusion_of(line) } }
end

return M
