#!/usr/bin/env pmclua
-- Runs busted specs inside pmclua.
--
-- usage: pmclua tests/support/specs.lua LABEL [FILE | FOLDER | --busted-option]…
--   LABEL stands in the line of totals; without files all of tests/spec is run.
-- exit: 0 when nothing failed
--
-- HOME, TMPDIR and the like are a folder of this run's own, removed at its end; settings of whoever runs
-- it are not seen by the tests.

local ffi = require "ffi"
local path = require "pl.path"

ffi.cdef [[
int setenv(const char *name, const char *value, int overwrite);
int unsetenv(const char *name);
]]

local here = path.dirname(path.abspath(arg[0]))
local root = path.normpath(here .. "/../..")
package.path = ("%s/?.lua;%s/?/init.lua;%s"):format(root, root, package.path)

local SETTINGS = { "PMCLUA_PATH", "PMCLUA_LIB", "PMCLUA_RUNNER", "SYSFS_PATH", "XDG_DATA_HOME",
  "XDG_STATE_HOME", "XDG_CACHE_HOME", "NO_COLOR", "COLUMNS" }

--- The folder of this run, with everything that follows HOME and TMPDIR in it.
local function enter_folder()
  local pipe = assert(io.popen 'd=$(mktemp -d) && mkdir "$d/home" "$d/tmp" && chmod 755 "$d" && echo "$d"')
  local folder = pipe:read "*l"
  pipe:close()
  -- The lab is built once for its user, not for each run.
  local cache = os.getenv "XDG_CACHE_HOME" or (os.getenv "HOME" or "/root") .. "/.cache"
  ffi.C.setenv("PMCLUA_LAB_CACHE", cache .. "/pmclua/lab", 0)
  for _, name in ipairs(SETTINGS) do ffi.C.unsetenv(name) end
  ffi.C.setenv("HOME", folder .. "/home", 1)
  ffi.C.setenv("TMPDIR", folder .. "/tmp", 1)
  return folder
end

local function busted_arguments(words)
  local label = table.remove(words, 1) or "specs"
  local options = { [0] = "busted", "--config-file=" .. root .. "/.busted", "--ignore-lua", "--shuffle",
    "--output=" .. here .. "/output.lua", "-Xoutput", label }
  local files = 0
  for _, word in ipairs(words) do
    if not word:find "^%-" then files = files + 1 end
    table.insert(options, word)
  end
  if files == 0 then table.insert(options, root .. "/tests/spec") end
  return options
end

_G.arg = busted_arguments(arg)
local folder = enter_folder()
-- Where a test failed, busted raises nil.
local ok, problem = pcall(require "busted.runner", { standalone = false })
os.execute(("chmod -R u+w '%s'; rm -rf '%s'"):format(folder, folder))
if problem then error(problem, 0) end
return ok and 0 or 1
