--- surroundings.lua: what a program that is simulated finds around it, the same on every machine unless the script says
-- otherwise: environment, signals, streams, CPU, core files, caches.
--
-- Invariant: what is fixed here and what a script changed of it is in the result's header.

local bit = require "bit"
local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local shellwords = require "pmclua.workload.shellwords"

local M = {}

-- The environment, in its order. Values that differ between machines would change counts: an environment variable
-- more takes about 500 instructions in every program.
local ENVIRONMENT = {
  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent",
  "LC_ALL=C", "PYTHONHASHSEED=0" }

-- Bytes, ways and bytes of a line of each simulated cache.
local CACHES = { I1 = "32768,8,64", D1 = "32768,8,64", LL = "8388608,16,64" }

-- ---- what scripts say ---------------------------------------------------------------------------------------

---@class pmclua.Surroundings
---@field environment "pinned"|"inherit"
---@field I1 string
---@field D1 string
---@field LL string
---@field signals "pinned"|"inherit"
---@field streams "pinned"|"inherit"
---@field cpu "pinned"|"inherit"
---@field random "fixed"|"inherit"

-- The values of each besides "inherit".
local CHOICES = { environment = "pinned", signals = "pinned", streams = "pinned", cpu = "pinned",
  random = "fixed" }

local function is_power_of_two(n) return n > 0 and bit.band(n, n - 1) == 0 end

-- Valgrind's limits on a cache: powers of two, lines of at least 16 bytes, one line per way at least.
local function cache_problem(value)
  local size, ways, line = tostring(value):match "^(%d+),(%d+),(%d+)$"
  size, ways, line = tonumber(size), tonumber(ways), tonumber(line)
  local is_cache = size and line >= 16 and is_power_of_two(line) and ways >= 1 and size % (ways * line) == 0
    and is_power_of_two(size / ways / line)
  if is_cache then return nil end
  return 'is "BYTES,WAYS,LINE" such as "32768,8,64", with a power of two of sets and of bytes in a line'
end

-- "D1=49152,12,64" and "environment=inherit", as a command line has them.
local function from_list(value, wrong)
  local map = {}
  for key, item in pairs(value) do
    local name, choice = key, item
    if type(key) == "number" then name, choice = tostring(item):match "^(%w+)=(.*)$" end
    if name then map[name] = choice else wrong("simulation: '%s' is not NAME=VALUE", tostring(item)) end
  end
  return map
end

--- The surroundings that a declaration asks for.
---@param declaration pmclua.Declaration
---@return pmclua.Surroundings
function M.of(declaration) return declaration.simulation or M.check(nil) end

--- The surroundings that a script asks for: { D1 = "49152,12,64", environment = "inherit" }.
---@param value any nil: all are pinned
---@param wrong? fun(form: string, ...) of a value
---@return pmclua.Surroundings
function M.check(value, wrong)
  local mine = { environment = "pinned", signals = "pinned", streams = "pinned", cpu = "pinned",
    random = "inherit" }
  for name, cache in pairs(CACHES) do mine[name] = cache end
  if value == nil then return mine end
  if type(value) ~= "table" then
    wrong('simulation must be a map such as { environment = "inherit" }, not a %s', type(value))
    return mine
  end
  for name, choice in pairs(from_list(value, wrong)) do
    if CACHES[name] then
      local problem = cache_problem(choice)
      if problem then wrong("simulation: the cache %s %s", name, problem) else mine[name] = choice end
    elseif not CHOICES[name] then
      wrong("simulation has no '%s'; it has environment, signals, streams, cpu, random, I1, D1 and LL",
        tostring(name))
    elseif choice ~= CHOICES[name] and choice ~= "inherit" then
      wrong('simulation: %s is "%s" or "inherit", not %s', name, CHOICES[name], tostring(choice))
    else
      mine[name] = choice
    end
  end
  return mine
end

-- ---- the program's ---------------------------------------------------------------------------------------------

