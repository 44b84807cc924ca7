--- workload/init.lua: what is measured. One interface:
--
--   workload.name, .kind, and the facts of its kind (kinds.lua)
--   workload:problem(levels, session) -> error object or nil    what can be seen before running
--                                        nil, compiled          of a kernel: for `define`
--   workload:identity() -> list                                 equal where a stored result can be resumed
--   workload:facts(levels, how) -> table                        what is stored, so that others can run it again
--   workload:define(message, levels, options)                   its definition for the runner
--   workload:complaint(result) -> text or nil                   what ended a repetition badly
-- and for what runs in this process (in_process): open_groups, measure, close_groups. What only some kinds can do is a
-- method of theirs, of which callers ask whether it is there.

local command = require "pmclua.workload.command"
local lists = require "pmclua.base.lists"

local workload = {}

local function class_of(value)
  local class = type(value) == "table" and getmetatable(value)
  return class and rawget(class, "kind") and class
end

-- ---- what scripts see of a workload: its name and kind ----------------------------------------------------

local SELF = {}                 -- the workload itself, in what scripts see of it

local new_class = require("pmclua.public.class").new
local seen = { command = new_class("workloads", "command"), kernel = new_class("workloads", "kernel") }
local function text_of(shown) return tostring(rawget(shown, SELF)) end
for _, class in pairs(seen) do class.__tostring = text_of end

local function shown(made)
  return setmetatable({ name = made.name, kind = made.kind, [SELF] = made }, seen[made.kind])
end

-- For scripts, as pmc.command and so on.
function workload.command(words) return shown(command.new(words)) end
function workload.kernel(options) return shown(require("pmclua.workload.kernel").new(options)) end
function workload.call(options) return shown(require("pmclua.workload.call").new(options)) end
function workload.snippet(options) return shown(require("pmclua.workload.snippet").new(options)) end

-- ---- what may be one -----------------------------------------------------------------------------------

local make_command

-- A command of what stands in the place of one, checked as pmc.command does.
local function command_of(words)
  make_command = make_command
    or require("pmclua.public.call").checked("pmc.command", "workloads", command.new)
  local ok, made = pcall(make_command, words)
  if ok then return made end
  return nil, tostring(type(made) == "table" and made.message or made)
end

--- Whether any of them is launched; then all are, those that name no launcher as one task.
---@param workloads table[]
---@return boolean
function workload.are_launched(workloads)
  return lists.any(workloads, function(made) return made.launch ~= nil end)
end

--- The same workload under another name; the one that was given keeps its own.
---@param original table
---@param name string
---@return table
function workload.renamed(original, name)
  local copy = lists.copy(original)
  copy.name = name
  return setmetatable(copy, getmetatable(original))
end

--- The same workload in another folder: a command runs there, a kernel's files are looked for there.
---@param original table
---@param folder string absolute; {factor} in it stands for its level
---@param name? string
---@return table
function workload.within(original, folder, name)
  local placed = workload.renamed(original, name or original.name)
  if placed.move then placed:move(folder) end          -- a Lua function is where it is
  return placed
end

--- A workload of what a script may write: a command string or list, a workload object, a Lua function.
---@param value any
---@param name? string shown instead of its own name
---@return table? workload nil: it is none
---@return string? why
function workload.from(value, name)
  local is_table = type(value) == "table"
  local self = is_table and rawget(value, SELF)
  if self then
    name, value = name or value.name ~= self.name and tostring(value.name) or nil, self
  end
  if type(value) == "string" or is_table and not class_of(value) and type(rawget(value, 1)) == "string" then
    local made, why = command_of(value)
    if not made then return nil, why end
    value = made
  elseif type(value) == "function" then
    value = require("pmclua.workload.func").new(value)
  elseif not class_of(value) then
    return nil, "a workload must be a command string, pmc.command, pmc.kernel, pmc.call or a function, not a "
      .. type(value)
  end
  return name and workload.renamed(value, name) or value
end

return workload
