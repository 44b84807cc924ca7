--- region_refusal.lua: why the probes of regions were refused, and what to do.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local machine = require "pmclua.host.machine"
local text = require "pmclua.base.text"

local M = {}

local RIGHTS = "probes need root, or CAP_SYS_ADMIN (before Linux 6.16 CAP_PERFMON): with that alone one "
  .. "thread is followed; threads and children also need a tracefs that this user may write to"

local ENOTSUPP = 524                -- the OS kernel's own: it has no name outside

local function refused_instruction()
  return "Linux refuses a probe on an instruction of one of these functions",
    "name them one by one to find it, and leave it out"
end

local rules = {}

function rules.probe(errnum, code)
  if errnum == ENOTSUPP then return refused_instruction() end
  if code == "EACCES" or code == "EPERM" then return "this user may not set probes", RIGHTS end
  if code == "ENOENT" and machine.unmounted() then return machine.unmounted() end
  if code == "ENOENT" then
    return "this Linux has no uprobe PMU", "it needs Linux 4.17 or later with CONFIG_UPROBE_EVENTS"
  end
  if code == "E2BIG" or code == "EINVAL" then
    return "Linux refuses so many probes in one group", "name fewer functions"
  end
  return core.errno_text(errnum)
end

function rules.definition(errnum, code)
  if code == "EINVAL" or code == "EILSEQ" or errnum == ENOTSUPP then return refused_instruction() end
  return core.errno_text(errnum) .. " while tracefs defined the probes"
end

function rules.ring(errnum, code)
  if code == "EPERM" or code == "ENOMEM" then
    return "no memory can be locked for rings", "raise it: sysctl kernel.perf_event_mlock_kb, ulimit -l"
  end
  return core.errno_text(errnum) .. " while a ring buffer was mapped"
end

function rules.target(errnum, code)
  if code == "ESRCH" then return "the process has ended" end
  return core.errno_text(errnum)
end

function rules.cpu(errnum)
  return "not every CPU that runs programs could be followed: " .. core.errno_text(errnum), "try again"
end

function rules.reading(errnum) return "the ring buffers could not be read: " .. core.errno_text(errnum) end

function rules.termination() return "the runner was killed" end

function rules.inherit()
  return "events of the uprobe PMU cannot be counted with threads and children",
    'threads = "one" (--one-thread) counts without them'
end

function rules.groups() return "regions are counted by one group, but these events form several" end

-- The runner has raised its limit as far as it may.
local function too_many_files()
  local _, hard = require("pmclua.core.processes").descriptor_limits()
  local cpus = #require("pmclua.host.topology").online()
  return ("on each of %s they take a descriptor for each event and probe, and 2; at most %s are allowed here")
    :format(text.plural(cpus, "CPU"), text.count(hard)),
    "name fewer functions or events, or raise the hard limit: ulimit -Hn"
end

--- The problem of a step that the runner could not do.
---@param step string "probe", "definition", "ring", …
---@param errnum integer
---@return pmclua.Problem
function M.problem(step, errnum)
  local code = core.errno_name(errnum)
  local rule, why, hint = code == "EMFILE" and too_many_files or rules[step], nil, nil
  if rule then why, hint = rule(errnum, code) end
  return explain.problem { code = code, operation = "probe", hint = hint,
    message = "cannot follow the regions: " .. (why or ("%s (%s)"):format(core.errno_text(errnum), step)) }
end

return M
