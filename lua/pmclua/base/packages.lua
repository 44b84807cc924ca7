--- packages.lua: programs and libraries that pmclua uses where they are, and the packages that have them.

local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.Package
---@field [1] string its name
---@field [2] string what for
---@field program? string
---@field library? string file that the loader finds
---@field apt string packages, as each package manager calls them
---@field dnf string
---@field pacman string

---@type pmclua.Package[]
M.list = {
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

--- One of them.
---@param name string
---@return pmclua.Package
function M.named(name)
  return lists.find(M.list, function(package) return package[1] == name end) or error("no package " .. name)
end

--- The command that installs it on Debian.
---@param name string
---@return string
function M.install(name) return "apt-get install " .. M.named(name).apt end

-- Names in messages of libraries that belong to a larger package.
local CALLED = { libdw = "elfutils" }

--- "Capstone is not installed (apt-get install libcapstone4)".
---@param name string
---@param joint? string between both: ", which is not installed"
---@return string
function M.missing(name, joint)
  return ("%s%s (%s)"):format(CALLED[name] or name, joint or " is not installed", M.install(name))
end

return M
