--- debuginfod.lua: debug information from the servers of DEBUGINFOD_URLS.
--
-- Invariant: a file is asked for once, and only by who will show what it has; all together take no longer than a
-- limit. What was asked and what came of it is said.

local core = require "pmclua.core"
local number = require "pmclua.base.number"
local packages = require "pmclua.base.packages"
local paths = require "pmclua.host.paths"
local symbols = require "pmclua.core.symbols"
local text = require "pmclua.base.text"

local M = {}

local MOST_SECONDS = 10

local left = MOST_SECONDS
local asked = {}                -- sentences, or false, by build id

local WHY = { ENOENT = "they have none", ETIMEDOUT = "no answer in time",
  ELIBACC = packages.missing "libdebuginfod" }

--- Whether the user names servers.
---@return boolean
function M.is_wanted() return (os.getenv "DEBUGINFOD_URLS" or "") ~= "" end

-- Whether libdebuginfod keeps files where nobody else can put others in their place.
local function is_cache_own()
  for _, name in ipairs { "DEBUGINFOD_CACHE_PATH", "XDG_CACHE_HOME", "HOME" } do
    local folder = os.getenv(name) or ""
    if folder ~= "" then return folder:sub(1, 1) == "/" and paths.accept(folder, name) end
  end
  return true
end

--- The file's functions, with debug information of the servers. Closes those that are given.
---@param list pmclua.core.Symbols of the file
---@return pmclua.core.Symbols? nil: no server is named, or none has it; `list` is as it was
---@return string? sentence what was asked and what came of it; nil: nothing was
function M.complete(list)
  local id = M.is_wanted() and list:build_id()
  if not id or asked[id] ~= nil then return nil, id and asked[id] or nil end
  if not is_cache_own() then
    return nil, "DEBUGINFOD_URLS: nothing is asked, as another user may change what is kept of the answers"
  end
  if left <= 0 then return nil, "DEBUGINFOD_URLS: no more is asked, as answers took too long" end
  local start = core.now_ns()
  local file, code = symbols.debug_file(id, left)
  local took = (core.now_ns() - start) / 1e9
  left = left - took
  local fetched = file and symbols.open(list.path, file)
  local outcome = fetched and "" or ": " .. (WHY[code] or code or "it cannot be read")
  asked[id] = ("the servers of DEBUGINFOD_URLS were asked for the debug information of %s, for %s%s"):format(
    text.safe(list.path), number.value(took * 1e9, "ns"), outcome)
  if fetched then list:close() end
  return fetched or nil, asked[id]
end

return M
