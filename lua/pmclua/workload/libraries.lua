--- libraries.lua: the libraries that LD_PRELOAD, LD_AUDIT and LD_LIBRARY_PATH bring into a workload: those that it would
-- not have loaded from where it loads them without these variables.
--
-- Files are read, and nothing is run. Where a command is a script, they are those of its interpreter.

local core = require "pmclua.core"
local linked = require "pmclua.event.linked"
local lists = require "pmclua.base.lists"
local shellwords = require "pmclua.workload.shellwords"

local M = {}

M.VARIABLES = { "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH" }

local MOST_INTERPRETERS = 4             -- as in Linux

local EMPTIES = lists.set { "-", "-i", "--ignore-environment" }

-- How many words of env's own begin at one of its words; 0: the program does. What is preloaded stays: it is in env
-- itself.
local function apply_env(words, at, environment)
  local word = words[at] or ""
  local name, value = word:match "^([%a_][%w_]*)=(.*)$"
  if name then environment[name] = value end
  local is_unset = word == "-u"
  local unset = is_unset and words[at + 1] or word:match "^%-u(.+)" or word:match "^%-%-unset=(.*)"
  if EMPTIES[word] or unset == "LD_LIBRARY_PATH" then environment.LD_LIBRARY_PATH = nil end
  return is_unset and 2 or (name or unset or EMPTIES[word]) and 1 or 0
end

-- The command and environment of `env LD_PRELOAD=x.so ./program`.
local function through_env(command, words, environment)
  while words[1] and words[1]:match "[^/]*$" == "env" do
    local at, own = 2, apply_env(words, 2, environment)
    while own > 0 do
      at = at + own
      own = apply_env(words, at, environment)
    end
    words = { unpack(words, at) }
  end
  return words[1] and setmetatable({ argv = words }, { __index = command })
end

-- The file that Linux loads for a program: of a script its interpreter.
local function loaded_program(command, levels)
  local path = command:program(levels)
  for _ = 1, path and MOST_INTERPRETERS or 0 do
    local words = (core.read_beginning(path, 256) or ""):match "^#!%s*([^\n]*)"
    local first, second = (words or ""):match "^(%S+)%s*(%S*)"
    if not first then break end
    local name = first:match "[^/]*$" == "env" and second ~= "" and second or first
    path = setmetatable({ argv = { name } }, { __index = command }):program {} or first
  end
  return path
end

local function paths_of(program, cwd, library_path, preload)
  local closure = program and linked.of { program = program, cwd = cwd, library_path = library_path,
    preload = preload }
  return closure and closure:paths() or {}
end

-- A library preloaded by its path goes into every program started, whatever the first one loads.
local function preloaded_files(cwd, preload)
  return lists.map(lists.collect((preload or ""):gmatch "[^%s:]+"), function(name)
    local path = name:sub(1, 1) == "/" and name or cwd and cwd .. "/" .. name or name
    return name:find("/", 1, true) and core.stat(path) and path or nil
  end)
end

--- The paths of these libraries.
---@param program string?
---@param environment { LD_PRELOAD: string?, LD_AUDIT: string?, LD_LIBRARY_PATH: string? }
---@param cwd? string
---@return string[]
function M.brought(program, environment, cwd)
  local library_path = environment.LD_LIBRARY_PATH or ""
  -- An auditing library is looked for as a preloaded one is.
  local preload = ("%s:%s"):format(environment.LD_PRELOAD or "", environment.LD_AUDIT or "")
  if preload == ":" and library_path == "" then return {} end
  local usual = lists.set(paths_of(program, cwd))
  local all = lists.joined { preloaded_files(cwd, preload), paths_of(program, cwd, library_path, preload) }
  return lists.unique(lists.where(all, function(path) return not usual[path] end))
end

--- The same of a program in the environment of this process.
---@param program string
---@return string[]
function M.of_environment(program)
  local environment = {}
  for _, name in ipairs(M.VARIABLES) do environment[name] = os.getenv(name) end
  return M.brought(program, environment)
end

--- The same of a command.
---@param command pmclua.Command
---@param levels table
---@param is_alone? boolean it is not run in the environment of this process
---@return string[]
function M.of_command(command, levels, is_alone)
  local environment = {}
  for _, name in ipairs(M.VARIABLES) do
    local value = command.env and command.env[name]
    if value == nil then environment[name] = not is_alone and os.getenv(name) or nil
    elseif value then environment[name] = shellwords.fill(tostring(value), levels) end
  end
  local mine = through_env(command, shellwords.fill_all(command.argv, levels), environment)
  if not mine or not next(environment) then return {} end
  local cwd = command.cwd and shellwords.fill(command.cwd, levels)
  return M.brought(loaded_program(mine, levels), environment, cwd)
end

return M
