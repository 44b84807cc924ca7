--- tools.lua: programs and libraries that pmclua uses where they are, and what is missing without them.

local finding = require "pmclua.doctor.finding"
local lists = require "pmclua.base.lists"
local packages = require "pmclua.base.packages"
local text = require "pmclua.base.text"

local M = {}

local INSTALL = {
  { "apt", program = "apt-get", command = "sudo apt-get install " },
  { "dnf", program = "dnf", command = "sudo dnf install " },
  { "pacman", program = "pacman", command = "sudo pacman -S " },
}

local function is_here(machine, tool)
  if tool.program then return machine:has_program(tool.program) end
  return machine:can_load(tool.library)
end

local function command_for(machine, tools)
  for _, manager in ipairs(INSTALL) do
    if machine:has_program(manager.program) then
      return manager.command .. table.concat(lists.column(tools, manager[1]), " ")
    end
  end
end

local function tools(machine)
  local missing = lists.where(packages.list, function(tool) return not is_here(machine, tool) end)
  if #missing == 0 then return finding.good({}, "all tools", "every optional tool is here") end
  local names = lists.map(missing, function(tool) return ("%s (%s)"):format(tool[1], tool[2]) end)
  return finding.obstacle("limits", lists.column(missing, 1), "not installed: " .. text.list(names),
    command_for(machine, missing))
end

---@type { name: string, check: fun(machine: pmclua.doctor.Machine): table }[]
M.checks = { { name = "tools", check = tools } }

return M
