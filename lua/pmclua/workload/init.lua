--- workload/: what is measured. One interface:
--
--   workload.name, .kind ("command", "kernel", "function"), .per ("run" or "iteration")
--   workload:problem(levels, session) -> error object or nil    what can be seen before running
--                                        nil, compiled          of a kernel: for `define`
--   workload:define(message, levels, options)                   its definition for the runner
--   workload:complaint(result) -> text or nil                   what ended a repetition badly
-- and for what runs in this process (in_process): open_groups, measure, close_groups.

local command = require "pmclua.workload.command"
local lists = require "pmclua.base.lists"

local workload = {}

local function class_of(value)
  local class = type(value) == "table" and getmetatable(value)
  return class and class.kind and class
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

--- A workload of what a script may write: a command string or list, a workload object, a Lua function.
---@param value any
---@param name? string shown instead of its own name
---@return table? workload nil: it is none
---@return string? why
function workload.from(value, name)
  if type(value) == "string" or (type(value) == "table" and not class_of(value)
    and type(value[1]) == "string") then
    local ok, parsed = pcall(command.new, value)
    if not ok then return nil, (tostring(type(parsed) == "table" and parsed.message or parsed)) end
    value = parsed
  elseif type(value) == "function" then
    value = require("pmclua.workload.func").new(value)
  elseif not class_of(value) then
    return nil, "a workload must be a command string, pmc.command, pmc.kernel, pmc.call or a function, not a "
      .. type(value)
  end
  return name and workload.renamed(value, name) or value
end

return workload
