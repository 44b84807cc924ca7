--- caller.lua: a program that makes a known number of system calls.

local support = require "tests.support"

local M = {}

--- The event that it makes happen.
M.CALLS = "syscalls:sys_enter_getppid"

local program

--- The path of fixtures/target/caller.c's program, built once.
---@return string
function M.program()
  program = program or support.build(support.folder() .. "/caller", "cc", "-O1",
    support.fixture "target/caller.c", "-lpthread")
  return program
end

--- The caller in the background: its pid, and functions that let it go on and end.
---@param threads integer that exist before it goes on
---@param calls integer of each thread
---@param before? string words of a command that runs it
---@return { pid: integer, go: fun(), finish: fun() }
function M.start(threads, calls, before)
  local file = support.folder() .. "/pid"
  local pipe = io.popen(("exec %s %s %d %d %s"):format(before or "", M.program(), threads, calls, file), "w")
  local running = { pid = tonumber(support.await_text(file, "^(%d+)\n")) }
  function running.go()
    pipe:write "go\n"
    pipe:flush()
    support.await_text(file, "done")
  end
  function running.finish() pipe:close() end
  return running
end

--- Skips where its calls cannot be counted.
function M.need()
  support.need(support.have "cc", "no C compiler")
  support.need(support.have_root() and support.have_tracefs(), "tracepoints count system calls, as root")
end

--- One field of each part of counts, behind the part's name.
function M.parts_of(counts, field)
  local list = {}
  for name, part in counts:parts() do list[#list + 1] = { name, part[field] } end
  return list
end

return M
