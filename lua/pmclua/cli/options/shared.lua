--- shared.lua: options that several scripts and experiments have in the same words. pmc.options takes them by name.

local lists = require "pmclua.base.lists"

local M = {}

---@type pmclua.Option[]
local LIST = {
  { "vendor", many = true, value = "DIR", help = "a folder of vendors' events and metrics" },
  { "seed", type = "integer", value = "N", help = "seed of the random order" },
  { "simulate", false, help = "let Valgrind count, simulated, what cannot be opened here" },
  { "simulation", many = true, value = "NAME=V",
    help = "what surrounds simulated runs, e.g. random=fixed" },
  { "timeout", value = "T", help = "time limit of one run" },
  { "ignore-failure", false, short = "i", help = "keep runs that exit with a nonzero status" },
  { "shell", false, help = "run the commands with /bin/sh" },
  { "pin", value = "CPUS", help = "run on these CPUs: 0,2-3, cores, scatter:4, S0:0-3" },
  { "ranks", many = true, value = "LIST", help = "with --launch: values of {ranks} in it, e.g. 1,2,4" },
  { "store", value = "FILE", help = "store every repetition in this file" },
  { "note", many = true, value = "NAME=TEXT", help = "a note to store and show, e.g. commit=1a2b3c" },
  { "layouts", choices = { "shuffle" }, value = "HOW", help = "with --build: link again in other orders" },
  { "build-timeout", value = "T", help = "time limit of one build (default 1h)" },
  { "cache", value = "SIZE", help = "how much of the builds is kept (default 10GB)" },
  { "strict", false, help = "treat an undecided limit as failed" },
  { "any-host", false, help = "limits: accept another microcode or Linux version" },
  { "any-cpu", false, help = "limits: accept another CPU or architecture" },
  { "run-spread", value = "SHARE", help = "limits: spread between runs if only one is stored (times: 15%)" },
  { "budget", value = "T", help = "time that --why may take (default 2min)" },
  { "gate-output", value = "FILE",
    help = "write the gate's outcome: .json, .md, .html, .xml (JUnit), .sarif, or text" },
  { "output", short = "o", value = "FILE", help = "write the report to FILE, in the format of its ending" },
  { "show", many = true, value = "LIST", help = "quantities that tables show, in this order" },
  { "columns", value = "WHAT", help = "workload, or a factor: side by side, all in one table" },
  { "baseline", value = "CELL", help = "the cell to compare with: a workload, or n=256" },
  { "quiet", false, help = "show no progress" },
}

local by_name = lists.by(LIST, 1)

--- The declarations of a list, in which a text names one of these; other items are as they were given.
---@param declaration any a script's
---@return any
function M.resolved(declaration)
  if type(declaration) ~= "table" then return declaration end
  local list = lists.copy(declaration)
  for i, option in ipairs(declaration) do
    list[i] = by_name[option] and lists.copy(by_name[option]) or option
  end
  return list
end

return M
