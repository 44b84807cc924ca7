#!/usr/bin/env pmclua
-- Runs busted specs inside pmclua.
--
-- usage: pmclua tests/support/specs.lua LABEL [FILE | FOLDER | --busted-option]…
--   LABEL stands in the line of totals; without files all of tests/spec is run.
-- exit: 0 when nothing failed

local path = require "pl.path"
local here = path.dirname(path.abspath(arg[0]))
local root = path.normpath(here .. "/../..")
package.path = ("%s/?.lua;%s/?/init.lua;%s"):format(root, root, package.path)

local label = table.remove(arg, 1) or "specs"
local options = { "--config-file=" .. root .. "/.busted", "--ignore-lua", "--shuffle",
  "--output=" .. here .. "/output.lua", "-Xoutput", label }
local files = 0
for _, word in ipairs(arg) do
  if not word:find "^%-" then files = files + 1 end
  table.insert(options, word)
end
if files == 0 then table.insert(options, root .. "/tests/spec") end

_G.arg = options
options[0] = "busted"
require "busted.runner" { standalone = false }
