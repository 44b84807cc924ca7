--- init.lua: the public names, each loaded when first used.
--
-- `require "pmclua"` costs nothing but this table; `pmc.kernel` loads what kernels need.

local pmc = {}

require("pmclua.base.methods").provide "pmclua.report.methods"

-- name = { module, field }; without a field the module itself.
local PLACES = {
  options    = { "pmclua.cli.options", "declare" },
  experiment = { "pmclua.experiment", "declare" },
  measure    = { "pmclua.experiment", "measure" },
  compare    = { "pmclua.experiment", "compare" },
  why        = { "pmclua.why.collect", "why" },
  command    = { "pmclua.workload.command", "new" },
  kernel     = { "pmclua.workload.kernel", "new" },
  call       = { "pmclua.workload.call", "new" },
  buffer     = { "pmclua.workload.call", "buffer" },
  snippet    = { "pmclua.workload.snippet", "new" },
  group      = { "pmclua.counting.group", "new" },
  open       = { "pmclua.counting.open", "new" },
  self       = { "pmclua.counting.target", "self" },
  pid        = { "pmclua.counting.target", "pid" },
  thread     = { "pmclua.counting.target", "thread" },
  cpus       = { "pmclua.counting.target", "cpus" },
  system     = { "pmclua.counting.target", "system" },
  cgroup     = { "pmclua.counting.target", "cgroup" },
  topdown    = { "pmclua.experiment.topdown", "measure" },
  regions    = { "pmclua.experiment.regions", "measure" },
  where      = { "pmclua.experiment.where", "where" },
  targets    = { "pmclua.cli.targets" },
  monitor    = { "pmclua.monitor", "new" },
  machine    = { "pmclua.host.machine", "facts" },
  script     = { "pmclua.cli.call", "call" },
  say        = { "pmclua.cli.say", "say" },
  fail       = { "pmclua.cli.say", "fail" },
  outputs    = { "pmclua.cli.outputs", "check" },
  load       = { "pmclua.result.files", "load" },
  plot       = { "pmclua.report.plot", "plot" },
  stored     = { "pmclua.result.stored" },
  stats      = { "pmclua.stats" },
  metrics    = { "pmclua.metric" },
  events     = { "pmclua.event" },
  doctor     = { "pmclua.doctor" },
  help       = { "pmclua.cli.help", "print_topic" },
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
    local nearest = require("pmclua.base.text").nearest(tostring(name), names())
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
  return table.concat(require("pmclua.base.text").wrap(list, 78), "\n")
end

-- __fields: for completion, which pairs(pmc) cannot serve before everything is loaded.
return setmetatable(pmc, { __index = load_public, __tostring = shown, __fields = names,
  __places = PLACES })
