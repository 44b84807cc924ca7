#!/usr/bin/env pmclua
-- Runs busted specs inside pmclua.
--
-- usage: pmclua tests/support/specs.lua LABEL [FILE | FOLDER | --busted-option]…
--   LABEL appears in the line of totals. Without files, runs all of tests/spec.
-- exit: 0 if nothing failed
--
-- HOME, TMPDIR and the like point to a folder of this run's own, removed at its end, so the user's own
-- settings do not affect the tests.

local here = arg[0]:match "^(.*)/" or "."
local program = dofile(here .. "/program.lua")
require("pmclua.public").provide "pmclua.report.methods"
local support = require "tests.support"

local SETTINGS = { "PMCLUA_PATH", "PMCLUA_LIB", "PMCLUA_RUNNER", "SYSFS_PATH", "XDG_DATA_HOME",
  "XDG_STATE_HOME", "XDG_CACHE_HOME", "NO_COLOR", "COLUMNS" }

--- The environment of a run: everything that follows HOME and TMPDIR is in its folder.
local function environment(folder)
  os.execute(("mkdir %s/home && mkdir -m 1777 %s/tmp"):format(folder, folder))
  -- The lab is built once for its user, not for each run.
  local cache = os.getenv "XDG_CACHE_HOME" or (os.getenv "HOME" or "/root") .. "/.cache"
  local variables = { HOME = folder .. "/home", TMPDIR = folder .. "/tmp",
    PMCLUA_LAB_CACHE = os.getenv "PMCLUA_LAB_CACHE" or cache .. "/pmclua/lab" }
  for _, name in ipairs(SETTINGS) do variables[name] = false end
  return variables
end

local function busted_arguments(words)
  local label = table.remove(words, 1) or "specs"
  local options = { [0] = "busted", "--config-file=" .. support.root .. "/.busted", "--ignore-lua",
    "--shuffle", "--output=" .. support.root .. "/tests/support/output.lua", "-Xoutput", label }
  local files = 0
  for _, word in ipairs(words) do
    if not word:find "^%-" then files = files + 1 end
    table.insert(options, word)
  end
  if files == 0 then table.insert(options, support.root .. "/tests/spec") end
  return options
end

return program.run(function(folder)
  _G.arg = busted_arguments(arg)
  return support.with_env(environment(folder), function()
    assert(loadstring(support.TMPNAME_IN_TMPDIR))()
    -- Where a test failed, busted raises nil.
    local ok, problem = pcall(require "busted.runner", { standalone = false })
    if problem then error(problem, 0) end
    return ok and 0 or 1
  end)
end)
