--- pmclua/init.lua: the public names, each loaded when first used, with its arguments checked.
--
-- `require "pmclua"` costs nothing but this table; `pmc.kernel` loads what kernels need.

local public = require "pmclua.public"

public.provide "pmclua.report.methods"

-- By topic of public/signatures/, name = { module, field }; without a field the module's functions.
local PLACES = {
  measuring = {
    experiment = { "pmclua.experiment", "declare" },
    measure    = { "pmclua.experiment", "measure" },
    compare    = { "pmclua.experiment", "compare" },
    why        = { "pmclua.why.collect", "why" },
    topdown    = { "pmclua.experiment.topdown", "measure" },
    where      = { "pmclua.experiment.where", "where" },
    script     = { "pmclua.cli.call", "call" },
  },
  regions = {
    regions    = { "pmclua.experiment.regions", "result" },
  },
  commits = {
    bisect     = { "pmclua.commits.bisect", "bisect" },
    commits    = { "pmclua.commits.factor", "new" },
    history    = { "pmclua.commits.history", "history" },
  },
  workloads = {
    command    = { "pmclua.workload", "command" },
    kernel     = { "pmclua.workload", "kernel" },
    call       = { "pmclua.workload", "call" },
    buffer     = { "pmclua.workload.call", "buffer" },
    snippet    = { "pmclua.workload", "snippet" },
    self       = { "pmclua.counting.target", "self" },
    pid        = { "pmclua.counting.target", "pid" },
    thread     = { "pmclua.counting.target", "thread" },
    cpus       = { "pmclua.counting.target", "cpus" },
    system     = { "pmclua.counting.target", "system" },
    cgroup     = { "pmclua.counting.target", "cgroup" },
    targets    = { "pmclua.cli.targets" },
  },
  counting = {
    group      = { "pmclua.counting.group", "new" },
    monitor    = { "pmclua.monitor", "new" },
    open       = { "pmclua.counting.open", "new" },
  },
  results = {
    load       = { "pmclua.result.files", "load" },
    import     = { "pmclua.result.imported", "import" },
    format     = { "pmclua.report", "add_format" },
    formats    = { "pmclua.report", "formats" },
    plot       = { "pmclua.report.plot", "plot" },
    stored     = { "pmclua.result.stored" },
  },
  tools = {
    options    = { "pmclua.cli.options", "declare" },
    say        = { "pmclua.cli.say", "say" },
    fail       = { "pmclua.cli.say", "fail" },
    output     = { "pmclua.host.output", "open" },
    outputs    = { "pmclua.cli.outputs", "check" },
    help       = { "pmclua.cli.help", "print_topic" },
    machine    = { "pmclua.host.machine", "facts" },
    version    = { "pmclua.core", "version" },
    doctor     = { "pmclua.doctor" },
  },
  events = {
    events     = { "pmclua.event" },
    metrics    = { "pmclua.metric" },
  },
  stats = {
    stats      = { "pmclua.stats" },
  },
}

return public.root("pmc", PLACES)
