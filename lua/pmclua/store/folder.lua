--- folder.lua: the default folder of results: names, the latest one, removal.
--
-- Invariant: only prune removes files, and never one that is being written.

local core = require "pmclua.core"
local paths = require "pmclua.host.paths"
local refuse = require("pmclua.store.failure").refuse

local M = {}

--- The folder in which experiments are stored unasked: $XDG_STATE_HOME/pmclua/results.
---@return string? nil where neither XDG_STATE_HOME nor HOME says
function M.folder()
  local state = paths.state()
  return state and state .. "/results"
end

--- A path in that folder that is not there yet; makes the folder (0700). Raises an error object.
---@param name string of the experiment
---@param number? integer of the names that it could have: the first by default
---@return string
function M.default_path(name, number)
  local folder = M.folder()
    or refuse("find", "a folder for results", "neither XDG_STATE_HOME nor HOME is set", nil,
    "name a file with --store FILE, or store nothing with --no-store")
  local is_there, code, errnum = paths.make(folder)
  if not is_there then refuse("make", folder, code, errnum) end
  local plain = name:gsub("[^%w._-]+", "-"):gsub("^[.-]+", ""):sub(1, 60)
  local stem = ("%s/%s-%s"):format(folder, os.date "!%Y%m%dT%H%M%SZ", plain == "" and "experiment" or plain)
  local again = number or 1
  local function path() return again == 1 and stem .. ".jsonl" or ("%s-%d.jsonl"):format(stem, again) end
  while core.stat(path()) do again = again + 1 end
  return path()
end

---@class pmclua.store.Entry
---@field path string
---@field name string file name
---@field bytes number
---@field modified number seconds since 1970

--- The stored results of the default folder, the newest first.
---@return pmclua.store.Entry[]
function M.list()
  local lfs, folder, entries = require "lfs", M.folder(), {}
  if not folder or lfs.attributes(folder, "mode") ~= "directory" then return entries end
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    local status = name:find "%.jsonl$" and lfs.symlinkattributes(path)
    if status and status.mode == "file" then
      entries[#entries + 1] = { path = path, name = name, bytes = status.size,
        modified = status.modification }
    end
  end
  table.sort(entries, function(a, b)
    if a.modified ~= b.modified then return a.modified > b.modified end
    return a.name > b.name
  end)
  return entries
end

--- The stored result that was written to last.
---@return string? path nil where there is none
function M.latest()
  local entry = M.list()[1]
  return entry and entry.path
end

local function remove_idle(path)
  local lines, code = core.lines(path, "resume")
  if not lines and code ~= "ENODATA" then return false end
  local removed = os.remove(path)
  if lines then lines:close() end
  return removed ~= nil
end

---@class pmclua.store.Prune
---@field keep? integer the newest that stay
---@field older_than? number seconds: only what was not written to for this long goes

--- Removes stored results from the default folder; those being written stay.
---@param options pmclua.store.Prune at least one of its fields
---@return pmclua.store.Entry[] removed
function M.prune(options)
  if not options or not (options.keep or options.older_than) then
    error("prune needs keep or older_than", 2)
  end
  -- time(2) can lag behind a file's fine-grained time by a tick (Linux 6.13 on): without an age every file counts.
  local limit = options.older_than and os.time() - options.older_than or math.huge
  local removed = {}
  for i, entry in ipairs(M.list()) do
    if i > (options.keep or 0) and entry.modified <= limit and remove_idle(entry.path) then
      removed[#removed + 1] = entry
    end
  end
  return removed
end

return M
