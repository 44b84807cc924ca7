--- marks.lua: what programs count between the marks of pmclua_mark.h: the table that they add to, made,
-- handed to them by the environment, and read after each run.
--
-- The table is a file of its own for every run, always under one name, so that a process that outlives
-- its run adds to nobody else's. It is in memory where there is such a folder, and removed by `close`. It stays
-- open: whatever the program puts under its name is not read.

local binding = require "pmclua.core.marks"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local paths = require "pmclua.host.paths"
local temporary = require "pmclua.host.temporary"
local text = require "pmclua.base.text"

local M = {}

--- The variable that names the table to programs.
M.VARIABLE = "PMCLUA_MARKS"
--- The mark that every thread sets first, several times, with nothing in it: what a mark itself costs.
M.EMPTY = "(empty mark)"
-- Stands for marks that were lost before their names were known.
local LOST = "(lost marks)"

local SLOTS = 2 ^ 18                    -- a mark in a thread takes one; the file is sparse
local LOG_ENTRIES = 65536               -- of a run, where each entry is asked for

---@class pmclua.Marks
---@field path string of the table
local Marks = {}
Marks.__index = Marks

-- A folder for the table: in memory, and private to the user, where there is such a one.
local function make_folder()
  local folders = lists.joined { { paths.runtime() }, { "/dev/shm" }, paths.temporary() }
  return temporary.make("marks", { folders = folders })
end

--- Makes the table's name; `prepare` makes the table.
---@param options? { entries?: true|integer } entries: how many of each run are kept one by one
---@return pmclua.Marks
function M.new(options)
  local folder = make_folder()
  local entries = options and options.entries
  return setmetatable({ folder = folder, path = folder .. "/table", entries = entries }, Marks)
end

--- Where things are in a table for these groups.
---@param groups { attrs: table[] }[] what each thread counts
---@param entries? true|integer how many of a run are kept one by one
---@return pmclua.core.MarkLayout
function M.layout(groups, entries)
  local log_entries = entries == true and LOG_ENTRIES or entries or 0
  local layout = binding.layout(groups, { slots = SLOTS, log_entries = log_entries })
  layout.keeps_all = entries == true
  return layout
end

--- The beginning of an empty table, for one that is made elsewhere.
---@param layout pmclua.core.MarkLayout
---@param groups { attrs: table[] }[]
---@return string
function M.beginning(layout, groups) return binding.beginning(layout, groups) end

function Marks:forget_file()
  if self.file then self.file:close() end
  self.file = nil
end

--- An empty table for the next run.
---@param groups { attrs: table[] }[] what each thread counts
function Marks:prepare(groups)
  self:forget_file()
  local file, _, refused = core.create_temporary(self.folder .. "/XXXXXX")
  if not file then error(explain.system(refused, "write", self.folder), 0) end
  self.file, self.layout = file, M.layout(groups, self.entries)
  local ok, _, errnum = binding.write(file, self.layout, groups)
  if ok then ok, _, errnum = core.rename(file.path, self.path) end
  self.made_ns = core.now_ns()
  if ok then return end
  os.remove(file.path)
  error(explain.problem { code = "EWRITE", operation = "write",
    message = ("cannot make the table of marks in %s: %s"):format(self.folder, core.errno_text(errnum)) }, 0)
end

-- ---- reading -------------------------------------------------------------------------------------------

---@class pmclua.Mark one mark of a run, over all threads
---@field name string
---@field slots pmclua.core.MarkSlot[] by thread
---@field entries { wall_ns: number, words?: table, of: pmclua.core.MarkSlot }[] one by one, where they are kept
---@field ended integer entries that are complete
---@field incomplete string? why its counts are not those of all its entries (judge)

