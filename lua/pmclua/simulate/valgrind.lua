--- valgrind.lua: Valgrind itself: where it is, which version, why it cannot run something.
--
-- Debian's `valgrind` is a shell script that sets variables, which every program then copies and searches: what it
-- starts is taken instead.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local packages = require "pmclua.base.packages"
local tools = require "pmclua.host.tools"

local M = {}

local INSTALL = "Valgrind is not installed: " .. packages.install "Valgrind"

--- The path of Valgrind's own executable.
---@return string? path
---@return string? why there is none
function M.path()
  local path = tools.find "valgrind"
  if not path then return nil, INSTALL end
  if core.read_beginning(path, 2) ~= "#!" then return path end
  local real = path .. ".bin"
  if core.stat(real) then return real end
  return nil, ("%s is a script, and there is no %s that it could start"):format(path, real)
end

local versions = {}

--- Its version, "3.19.0"; "unknown" where it does not say.
---@param path string
---@return string
function M.version(path)
  versions[path] = versions[path] or tools.read(path, { "--version" }):match "valgrind%-(%S+)" or "unknown"
  return versions[path]
end

--- Raises an error object where there is no Valgrind.
---@return string path
function M.need()
  local path, why = M.path()
  if path then return path end
  error(explain.problem { code = "ENOENT", operation = "simulate",
    message = "cannot simulate events: " .. why }, 0)
end

return M
