--- program.lua: what every program of tests/ starts with. `require "tests.…"` finds this tree, lines are
-- printed immediately, and temporary files are in a folder of the program's own, which is removed however the
-- program ends.
--
-- It is loaded by path, before `require` knows this tree: dofile(FOLDER .. "/support/program.lua")

local path = require "pl.path"

local root = path.normpath(path.abspath(debug.getinfo(1, "S").source:sub(2)) .. "/../../..")
package.path = ("%s/?.lua;%s/?/init.lua;%s"):format(root, root, package.path)
io.stdout:setvbuf "line"

local support = require "tests.support"

local M = {}

--- Where files cost least: in memory, where there is such a place.
M.MEMORY = support.exists "/dev/shm" and "/dev/shm" or nil

--- Runs `main` with TMPDIR a folder of its own.
---@generic Status
---@param main fun(folder: string): Status
---@param place? string the folder that it is made in
---@return Status status what `main` returns; raises what it raises
function M.run(main, place)
  local folder = support.with_env({ TMPDIR = place or os.getenv "TMPDIR" or false }, support.folder)
  local ok, status = pcall(support.with_env, { TMPDIR = folder }, function() return main(folder) end)
  local quoted = support.quote(folder)
  -- Folders that may not be written in are few, the files of a run are many thousand.
  os.execute(("rm -rf %s 2>/dev/null || { chmod -R u+w %s; rm -rf %s; }"):format(quoted, quoted, quoted))
  if not ok then error(status, 0) end
  return status
end

return M
