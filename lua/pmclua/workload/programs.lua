--- programs.lua: the programs that an experiment starts, for events that name a symbol of theirs.

local lists = require "pmclua.base.lists"
local workload = require "pmclua.workload"

local M = {}

-- The path of a workload's program; nil and why it is not known in advance.
local function program_of(item)
  local command = workload.from(item)
  if not command or not command.program then
    return nil, "a symbol's address is known beforehand only for commands: give the address"
  end
  if command.argv[1]:find "{" then return nil, "which program runs depends on a factor: give the address" end
  local path = command:program()
  if not path then return nil, ("there is no program '%s'"):format(command.argv[1]) end
  return path
end

--- The programs of the workloads that a script declares, checked or not.
---@param declared any as the script has it
---@return fun(): string[]?, string? for pmclua.event.symbol.in_programs
function M.of(declared)
  return function()
    local is_list = type(declared) == "table" and not getmetatable(declared)
    local paths = {}
    for _, item in pairs(is_list and declared or { declared }) do
      local path, why = program_of(item)
      if not path then return nil, why end
      paths[#paths + 1] = path
    end
    return lists.unique(paths)
  end
end

return M
