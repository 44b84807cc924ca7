--- cache.lua: tables that were read before, in a private folder of the user's cache.
--
-- An entry is one file: what it was made of in its first line, then its text. One of another key, or in a folder that
-- others may write, is not used; one that cannot be written costs the time of reading the tables again.

local core = require "pmclua.core"
local paths = require "pmclua.host.paths"

local M = {}

local FORM = "pmclua vendor tables 8 "
local LARGEST = 64 * 1024 * 1024  -- bytes

--- The private folder of what is kept; nil or false: there is none.
---@return string|false|nil
function M.folder()
  local base = paths.cache()
  local path = base and base .. "/vendor"
  return path and paths.accept(path, "XDG_CACHE_HOME") and paths.make(path) and paths.private(path)
end

local function path_of(key)
  local at = M.folder()
  return at and ("%s/%s"):format(at, core.hash(key))
end

local function head_of(key) return FORM .. key:gsub("%c", " ") .. "\n" end

--- The text that was kept for a key; nil where there is none.
---@param key string
---@return string?
function M.load(key)
  local path, head = path_of(key), head_of(key)
  local text = path and paths.is_our_file(path) and core.read_plain(path, LARGEST, { owner = core.uid() })
  return text and text:sub(1, #head) == head and text:sub(#head + 1) or nil
end

--- Keeps a text for a key, if it can.
---@param key string
---@param text string
function M.keep(key, text)
  local path = path_of(key)
  if path then core.replace(path, head_of(key) .. text) end
end

return M
