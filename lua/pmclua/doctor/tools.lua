--- tools.lua: programs and libraries that pmclua uses where they are, and what is missing without them.

local finding = require "pmclua.doctor.finding"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

-- Its purpose; how it is found; its packages by package manager.
local TOOLS = {
  { "a C compiler", "kernels, calls and snippets", program = "cc",
    apt = "gcc libc6-dev", dnf = "gcc glibc-devel", pacman = "gcc" },
  { "gnuplot", "plots", program = "gnuplot", apt = "gnuplot-nox", dnf = "gnuplot", pacman = "gnuplot" },
  { "libpfm4", "events by their vendors' names", library = "libpfm.so.4",
    apt = "libpfm4", dnf = "libpfm", pacman = "libpfm" },
  { "libdw", "functions and variables by name", library = "libdw.so.1",
    apt = "libdw1", dnf = "elfutils-libs", pacman = "libelf" },
  { "Capstone", "regions of functions, instructions, data", library = "libcapstone.so.4",
    apt = "libcapstone4", dnf = "capstone", pacman = "capstone" },
  { "libedit", "editing at the prompt", library = "libedit.so.2",
    apt = "libedit2", dnf = "libedit", pacman = "libedit" },
  { "Valgrind", "simulated counts", program = "valgrind",
    apt = "valgrind", dnf = "valgrind", pacman = "valgrind" },
  { "perf", "the vendor's events and metrics", program = "perf",
    apt = "linux-perf", dnf = "perf", pacman = "perf" },
  { "libdebuginfod", "debug files from servers", library = "libdebuginfod.so.1",
    apt = "libdebuginfod1", dnf = "elfutils-debuginfod-client-libs", pacman = "libdebuginfod" },
  { "zlib", "compressed results", library = "libz.so.1", apt = "zlib1g", dnf = "zlib", pacman = "zlib" },
  { "git", "commits: bisect and history", program = "git", apt = "git", dnf = "git", pacman = "git" },
  { "QEMU for Arm", "the lab", program = "qemu-system-aarch64",
    apt = "qemu-system-arm", dnf = "qemu-system-aarch64", pacman = "qemu-system-aarch64" },
}

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
  local missing = lists.where(TOOLS, function(tool) return not is_here(machine, tool) end)
  if #missing == 0 then return finding.good({}, "all tools", "every optional tool is here") end
  local names = lists.map(missing, function(tool) return ("%s (%s)"):format(tool[1], tool[2]) end)
  return finding.obstacle("limits", lists.column(missing, 1), "not installed: " .. text.list(names),
    command_for(machine, missing))
end

---@type { name: string, check: fun(machine: pmclua.doctor.Machine): table }[]
M.checks = { { name = "tools", check = tools } }

return M
