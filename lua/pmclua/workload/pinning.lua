--- pinning.lua: which CPUs, and in what order, "cores", "scatter:4", "S0:0-3@S1:0-3" or "0,2-3" mean here.
--
-- The words are likwid-pin's. Only CPUs that this process may use are named. The order says which thread gets
-- which: the i-th thread of a kernel the i-th CPU. Of a command, which starts threads by itself, the CPUs are a
-- set, and Linux moves its threads among them; behind "omp:" OpenMP's runtime keeps the order.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local parts = require("pmclua.base.lazy").module "pmclua.host.parts"
local text = require "pmclua.base.text"
local topology = require "pmclua.host.topology"

local M = {}

-- A reason why a text means nothing here; caught in M.cpus.
local function fail(form, ...) error({ why = form:format(...) }, 0) end

-- ---- orders of CPUs --------------------------------------------------------------------------------

local function before(a, b)
  for i = 1, #a do
    if a[i] ~= b[i] then return a[i] < b[i] end
  end
  return false
end

local function sorted_by(cpus, key)
  local keyed = lists.map(cpus, function(cpu) return { key = key(cpu), cpu = cpu } end)
  table.sort(keyed, function(a, b) return before(a.key, b.key) end)
  return lists.column(keyed, "cpu")
end

-- Neighbours follow each other: threads of a core, cores of a cache, a die, a node, a socket.
local function compact(cpus)
  return sorted_by(cpus, function(cpu)
    return { cpu.socket or 0, cpu.node or 0, cpu.die or 0, cpu.last_cache or 0, cpu.core_number, cpu.cpu }
  end)
end

-- The first thread of each core, then the second ones: likwid's numbers within a domain.
local function cores_first(cpus)
  local rank = {}
  for place, cpu in ipairs(compact(cpus)) do rank[cpu] = place end
  return sorted_by(cpus, function(cpu) return { cpu.rank, rank[cpu] } end)
end

