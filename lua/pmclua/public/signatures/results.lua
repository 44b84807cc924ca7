--- results.lua: signatures of results, and of what is derived from them.

return [==[

pmc.load(...: path|load_options) -> result
  Reads a stored result; several paths give one result with one more factor. Without a path it reads the newest one.
  raises an error for an unreadable file, and for something that means different things in several files
  > pmc.load "/path/of/a/result.jsonl"

record load_options
  []: path
  by?: "file"|"rank"|"host"|"none" -- what tells the files apart
  over?: name -- what of the records becomes a factor: host, shard, rank, file; thread: a cell for each, too

pmc.import(path: path) -> result
  Reads a result of google/benchmark, criterion, pytest-benchmark, go test -bench, hyperfine, asv or JMH.
  raises an error for a file of another kind, and for one without repetitions
  > pcall(pmc.import, "/path/of/a/hyperfine.json")

pmc.plot(source: result|path|string[], options?: string|plot_options) -> plot
  Plots a result, stored results, or the output of `pmclua monitor --json`.
  raises an error without gnuplot
  > pmc.plot("/path/of/a/result.jsonl", "ecdf")

pmc.format(name: name, write: function)
  Adds a format of one's own to result:report, result:write and --format: write(result, put, options) gives its text to
  put, in pieces.
  raises an error for the name of another format, and for one that is not a word
  > pmc.format("tap", function(result, put) put(("1..%d\n"):format(#result:list())) end)

pmc.formats(kind?: name) -> names: string[]
  The formats of a kind of report: "result" (the default), "where", "topdown", "why", "gate" or "monitor".
  raises an error for another kind
  > print(table.concat(pmc.formats "gate", " "))

record plot_options picture_options
  kind?: name -- distribution ecdf factor staircase scatter fit forest regression order histogram roofline scaling time
  name?: name -- the event or metric; default: the primary one
  over?: name -- of scaling: the factor, such as ranks; default: the one with most levels
  weak?: boolean -- of scaling: true: the work grows with the level

record picture_options
  output?: path -- a path that ends in .svg, .png, .pdf, .eps or .txt
  format?: "text"|"svg"|"png"|"pdf"|"eps"
  width?: integer(20..100000) -- pixels, or characters of text
  height?: integer(5..100000)

class plot plot
  A picture, drawn by gnuplot. Prints as text.
  kind: string
  title: string
  output?: string -- where it was written
  > plot = pmc.measure("true", { events = "page-faults", repetitions = 6, quiet = true }):plot "ecdf"

plot:render(format?: "text"|"svg"|"png"|"pdf"|"eps") -> string
  The picture.
  > io.write(plot:render "svg")

plot:write(path: path, format?: "text"|"svg"|"png"|"pdf"|"eps")
  Writes the picture: SVG, PNG or text by the end of the path.
  raises an error where the path cannot be written
  > plot:write(os.tmpname() .. ".svg")

namespace pmc.stored
  Manages the results that experiments store by default.

pmc.stored.folder() -> path: string?
  The folder of results that experiments store by default; nil where neither XDG_STATE_HOME nor HOME is set.
  > print(pmc.stored.folder())

pmc.stored.list() -> table[]
  The results there, newest first: { path, name, bytes, modified }.
  > print(#pmc.stored.list())

pmc.stored.latest() -> path: string?
  The path of the newest.
  > print(pmc.stored.latest())

pmc.stored.prune(options: prune_options) -> table[]
  Removes results from that folder and returns them. Those that are still being written stay.
  > print(#pmc.stored.prune { keep = 100 })

record prune_options
  keep?: integer(0..) -- the newest stay
  older_than?: duration -- "30d": only what was not written to for so long goes

pmc.stored.job(folder: path) -> table
  What is known of a job's shards: { by, shards, seed, script, list, tasks, json }. list has for each shard { number,
  task, state, path, why, repetitions, owner, is_certain }; state: "complete", "running", "failed" or "missing";
  tasks(list) gives their array tasks as ranges, json() all of it.
  raises an error for a folder that is none of a job
  > pcall(pmc.stored.job, "/path/of/a/job")

pmc.stored.merge(paths: load_options, output: path) -> records: integer
  Combines several stored results into a new file, as pmc.load does.
  raises an error where the output exists
  > pmc.stored.merge({ "rank0.jsonl", "rank1.jsonl" }, "both.jsonl")

class result r
  What was measured. Prints as its table.
  header: table -- the first line of the stored file: what was declared and planned
  status: "complete"|"interrupted"|"failed"|"unfinished"|"running"
  problem?: any -- what ended the run
  signal?: integer -- that interrupted it
  path?: string -- the stored file
  events: event[]
  metrics: metric[]
  problems: string[] -- what a stored file lacks
  remarks?: string[]
  expectations?: table[] -- what became of the predictions
  > r = pmc.measure("ls /", { events = { "page-faults", "task-clock" }, repetitions = 6, quiet = true })

result:cells(with_controls?: boolean) -> function
  Iterates over the cells, in the order of the plan. Cells of the A/A control come only if asked for.
  > for cell in r:cells() do print(cell:label(), cell.page_faults.median) end

result:list(with_controls?: boolean) -> cell[]
  The cells as a list.
  > print(#r:list())

result:only(conditions: table) -> result
  The result of the cells for which all conditions hold.
  raises an error if no cell matches
  > print(r:only { workload = "ls /" })

result:where(event?: name|table) -> where|result
  Where the counts of a sampled event are in the code; default: of the first that was sampled.
  raises an error if nothing was sampled
  > print(pmc.where("true", { event = "page-faults" }).result:where "page-faults")

result:with(changes: with_options) -> result
  The result with more metrics, another baseline or another primary quantity.
  > print(r:with { metrics = "rate = page_faults / task_clock" })

record with_options
  metrics?: spec|spec[]
  baseline?: name|table -- a workload's name, "n=256", or a partial cell
  primary?: name
  fit?: name|table -- the factor that quantities grow over, or fit_keys

result:fit(over: name, options?: fit_options) -> growth[]
  How quantities grow over a numeric factor: for each, each workload and each level of the other factors.
  raises an error for a factor that has fewer than four levels above 0
  > local sizes = { workloads = "head -c {n} /dev/zero", factors = { { "n", { 1e3, 1e4, 1e5, 1e6 } } } }
  > sizes.events, sizes.repetitions = "page-faults", 2
  > print(pmc.experiment(sizes):run({ store = false, quiet = true }):fit("n")[1])

record fit_options
  names?: name|name[] -- of events and metrics; default: all that have values
  exponent?: number -- a prediction
  margin?: number(0..) -- exponents no further apart are the same; default: 0.1
  level?: level -- of the intervals; default: 0.95

class growth growth
  How one quantity grows. Prints as a sentence.
  name: string
  title: string
  unit: string
  over: string -- the factor
  workload: string
  levels: table -- of the other factors
  cells: cell[] -- by size
  shape?: "power"|"linear"|"n log n"|"steps" -- the best by the criterion
  parameters?: table -- of the shape: a and b, or factor, exponents and breaks; each has value, low, high
  exponent?: table -- of a power law, whatever the shape: value, low, high
  shapes?: table[] -- the best first: shape, criterion (AICc), spread of the residuals
  sizes?: number[]
  values?: number[] -- medians
  residuals?: number[] -- the share by which each lies above the curve
  n?: integer
  level?: number
  asked?: table -- exponent, margin
  verdict?: "same"|"differs"|"undecided" -- the exponent against that
  why?: string -- why there is no fit
  > local sizes = { workloads = "head -c {n} /dev/zero", factors = { { "n", { 1e3, 1e4, 1e5, 1e6 } } } }
  > sizes.events, sizes.repetitions = "page-faults", 2
  > growth = pmc.experiment(sizes):run({ store = false, quiet = true }):fit("n")[1]

growth:at(size: number(0..)) -> prediction: table?, why: string?
  What the curve says of a size: x, value, low, high (of a value measured there), beyond (no size is so small, or so
  large).
  > print(growth:at(1e7).value)

growth:sentence() -> text: string
  The fit in words.
  > print(growth:sentence())

result:values(name: name, conditions?: table) -> number[]
  The values of an event or metric in one cell, in the order of measurement.
  raises an error where several cells are meant
  > print(#r:values "page-faults")

result:compare(options?: compare_options) -> comparison
  Compares each cell with its baseline. Each key defaults to what the experiment declared.
  > print(r:compare { baseline = "ls /" })

result:pairs(options?: compare_options) -> function
  Iterates over the cells and their baselines, as r:compare has them.
  > for p in r:with({ baseline = "ls /" }):pairs() do print(p.page_faults.verdict) end

class pair p
  Two cells that are compared. p.page_faults, by an event or metric, has verdict ("same", "more", …), ratio, low, high
  and level; where there is none only why.
  cell: cell
  baseline: cell
  paired: boolean -- repetitions of one block are compared
  pairs: integer -- how many there are
  > p = pmc.compare("true", "ls /", { events = "page-faults", repetitions = 6, quiet = true }):pairs()()

record compare_options
  baseline?: name|table -- a workload's name or a partial cell
  names?: string|string[] -- of events and metrics
  margin?: share|table -- the largest difference that counts as the same
  level?: level -- of the intervals; default: 0.95
  floor?: number(0..1e9) -- a noise floor, as a share of 1

class comparison comparison
  Each cell of a result against its baseline. Prints as its tables.
  pairs: table[] -- cell, baseline, paired, pairs, control, rows: name, title, unit, kind, primary, verdict, why
  result: result
  baseline: table -- the partial cell
  primary?: string
  level: number
  primaries: integer -- verdicts on the primary quantity, which hold together
  others: integer -- verdicts on the others, which hold together
  > comparison = pmc.compare("true", "ls /", { events = "page-faults", repetitions = 6, quiet = true }):compare()

comparison:report(options?: report_options) -> text: string
  The tables as text.
  > print(comparison:report())

result:report(options?: report_options) -> text: string
  The result in a format: table, json, csv, markdown, html, hyperfine or benchmark.
  > print(r:report { format = "csv" })

record shown_options
  format?: name
  width?: integer(1..100000) -- columns
  colour?: boolean
  utf8?: boolean
  stream?: 1|2 -- whose terminal decides what is left open

record report_options shown_options
  separator?: name -- of CSV
  show?: name|name[] -- the quantities that tables show, in this order; default: all
  columns?: name -- "workload" or a factor: its levels stand side by side, all quantities in one table
  over?: name -- a factor, or a part such as thread: least, median and largest over its levels, outliers
  scaling?: name -- a factor such as ranks: speed-up, efficiency and the serial share of times over its levels
  weak?: boolean -- with scaling: true: the work grows with the level
  plots?: table -- of HTML
  histogram?: name -- of the calls of functions: the event that a histogram shows

result:write(file: file|function, options?: report_options) -> ok: boolean?, why: string?
  Writes the report piece by piece to an open file, or to a function that takes each piece.
  > print(r:write(io.stdout, { format = "csv" }))

result:why(options?: sides_options) -> why
  What the difference between two of its cells consists of.
  raises an error where it is not clear which two
  > print(pmc.compare("true", "ls /", { events = "page-faults", repetitions = 6, quiet = true }):why().sentence)

record sides_options
  a?: name|table -- a cell, "n=256"
  b?: name|table

result:calls(conditions?: table) -> regions
  The calls of the functions that pmc.regions followed. conditions: as for only, where several cells have some.
  raises an error where there are none
  > print(#pmc.regions("ls /", { regions = { "libc.so.6:setlocale" }, events = "page-faults" }):calls())

result:topdown() -> topdown?
  The tree that its metrics are nodes of; nil where none is.
  > print(r:topdown())

result:warnings() -> table[]
  What to know before believing these numbers, the most serious first: { kind, message, hint, cell, cells }.
  > print(#r:warnings())

result:how() -> text: string
  How to reproduce the result: scripts, sources, compilers, flags, programs and libraries.
  > print(r:how())

result:plot(options?: string|plot_options) -> plot
  A plot of the result, drawn by gnuplot; a text is short for a kind.
  raises an error without gnuplot
  > r:plot { kind = "ecdf", output = os.tmpname() .. ".txt" }

result:store(path: path) -> result
  Writes a new file, the same that `store =` would have written during the run.
  raises an error if the file exists
  > local path = os.tmpname(); os.remove(path); r:store(path); os.remove(path)

result:gate(options?: gate_options) -> gate
  Checks limits in each cell.
  > print(r:gate { limits = { "page_faults <= 100000" } })

record gate_options
  limits?: condition|condition[] -- default: those that the experiment declared
  baseline?: result|path|(result|path)[]|table -- a result, a path, or a list of these
  against?: name|table -- a workload or partial cell of the result itself
  any_host?: boolean -- true allows another microcode or OS kernel
  any_cpu?: boolean -- true allows another CPU, too
  any_arguments?: boolean -- true allows other arguments of the commands
  run_spread?: share -- the standard deviation between runs
  why?: boolean -- true: looks for the cause of what fails or is undecided, by running both programs; default: as
    the experiment declared
  budget?: duration -- how long that may take; default: 2 min
  old_program?: path -- the baseline's program, where it is no longer at its place

class gate gate
  Whether a result stays within limits. Prints what did not hold.
  state: "pass"|"fail"|"undecided"|"uncountable"
  results: table[] -- each limit in each cell: cell, text, state, observed, allowed, baseline, ratio, low, high, …
  result: result
  baselines: result[]
  remarks: string[]
  causes?: table[] -- of what fails or is undecided: cell, limits, sentences, parts (name, source, line, caller,
    difference, low, high, share), absent
  > gate = pmc.measure("true", { events = "page-faults", repetitions = 6 }):gate { limits = "page_faults <= 1e5" }

gate:summary() -> text: string
  What did not hold or could not be decided, a line each; one line where all held.
  > print(gate:summary())

gate:report(options?: report_options) -> text: string
  The gate in a format: text (the default), table, json, markdown, html, junit or sarif.
  > print(gate:report { format = "junit" })

gate:write(path?: path, format?: name)
  Writes the report to a path; nil or "-" is standard output. Default: the format that the path's ending asks for.
  raises an error where the path cannot be written
  > gate:write("-")

gate:status(strict?: boolean) -> integer
  The exit status that it stands for: 0, 3 or 77.
  > print(gate:status())

class cell cell
  One workload at one level of each factor, with a summary of each event and metric by name: cell.page_faults.
  workload: string
  levels: table -- by factor; also as fields: cell.n
  repetitions: integer -- that were summarised
  failed: table -- by outcome, how many
  kind: "command"|"kernel"|"function"
  per: "run"|"iteration" -- what its values are per
  number: integer -- its place in the plan
  warmups: integer
  rejected: integer
  fitted: boolean -- values are slopes
  exits: table -- repetitions by exit status, where that was not 0
  region?: string
  thread?: string|integer
  cpu?: string|integer
  interval?: integer
  control?: string -- the workload that this A/A control is a copy of
  first_failure?: table -- outcome, exit, signal and why of the first that failed
  first_rejected?: string -- why
  result: result
  > cell = pmc.measure("ls /", { events = "page-faults", repetitions = 6 }):list()[1]

cell:label() -> text: string
  What tells it from other cells.
  > print(cell:label())

cell:summary(name: name) -> summary
  The summary of an event or metric.
  raises an error for a name that is neither
  > print(cell:summary("page-faults").median)

cell:values(name: name) -> number[]
  The values, in the order of measurement.
  > print(#cell:values "page-faults")

cell:values_by_block(name: name) -> table
  The values by repetition.
  > print(cell:values_by_block("page-faults")[1])

cell:components(name: name) -> components: table?, why: string?
  The variance between processes or layouts and within them; nil and why where none were drawn.
  > print(cell:components "page-faults")

cell:clusters() -> count: integer?, word: string?
  How many processes or layouts its repetitions ran in, and "processes" or "layouts"; nil where none were drawn.
  > print(cell:clusters())

cell:iterations() -> least: number?, most: number?
  The least and most iterations of its repetitions.
  > print(cell:iterations())

class summary summary
  The values of one event or metric in one cell.
  name: string
  title: string -- as shown
  unit: string -- of all its numbers
  kind: "time"|"count"|"ratio"
  median?: u64
  low?: u64 -- of its 95 % interval
  high?: u64
  coverage?: number -- of that interval, exactly
  reason?: string -- why there is no interval
  min?: u64
  max?: u64
  q1?: u64 -- quartiles
  q3?: u64
  mad?: number -- the median absolute deviation
  n: integer -- repetitions with a value
  missing: integer -- and without one
  exact: boolean -- every repetition gave the same value
  outliers: integer[] -- places in values
  status: string -- as of counts, and "absent"
  why?: string
  ran?: number -- the share of the time on the PMU, where scaled or placed
  quality: string -- how far to trust the value
  is_sampled?: boolean -- values that agree are not exact
  fit?: table -- the line through several iteration counts
  values: number[] -- in the order of measurement
  > summary = pmc.measure("ls /", { events = "page-faults", repetitions = 6 }):list()[1].page_faults
]==]
