--- source.lua: the text of a result file: of a path or standard input, compressed by gzip or not.
--
-- Invariant: anyone may have written the file, so the size of its expanded text is limited by its own size.

local core = require "pmclua.core"
local packages = require "pmclua.base.packages"
local refuse = require("pmclua.store.failure").refuse

local M = {}

local BLOCK_BYTES = 2 ^ 16        -- more would leave the L2 cache before it is read
-- Repetition lines compress to a tenth, exact counts to a hundredth; deflate can do a thousandth.
local FREE_BYTES, MOST_EXPANSION = 2 ^ 26, 100
local GZIP = "\31\139"

---@class pmclua.store.Source
---@field is_plain boolean a file that is not compressed: it can be appended to
---@field is_stream boolean it can be read once
---@field problem string? why the text ended before its end
local Source = {}
Source.__index = Source

local function check_expansion(source)
  local most = FREE_BYTES + MOST_EXPANSION * source.inflating:offset()
  if source.taken > most then
    local why = ("it expands to more than %d times its size"):format(MOST_EXPANSION)
    refuse("read", source.path, why, nil, "gunzip it if you trust it")
  end
end

local function read_inflated(source)
  local block, why = source.inflating:read()
  if block then
    source.taken = source.taken + #block
    check_expansion(source)
  elseif why == "cut off" then source.problem = "its compressed text is cut off"
  elseif why then refuse("read", source.path, "its compressed text is damaged, " .. why) end
  return block
end

--- Adds the next piece to `text`. Whether there was one: not at the end. Raises an error object where it
--- cannot be read.
---@param text pmclua.core.Text
---@return boolean
function Source:read(text)
  if not self.inflating then return text:read(self.file, BLOCK_BYTES) end
  local piece = read_inflated(self)
  if piece then text:add(piece) end
  return piece ~= nil
end

local function open_plain(path)
  local file, why = io.open(path, "rb")
  return file or refuse("open", path, (tostring(why):gsub("^.*: ", "")))
end

function Source:close()
  if self.inflating then self.inflating:close() else self.file:close() end
end

--- Opens a plain file again, to be read from this offset on.
---@param bytes integer
function Source:reopen(bytes)
  self.file = open_plain(self.path)
  self.file:seek("set", bytes)
end

local function inflated(path, fields)
  local inflating, code, number = core.inflate(path)
  if not inflating then
    local why = code == "ENOPKG" and "it may be compressed, and " .. packages.missing "zlib" or code
    refuse("open", path, why, number)
  end
  return setmetatable({ path = path, inflating = inflating, taken = 0, is_plain = false,
    is_stream = fields.is_stream }, Source)
end

local function is_compressed(file)
  local begins = file:read(#GZIP)
  file:seek("set", 0)
  return begins == GZIP
end

local STREAMS = { ["named pipe"] = true, ["char device"] = true }

-- A stream can be read only once, so it is not inspected before: zlib tells text from compressed text.
local function open_stream(path)
  if core.can_inflate() then return inflated(path, { is_stream = true }) end
  return setmetatable({ path = path, file = path == "-" and io.stdin or open_plain(path), is_plain = false,
    is_stream = true }, Source)
end

-- A pipe that has a name waits for whoever may write it, and takes what he writes. Those without a name, as /dev/stdin
-- under sudo, were handed to us.
local function is_of_another(path, facts)
  local real = core.real_path(path)
  return facts.mode == "named pipe" and facts.uid ~= core.uid() and not (real and real:find "pipe:%[")
end

--- Opens a result file's text. Raises an error object.
---@param path string "-": standard input
---@return pmclua.store.Source
function M.open(path)
  if path == "-" then return open_stream(path) end
  local status, code, number = core.stat(path)
  if not status then refuse("open", path, code, number) end
  local facts = require("lfs").attributes(path) or {}
  if is_of_another(path, facts) then
    refuse("open", path, "it is a named pipe of another user", nil, "let a shell read it: pmclua … - <PIPE")
  end
  if STREAMS[facts.mode] then return open_stream(path) end
  if facts.mode == "directory" then
    refuse("open", path, "it is a folder; only a job's is read, and alone")
  end
  if facts.mode ~= "file" then refuse("open", path, "it is not a plain file") end
  local file = open_plain(path)
  if is_compressed(file) then
    file:close()
    return inflated(path, { is_stream = false })
  end
  return setmetatable({ path = path, file = file, is_plain = true, is_stream = false }, Source)
end

return M
