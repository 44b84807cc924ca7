--- fixed.lua: simulated runs in which a program draws the same each time: simulation = { random = "fixed" }.
--
-- The runner starts Valgrind and answers in the OS kernel's place whoever asks for random numbers or the time of day
-- (core/runner/launching/fixed.c). It lists which of these were asked for; which functions of the C library did that is in
-- Valgrind's own files, where symbols tell.

local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local out_file = require "pmclua.simulate.out_file"
local paths = require "pmclua.host.paths"
local text = require "pmclua.base.text"

local M = {}

-- Functions of the C library that ask for random numbers.
local FUNCTIONS = { "getrandom", "getentropy", "arc4random", "arc4random_buf", "arc4random_uniform" }

--- The words before Valgrind's own.
---@param surroundings pmclua.Surroundings
---@param scratch pmclua.Scratch
---@return string[]
function M.words(surroundings, scratch)
  return surroundings.random == "fixed" and { paths.runner(), "fixed", scratch:list() } or {}
end

-- The name of a source: the functions that asked, where symbols tell.
local function names_of(source, files)
  local called = lists.where(source == "getrandom" and FUNCTIONS or {}, function(name)
    return lists.any(files, function(file) return out_file.has_function(file, { name }) end)
  end)
  return #called > 0 and called or { source }
end

local NOT_STARTED = "random=fixed takes Linux 5.9 or later and seccomp's notifications: they are refused here"
local NOT_FIXED = "random=fixed: %s could not be fixed: over 2 MB were read of it, or Linux does not let "
  .. "pmclua write into the program's memory"

-- The lines of the list; none: nothing was started.
local function lines_of(scratch)
  return lists.collect((machine.text(scratch:list()) or "!"):gmatch "[^\n]+")
end

--- The process that was started.
---@param scratch pmclua.Scratch
---@return integer?
function M.pid(scratch) return tonumber(table.concat(lines_of(scratch), "\n"):match "pid (%d+)") end

--- Why not all that a run drew was fixed; nil where it was, or was not to be.
---@param surroundings pmclua.Surroundings
---@param scratch pmclua.Scratch
---@return string?
function M.problem(surroundings, scratch)
  if surroundings.random ~= "fixed" then return nil end
  local missed = lists.find(lines_of(scratch), function(line) return line:find "^!" end)
  if not missed then return nil end
  return missed == "!" and NOT_STARTED or NOT_FIXED:format(missed:match "^! (.*)$")
end

local DRAWS = "%s draws from %s: fixed, as is AT_RANDOM, which the C library reads in every program"
local NOTHING = "%s draws from nothing but AT_RANDOM, which is fixed"

--- Says what of a run was fixed.
---@param context pmclua.SimulationContext
---@param scratch pmclua.Scratch
---@param name string of the workload
---@param files pmclua.OutFile[] that Valgrind wrote of it
function M.say(context, scratch, name, files)
  if context.surroundings.random ~= "fixed" then return end
  local sources = lists.joined(lists.map(lines_of(scratch), function(line)
    return not line:find "^pid " and names_of(line, files) or nil
  end))
  name = text.safe(name)
  context.remark(#sources == 0 and NOTHING:format(name) or DRAWS:format(name, text.list(sources)))
end

local VARIES = "counts of %s differ all the same: random=fixed leaves process ids, clocks since boot and of "
  .. "CPU time, /proc/sys/kernel/random/uuid, RDRAND and RDTSC as they are"

--- Says what the counts of a workload may have drawn from that differ though what is drawn is fixed.
---@param context pmclua.SimulationContext
---@param name string of the workload
function M.say_varies(context, name)
  if context.surroundings.random == "fixed" then context.remark(VARIES:format(text.safe(name))) end
end

return M
