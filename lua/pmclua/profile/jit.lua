--- jit.lua: functions that a program made at run time, by the /tmp/perf-PID.map that it wrote: lines of address, size
--- and name, in hexadecimal.
--
-- A file in /tmp may be anybody's: only one that belongs to this user, or to root, is believed; and where the reader
-- says so, one of the user whose process it is.

local core = require "pmclua.core"
local mapped = require "pmclua.profile.mapped"

local M = {}

---@class pmclua.JitMap
---@field functions { start: number, bytes: number, name: string }[] by start
local Map = {}
Map.__index = Map

local MOST_BYTES = 2 ^ 28

local function parse(map_text)
  local list = {}
  for line in map_text:gmatch "[^\n]+" do
    local start, bytes, name = line:match "^0?x?(%x+) 0?x?(%x+) (.+)$"
    if start and #start <= 16 and tonumber(bytes, 16) then
      list[#list + 1] = { start = tonumber(start, 16), bytes = tonumber(bytes, 16), name = name,
        order = #list }
    end
  end
  -- Later code took the place of earlier code.
  table.sort(list, function(a, b)
    if a.start ~= b.start then return a.start < b.start end
    return a.order < b.order
  end)
  return list
end

local NOT_ASKED = "%s belongs to another user: it was not believed (--trust-maps: that of the process is)"
local STALE = "%s is older than that process: it was not believed"
local NOT_ITS_OWN = "%s does not belong to the user of that process, or it has ended: it was not believed"

-- Why a file of that owner is not to be believed; nil: it is.
local function doubt(owner, pid, trusts_processes)
  if owner == core.uid() or owner == 0 then return nil end
  if not trusts_processes then return NOT_ASKED end
  return owner ~= require("lfs").attributes("/proc/" .. pid, "uid") and NOT_ITS_OWN or nil
end

--- The map that a process wrote; nil: there is none, or it is not to be believed, and why.
---@param pid integer
---@param options? { folder?: string, trusts_processes?: boolean, began_ns?: number } folder: default /tmp;
---  trusts_processes: the user whose process it is is believed, too; began_ns: when the process did, by `core.now_ns`
---@return pmclua.JitMap?
---@return string? why
function M.open(pid, options)
  options = options or {}
  local path = ("%s/perf-%d.map"):format(options.folder or "/tmp", pid)
  local facts = core.stat(path)
  if not facts then return nil end
  local now = core.identity(path)
  local is_stale = now and now.written_ns + mapped.CLOCK_STEP_NS < (options.began_ns or 0)
  local why = is_stale and STALE or doubt(facts.uid, pid, options.trusts_processes)
  if why then return nil, why:format(path) end
  local content, problem = core.read_plain(path, MOST_BYTES, { owner = facts.uid })
  if not content then return nil, problem end
  return setmetatable({ functions = parse(content) }, Map)
end

--- The function at an address; nil: none.
---@param address number
---@return string?
function Map:find(address)
  local list, low, high = self.functions, 1, #self.functions + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if list[middle].start <= address then low = middle + 1 else high = middle end
  end
  local code = list[low - 1]
  return code and address < code.start + code.bytes and code.name or nil
end

return M
