--- events.lua: signatures of events and metrics.

return [==[

namespace pmc.events
  Parses, explains and lists events.

pmc.events.encode(spec: string, options?: event_options) -> event[]
  The events that a spec stands for.
  raises an error for an invalid spec, pointing at the position
  > print(pmc.events.encode("page-faults:u")[1].attr.config)

record event_options
  sysfs?: string -- a root instead of SYSFS_PATH or /sys
  tracefs?: string -- a root instead of TRACEFS_PATH or where tracefs is mounted
  symbol_address?: function -- (name) → address in the program to run, or nil and why not
  function_offset?: function -- (path, name) → offset in the file, or nil and why not

record event
  spec: string -- as asked
  name: string -- as shown
  field: string -- its name in formulae
  attr?: table -- perf_event_attr by ABI field names
  source: string -- "hardware", "software", "cache", "raw", "pmu", "tracepoint", "breakpoint", "probe", "pfm",
    "valgrind", "syscalls" or "tool"
  pmu?: string
  unit: string
  scale: number
  verified?: boolean -- false: nothing says that the PMU has the code
  ...: any

pmc.events.parse(spec: string, options?: event_options) -> events: event[]?, problem: table?
  The same as encode, or nil and the problem: message, position, length, hint.
  > print(pmc.events.parse "cycles:u")

pmc.events.format(event: event) -> spec: string
  A plain spec with the same encoding.
  > print(pmc.events.format(pmc.events.encode("page-faults")[1]))

pmc.events.format_list(events: event[]) -> spec: string
  A plain spec of several events.
  > print(pmc.events.format_list(pmc.events.encode "page-faults,task-clock"))

pmc.events.json(events: event[], spec: string) -> text: string
  One line, as `pmclua events --encode SPEC --json` prints it.
  > print(pmc.events.json(pmc.events.encode "page-faults", "page-faults"))

pmc.events.append(list: event[], events: event[])
  Adds the events of one spec to those of others.
  > local list = pmc.events.encode "page-faults"; pmc.events.append(list, pmc.events.encode "task-clock")

pmc.events.explain(spec: string, options?: event_options) -> table[]
  What each event counts, and whether it opens here: { event, counts, fields, notes, status, why, note }.
  > print(pmc.events.explain("page-faults")[1].status)

pmc.events.available(spec: string, is_sure?: boolean) -> boolean
  Whether it opens here. With is_sure only where the PMU is known to have it.
  > print(pmc.events.available "page-faults")

pmc.events.list(filter?: event_filter) -> table[]
  All events: { spec, name, source, pmu, description, present }.
  > print(#pmc.events.list { source = "software" })

record event_filter
  source?: name -- only this source
  pmu?: name -- only of this PMU or tracepoint system
  words?: string[] -- only where each is in the name or the description
  all?: boolean -- true: libpfm4's events for other machines, too
  available?: boolean -- true: only what opens here
  sysfs?: string -- a root instead of /sys
  tracefs?: string -- a root instead of where tracefs is mounted

pmc.events.find(words: string, filter?: event_filter) -> table[]
  Events whose name or description has all the words, the best matches first.
  > print(pmc.events.find("page fault")[1].spec)

pmc.events.silences(filter?: event_filter) -> string[]
  What list and find leave out because it cannot be read here, and why.
  > print(#pmc.events.silences())

pmc.events.nearest(word: string) -> name: string?
  The nearest name of an event.
  > print(pmc.events.nearest "page-fautls")

namespace pmc.metrics
  Parses formulae over counts, and lists the named metrics.

pmc.metrics.names() -> string[]
  The names of the metrics in groups' files: pmclua's, and the user's.
  > print(#pmc.metrics.names())

pmc.metrics.own_list() -> table[]
  The metrics in groups' files: { name, meaning }.
  > print(pmc.metrics.own_list()[1].meaning)

pmc.metrics.own(name: name) -> metric?
  The metric of a name that a group's file has.
  > print(pmc.metrics.own("ipc").formula)

pmc.metrics.named(name: name) -> metric?
  The metric of a name, pmclua's or the vendor's, with all events that asking for it brings.
  > print(pmc.metrics.named("ipc").formula)

pmc.metrics.find(name: name) -> metric?, why: string?
  The same with the metric's own events alone. Nil and why where the file that has it is wrong.
  > print(pmc.metrics.find("ipc").formula)

pmc.metrics.of_vendor(name: name) -> metric?
  The vendor's metric, also where pmclua has one of that name.
  > print(pmc.metrics.of_vendor "tma_retiring")

pmc.metrics.of_each_kind(metric: metric) -> metric[]?
  Of a hybrid CPU the metric of each kind of core; nil where there is one.
  > print(pmc.metrics.of_each_kind(pmc.metrics.own "ipc"))

pmc.metrics.group(name: name) -> string[]?
  The names of the metrics in a group, of a file or of the vendor.
  > print(pmc.metrics.group "TopdownL1")

pmc.metrics.of_group(name: string) -> metric[]?, why: string?
  The metrics of a group's file, by its name or by a path that ends in ".group"; nil and why where it is wrong.
  > print(pmc.metrics.of_group("BRANCH")[1].formula)

pmc.metrics.group_list() -> table[]
  The groups of files: { name, meaning, path }.
  > print(pmc.metrics.group_list()[1].meaning)

pmc.metrics.groups() -> string[]
  The names of all groups, of files and of the vendor.
  > print(#pmc.metrics.groups())

pmc.metrics.vendor_names() -> string[]
  All metrics of the vendor.
  > print(#pmc.metrics.vendor_names())

pmc.metrics.vendor_list() -> table[]
  The vendor's metrics: { name, meaning, groups }.
  > print(#pmc.metrics.vendor_list())

pmc.metrics.vendor_absent() -> string?
  Why there are no metrics of a vendor here.
  > print(pmc.metrics.vendor_absent())

pmc.metrics.restore(definition: table) -> metric?
  A metric from its `stored` data, without any table; nil where it is no such data.
  > print(pmc.metrics.restore {})

pmc.metrics.parse(text: string) -> metric?, problem: table?
  A metric, from a name or "name = formula [unit]"; or nil and the problem: message, position, hint.
  > print(pmc.metrics.parse("mpki = 1000 * cache_misses / instructions").name)

pmc.metrics.formula(text: string) -> formula: table?, problem: table?
  A formula, as `per` takes it; formula.evaluate(lookup) gives its value, or nil and why.
  > print(pmc.metrics.formula("n * n").evaluate(function() return 3 end))

pmc.metrics.condition(text: string) -> condition: table?, problem: table?
  A condition, as `reject_if` takes it.
  > print(pmc.metrics.condition("n > 2").evaluate(function() return 3 end))

pmc.metrics.comparison(text: string) -> comparison: table?, problem: table?
  A prediction, as `expect` takes it.
  > print(pmc.metrics.comparison("n == 3 +- 2%").operator)

pmc.metrics.limit(text: string) -> limit: table?, problem: table?
  A limit, as `gate` takes it.
  > print(pmc.metrics.limit("instructions <= +1%").relative)

type operator = "=="|"~="|"<"|"<="|">"|">="
  How two values are compared.

type operand = u64|string|boolean
  A value that can be compared.

pmc.metrics.holds(operator: operator, observed: operand, expected: operand, tolerance?: tolerance) -> boolean
  Whether a comparison holds.
  > print(pmc.metrics.holds("==", 102, 100, { value = 3, percent = true }))

record sums
  [name]: string[]

record tolerance
  value: number(0..)
  percent?: boolean

pmc.metrics.with_sums(metric: formula, parts: sums, kind?: "condition"|"comparison"|"limit") -> metric|formula
  A metric with names replaced by sums of others: { cycles = { "cpu_core_cycles", "cpu_atom_cycles" } }.
  > print(pmc.metrics.with_sums(pmc.metrics.own "ipc", { cycles = { "a", "b" } }).formula)

pmc.metrics.unknown(parsed: formula, known: string[]) -> table[]
  Problems: the names in a formula that are not known.
  > print(#pmc.metrics.unknown(pmc.metrics.own "ipc", { "cycles" }))

record formula
  formula: string
  source: string -- the text that positions are places in
  needs: string[] -- names in it
  places: table -- where each name stands first
  ...: any

record metric
  name: string
  formula: string
  unit: string -- "" for a plain number; "%": a share of 1
  meaning?: string
  events?: string[]
  variants?: table[]
  needs: string[] -- names in the formula
  evaluate: function
  description?: string -- of vendors' metrics, and:
  groups?: string[]
  parent?: string
  threshold?: table
  constraint?: string
  apart?: boolean
  table?: string
  stored?: table
  ...: any
]==]
