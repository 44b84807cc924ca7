--- idle_build.lua: a build command that did nothing: its programs are as they were, and may be older than their sources.
--
-- `make` takes a program whose files have not changed for made, whatever flags it is given: then layouts are one layout.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"

local M = {}

local SOURCES = lists.set { "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "S", "rs", "go", "zig", "f90", "d" }
local MOST_ENTRIES, DEEPEST = 5000, 6   -- of a folder that is looked through

--- Files that commands run, which a build may make: those that their words name.
---@param workloads table[]
---@param levels table
---@return table<string, any> when each file was changed, by path
function M.programs(workloads, levels)
  local paths = {}
  for _, workload in ipairs(workloads) do
    local program = workload.program and workload:program(levels)
    local named = lists.map(program and workload.argv or {}, function(word)
      return word:find "^/" and word or (workload.cwd or ".") .. "/" .. word
    end)
    for _, path in ipairs(lists.joined { { program or nil }, named }) do
      local facts = core.stat(path)
      if facts then paths[(path:gsub("/%./", "/"))] = facts.mtime_ns end
    end
  end
  return paths
end

-- The newest source in a folder: its path, and when it was changed.
local function newest_in(folder, deep, newest)
  local lfs = require "lfs"
  for _, name in ipairs(require("pmclua.host.machine").entries(folder) or {}) do
    local path = folder .. "/" .. name
    newest.entries = newest.entries + 1
    if newest.entries > MOST_ENTRIES then return end
    local mode = not name:find "^%." and lfs.symlinkattributes(path, "mode")
    if mode == "directory" and deep < DEEPEST then newest_in(path, deep + 1, newest) end
    local facts = mode == "file" and SOURCES[name:match "%.(%w+)$" or ""] and core.stat(path)
    if facts and (not newest.mtime_ns or facts.mtime_ns > newest.mtime_ns) then
      newest.path, newest.mtime_ns = path, facts.mtime_ns
    end
  end
end

--- A remark if a build left all programs as they were.
---@param workloads table[]
---@param levels table
---@param before table<string, any> of `programs`, before it
---@return string? nil: it made something
function M.said(workloads, levels, before)
  local after = M.programs(workloads, levels)
  local names = lists.keys(after)
  local is_made = lists.any(names, function(path) return before[path] ~= after[path] end)
  if is_made or not next(before) then return nil end
  local program = lists.find(names, function(path) return not path:find "^/usr/" end) or names[1]
  local newest = { entries = 0 }
  newest_in(program:match "^(.*)/[^/]*$", 1, newest)
  local is_older = newest.mtime_ns and newest.mtime_ns > after[program]
  return ("the build command did nothing: %s is as it was%s; layouts are all one (make -B makes all anew)")
    :format(program, is_older and ", older than " .. newest.path or "")
end

return M
