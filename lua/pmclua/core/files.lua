--- files.lua: the binding of files by their descriptors and of what the file system says.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C()
local exact, refused, done = core.exact, core.private_refused, core.private_done

local M = {}

function M.mkdir(path, mode) return done(C.pmclua_mkdir(path, mode)) end
function M.rename(from, to) return done(C.pmclua_rename(from, to)) end

---@class pmclua.core.File a file by its descriptor: whatever somebody puts under its name later is another
---@field path string that it was made under
local File = { close = core.private_close }
File.__index = File

local function fd_of(file)
  if not file.handle then error("this file is closed", 3) end
  return file.handle[0]
end

--- Makes a private file; or nil, errno name, number.
---@param template string a path that ends in XXXXXX
---@return pmclua.core.File?
function M.create_temporary(template)
  local path = ffi.new("char[?]", #template + 1, template)
  local fd = C.pmclua_make_temporary(path)
  if fd < 0 then return refused(fd) end
  return setmetatable({ handle = core.private_descriptor(fd), path = ffi.string(path) }, File)
end

--- Writes behind what was written; true, or nil, errno name, number.
---@param text string
function File:write(text) return done(C.pmclua_write(fd_of(self), text, #text)) end

--- Sets its length, with zeros behind what was written; true, or nil, errno name, number.
---@param bytes integer
function File:resize(bytes) return done(C.pmclua_resize(fd_of(self), bytes)) end

--- Its bytes from an offset on, fewer where it ends; or nil, errno name, number.
---@param offset integer
---@param count integer
---@return string?
function File:read_at(offset, count)
  local bytes = ffi.new("char[?]", count)
  local got = tonumber(C.pmclua_read_at(fd_of(self), offset, bytes, count))
  if got < 0 then return refused(got) end
  return ffi.string(bytes, got)
end

--- Makes a private file with this text: its path; or nil, errno name, number, and no file is left.
---@param template string a path that ends in XXXXXX
---@param text string
---@return string? path
function M.write_temporary(template, text)
  local file, code, errnum = M.create_temporary(template)
  if not file then return nil, code, errnum end
  local ok
  ok, code, errnum = file:write(text)
  file:close()
  if ok then return file.path end
  os.remove(file.path)
  return nil, code, errnum
end

--- Puts a private file that has this text in the place of `path`, whole or not at all: true; or nil, errno name, number.
---@param path string
---@param text string
function M.replace(path, text)
  local temporary, code, errnum = M.write_temporary(path .. ".XXXXXX", text)
  if not temporary then return nil, code, errnum end
  local ok
  ok, code, errnum = M.rename(temporary, path)
  if not ok then os.remove(temporary) end
  return ok, code, errnum
end

--- Makes a private folder, which goes with this process: its path; or nil, errno name, number.
---@param template string an absolute path that ends in XXXXXX
---@param for_code? boolean programs and libraries are to be run from it
function M.make_folder(template, for_code)
  local path = ffi.new("char[?]", #template + 1, template)
  local result = C.pmclua_make_folder(path, for_code and 1 or 0)
  if result < 0 then return refused(result) end
  return ffi.string(path)
end

--- Whether files may be made in a folder: true; or nil and why not: EROFS; ENOSPC: there is hardly room for one;
--- EACCES: programs and libraries are to be run from it (`for_code`) and may not.
function M.check_place(folder, for_code) return done(C.pmclua_check_place(folder, for_code and 1 or 0)) end

--- Removes a folder with all in it.
function M.remove_folder(path) C.pmclua_remove_folder(path) end

--- Makes a private FIFO, of which `read_some` reads; or nil, errno name, number.
---@param path string
---@return pmclua.core.File?
function M.make_fifo(path)
  local fd = C.pmclua_make_fifo(path)
  if fd < 0 then return refused(fd) end
  return setmetatable({ handle = core.private_descriptor(fd), path = path }, File)
end

local EINTR = 4

--- Closes it: true; or nil, errno name, number, where what was written may be lost.
function File:finish()
  local fd = fd_of(self)
  ffi.gc(self.handle, nil)
  self.handle = nil
  local result = C.pmclua_close(fd)
  return result == -EINTR or done(result)
end

local WRITING = { [1] = "another user has put a file there", [40] = "a link of another user is on the way" }

--- Opens a file that the user names, to write it: nobody else decides which one that is. Nil and why not.
---@param path string
---@param appends? boolean to what is there; else that goes
---@return pmclua.core.File?
---@return string? why
function M.open_written(path, appends)
  local fd = C.pmclua_open_written(path, appends and 1 or 0)
  if fd < 0 then return nil, WRITING[-fd] or core.errno_text(-fd) end
  return setmetatable({ handle = core.private_descriptor(fd), path = path }, File)
end

local SOME = 65536
local EPERM, EACCES, EFBIG, ENOTSUP = 1, 13, 27, 95

-- Cases that open(2) and read(2) do not refuse by themselves.
local REASONS = { [ENOTSUP] = "it is not a regular file", [EPERM] = "it belongs to another user",
  [EFBIG] = "it is too large" }

local buffer

-- Reads up to SOME bytes, "" if there are none now; or nil and the errno's number.
local function read_once(fd)
  buffer = buffer or ffi.new("char[?]", SOME)
  local got = tonumber(C.pmclua_read_some(fd, buffer, SOME))
  if got < 0 then return nil, -got end
  return ffi.string(buffer, got)
end

--- Reads without waiting; "": nothing is there.
---@return string
function File:read_some()
  local parts = {}
  repeat
    local piece = read_once(fd_of(self)) or ""
    parts[#parts + 1] = piece
  until #piece < SOME
  return table.concat(parts)
end

local MOST = 2 ^ 29                     -- bytes of a file: far more than any that is read has

-- Up to `most` bytes of a descriptor, or nil and the errno's number.
local function read_up_to(fd, most)
  local parts, bytes = {}, 0
  while bytes < most do
    local piece, errnum = read_once(fd)
    if not piece then return nil, errnum end
    if piece == "" then break end
    parts[#parts + 1], bytes = piece, bytes + #piece
  end
  return table.concat(parts):sub(1, most)
end

--- Opens a regular file to read it, under whatever name it goes by its descriptor: nil, errno name and number.
---@param path string
---@return pmclua.core.File?
function M.open_plain(path)
  local fd = C.pmclua_open_plain(path, 0, nil, nil)
  if fd < 0 then return refused(fd) end
  return setmetatable({ handle = core.private_descriptor(fd), path = ("/proc/self/fd/%d"):format(fd) }, File)
end

local file_uid, file_bytes              -- made once
local ANYBODY = {}

-- Calls `read(fd)` on a regular file; nil and the errno's number.
local function with_plain(path, who, read)
  if not file_uid then file_uid, file_bytes = ffi.new "uint32_t[1]", ffi.new "uint64_t[1]" end
  local fd = C.pmclua_open_plain(path, who.owner and 1 or 0, file_uid, file_bytes)
  if fd < 0 then return nil, -fd end
  local text, errnum
  if who.owner and file_uid[0] ~= who.owner then errnum = EPERM
  elseif who.reader and C.pmclua_is_open_to(fd, who.reader) <= 0 then errnum = EACCES
  else text, errnum = read(fd) end
  C.pmclua_close(fd)
  return text, errnum
end

-- A text, or as the functions below refuse.
local function answer(path, text, errnum)
  if text then return text end
  local why = ("%s: %s"):format(path, REASONS[errnum] or core.errno_text(errnum))
  return nil, why, core.errno_name(errnum), errnum
end

--- The text of a regular file; nil, why not, the errno's name and number. It waits for nobody, whatever is there.
---@param path string
---@param most? number bytes: a larger file is refused
---@param who? { owner?: integer, reader?: integer } owner: the user whose file it has to be, and no link; reader: a user
---  who could have read it, too
---@return string? text
---@return string? why "PATH: REASON"
---@return string? code
---@return integer? errnum
function M.read_plain(path, most, who)
  most = most or MOST
  local text, errnum = with_plain(path, who or ANYBODY, function(fd)
    if file_bytes[0] > most then return nil, EFBIG end
    return read_up_to(fd, most + 1)
  end)
  if text and #text > most then text, errnum = nil, EFBIG end
  return answer(path, text, errnum)
end

--- The same of its first bytes.
---@param path string
---@param bytes integer
---@return string?
function M.read_beginning(path, bytes)
  return answer(path, with_plain(path, ANYBODY, function(fd) return read_up_to(fd, bytes) end))
end

local stat_words, stat_times            -- made once

--- lstat: { uid, mode, bytes, mtime_ns }, or nil, errno name, number.
function M.stat(path)
  if not stat_words then stat_words, stat_times = ffi.new "uint32_t[2]", ffi.new "uint64_t[2]" end
  local result = C.pmclua_stat(path, stat_words, stat_words + 1, stat_times, stat_times + 1)
  if result < 0 then return refused(result) end
  return { uid = stat_words[0], mode = stat_words[1], bytes = tonumber(stat_times[0]),
    mtime_ns = exact(stat_times[1]) }
end

---@class pmclua.core.Identity times are those of `core.now_ns`; 0: before that began
---@field device number
---@field inode number
---@field written_ns number
---@field changed_ns number when anything of it was changed last

--- The identity of the file that a path leads to; nil, errno name and number if there is none.
---@param path string
---@return pmclua.core.Identity?
function M.identity(path)
  local raw = ffi.new "struct pmclua_identity"
  local result = C.pmclua_identity(path, raw)
  if result < 0 then return refused(result) end
  return { device = exact(raw.device), inode = exact(raw.inode), written_ns = exact(raw.written_ns),
    changed_ns = exact(raw.changed_ns) }
end

--- Whether Linux shows the file that a path leads to under a device and inode where it is mapped.
---@param path string
---@param device number
---@param inode number
---@return boolean
function M.is_mapped_as(path, device, inode)
  local numbers = ffi.new "uint64_t[2]"
  return C.pmclua_mapped_as(path, numbers, numbers + 1) == 0 and exact(numbers[0]) == device
    and exact(numbers[1]) == inode
end

local text, mode, mtime       -- made once

--- Change signature (dev.ino.size.mtime.ctime) of the file that `path` leads to; nil: there is none.
---@param path string
---@return string? text
---@return integer|string|nil mode or the errno's name
---@return number? mtime_ns or the errno
function M.signature(path)
  if not text then
    text, mode = ffi.new("char[?]", C.PMCLUA_SIGNATURE_BYTES), ffi.new "uint32_t[1]"
    mtime = ffi.new "uint64_t[1]"
  end
  local result = C.pmclua_signature(path, text, mode, mtime)
  if result < 0 then return refused(result) end
  return ffi.string(text), mode[0], tonumber(mtime[0])
end

--- `path` without links, "." and ".."; or nil, errno name, number.
function M.real_path(path)
  local real = ffi.new("char[?]", C.PMCLUA_PATH_BYTES)
  local result = C.pmclua_real_path(path, real)
  if result < 0 then return refused(result) end
  return ffi.string(real)
end

return M