-- A list of "NAME=value" with the script's own changes: in their place, or at the end by name.
local function changed(list, changes, levels)
  local out, left = {}, lists.copy(changes)
  local function add(name)
    local value = left[name]
    if value then out[#out + 1] = ("%s=%s"):format(name, shellwords.fill(tostring(value), levels)) end
    left[name] = nil
  end
  for _, entry in ipairs(list) do
    local name = entry:match "^([^=]*)="
    if changes[name] == nil then out[#out + 1] = entry else add(name) end
  end
  for _, name in ipairs(lists.keys(left)) do add(name) end
  return out
end

--- The whole environment of a command.
---@param surroundings pmclua.Surroundings
---@param env? table<string, string|false> the script's own
---@param levels table
---@return string[]
function M.environment(surroundings, env, levels)
  if surroundings.environment == "inherit" then return shellwords.environment(env or {}, levels) end
  return changed(ENVIRONMENT, env or {}, levels)
end

--- The CPUs that a simulated command runs on: the script's own, or the first that this process may run on; nil: any.
---@param surroundings pmclua.Surroundings
---@param pin? string the script's own
---@return string?
function M.cpus(surroundings, pin)
  local status = machine.text "/proc/self/status" or ""
  return pin or surroundings.cpu == "pinned" and status:match "Cpus_allowed_list:%s*(%d+)" or nil
end

local function yes(value) return value and "yes" or "no" end

--- Valgrind's options for what a pass simulates.
---@param surroundings pmclua.Surroundings
---@param simulated { cache: boolean, branch: boolean }
---@return string[]
function M.simulation_options(surroundings, simulated)
  -- Callgrind takes a cache's size as a wish to simulate caches: what is said last decides.
  local list = lists.map(simulated.cache and { "I1", "D1", "LL" } or {}, function(name)
    return ("--%s=%s"):format(name, surroundings[name])
  end)
  list[#list + 1] = "--cache-sim=" .. yes(simulated.cache)
  list[#list + 1] = "--branch-sim=" .. yes(simulated.branch)
  return list
end

-- Whether a stream would be a terminal, which programs write to in another way.
local function would_be_terminal(surroundings, choice, fd)
  return surroundings.streams == "pinned" and choice == "inherit" and core.is_terminal(fd)
end

-- A file on standard input is read from its beginning in every run.
local function input_of(surroundings, choice)
  if surroundings.streams ~= "pinned" or choice ~= "inherit" then return choice end
  if core.is_terminal(0) then return nil end
  local is_file = require("lfs").attributes("/proc/self/fd/0", "mode") == "file"
  return is_file and ("/proc/%d/fd/0"):format(core.pid()) or choice
end

--- The streams of a simulated command: what it would read from or write to a terminal is a pipe, or nothing.
---@param surroundings pmclua.Surroundings
---@param workload pmclua.Command
---@return { stdin: string?, stdout: string, stderr: string }
function M.streams(surroundings, workload)
  local out, err = workload.stdout or "null", workload.stderr or workload.stdout or "null"
  local input = input_of(surroundings, workload.stdin)
  if would_be_terminal(surroundings, out, 1) then out = "capture" end
  if would_be_terminal(surroundings, err, 2) or err == "null" then err = "capture" end
  return { stdin = input, stdout = out, stderr = err }
end

-- ---- what a header says of it ----------------------------------------------------------------------------------

-- The classes of x86 CPUs that Valgrind shows to programs, whatever the machine has beyond.
local CLASSES = { "avx2", "avx", "ssse3" }

local function cpu_class()
  local flags = (machine.text "/proc/cpuinfo" or ""):match "\nflags%s*:([^\n]*)"
  if not flags then return nil end
  local function has(flag) return (flags .. " "):find(" " .. flag .. " ", 1, true) end
  return lists.find(CLASSES, has) or "sse2"
end

-- The C library that this process has mapped, which commands have too unless they bring their own.
local function c_library()
  local maps = machine.text "/proc/self/maps" or ""
  local path = maps:match "(/%S*/libc%.so%.%d+)\n" or maps:match "(/%S*/libc%-[%d.]+%.so)\n"
    or maps:match "(/%S*/ld%-musl[^%s]*)\n"
  local text = path and machine.text(path)
  return text and core.hash(text), path and path:match "[^/]+$"
end

--- The surroundings that simulated counts depend on, for a result's header.
---@param surroundings pmclua.Surroundings
---@return table facts
function M.facts(surroundings)
  local valgrind = require "pmclua.simulate.valgrind"
  local path = valgrind.path()
  local facts = { valgrind = path and valgrind.version(path), cpu_class = cpu_class(), uid = core.uid() }
  facts.c_library_hash, facts.c_library = c_library()
  facts.loader_cache_hash = core.hash(machine.text "/etc/ld.so.cache" or "")
  for _, name in ipairs { "environment", "signals", "streams", "cpu", "random", "I1", "D1", "LL" } do
    facts[name] = surroundings[name]
  end
  facts.environment_hash = core.hash(table.concat(M.environment(surroundings, {}, {}), "\n"))
  return facts
end

return M
