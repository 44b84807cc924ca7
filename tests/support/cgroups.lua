--- cgroups.lua: cgroups made for a spec and removed after it.

local core = require "pmclua.core"
local support = require "tests.support"

local M = {}

--- Calls `fn` with the folders of new cgroups, one for each name; "a/b" is below "a", which comes first.
---@param names string[]
---@param fn fun(...: string)
function M.with(names, fn)
  local mount = require("pmclua.counting.target.cgroup").mount()
  support.need(mount, "no cgroups are mounted")
  support.need(support.have_root(), "making cgroups needs root")
  local folders = {}
  for i, name in ipairs(names) do
    folders[i] = ("%s/pmclua-test-%d-%s"):format(mount, core.pid(), name)
    if os.execute(("mkdir '%s' 2>/dev/null"):format(folders[i])) ~= 0 then
      for k = 1, i - 1 do os.execute(("rmdir '%s'"):format(folders[k])) end
      support.need(false, "cgroups cannot be made here")
    end
  end
  local ok, why = pcall(fn, unpack(folders))
  for i = #folders, 1, -1 do os.execute(("rmdir '%s'"):format(folders[i])) end
  if not ok then error(why, 0) end
end

return M
