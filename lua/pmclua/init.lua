--- init.lua: the public names, each loaded when first used.
--
-- `require "pmclua"` costs nothing but this table; `pmc.kernel` loads what kernels need.

local pmc = {}

-- name = { module, field }; without a field the module itself.
local PLACES = {
  options    = { "pmclua.options", "declare" },
  experiment = { "pmclua.experiment", "declare" },
  measure    = { "pmclua.experiment", "measure" },
  compare    = { "pmclua.experiment", "compare" },
  command    = { "pmclua.workload.command", "new" },
  kernel     = { "pmclua.workload.kernel", "new" },
  call       = { "pmclua.workload.call", "new" },
  buffer     = { "pmclua.workload.call", "buffer" },
  snippet    = { "pmclua.workload.snippet", "new" },
  group      = { "pmclua.group", "new" },
  open       = { "pmclua.open", "new" },
  self       = { "pmclua.target", "self" },
  pid        = { "pmclua.target", "pid" },
  thread     = { "pmclua.target", "thread" },
  cpus       = { "pmclua.target", "cpus" },
  system     = { "pmclua.target", "system" },
  cgroup     = { "pmclua.target", "cgroup" },
  regions    = { "pmclua.experiment.regions", "measure" },
  targets    = { "pmclua.target.options" },
  monitor    = { "pmclua.monitor", "new" },
  machine    = { "pmclua.machine", "facts" },
  script     = { "pmclua.script.call", "call" },
  say        = { "pmclua.script.say", "say" },
  fail       = { "pmclua.script.say", "fail" },
  load       = { "pmclua.experiment.result.files", "load" },
  plot       = { "pmclua.report.plot", "plot" },
  stored     = { "pmclua.stored" },
  stats      = { "pmclua.stats" },
  metrics    = { "pmclua.metric" },
  events     = { "pmclua.event" },
  doctor     = { "pmclua.doctor" },
  help       = { "pmclua.help", "print_topic" },
  version    = { "pmclua.core", "version" },
}

local function names()
  local list = {}
  for name in pairs(PLACES) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function load_public(_, name)
  local place = PLACES[name]
  if not place then
    local nearest = require("pmclua.text").nearest(tostring(name), names())
    local hint = nearest and (": did you mean 'pmc.%s'?"):format(nearest) or ""
    require("pmclua.explain").misuse(("pmc has no '%s'%s"):format(tostring(name), hint), 3)
  end
  local value = require(place[1])
  if place[2] then value = value[place[2]] end
  rawset(pmc, name, value)
  return value
end

--- Its names, all of them, loaded or not.
local function shown()
  local list = ("pmc: %s; pmc.help() explains them"):format(table.concat(names(), " "))
  return table.concat(require("pmclua.text").wrap(list, 78), "\n")
end

-- __fields: for completion, which pairs(pmc) cannot serve before everything is loaded.
return setmetatable(pmc, { __index = load_public, __tostring = shown, __fields = names,
  __places = PLACES })
