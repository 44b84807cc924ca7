--- inflate.lua: the binding of zlib's files, part of core/: compressed text and plain, alike.
--
-- zlib is found when it is first needed: it is there wherever libelf is.

local core = require "pmclua.core"
local ffi = require "ffi"
local packages = require "pmclua.base.packages"

ffi.cdef [[
typedef struct gzFile_s *pmclua_gz;
pmclua_gz gzopen(const char *path, const char *mode);
pmclua_gz gzdopen(int fd, const char *mode);
int gzbuffer(pmclua_gz file, unsigned size);
int gzread(pmclua_gz file, void *to, unsigned bytes);
long gzoffset(pmclua_gz file);
const char *gzerror(pmclua_gz file, int *number);
int gzclose_r(pmclua_gz file);
int dup(int fd);
]]

local M = {}

local BUFFER_BYTES = 2 ^ 17
local STDIN, CUT_OFF = 0, -5            -- Z_BUF_ERROR: the compressed text ends too early

---@class pmclua.core.Inflating
local Inflating = {}
Inflating.__index = Inflating

local function library() return core.load(packages.named("zlib").library) end

--- Whether zlib is here.
---@return boolean
function M.can_inflate() return library() ~= nil end

--- Opens what may be compressed. Returns it, or nil and the errno's name and number.
---@param path string "-": standard input
---@return pmclua.core.Inflating?
function M.inflate(path)
  local lib = library()
  if not lib then return nil, "ENOPKG", nil end
  ffi.errno(0)
  local file = path == "-" and lib.gzdopen(ffi.C.dup(STDIN), "rb") or path ~= "-" and lib.gzopen(path, "rb")
  if file == nil then
    local number = ffi.errno()
    return nil, number ~= 0 and core.errno_name(number) or "ENOMEM", number
  end
  lib.gzbuffer(file, BUFFER_BYTES)
  return setmetatable({ handle = ffi.gc(file, lib.gzclose_r), lib = lib,
    room = ffi.new("char[?]", BUFFER_BYTES) }, Inflating)
end

--- The next piece of the text; nil at its end, and why where this is not the end of what was written: "cut off",
--- or what zlib says.
---@return string? piece
---@return string? why
function Inflating:read()
  local got = self.lib.gzread(self.handle, self.room, BUFFER_BYTES)
  if got > 0 then return ffi.string(self.room, got) end
  local number = ffi.new "int[1]"
  local message = self.lib.gzerror(self.handle, number)
  if number[0] == 0 then return nil end
  return nil, number[0] == CUT_OFF and "cut off" or ffi.string(message)
end

--- Bytes that were read of the file itself.
---@return number
function Inflating:offset() return tonumber(self.lib.gzoffset(self.handle)) end

function Inflating:close() core.private_close(self, self.lib.gzclose_r) end

return M