local function scattered(domains)
  local order, place = {}, 1
  repeat
    local count = #order
    for _, domain in ipairs(domains) do order[#order + 1] = domain[place] end
    place = place + 1
  until #order == count
  return order
end

-- ---- the machine, as far as this process may use it ------------------------------------------------

-- Its CPUs with what their order needs: `core_number`, the first CPU of the core; `rank` in it; the last cache.
local function usable(machine, allowed)
  local may_use = allowed and lists.set(allowed)
  local cpus = lists.where(machine.cpus, function(cpu) return not may_use or may_use[cpu.cpu] end)
  local firsts, threads = {}, {}
  for _, cpu in ipairs(cpus) do
    local key = cpu.core or cpu
    firsts[key] = firsts[key] or cpu.cpu
    threads[key] = (threads[key] or 0) + 1
    cpu.core_number, cpu.rank = firsts[key], threads[key]
  end
  local deepest = 0
  for _, cache in ipairs(machine.caches) do deepest = math.max(deepest, cache.level) end
  for _, cache in ipairs(machine.caches) do
    for _, number in ipairs(cache.level == deepest and cache.cpus or {}) do
      local cpu = machine.by_cpu[number]
      if cpu then cpu.last_cache = cache.cpus[1] end
    end
  end
  return cpus
end

-- Domains by letter: what a CPU is in, and what sysfs lacks where it is in none.
local DOMAINS = {
  N = { of = function() return 0 end, name = "the node" },
  S = { of = function(cpu) return cpu.socket end, lacks = "sockets", name = "sockets" },
  D = { of = function(cpu) return cpu.die and ("%s.%d"):format(cpu.socket or 0, cpu.die) end, lacks = "dies",
    counted = true, name = "dies" },
  M = { of = function(cpu) return cpu.node end, lacks = "nodes", name = "NUMA nodes" },
  C = { of = function(cpu) return cpu.last_cache end, lacks = "caches", counted = true,
    name = "last caches" },
}

-- The parts of the machine with a letter: CPUs by label ("S0", "S1"), in the order of the labels.
local function domains_of(letter, cpus, absent)
  local domain = DOMAINS[letter]
  local domains = lists.groups(compact(cpus), domain.of)
  if #domains == 0 then fail("%s of CPUs are not known here: %s", domain.name, absent[domain.lacks] or "") end
  for place, group in ipairs(domains) do
    group.label = letter == "N" and "N" or letter .. (domain.counted and place - 1 or group.key)
  end
  return domains
end

local function domain_named(label, cpus, absent)
  local letter = label:sub(1, 1)
  if not DOMAINS[letter] then fail("'%s' names no part of a machine: N, S0, D0, M0 and C0 do", label) end
  local domains = domains_of(letter, cpus, absent)
  local named = lists.find(domains, function(group) return group.label == label end)
  if named then return named end
  fail("there is no %s among the CPUs that this process may use, only %s", label,
    text.list(lists.column(domains, "label")))
end

-- ---- the forms -------------------------------------------------------------------------------------

local function ids(cpus) return topology.format(lists.keys(lists.set(lists.column(cpus, "cpu")))) end

-- The first `count` of them; all without a count.
local function first_of(cpus, count, what)
  count = count and tonumber(count) or #cpus
  if count < 1 or count > #cpus then
    fail("%d is not possible: this process may use %s (CPUs %s)", count, text.plural(#cpus, what), ids(cpus))
  end
  return { unpack(cpus, 1, count) }
end

local function need_cores(absent)
  if absent.cores then fail("which CPUs share a core is not known: %s", absent.cores) end
end

local function spread(letter, cpus, absent)
  return scattered(lists.map(domains_of(letter, cpus, absent), cores_first))
end

local NAMED = {
  cores = function(cpus)
    return lists.where(compact(cpus), function(cpu) return cpu.rank == 1 end), "core"
  end,
  compact = function(cpus) return compact(cpus), "CPU" end,
  scatter = function(cpus, absent)
    local letter = not absent.nodes and "M" or not absent.sockets and "S" or "N"
    return spread(letter, cpus, absent), "CPU"
  end,
}

local function by_name(name, count, cpus, absent)
  need_cores(absent)
  local order, what = NAMED[name](cpus, absent)
  return first_of(order, count, what)
end

-- E:DOMAIN:THREADS[:CHUNK:STRIDE]: of neighbours, CHUNK of each STRIDE.
local function by_expression(label, count, chunk, stride, cpus, absent)
  need_cores(absent)
  local all, picked = compact(domain_named(label, cpus, absent)), {}
  chunk, stride = tonumber(chunk or 1), tonumber(stride or 1)
  if chunk < 1 or stride < chunk then
    fail("a chunk of %d does not fit into a stride of %d", chunk, stride)
  end
  for place, cpu in ipairs(all) do
    if (place - 1) % stride < chunk then picked[#picked + 1] = cpu end
  end
  return first_of(picked, count, "CPU")
end

local function by_domain(label, list, cpus, absent)
  local numbers, why = topology.parse(list)
  if not numbers then fail("%s", why) end
  local all = cores_first(domain_named(label, cpus, absent))
  return lists.map(numbers, function(number)
    if number < #all then return all[number + 1] end
    fail("%s has no CPU %d: %s that this process may use, counted from 0 (%s)", label, number,
      text.plural(#all, "CPU"), ids(all))
  end)
end

local function parsed(word, cpus, absent)
  local name, count = word:match "^(%l+):?(%d*)$"
  if NAMED[name] then return by_name(name, count ~= "" and count or nil, cpus, absent) end
  local label, threads, rest = word:match "^E:(%u%d*):(%d+)(.*)$"
  local chunk, stride = (rest or ""):match "^:(%d+):(%d+)$"
  if label and (rest == "" or chunk) then
    return by_expression(label, threads, chunk, stride, cpus, absent)
  end
  local letter, most = word:match "^([SDMC]):scatter:?(%d*)$"
  if letter then return first_of(spread(letter, cpus, absent), most ~= "" and most or nil, "CPU") end
  local domain, list = word:match "^(%u%d*):([%d,-]+)$"
  if domain then return by_domain(domain, list, cpus, absent) end
  fail("'%s' is not a list of CPUs such as \"0,2-3\", nor cores, scatter:4, compact:4, S0:0-3 or E:N:4",
    text.safe(word))
end

-- CPUs by their numbers, in the order in which they are written.
local function plain(list)
  local ok, code, _, cpu = core.check_cpus(list)
  if code == "ENODEV" then fail("there is no CPU %d to run on here", cpu) end
  if not ok then fail("'%s' is not a list of CPUs such as \"0,2-3\"", list) end
  local allowed, order = parts.allowed().cpus, {}
  for first, last in list:gmatch "(%d+)%-?(%d*)" do
    for number = tonumber(first), tonumber(last ~= "" and last or first) do order[#order + 1] = number end
  end
  local other = allowed and topology.without(order, allowed)[1]
  if other then fail("this process may not use CPU %d, only %s", other, topology.format(allowed)) end
  return lists.unique(order)
end

--- The CPUs that words mean on a machine, in their order. Raises { why = } where they mean none.
---@param words string
---@param machine pmclua.host.Parts
---@param allowed? integer[] nil: all
---@return integer[]
function M.order(words, machine, allowed)
  local cpus, order = usable(machine, allowed), {}
  for word in (words .. "@"):gmatch "([^@]*)@" do
    lists.append(order, lists.column(parsed(word, cpus, machine.absent), "cpu"))
  end
  return lists.unique(order)
end

local function resolved(asked)
  if asked:find "^[%d,-]+$" then return plain(asked) end
  return M.order(asked, parts.read(), parts.allowed().cpus)
end

--- The CPUs that a text means here, in its order; nil and why.
---@param asked string
---@return integer[]? cpus
---@return string? why
---@return boolean? by_openmp whether OpenMP's runtime is to place threads
function M.cpus(asked)
  local rest = asked:match "^omp:(.*)$"
  local ok, cpus = pcall(resolved, rest or asked)
  if ok then return cpus, nil, rest ~= nil end
  if type(cpus) ~= "table" or not cpus.why then error(cpus, 0) end
  return nil, cpus.why
end

local UNORDERED = "'%s' puts all CPUs in an order, and Linux moves a command's threads among all of them: "
  .. "say how many (%s:4), or omp:%s, by which OpenMP keeps the order"

--- Why a command or a kernel cannot be placed so; nil: it can.
---@param asked string
---@param threads? integer of a kernel; nil: a command
---@return string?
function M.problem(asked, threads)
  local cpus, why, by_openmp = M.cpus(asked)
  if not cpus then return why end
  local is_vague = not threads and (asked == "scatter" or asked == "compact")
  if is_vague then return UNORDERED:format(asked, asked, asked) end
  if threads and by_openmp then
    return "omp: is for commands; a kernel's threads are placed one by one without it"
  end
  if threads and asked:find "^cores" and threads > #cpus then
    return ("%s cannot have a core each: this process may use %s"):format(text.plural(threads, "thread"),
      text.plural(#cpus, "core"))
  end
end

--- The CPUs as the runner takes them: "0,4,1,5". Raises a problem where there are none.
---@param asked string
---@param threads? integer of a kernel; nil: a command
---@return string list
---@return boolean? by_openmp
function M.list(asked, threads)
  local why = M.problem(asked, threads)
  local cpus, _, by_openmp = M.cpus(asked)
  if cpus and not why then return table.concat(cpus, ","), by_openmp end
  error(require("pmclua.base.problem").problem { code = "EINVAL", operation = "prepare",
    message = "pin: " .. why, hint = "pmclua doctor --topology shows the CPUs" }, 0)
end

--- Where threads were put, in words: "scatter:4: 0,4,1,5".
---@param asked string
---@param threads? integer of a kernel; nil: a command
---@return string
function M.said(asked, threads)
  local list, by_openmp = M.list(asked, threads)
  local how = by_openmp and ", by OpenMP thread by thread"
    or not threads and ", its threads anywhere on them" or ""
  return (asked == list and list or ("%s: %s"):format(asked, list)) .. how
end

local OPENMP = { OMP_PLACES = true, OMP_PROC_BIND = true }

--- An environment in which OpenMP's runtime puts its i-th thread on the i-th CPU of a list.
---@param environment string[] "NAME=value"
---@param list string
---@return string[]
function M.openmp(environment, list)
  local kept = lists.where(environment, function(entry) return not OPENMP[entry:match "^[^=]*"] end)
  return lists.append(kept, { "OMP_PLACES=" .. (list:gsub("%d+", "{%0}")), "OMP_PROC_BIND=true" })
end

return M
