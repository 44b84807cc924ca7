--- tools.lua: signatures of what scripts need beside measuring: options, messages, help, facts.

return [==[

pmc.options(declaration: table) -> table
  Declares a script's own options, a list of { name, default, … }, and returns their values by name.
  raises a usage error for an invalid command line, which ends the script with exit status 2
  > pmc.options({ { "size", 1024, help = "elements" }, { "verbose", false } }).size

record option
  [1]: name -- with "-" in it; its field has "_"
  [2]: any -- the default, whose type is the option's
  type?: "string"|"number"|"integer"|"flag"|"list" -- default: the type of the default
  help?: string -- what it does
  value?: string -- what help calls its value
  short?: string -- one letter
  choices?: table -- the only values allowed
  by?: string -- of formats: the option that names a file, whose ending selects one where none is given
  many?: boolean -- true: several times, as a list
  argument?: boolean -- true: a word without "--"
  rest?: boolean -- true: all words from the first that belongs to no option

pmc.say(text: string)
  Prints a script's own warning or note on standard error, once.
  > pmc.say "no file is named: taking the last one"

pmc.fail(problem: any, how?: integer(0..255)|"command")
  Ends the running script with a message and an exit status: 1, 2 for a mistake on the command line, or `how`. "command"
  is for scripts that run one: 125, or 126 and 127 if it could not be executed.
  > pcall(pmc.fail, "there is no such file", 1)

pmc.output(to?: path|integer(1..2), mode?: "w"|"a", by_rank?: boolean) -> put: function
  Opens what a report goes to: a path, "-" or 1 for standard output, 2 for standard error. `put(text)` writes at
  once; of control characters only line ends, tabs and the colours of reports. Of the ranks of a launch each writes a
  file of its own, and rank 0 alone to the standard streams; by_rank: each of them, to what is named.
  raises an error, as `put` does, where not all of it can be written
  > pmc.output "-" "all is well\n"

pmc.outputs(files: outputs_files)
  Raises an error where a script could not write what it will have. Nothing is written or changed.
  > pmc.outputs { report = "-", store = os.tmpname() .. ".jsonl" }

record outputs_files
  report?: path -- of a report, or "-"
  store?: path -- of a new stored result
  plot?: path -- of a plot

pmc.help(name?: any)
  Prints what a public name, or a value at hand, is; without a name, all of them.
  raises an error for an unknown name
  > pmc.help "r:compare"

pmc.machine() -> table
  Facts about this machine, as in stored results: hostname, cpu, cpus, os_kernel, paranoid, pmus and more.
  > pmc.machine().cpu

value pmc.version = string
  The version of this pmclua.
  > pmc.version

namespace pmc.doctor
  What this machine can count, what stands in the way, and whether its counts are right.

pmc.doctor.examine() -> examination
  What this user can count here, and what prevents the rest.
  > print(pmc.doctor.examine().can_count)

pmc.doctor.findings(root: path, tried: findings_options) -> table[]
  The findings alone, for a machine whose files are in a folder: { name, state, value, said, commands, help }.
  > print(#pmc.doctor.findings("/", { has_pmu = false }))

record findings_options
  has_pmu: boolean

pmc.doctor.truths(each?: function) -> truths
  Counts things whose count is known.
  > print(pmc.doctor.truths().wrong)

pmc.doctor.overhead() -> overheads
  What measuring costs.
  > print(pmc.doctor.overhead())

pmc.doctor.topology(root?: path) -> topology
  How CPUs, caches and memory hang together, and what of them this process may use. `root`: a recorded /sys.
  > print(pmc.doctor.topology())

class topology topology
  A machine's parts, as sysfs has them. Prints as rows.
  cpus: table[] -- those online: cpu, socket, die, core, thread (1: the first of its core), node, kind
  offline: integer[]
  caches: table[] -- level, type, bytes, cpus
  nodes: table[] -- NUMA nodes: node, cpus, bytes, distances
  absent: table -- what sysfs does not say, and why
  allowed?: table -- of this process: cpus, nodes, and its cgroup's cpuset
  > topology = pmc.doctor.topology()

topology:object() -> table
  The same as plain data, for JSON.
  > print(require("dkjson").encode(topology:object()))

class examination examination
  What can be counted here. Prints as one screen.
  machine: table -- pmc.machine()'s facts
  kinds: table[] -- kinds of events, each tried: name, status, example, why, help, note
  pmus: table[] -- name, type, kind, cpus, events, counters
  findings: table[] -- name, state ("good", "limits", "blocks"), value, said, commands, help
  can_count: boolean -- anything at all
  > examination = pmc.doctor.examine()

examination:object() -> table
  The same as plain data, for JSON.
  > print(require("dkjson").encode(examination:object()))

class truths truths
  Counts of what is known, beside it. Prints as a table.
  list: table[] -- name, event, truth, expected, least, most, disturbed, repetitions, verdict, why
  tested: integer
  wrong: integer
  > truths = pmc.doctor.truths()

truths:object() -> table
  The same as plain data, for JSON.
  > print(require("dkjson").encode(truths:object()))

class overheads overheads
  What measuring costs. Prints as a table.
  list: table[] -- way, what, events, ns, below, why, counts
  hardware: boolean -- whether hardware events were measured with
  > overheads = pmc.doctor.overhead()

overheads:object() -> table
  The same as plain data, for JSON.
  > print(require("dkjson").encode(overheads:object()))
]==]
