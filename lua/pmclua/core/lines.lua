--- lines.lua: the binding of record lines and the files of them.

local buffers = require "string.buffer"
local core = require "pmclua.core"
local ffi = require "ffi"

-- Under names of our own: a script may declare the same functions in other words.
ffi.cdef [[
void *pmclua_libc_memchr(const void *in, int byte, size_t bytes) __asm__("memchr");
size_t pmclua_libc_fread(void *to, size_t size, size_t count, void *file) __asm__("fread");
]]

local C = core.private_C "lines"
local exact, refused = core.exact, core.private_refused

local M = {}

local ENOSPC, NEWLINE = -28, 10

-- Room that grows: for the form of one line, its values, and which of them are absent.
local line_room = { bytes = 0 }

local function grow_line_room(bytes)
  if bytes <= line_room.bytes then return end
  line_room = { bytes = bytes, form = ffi.new("char[?]", 2 * bytes + 1),
    values = ffi.new("uint64_t[?]", bytes / 2 + 1), absent = ffi.new("uint8_t[?]", bytes / 2 + 1) }
end
grow_line_room(4096)

local function write_into(buffer, bytes, form, count)
  local at, room = buffer:reserve(bytes), line_room
  return (C.pmclua_line_write(at, bytes, form, room.values, room.absent, count))
end

--- Adds the line of `form` (pmclua.h, record lines) with `count` values to a string.buffer; nil stands for
--- null. Raises where form and values do not fit each other.
---@param buffer userdata a string.buffer, unchanged where this raises
---@param form string
---@param values (number|ffi.cdata*|nil)[]
---@param count integer
function M.line_write(buffer, form, values, count)
  grow_line_room(math.max(#form, count * 2))
  local room, bytes = line_room, line_room.bytes
  for i = 1, count do
    local value = values[i]
    room.values[i - 1], room.absent[i - 1] = value or 0, value == nil and 1 or 0
  end
  -- No `repeat`, which would end in its first round: LuaJIT gives such a loop up (lua/README.md).
  local length = write_into(buffer, bytes, form, count)
  while length == ENOSPC do
    bytes = bytes * 2
    length = write_into(buffer, bytes, form, count)
  end
  if length < 0 then error("a record line that cannot be written", 0) end
  buffer:commit(length)
end

local last_form               -- of the line that was scanned before: most lines have it too

-- Whether every '%' of a form stands for a value.
local function is_unquoted(form)
  local without_strings = form:gsub('\\.', ""):gsub('"[^"]*"', "")
  return select(2, without_strings:gsub("%%", "")) == select(2, form:gsub("%%", ""))
end

-- Fills `values` with the values of the line of this many bytes at `at`.
local function scan(at, bytes, values)
  grow_line_room(bytes + 2)
  local room, size, form = line_room, line_room.bytes / 2 + 1, last_form
  local count = form and C.pmclua_line_match(at, bytes, form, room.values, room.absent, size) or -1
  if count < 0 then
    count = C.pmclua_line_scan(at, bytes, room.form, 2 * room.bytes + 1, room.values, room.absent, size)
    if count < 0 then return refused(count) end
    form = ffi.string(room.form)
    last_form = is_unquoted(form) and form or nil
  end
  for i = 0, count - 1 do
    if room.absent[i] ~= 0 then values[i + 1] = nil else values[i + 1] = exact(room.values[i]) end
  end
  return form, count
end

--- The reverse: fills `values` (nulls are nil) and returns the line's form and how many there are; or
--- nil, errno name, number.
---@param line string
---@param values table
function M.line_scan(line, values) return scan(ffi.cast("const char *", line), #line, values) end

--- Whether a text is ASCII without controls but newlines and tabs.
---@param text string
---@return boolean
function M.is_plain(text) return C.pmclua_is_plain(text, #text) == 1 end

-- ---- text that is read line by line ----

---@class pmclua.core.Text what was read of a text, from its current line on
---@field buffer userdata a string.buffer: Lua strings would be copied, and collected
---@field bytes integer of the current line
---@field next integer where the line after it begins
local Text = {}
Text.__index = Text

--- A text of which nothing has been read.
---@return pmclua.core.Text
function M.text() return setmetatable({ buffer = buffers.new(), bytes = 0, next = 0 }, Text) end

--- Adds what comes next in a file, `most` bytes at most. Whether there was more.
---@param file file* of io.open
---@param most integer
---@return boolean
function Text:read(file, most)
  local got = tonumber(ffi.C.pmclua_libc_fread(self.buffer:reserve(most), 1, most, file))
  self.buffer:commit(got)
  return got > 0
end

--- Adds what follows.
---@param piece string
function Text:add(piece) self.buffer:put(piece) end

--- Goes to the next line. False: it is not there to its end.
---@return boolean
function Text:go_on()
  self.buffer:skip(self.next)
  self.bytes, self.next = 0, 0
  local at, bytes = self.buffer:ref()
  local newline = ffi.C.pmclua_libc_memchr(at, NEWLINE, bytes)
  if newline == nil then return false end
  self.bytes = tonumber(ffi.cast("const char *", newline) - at)
  self.next = self.bytes + 1
  return true
end

--- The current line.
---@return string
function Text:line() return ffi.string(self.buffer:ref(), self.bytes) end

--- line_scan of the current line.
---@param values table
function Text:scan(values) return scan(self.buffer:ref(), self.bytes, values) end

--- How many bytes are behind the current line.
---@return integer
function Text:rest() return #self.buffer - self.next end

-- ---- files of lines ----

---@class pmclua.core.Lines a file of whole lines
local Lines = {}
Lines.__index = Lines

local HOW = { private = C.PMCLUA_LINES_PRIVATE, shared = C.PMCLUA_LINES_SHARED,
  resume = C.PMCLUA_LINES_RESUME }

--- Creates a file of lines, the user's alone or as the umask has it, or opens one to go on after its last
--- whole line. Returns it, or nil, errno name, number.
---@param path string
---@param how "private"|"shared"|"resume"
---@return pmclua.core.Lines?
function M.lines(path, how)
  local fd = C.pmclua_lines_open(path, HOW[how])
  if fd < 0 then return refused(fd) end
  return setmetatable({ handle = core.private_descriptor(fd) }, Lines)
end

--- Appends whole lines. Returns the bytes of `text` that are now in the file, whole lines all; fewer
--- than #text come with errno name and number.
function Lines:append(text)
  local kept = ffi.new "size_t[1]"
  local result = C.pmclua_lines_append(self.handle[0], text, #text, kept)
  if result < 0 then return tonumber(kept[0]), core.errno_name(-result), -result end
  return tonumber(kept[0])
end

--- Standard output as a file of lines.
---@return pmclua.core.Lines
function M.standard_output()
  local lines = {}
  function lines.append(_, text)
    local ok, _, number = io.stdout:write(text)
    if ok then ok, _, number = io.stdout:flush() end
    if not ok then return 0, core.errno_name(number), number end
    return #text
  end
  function lines.close() end
  return lines
end

function Lines:close() core.private_close(self) end

return M