local function add_slot(list, marks_by_name, slot)
  local mark = marks_by_name[slot.name]
  if not mark then
    mark = { name = slot.name, slots = {}, entries = {}, ended = 0 }
    marks_by_name[slot.name] = mark
    if slot.name ~= M.EMPTY then list[#list + 1] = mark end
  end
  mark.slots[#mark.slots + 1], mark.ended = slot, mark.ended + slot.ended
  slot.mark = mark
end

-- Slots of one name together, in the order of their first mark; the empty one last.
local function by_name(slots)
  local list, known = {}, {}
  for _, slot in ipairs(slots) do
    if slot.threads > 0 then add_slot(list, known, slot) end
  end
  list[#list + 1] = known[M.EMPTY]
  return list
end

--- The marks that programs left in their table.
---@param file pmclua.core.File
---@param layout pmclua.core.MarkLayout
---@param most_ns number since the table was made
---@return pmclua.Mark[] marks none where the table is damaged
---@return table facts of the table: processes, lost, refused_errno, …, `unlogged`, entries not kept, and whether all were
---   asked for (`keeps_all`); or `damage`, the first value that cannot be true
function M.read(file, layout, most_ns)
  local contents, damage = binding.read(file, layout, most_ns)
  if not contents then return {}, { damage = damage } end
  local marks = by_name(contents.slots)
  for _, entry in ipairs(contents.log) do
    entry.of = contents.slots[entry.slot]
    table.insert(entry.of.mark.entries, entry)
  end
  local facts = contents.facts
  local beyond = math.max(0, facts.log_used - layout.log_words)
  facts.unlogged = layout.log_words > 0 and math.ceil(beyond / (2 + layout.reading_u64s)) or 0
  facts.keeps_all = layout.keeps_all
  return marks, facts
end

--- The same of the run that has ended.
function Marks:read() return M.read(self.file, self.layout, core.now_ns() - self.made_ns) end

local function say(list, form, ...) list[#list + 1] = form:format(...) end

local function sum_of(mark, field)
  return lists.sum(mark.slots, function(slot) return slot[field] end)
end

--- Whether it ended on other threads than it began on: an end without a begin and a begin without an end, in
--- one process in which several threads have it. Then no end is known to be that of its begin.
---@param mark pmclua.Mark
---@return boolean
function M.has_moved(mark)
  local processes = {}
  for _, slot in ipairs(mark.slots) do
    local of = processes[slot.pid] or { threads = 0, stray = 0, open = 0 }
    processes[slot.pid] = of
    of.threads, of.stray = of.threads + 1, of.stray + slot.stray
    of.open = of.open + slot.begun - slot.ended - slot.too_deep
    if of.threads > 1 and of.stray > 0 and of.open > 0 then return true end
  end
  return false
end

-- ---- what is missing ------------------------------------------------------------------------------------

local MOVED = "ended on other threads than it began on: its begins and ends cannot be matched, so it has no "
  .. "numbers"

-- Why the sums of a mark, or its entries where all were asked for, are incomplete, as texts.
local function losses_of(mark, facts)
  if M.has_moved(mark) then return { MOVED } end
  local list, uncounted, deep = {}, sum_of(mark, "uncounted"), sum_of(mark, "too_deep")
  if uncounted > 0 then
    say(list, "of %s entries, %s could not be counted", text.count(mark.ended), text.count(uncounted))
  end
  if deep > 0 then say(list, "%s nested in more than 128 others: not counted", text.count(deep)) end
  local unkept = facts.keeps_all and mark.ended - uncounted - #mark.entries or 0
  if unkept > 0 then
    say(list, "of %s entries, %s could not be kept one by one", text.count(mark.ended), text.count(unkept))
  end
  return list
end

--- The losses that belong to no known mark; nil: none.
---@param facts table
---@return string?
function M.loss(facts)
  if facts.damage then
    return "marks are not counted: the program wrote over their table, in which " .. facts.damage
  end
  local list = {}
  if facts.unreached then
    say(list, "a program could not use the table of its marks: %s", facts.unreached)
  end
  if facts.lost > 0 then
    say(list, "%s entries of marks were lost: there was no memory for them", text.count(facts.lost))
  end
  return list[1] and table.concat(list, "; ")
end

-- Sets `incomplete` of each mark whose counts are not those of all its entries: why. Where entries are missing and
-- there is no mark, adds one that says so.
local function judge(marks, facts)
  local common = M.loss(facts)
  for _, mark in ipairs(marks) do
    local list = losses_of(mark, facts)
    list[#list + 1] = common
    mark.incomplete = list[1] and table.concat(list, "; ")
  end
  local is_alone = #marks == 0 or #marks == 1 and marks[1].name == M.EMPTY
  if common and is_alone then
    table.insert(marks, 1, { name = LOST, slots = {}, entries = {}, ended = 0, incomplete = common })
  end
  return common
end

local function remarks_on(mark, facts, list)
  local name = text.safe(mark.name)
  local function add(count, what)
    if count > 0 then say(list, "mark '%s': %s %s: not counted", name, text.count(count), what) end
  end
  for _, loss in ipairs(losses_of(mark, facts)) do
    say(list, loss == MOVED and "mark '%s' %s" or "mark '%s': %s", name, loss)
  end
  add(sum_of(mark, "begun") - mark.ended - sum_of(mark, "too_deep"), "begun but never ended")
  add(sum_of(mark, "stray"), "ended without a begin")
end

--- Remarks on a run's marks: what is missing, and why.
---@param marks pmclua.Mark[]
---@param facts table
---@param event_names string[] in the order in which they were given
---@return string[]
function M.remarks(marks, facts, event_names)
  local list = { judge(marks, facts) }
  if facts.damage then return list end
  if facts.processes == 0 and not facts.unreached then
    say(list, "no mark was reached: no program built with this pmclua's pmclua_mark.h has run")
  elseif #marks == 0 then
    say(list, "no mark was reached")
  end
  for _, mark in ipairs(marks) do
    if mark.name ~= M.EMPTY then remarks_on(mark, facts, list) end
  end
  if facts.refused_errno ~= 0 then
    say(list, "a thread could not open '%s' for its marks: %s",
      text.safe(event_names[facts.refused_event] or "its events"), core.errno_text(facts.refused_errno))
  end
  if facts.unlogged > 0 then
    say(list, "only the first entries of the run are kept one by one, %s later ones are not",
      text.count(facts.unlogged))
  end
  return list
end

--- Removes the table.
function Marks:close()
  self:forget_file()
  if self.path then temporary.remove(self.folder) end
  self.path = nil
end

return M
