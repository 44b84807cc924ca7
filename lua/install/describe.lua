--- describe.lua: what the scripts say of themselves and take, without running them past their options.
--
-- A script is loaded with a `require` of its own: there `pmclua` notes the options that are declared and
-- ends the script; whatever would measure ends it too.

local lists = require "pmclua.base.lists"
local options = require "pmclua.cli.options"
local script = require "pmclua.cli.script"

local M = {}

---@class install.Script
---@field name string
---@field path string
---@field header pmclua.Header
---@field own pmclua.Option[] the script's own
---@field common pmclua.Option[] those of every experiment that it takes too

-- Building a declaration needs these, and they do nothing yet.
local HARMLESS = { "command", "kernel", "call", "buffer", "snippet", "function", "self", "pid", "thread",
  "cpus", "system", "cgroup", "targets", "events", "metrics", "formats", "stats", "version", "machine",
  "doctor" }

local function stand_in(exit)
  local function declare(declaration)
    exit.declaration = declaration
    error(exit, 0)
  end
  return setmetatable({ options = declare, experiment = function() declare {} end },
    { __index = function(_, name)
    if lists.contains(HARMLESS, name) then return require("pmclua")[name] end
    return function() error(exit, 0) end
  end })
end

--- The options that a script declares before it does anything else.
---@param path string
---@return table declaration as pmc.options takes it
local function declaration_of(path)
  local exit = { status = 0 }            -- as after --help: scripts that catch errors let it through
  local pmc, scope = stand_in(exit), require("pmclua.base.scope").new()
  scope.require = function(name) return name == "pmclua" and pmc or require(name) end
  local ok, problem = pcall(setfenv(assert(loadfile(path)), scope))
  if not ok and problem ~= exit then error(("%s: %s"):format(path, tostring(problem)), 0) end
  return exit.declaration or { experiment = false }
end

---@param name string
---@param path string
---@return install.Script
function M.script(name, path)
  local own, common = options.describe(declaration_of(path))
  return { name = name, path = path, header = script.header(path), own = own, common = common }
end

--- All scripts of a folder, by name.
---@param folder string
---@return install.Script[]
function M.folder(folder)
  return lists.map(require("pmclua.host.machine").entries(folder), function(file)
    local name = file:match "^(.*)%.lua$"
    return name and M.script(name, folder .. "/" .. file)
  end)
end

--- "-r, --repeat N" as its parts.
---@param option pmclua.Option
---@return { short?: string, long: string, value?: string, help: string }
function M.option(option)
  local help = require "pmclua.cli.help"
  return { short = option.short and "-" .. option.short, long = "--" .. option[1],
    value = help.value_of(option), help = help.explanation(option) }
end

return M
