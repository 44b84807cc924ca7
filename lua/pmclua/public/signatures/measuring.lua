--- measuring.lua: signatures of what measures: experiments, and questions that are answered in one call.

return [==[

type workload = string|function|string[]|command_words|command|kernel
  What is run: a command (one string, split into words without a shell), pmc.command, pmc.kernel, pmc.call,
  pmc.snippet, or a Lua function.

pmc.measure(workload: workload, options?: {measure_options}) -> result
  Measures one workload, with 10 repetitions and 1 warm-up by default. Nothing is stored unless `store` names a file.
  raises what pmc.experiment and experiment:run raise
  > pmc.measure("ls /", { events = "page-faults,task-clock", repetitions = 5 })

pmc.compare(...: workload, options?: {measure_options}) -> result
  Measures several workloads interleaved, in 30 blocks by default, and compares them with the first.
  raises what pmc.measure raises
  > pmc.compare("ls /", "ls -l /", { repetitions = 10 })

record measure_options experiment_keys run_options

pmc.experiment(declaration: {experiment_keys}) -> experiment
  Declares an experiment. A script returns it; elsewhere call its methods.
  raises all mistakes of the declaration at once, each with the nearest valid word
  > pmc.experiment {
  >   workloads = { "true", "ls /" }, events = "page-faults", repetitions = 3,
  > }:run()

record experiment_keys
  question?: string -- what the experiment asks; printed above its report
  name?: string -- names the stored file; default: the script's name
  events?: spec|spec[] -- "label = spec" names one; default: those of perf stat
  metrics?: spec|spec[] -- names, a vendor's groups or formulae; their events are added
  workloads: workload|workload[]|table -- a list, or a map by name, of what is run
  factors?: table -- { { "n", { 256, 512 } }, … } or a map; {n} in texts of workloads is replaced by the level
  only_if?: string|function -- a condition on factors, or function(levels, workload): only cells for which it holds
  where?: old only_if
  per?: table -- { element = "n * n" }: a column with each event and time divided by this
  baseline?: string|table -- a workload's name, or a partial cell { n = 256 }, that the others are compared with
  control?: boolean -- true: the baseline runs twice; differences below this A/A noise floor are undecided
  primary?: string -- the event or metric that decides; default: the first event
  repetitions?: integer(1..1e9) -- default: 20, 30 with a baseline
  warmup?: integer(0..1e9) -- runs that are discarded before; default: 2
  iterations?: integer(1..)|integer[]|"fit" -- of a kernel in one repetition: a number, a list or "fit"
  processes?: integer(1..1e6) -- how many processes the repetitions of each kernel are divided among
  seed?: integer(0..) -- of the order; default: random
  passes?: "rerun"|"multiplex" -- what does not fit the PMU together gets passes of its own, or takes turns
  read?: "auto"|"syscall"|"user"|"toggle" -- how kernels are counted
  margin?: share|table -- "1%", or { "1%", instructions = "0.1%" }: the largest difference that counts as the same
  stop?: table|function -- { interval = "0.5%", repetitions = 200, time = "5min" }; or
    function(result), asked after each repetition of all cells: true ends the run
  reject_if?: string -- a condition on the counts of a repetition: where it holds, it is repeated, at most 20 times
  expect?: condition|condition[] -- predictions: "cycles == 3 +- 2%"; exit 3 where one fails
  fit?: name|table -- how quantities grow over a numeric factor: "n", or fit_keys
  gate?: condition|condition[] -- limits: "instructions <= +1%", "page_faults <= 5000"
  against?: string|table -- a workload or partial cell that relative limits refer to
  why?: boolean -- true: the cause of a limit that fails or is undecided is looked for
  notes?: table -- texts by name, stored and shown: { commit = "1a2b3c" }
  layout?: "fixed"|"randomise"|table -- where code and data lie; for commands { build = "make … {seed}",
    folders = where, shuffle = true: links again instead of {seed} }
  timeout?: duration -- of one repetition
  pin?: string -- CPUs to run on, "0,2-3"
  on_failure?: "stop"|"skip"|"keep" -- what to do with a failed repetition; default: "stop"
  simulate?: boolean -- true: Valgrind counts the hardware events that cannot be opened here
  simulation?: table -- what surrounds simulated runs: { environment = "inherit", D1 = "49152,12,64" }
  target?: target -- who is counted while a workload runs; default: the workload
  inherit?: boolean -- false: leaves out the threads and children that a command starts
  system_calls?: boolean -- true: traces the system calls of commands by name, in a pass of its own
  sample?: string|table -- events whose places are recorded, in passes of their own
  delay?: duration -- counting starts this long after the command does
  regions?: string|table -- "marks", or functions of a command that are counted separately
  setup?: workload -- run once before a cell; never counted
  prepare?: workload -- run before each repetition; never counted
  conclude?: workload -- run after each repetition; never counted
  cleanup?: workload -- run once after a cell; never counted

record fit_keys
  [1]: name -- the factor
  exponent?: number -- predicted of the primary quantity; exit 3 where the fitted one differs
  margin?: number(0..) -- exponents no further apart are the same; default: 0.1
  at?: number|number[] -- sizes to predict values at
  names?: name|name[] -- of events and metrics; default: all

class experiment e
  A checked declaration that can be run.
  > e = pmc.experiment { workloads = { "true" }, events = "page-faults", repetitions = 2 }

experiment:run(options?: run_options) -> result
  Runs the experiment. What ends it after the first repetition is in result.problem.
  raises an error if the first repetition cannot run
  > print(e:run { store = false, quiet = true })

record run_options
  store?: string|false -- the path of a new file; "-" is standard output; false: nothing is stored
  resume?: path -- a stored result: only its missing repetitions run
  quiet?: boolean -- true shows no progress
  each?: function -- called with every record, one repetition as it is stored
  any_host?: boolean -- true: also a result of another host is resumed
  any_cpu?: boolean -- true: also one of another CPU
  gate_with?: gate_options -- how the limits will be checked: as many simulated runs are made as decide them
  unless_same?: boolean -- true: nothing runs where all limits are relative to a copy of the same program

experiment:gate(result: result, options?: gated_options) -> gate
  Checks the limits of a run of it. A limit of times that fails is tried once more, with new processes and layouts.
  raises an error where nothing declares limits
  > local e = pmc.experiment { workloads = { "true" }, events = "page-faults", gate = "page_faults <= 1e5" }
  > print(e:gate(e:run { store = false, quiet = true }))

record gated_options gate_options
  quiet?: boolean -- true shows no notes

experiment:plan() -> text: string
  What would run: passes, cells and their order.
  > print(e:plan())

experiment:override(changes: override_keys) -> experiment
  The experiment as a command line changes it.
  > e = e:override { repetitions = 3 }

record override_keys
  events?: spec|spec[]
  repetitions?: integer(1..1e9)
  processes?: integer(1..1e6)
  warmup?: integer(0..1e9)
  baseline?: string|table
  against?: string|table
  notes?: string[]|table
  passes?: "rerun"|"multiplex"
  seed?: integer(0..)
  pin?: string
  timeout?: duration
  simulate?: boolean
  simulation?: string[]|table
  fit?: name|table
  set?: table -- levels by factor: { n = { 64, 128 } }

pmc.why(a: workload, b: workload, options?: why_options) -> why
  Measures what the difference between two workloads consists of, and says so in a sentence.
  raises what pmc.experiment and experiment:run raise
  > pmc.why("true", "ls /", { repetitions = 10, simulate = false, quiet = true })

record why_options
  budget?: duration -- how long it may take; default: 2 min
  repetitions?: integer(1..1e9) -- pairs; default: 30, or what fits
  events?: spec|spec[] -- more suspects
  simulate?: boolean -- false: nothing runs under Valgrind
  seed?: integer(0..) -- of the order
  warmup?: integer(0..1e9) -- default: 1
  pin?: string -- CPUs to run on
  timeout?: duration -- of one repetition
  on_failure?: "stop"|"skip"|"keep"
  layout?: "fixed"|"randomise"|table
  store?: string|false -- the path of a new file
  notes?: table -- texts by name
  quiet?: boolean -- true shows no progress

class why why
  What a difference between two cells consists of. Prints as its tables.
  a: cell
  b: cell
  n: integer -- pairs, or repetitions of each
  sentence: string -- the conclusion
  time?: ledger -- the first thread's time: in user space, in Linux, waiting for a CPU, off CPU
  ledger?: ledger -- what takes that time, each line in ns
  waits?: ledger -- what others of the command did while the first thread waited for them
  allocations: ledger[] -- blocks and bytes by the function that allocates them: exact; `of` has the event
  cycles?: ledger -- cycles or slots (`of` says which) by node of the vendor's tree
  others?: table -- CPU time of other threads and children, ns: { a, b }
  numbers?: table[] -- system calls of which only the number is known: `name`, `count` { a, b }
  margin: number -- a share: what differs by less is a trifle
  suspects: table[] -- what else differs: name, a, b, ratio, adjusted
  absent: table[] -- `what` was not measured, and `why`
  result: result
  plan?: table -- what pmc.why chose to measure, and what it left out
  > why = pmc.why("true", "ls /", { repetitions = 10, simulate = false, quiet = true })

why:report(options?: why_report_options) -> text: string
  The ledgers, the suspects and the sentence.
  > print(why:report { all = true })

record why_report_options shown_options
  all?: boolean -- true: lines that do not differ, too
  plots?: table -- of HTML

class ledger ledger
  A total as lines that add up, of A and of B against A.
  unit: string -- of all its numbers: "ns" or "" (counts)
  n: integer -- pairs
  n_b?: integer -- repetitions of B, where they are not paired
  paired: boolean
  lines: ledger_row[] -- what explains most first
  rest: ledger_row[] -- what no line has, by reason
  total: ledger_row
  comparisons: integer -- lines that were tested together
  few: integer -- lines that were joined as others
  grown?: table -- of where:callers() of two sides: which function makes the difference
  uncompared: table -- why functions with lines of some sources are one line each: a list of { why, sources }
  conclusion: table -- kind ("named", "spread", "none", "few", "one", "incomplete"), names (rows) and why
  > ledger = pmc.where("true", { event = "page-faults" }):ledger()

class ledger_row row
  One line of a ledger.
  label: string
  a: number -- mean of A
  b?: number -- mean of B
  a_sum: number -- of all repetitions
  b_sum?: number
  difference?: number -- B's mean less A's
  low?: number -- of the difference; of one side: of its median
  high?: number
  median?: number -- of one side
  share?: number -- of the total, or of the whole difference
  p?: number
  adjusted?: number -- p corrected for all lines
  verdict?: "more"|"fewer"|"same"|"skewed"|"undecided" -- skewed: only the signs of the pairs say that it differs
  > row = pmc.where("true", { event = "page-faults" }):ledger().total

pmc.topdown(...: workload|table, options?: {topdown_options}) -> topdown|topdown_plan
  Measures the vendor's top-down tree: where a program's issue slots go. Several workloads are compared with the first.
  raises what pmc.experiment and experiment:run raise
  > pmc.topdown("ls /", { repetitions = 2, quiet = true })

record topdown_options experiment_keys
  level?: integer(1..8) -- every node down to this level, whatever the thresholds say
  below?: name -- a node: measures it and its children, and then below those over their threshold
  cores?: name -- of a hybrid CPU the kind of core, "cpu_core" or "cpu_atom"
  quiet?: boolean -- true shows no progress
  plan?: boolean -- true measures nothing and returns what would be

class topdown t
  A top-down tree. Prints as its table.
  nodes: table[] -- name, level, parent, children; parents before children
  total?: table -- the event that nodes are shares of, as far as it was counted
  result: result -- which has every event and metric
  rounds?: integer -- how many there were
  > t = pmc.topdown("true", { repetitions = 2, quiet = true })

topdown:rows(cell: cell) -> rows: table[]
  For each node `node`, `summary`, `share` (of 1), `threshold` and `passed`.
  > print(t:rows(t:cells()[1])[1].node.name)

topdown:cells() -> cell[]
  The cells that the tree was measured in.
  > print(#t:cells())

topdown:is_over(name: name) -> boolean
  Whether a node is over its threshold in any cell.
  > print(t:is_over "retiring")

topdown:has_numbers(cell?: cell) -> boolean
  Whether any node has a number in the cell, by default in any.
  > print(t:has_numbers())

topdown:differences() -> differences: table[]?, why: string?
  For each cell and its baseline `total` and `rows`: node, a, b, difference, low, high, p, adjusted, share, verdict. Nil
  and why where nothing can be compared.
  > print(t:differences())

topdown:report(options?: shown_options) -> text: string
  The tree in a format: "table", "json", "csv", "markdown" or "html".
  > print(t:report { format = "markdown" })

topdown:plot(options?: picture_options) -> plot
  The tree as bars, drawn by gnuplot.
  raises an error without gnuplot
  > t:plot { output = os.tmpname() .. ".txt" }

class topdown_plan plan
  What pmc.topdown would measure. Prints as text.
  rounds: table[] -- nodes, and absent: what nodes lack, by name
  first_runs: integer -- of the first round
  runs: integer -- of all rounds
  at_most: boolean -- true where thresholds decide which nodes later rounds have
  > plan = pmc.topdown("true", { plan = true })

topdown_plan:report(options?: plan_options) -> text: string
  The plan as text.
  > print(plan:report { run_seconds = 0.5 })

record plan_options
  run_seconds?: number(0..1e9) -- how long one run takes

pmc.where(...: workload|where_options, options?: where_options) -> where
  Samples an event of a command or kernel: where in the code it was counted. Two are compared, function by function.
  > pmc.where("true", { event = "page-faults" })

record where_options
  event?: spec|spec[] -- default: cycles, or cpu-clock where there is no PMU
  repetitions?: integer(1..1e9) -- default: 1; of two workloads 30
  warmup?: integer(0..1e9) -- default: 0
  seed?: integer(0..)
  timeout?: duration -- of one repetition
  pin?: string -- CPUs to run on
  layout?: "fixed"|"randomise"|table
  store?: string|false -- the path of a new file; default: none
  quiet?: boolean -- default: true
  call_chains?: boolean -- true: who called whom, by frame pointer
  lines?: boolean -- true: source lines will be shown; servers of DEBUGINFOD_URLS are asked for these, too
  trust_maps?: boolean -- true: /tmp/perf-PID.map is believed of the process's own user, too
  data?: boolean -- true: what was accessed is found, too; the event is then cpu-clock by default
  heap?: boolean -- with data, of commands: true: blocks of the heap by where they are allocated, by a preloaded library
  confirm?: boolean -- with data, of one command: true: breakpoints watch lines that threads share, in other runs
  target?: target -- samples what runs already
  duration?: duration -- how long a target is sampled

class where w
  Where the counts of a sampled event are in the code. Prints as its table.
  result: result -- result:where(event) has the other events
  event: string
  unit: string -- "ns" of clocks
  cell: cell -- B, or the only one
  baseline?: cell -- A
  profiles: table[] -- of A, then of B; one for each repetition
  a: table[] -- profiles of A, or of the only one
  b?: table[] -- of B
  paired: boolean
  missing: integer -- repetitions without a partner
  confirmed?: table[] -- with confirm, or stored: what breakpoints counted at up to two cache lines
  > w = pmc.where("true", { event = "page-faults" })

type data_view = "data"|"data line"|"data member"|"data source"|"data node"|"data function"
  What was accessed, divided as a table of it may be.

type code_view = "function"|"inlined"|"line"|"inlined line"|data_view
  What a line of a table of code, or of data, is.

where:ledger(by?: code_view) -> ledger
  What each function or line has of the total; by "inlined…" under the names of the functions that were inlined;
  by "data…" what each variable, stack and mapping has, or each cache line, member, or each of them in each function.
  > print(#w:ledger("line").lines)

where:callers() -> ledger?
  Functions with all that they call, by call chains: nil where none were taken. Its lines overlap, and do not add up.
  > print(w:callers())

where:row(name: name, by?: "function"|"inlined") -> ledger_row
  The row of a function, by its name, with parameters or without, the end of its path, or its label. By default one that
  was inlined everywhere has its row by "inlined".
  raises an error where no function of that name has a line of its own, and where the name means several
  > print(w:row(w:ledger().lines[1].label).a)

where:annotation(row: ledger_row, sources?: path[]) -> table
  A function's counts by what was inlined in it (`copies`), by source line (`sources`) and by instruction (`codes`),
  with `why` where a file is missing.
  > print(#w:annotation(w:ledger().lines[1]).codes)

where:report(options?: where_report_options) -> text: string
  The ledger in a format: table, markdown, html, json, csv, folded, speedscope or pprof.
  > print(w:report { by = "line", most = 5 })

where:write(path?: path, options?: where_report_options)
  Writes the report to a path; nil or "-" is standard output.
  raises an error where the path cannot be written
  > w:write("-", { format = "csv" })

record where_report_options shown_options
  by?: code_view
  most?: integer(1..) -- lines that a table shows; default: 20
  annotate?: string -- a function, whose source and instructions are shown
  sources?: path[] -- folders below which sources may be

pmc.script(word: name, ...: string|number) -> any
  Runs a script by name or path, with its arguments, as the command line does but without the report. Returns the result
  of an experiment; otherwise what the script returns, or its exit status.
  raises what the script raises, and an error if there is no such script
  > pmc.script("pages", "--set", "pages=1", "--repetitions", "2", "--no-store")
]==]
