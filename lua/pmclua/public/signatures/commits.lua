--- commits.lua: signatures of what measures commits: as a factor, searches, histories.

return [==[

pmc.bisect(options: bisect_options) -> bisection
  Searches the commit that made a workload cost more, or less: by counts, then by times. The checkout is not touched.
  raises an error if an end does not build, or `good` is no ancestor of `bad`
  > pcall(pmc.bisect, { good = "v1.0", bad = "HEAD", build = "make -s", workload = "./prog", quiet = true })

record building_options
  folder?: path -- of a checkout; default: the working directory
  build: string -- a command for /bin/sh, run in a worktree of the commit; {seed} in it draws a layout
  paths?: path[] -- what the build reads, from the top: commits that change nothing of it share a build
  benchmark_paths?: path[] -- taken from the last commit in each build
  build_timeout?: duration -- default: 1 h
  cache?: any -- how much of the builds is kept, "10GB"

record bisect_options building_options
  good?: string -- a revision
  bad?: string
  workload: workload -- a command that runs in the build's folder, or a kernel whose files are there
  events?: string|string[] -- what decides; several are tried in turn
  margin?: share -- of the ends: a smaller difference is none; default: 1 %, of counts 0.1 %
  budget?: duration -- how long it may take; default: 2 h
  layouts?: name -- "shuffle": lld links each build again in drawn orders of its functions
  all?: boolean -- true: every step, not the largest alone
  simulate?: boolean -- true: Valgrind's instructions decide
  why?: boolean -- false: what the step consists of is not measured
  why_budget?: duration -- default: 1 min
  timeout?: duration -- of one run
  pin?: string -- CPUs to run on
  seed?: integer(0..) -- of the order of runs
  store?: path|false -- the file of what was measured; default: one in the user's folder for results
  resume?: path -- such a file: the search goes on
  quiet?: boolean -- true shows no progress

class bisection bisection
  Which commit it is. Prints as its answer.
  event: string -- that decided
  commits: table[] -- from good to bad: hash, name, parents, author, date, subject
  steps: table[] -- from, to, commits (that it can be), change (mean, low, high in percent), before and after (counts),
    merge, notes
  reason?: string -- why there is none or no single commit: "equal", "undecided", "budget", "gradual", "refuted",
    "broken", "layout", "same" or "interrupted"
  layout_effect?: table -- commit and change (percent), where layouts alone change the time by more than 3 %
  why?: why -- what the first step consists of
  seconds: number -- that it took
  path?: string -- the file from which it can go on
  > local folder = os.tmpname() .. ".checkout"
  > os.execute(("git init -q %s && cd %s && for i in 1 2; do echo $i >n; git add n; "
  >   .. "git -c user.name=me -c user.email=me@localhost commit -qm $i; done"):format(folder, folder))
  > bisection = pmc.bisect { folder = folder, good = "HEAD~1", bad = "HEAD", build = "true", workload = "true",
  >   events = "page-faults", budget = "1s", why = false, store = false, quiet = true }
  > os.execute("rm -rf " .. folder)

bisection:report(options?: bisection_report_options) -> text: string
  The answer as text or JSON.
  > print(bisection:report())

record bisection_report_options
  format?: name -- "text" or "json"

pmc.commits(options: commits_options) -> table
  Builds commits as a factor: a command runs in the folder of its commit, a kernel's files are looked for there.
  Those that do not build are left out.
  raises an error if none builds
  > pcall(pmc.commits, { from = "v1.0", to = "HEAD", build = "make -s", every = 8 })

record commits_options building_options
  from: string -- a revision
  to: string
  every?: integer(1..) -- every n-th commit alone; the last one is always among them
  first_parent?: boolean -- false: the commits of merged branches, too

pmc.history(options: history_options) -> history
  Values by commit: of commits that are built and run now, or of stored results that know theirs.
  raises what pmc.commits and experiment:run raise
  > pcall(pmc.history, { from = "v1.0", to = "HEAD", build = "make -s", workload = "./prog" })

record history_options commits_options
  files?: path[] -- stored results, or folders of them, instead of all that follows but margin, folder and except
  except?: path -- one of these that is left out
  build?: string
  from?: string
  to?: string
  workload?: workload
  events?: spec|spec[]
  margin?: share -- smaller steps are not shown; default: 1 %
  repetitions?: integer(1..1e9) -- default: 5
  timeout?: duration
  pin?: string
  seed?: integer(0..)
  simulate?: boolean
  store?: path
  resume?: path
  quiet?: boolean

class history history
  Values by commit. Prints as its table.
  commits: table[] -- name and, as far as git knows it, hash, subject, author, date
  series: table[] -- workload, event, unit and points: commit, value, low, high, n, ratio (to the one before), step
  > local file = os.tmpname() .. ".jsonl"
  > pmc.measure("true", { events = "page-faults", store = file, quiet = true, notes = { commit = "1a2b3c" } })
  > history = pmc.history { files = { file } }
  > os.remove(file)

history:report(options?: shown_options) -> text: string
  The history in a format: "table", "json", "csv" or "html".
  > print(history:report { format = "csv" })

history:write(path?: path, options?: shown_options)
  Writes the report to a file; its ending may select the format. Default: standard output.
  raises an error if the path cannot be written
  > history:write(nil, { format = "csv" })

history:baseline(limits: condition[]) -> results: result[]
  The stored results since the last step of what limits are on, for result:gate: runs of one baseline.
  > print(#history:baseline { "page_faults <= +1%" })

history:refine(options: table) -> bisections: bisection[]
  Searches the commit of each step, as pmc.bisect does.
  > print(#history:refine {})
]==]
