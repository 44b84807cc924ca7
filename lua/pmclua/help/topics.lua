--- topics.lua: what pmc.help knows: each public name in one sentence, with an example that runs as it is.

return {
  { "measure", "measures one workload: a command, a workload object or a Lua function; returns a result",
    [[pmc.measure("ls /", { events = { "page-faults", "task-clock" }, repetitions = 5 })]] },
  { "compare", "measures several workloads interleaved, and compares them with the first; returns a result",
    [[pmc.compare("ls /", "ls -l /", { repetitions = 10 })]] },
  { "experiment", "declares an experiment, checked whole; a script returns it, the prompt calls :run()",
    [[pmc.experiment { workloads = { "true", "ls /" }, events = "page-faults", repetitions = 3 }:run()]] },
  { "command", "a workload: a command run without a shell, counted from exec to exit, children in",
    [[pmc.measure(pmc.command { "sort", stdin = "/etc/passwd", env = { LC_ALL = "C" } })]] },
  { "kernel", "a workload: a C function called in a hot loop, counted per iteration",
    [[pmc.measure(pmc.kernel { symbol = "spin", code = [=[
  #include "pmclua_kernel.h"
  void spin(void *state, uint64_t iterations) {
    (void)state;
    for (uint64_t i = 0; i < iterations; i++) pmclua_keep(i);
  }
]=] })]] },
  { "call", "a workload: any C function by its declaration, counted per call",
    [[pmc.measure(pmc.call { declaration = "int getppid(void)" })]] },
  { "buffer", "an argument of pmc.call: an array of C values, filled as asked",
    [[pmc.buffer { "int32_t", count = 1024, fill = "random" }]] },
  { "snippet", "a workload: a line of assembly or C, unrolled in a loop, counted per execution",
    [[pmc.measure(pmc.snippet { c = "pmclua_keep(0);" })]] },
  { "group", "counts events around Lua code in this process",
    [[pmc.group({ "page-faults", "task-clock" }):count(function() return ("x"):rep(1e6) end)]] },
  { "self", "who is counted: this thread, and what it starts", [[pmc.self()]] },
  { "pid", "who is counted: a process, all its threads", [[pmc.pid(1)]] },
  { "thread", "who is counted: one thread", [[pmc.thread(1)]] },
  { "cpus", "who is counted: everything on some CPUs", [[pmc.cpus "0"]] },
  { "system", "who is counted: everything on all CPUs", [[pmc.system()]] },
  { "cgroup", "who is counted: what runs in a cgroup", [[pmc.cgroup "/"]] },
  { "open", "perf_event_open as it is, every attr field by its name in the ABI",
    [[pmc.open { type = 1, config = 2, disabled = 1, exclude_kernel = 1 }:read()]] },
  { "options", "declares a script's own options; their types come from the defaults",
    [[pmc.options { { "size", 1024, help = "elements" }, { "verbose", false } }.size]] },
  { "load", "reads stored results back as one result",
    [[pmc.load "/path/of/a/result.jsonl"]] },
  { "events", "parses, explains and lists events",
    [[pmc.events.parse "cycles:u"]] },
  { "metrics", "parses formulae over counts, and lists those with a name",
    [[pmc.metrics.parse "ipc = instructions / cycles"]] },
  { "stats", "medians with intervals, ranks, lines: the numbers behind the reports",
    [[pmc.stats]] },
  { "machine", "facts about this machine: CPU, OS kernel, PMUs",
    [[pmc.machine()]] },
  { "version", "this pmclua's version, as text", [[pmc.version]] },
  { "help", "explains a public name, or lists them all",
    [[pmc.help "kernel"]] },
}
