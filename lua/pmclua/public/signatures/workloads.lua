--- workloads.lua: signatures of what is run, and of who is counted.

return [==[

pmc.command(words: string|command_words) -> command
  A program with its arguments: a string, split into words without a shell, or a list of words with options. Counted per
  run, from exec to exit, with threads and children.
  > pmc.measure(pmc.command { "sort", stdin = "/etc/passwd" })

record command_words
  []: string|number
  name?: name -- shown in reports
  cwd?: path -- the folder to run in
  env?: command_environment -- variables to set, or to remove with false
  stdin?: path -- a file; default: /dev/null
  stdout?: "null"|"inherit"|"capture" -- default: "null"
  stderr?: "null"|"inherit"|"capture" -- default: as stdout
  shell?: boolean -- true runs a single string with /bin/sh
  launch?: string|string[] -- what starts it several times, as "srun -n {ranks}"; each is counted, and they are summed
  foreground?: boolean -- true lets the command read from the terminal

record command_environment
  [name]: string|number|false

class command command
  A command as a workload.
  name: string -- shown in reports
  kind: "command"
  > command = pmc.command "true"

pmc.kernel(options: kernel_options) -> kernel
  A C function `void symbol(void *state, uint64_t iterations)`, called in a hot loop and counted per iteration.
  raises the compiler's errors, when it is measured
  > pmc.measure(pmc.kernel { symbol = "spin", code = [=[
  >   #include "pmclua_kernel.h"
  >   void spin(void *state, uint64_t iterations) {
  >     (void)state;
  >     for (uint64_t i = 0; i < iterations; i++) pmclua_keep(i);
  >   }
  > ]=] })

record kernel_options
  symbol: name -- the name of its function
  name?: name -- shown in reports; default: the symbol
  source?: path -- a C file, relative to the script's folder
  code?: string -- C text
  library?: path -- a shared library
  params?: kernel_params -- constants for the kernel's setup, by name
  cc?: name -- the compiler; default: cc
  cflags?: string|string[] -- flags
  libs?: string|string[] -- libraries
  threads?: integer(1..100000)|name -- how many, or the name of a factor
  cpus?: name -- where to pin them, "0-3"
  stdout?: "null"|"inherit" -- default: "null"
  stderr?: "null"|"inherit" -- default: "null"

record kernel_params
  [name]: string|number

class kernel kernel
  A kernel, a call or a snippet as a workload.
  name: string -- shown in reports
  kind: "kernel"
  > kernel = pmc.snippet { asm = "nop" }

pmc.call(options: call_options) -> kernel
  Any C function, by its declaration, called once per iteration.
  raises the compiler's errors about the declaration, when it is measured
  > pmc.measure(pmc.call { declaration = "int getppid(void)" })

record call_options
  declaration: name -- as in C, such as "double cos(double x)"
  library?: name -- the shared library that has it
  headers?: string[] -- what to include, { "<math.h>" }
  args?: (u64|string|boolean|buffer)[] -- numbers, texts (C strings) and buffers
  name?: name -- shown in reports
  cflags?: string|string[] -- flags
  threads?: integer(1..100000)|name -- how many, or the name of a factor
  cpus?: name -- where to pin them, "0-3"

pmc.buffer(options: buffer_options) -> buffer
  An argument of pmc.call: an array of C values.
  > pmc.buffer { "int32_t", count = 1024, fill = "random" }

record buffer_options
  [1]: name -- the C type of an element
  count: integer(0..1e15)|name -- elements, or the name of a factor
  fill?: "zero"|"one"|"index"|"reverse"|"random"|number -- default: "zero"
  fresh?: boolean -- true: filled again before each measured call

class buffer buffer
  An array of C values, for the args of pmc.call.
  type: string
  count: integer|name
  fill: string|number
  fresh?: boolean
  > buffer = pmc.buffer { "int", count = 3 }

pmc.snippet(options: snippet_options) -> kernel
  A line of assembly or C, copied `unroll` times into a loop; counted per turn of the loop.
  raises the errors of the assembler or compiler, when it is measured
  > pmc.measure(pmc.snippet { c = "x += y", init = "int x = 1, y = 2" })

record snippet_options
  asm?: string -- a line of assembly, "add rax, rbx"
  c?: string -- or one of C, "x += y"
  init?: string -- code that runs once before the loop; it declares the variables of C code
  syntax?: name -- of x86 assembly, "intel" (default) or "att"
  unroll?: integer(1..100000)|name -- the number of copies; default: 100
  name?: name -- shown in reports
  cflags?: string|string[] -- flags
  cpus?: name -- where to pin it

pmc.self() -> target
  The thread that opens it.
  > pmc.self()

pmc.pid(pid: integer(1..2147483647)|name|pid_options) -> target
  A process with all its threads, and the threads and children that they start while it is counted.
  > pmc.pid(1)

record pid_options
  []: integer(1..2147483647)|name
  by?: "thread"|"process" -- divides the counts
  per?: old by

pmc.thread(tid: integer(1..2147483647)|name|thread_options) -> target
  Threads alone.
  > pmc.thread(1)

record thread_options
  []: integer(1..2147483647)|name
  by?: "thread" -- divides the counts
  per?: old by

pmc.cpus(cpus: integer(0..1000000)|name|cpus_options) -> target
  Everything that runs on some CPUs.
  > pmc.cpus "0"

record cpus_options
  []: integer(0..1000000)|name
  by?: "cpu"|"core"|"die"|"socket"|"node" -- divides the counts
  per?: old by

pmc.system(options?: system_options) -> target
  Everything that runs on all CPUs.
  > pmc.system()

record system_options
  by?: "cpu"|"core"|"die"|"socket"|"node" -- divides the counts
  per?: old by

pmc.cgroup(name: name|cgroup_options) -> target
  The tasks of a cgroup and of the cgroups below it.
  > pmc.cgroup "/"

record cgroup_options
  []: name
  cpus?: integer(0..1000000)|name -- on these CPUs alone, "0-3"
  by?: "cgroup"|"cpu"|"core"|"die"|"socket"|"node" -- divides the counts
  per?: old by

class target target
  Who is counted.
  kind: string -- "self", "process", "thread", "cpus", "system" or "cgroup"
  name: string
  by?: string -- what it is divided by
  > target = pmc.pid(1)

target:is_alive() -> boolean
  Whether any of its processes or threads still runs; true for CPUs and cgroups.
  > print(target:is_alive())

target:wait(seconds?: number(0..1e9)) -> what: "ended"|"signal"|"timeout", signal: integer?
  Waits until it has ended (CPUs and cgroups never do), a signal to end came, or the time has passed.
  > print(target:wait(0.01))

namespace pmc.targets
  For scripts that take a target on their command line, with perf's option letters.

pmc.targets.options(own: table) -> (table|string)[]
  A script's own options, followed by those of targets: -p -t -a -C -G and --per-….
  > print(#pmc.targets.options { { "verbose", false } })

pmc.targets.from(opt: table) -> target?
  The target that these options name, or nil if they name none.
  raises a usage error for options that cannot be combined
  > print(pmc.targets.from(pmc.options(pmc.targets.options {})))

pmc.targets.command(words: string[], launch?: string) -> command?
  The command that follows a script's options, with its words unchanged and pmclua's own standard streams; nil if
  there is none. launch: what starts it several times.
  > print(pmc.targets.command { "sleep", "1" })

pmc.targets.launch(opt: table) -> table?
  What --launch and --ranks say: { words = "srun -n {ranks}", factors = { { "ranks", { 1, 2 } } } }, or nil.
  raises a usage error for options that cannot be combined
  > print(pmc.targets.launch { launch = "srun -n 4" }.words)

pmc.targets.seconds(text: name, option: name) -> number
  Seconds of a time as perf's -I and -D have it: a bare number is milliseconds, "1s" says its unit.
  raises a usage error about the option
  > print(pmc.targets.seconds("100", "-I"))

old pmc.targets.milliseconds = pmc.targets.seconds
]==]
