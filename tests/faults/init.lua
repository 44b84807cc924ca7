--- faults: every system call that pmclua and its runner make, made to fail in each way that it can.
--
-- A case is one call of one program in one scenario, at one occurrence, with one action. The matrix of
-- them is made from what a run without faults calls, so a call that is new is met without a word here, if
-- the shim knows it. What has to hold in each case is in `judge`.

local ffi = require "ffi"
local json = require "dkjson"
local support = require "tests.support"

local M = {}

ffi.cdef [[
struct faults_plan {
  char program[32]; uint32_t call, occurrence; int32_t action; uint32_t met; uint32_t counts[64];
};
]]

local HERE = support.root .. "/tests/faults"
local PROGRAMS = { "pmclua", "pmclua-runner" }
local ERRNO = { EPERM = 1, ENOENT = 2, ESRCH = 3, EINTR = 4, EIO = 5, E2BIG = 7, EBADF = 9, ECHILD = 10,
  EAGAIN = 11, ENOMEM = 12, EACCES = 13, EFAULT = 14, EBUSY = 16, EEXIST = 17, ENODEV = 19, EINVAL = 22,
  ENFILE = 23, EMFILE = 24, ENOTTY = 25, ENOSPC = 28, EROFS = 30, EPIPE = 32, ENOSYS = 38, ELOOP = 40,
  EOPNOTSUPP = 95, ECONNRESET = 104, ZERO = -1, SHORT = -2, LATE = -3 }

-- How each call can fail: its man page, less what only a mistake in the caller gives.
local ACTIONS = {
  perf_event_open = "EACCES EBUSY E2BIG EINVAL EMFILE ENODEV ENOENT ENOSPC ENOSYS EOPNOTSUPP EPERM ESRCH "
    .. "EINTR ENOMEM LATE",
  pidfd_open = "ENOSYS EPERM EMFILE ENOMEM",
  ioctl = "EINTR EINVAL ENOTTY EBADF ENOMEM",
  read = "EINTR EIO ENOSPC ZERO SHORT",
  pread = "EINTR EIO ZERO SHORT",
  write = "EINTR EIO ENOSPC EPIPE SHORT LATE",
  open = "EINTR EACCES EMFILE ENFILE ENOENT ENOSPC EROFS ELOOP",
  fopen = "EACCES EMFILE ENOENT ENOMEM",
  fread = "EIO ZERO SHORT", fwrite = "EIO ENOSPC SHORT", fclose = "EIO ENOSPC", fflush = "EIO ENOSPC",
  close = "EINTR EIO", pipe2 = "EMFILE ENFILE", dup = "EMFILE", dup2 = "EMFILE EINTR", fcntl = "EMFILE EINTR",
  mmap = "ENOMEM EAGAIN",
  clone = "EAGAIN ENOMEM ENOSYS EPERM LATE", fork = "EAGAIN ENOMEM",
  posix_spawn = "EAGAIN ENOMEM ENOENT EACCES", pthread_create = "EAGAIN EPERM",
  waitid = "EINTR ECHILD", wait4 = "EINTR ECHILD", waitpid = "EINTR ECHILD",
  socketpair = "EMFILE ENOMEM", eventfd = "EMFILE ENOMEM",
  send = "EINTR EPIPE ENOMEM ECONNRESET SHORT LATE",
  recv = "EINTR ECONNRESET ENOMEM ZERO SHORT LATE",
  ppoll = "EINTR ENOMEM ZERO LATE", poll = "EINTR ENOMEM ZERO LATE",
  lseek = "EIO", ftruncate = "EIO EINTR", flock = "EAGAIN EINTR ENOSYS", fstat = "EIO ENOMEM",
  rename = "EACCES ENOSPC EROFS", mkdir = "EACCES ENOSPC EROFS EEXIST", mkostemp = "EACCES ENOSPC EMFILE",
  lstat = "EACCES ENOENT EIO", opendir = "EACCES EMFILE ENOENT",
  dlopen = "ENOMEM", malloc = "ENOMEM", calloc = "ENOMEM", realloc = "ENOMEM",
  sched_setaffinity = "EINVAL EPERM", setitimer = "EINVAL", prctl = "EPERM EINVAL", sigaction = "EINVAL",
  getrusage = "EFAULT",
}

local library

--- Builds the shim and learns its calls; once a run.
local function load_shim()
  if library then return library end
  local path = support.folder() .. "/shim.so"
  local made = support.run { "cc", "-O1", "-Wall", "-fPIC", "-shared", "-o", path, HERE .. "/shim.c", "-ldl" }
  assert(made.status == 0, made.err)
  library = { path = path, calls = {}, index = {} }
  for name in support.read(HERE .. "/shim.c"):match "#define CALLS%(X%)(.-)\n\n":gmatch "X%(([%w_]+)%)" do
    library.index[name] = #library.calls
    table.insert(library.calls, name)
  end
  return library
end

-- ---- scenarios ----

---@class faults.Scenario
---@field words fun(place: string): string[] what pmclua is asked
---@field report string file of `place` with the report, JSON
---@field stored? string file of `place` with the stored result
---@field repetitions integer in all
---@field least integer page faults of a repetition: fewer are false

---@type table<string, faults.Scenario>
M.SCENARIOS = {
  stat = { report = "report", repetitions = 3, least = 30,
    words = function(place)
      return { "stat", "-e", "page-faults,task-clock", "-r", "3", "-j", "-o", place .. "/report", "true" }
    end },
  kernel = { report = "out", repetitions = 6, least = 4, most = 4,
    words = function() return { HERE .. "/scenarios/kernel.lua", "--no-store", "--format", "json" } end },
  stored = { report = "out", stored = "stored.jsonl", repetitions = 12, least = 30,
    words = function(place)
      return { HERE .. "/scenarios/stored.lua", "--store", place .. "/stored.jsonl", "--format", "json" }
    end },
}
M.NAMES = { "stat", "kernel", "stored" }

-- Shared by all cases, so that nothing is compiled in them.
local cache
local function cache_folder()
  cache = cache or support.folder()
  return cache
end

-- ---- one run ----

local function write_plan(path, case)
  local plan = ffi.new "struct faults_plan"
  ffi.copy(plan.program, case.program)
  plan.call, plan.occurrence = load_shim().index[case.call], case.occurrence
  plan.action = ERRNO[case.action] or 0
  support.write(path, ffi.string(plan, ffi.sizeof(plan)))
end

local function read_plan(path)
  local plan = ffi.new "struct faults_plan"
  ffi.copy(plan, support.read(path), ffi.sizeof(plan))
  return plan
end

local LIMIT_S = 20

--- Runs a scenario with a fault; what came of it.
local function run(case)
  local scenario, place = M.SCENARIOS[case.scenario], support.folder()
  os.execute(("mkdir '%s/tmp' '%s/home'"):format(place, place))
  write_plan(place .. "/plan", case)
  local words = { support.program, unpack(scenario.words(place)) }
  local result = support.run(words, { limit_s = LIMIT_S, env = {
    LD_PRELOAD = load_shim().path, FAULTS_PLAN = place .. "/plan",
    TMPDIR = place .. "/tmp", HOME = place .. "/home", XDG_CACHE_HOME = cache_folder() } })
  result.place, result.plan, result.scenario = place, read_plan(place .. "/plan"), scenario
  return result
end

-- ---- what has to hold ----

--- The cells of a report; nil where there is none.
local function report_of(result)
  local text = result.scenario.report == "out" and result.out
    or support.exists(result.place .. "/report") and support.read(result.place .. "/report") or ""
  local report = text ~= "" and json.decode(text)
  return report or nil, text
end

local function check_values(scenario, report, complain)
  for _, cell in ipairs(report.cells) do
    for _, value in ipairs(cell.values.page_faults and cell.values.page_faults.values or {}) do
      if type(value) == "number" and (value < scenario.least or value > (scenario.most or math.huge)) then
        complain(("page-faults %s, which is false"):format(value))
      end
    end
    for _, value in ipairs(cell.values.task_clock and cell.values.task_clock.values or {}) do
      if type(value) == "number" and value <= 0 then complain "task-clock 0, which is false" end
    end
  end
end

--- Says so where fewer repetitions are in the report than were asked for and nothing explains it.
local function check_whole(scenario, result, report, complain)
  local count = 0
  for _, cell in ipairs(report.cells) do
    local faults = cell.values.page_faults
    count = count + (faults and faults.n or 0)
    if faults and faults.status ~= "unsupported" and faults.n + faults.missing < cell.repetitions then
      complain "repetitions vanished from a cell"
    end
  end
  local is_said = result.err ~= "" or report.status ~= "complete" or report.problem or report.problems[1]
  for _, cell in ipairs(report.cells) do
    local faults = cell.values.page_faults
    is_said = is_said or faults == nil or faults.why ~= nil or next(cell.failed) ~= nil
  end
  if count < scenario.repetitions and not is_said then
    complain(("only %d of %d repetitions counted, and nothing says why"):format(count, scenario.repetitions))
  end
end

-- Calls by which the result file is written: what they refuse cannot be in it.
local STORING = { write = true, ftruncate = true, lseek = true, flock = true, open = true, fstat = true }

--- The records of the stored result are whole, and as many as the runner had answered for.
local function check_stored(case, result, complain)
  local path = result.place .. "/" .. result.scenario.stored
  local answers = case.program == "pmclua-runner" and result.plan.counts[load_shim().index.send] or 0
  local kept = 0
  if support.exists(path) then
    for line in io.lines(path) do
      if line:find '^{"kind":"repetition"' then kept = kept + 1 end
    end
    local last = support.read(path):match "([^\n]*)$"
    if last ~= "" and not STORING[case.call] then complain "the stored result ends in part of a line" end
  end
  if kept < math.min(answers, result.scenario.repetitions) - 1 then
    complain(("%d repetitions were answered for, %d are stored"):format(answers, kept))
  end
  -- What was unsupported there is not here: another experiment.
  if kept == 0 or STORING[case.call] or case.call == "perf_event_open" then return end
  local again = support.pmclua({ HERE .. "/scenarios/stored.lua", "--resume", path, "--format", "json" },
    { limit_s = LIMIT_S })
  local report = again.status == 0 and json.decode(again.out)
  local n = 0
  for _, cell in ipairs(report and report.cells or {}) do n = n + cell.values.page_faults.n end
  -- The one that met the fault is in the result as what it was, a failure.
  if n < result.scenario.repetitions - 1 then
    complain(("resumed it has %d of %d repetitions: %s"):format(n, result.scenario.repetitions, again.err))
  end
end

--- Files that are left where none may be.
local function left_files(result)
  return support.output_of(("find '%s/tmp' '%s/home' -type f; find '%s' -name '*.??????' -o -name '*.d'")
    :format(result.place, result.place, cache_folder()))
end

local LEAVING_TRIES = 40        -- of 0.05 s: what is ending may take so long on a busy machine

--- Processes that were started by a run and stay, by the plan in their environment.
local function left_processes(result)
  local command = ("grep -laz 'FAULTS_PLAN=%s/plan' /proc/[0-9]*/environ 2>/dev/null"):format(result.place)
  local list
  for try = 1, LEAVING_TRIES do
    list = support.output_of(command)
    if list == "" then return list end
    if try < LEAVING_TRIES then os.execute "sleep 0.05" end
  end
  return list
end

-- Where pmclua's own words cannot be written, or it has no memory to begin with, nothing can be said.
local SILENCING = { fwrite = true, fflush = true, fclose = true, write = true }

local DOCUMENTED = { [0] = true, true, true, [77] = true, [125] = true, [126] = true, [127] = true }

--- What is wrong with what came of a case: sentences.
---@param case table
---@param result table of `run`
---@return string[]
local function judge(case, result)
  local problems = {}
  local function complain(text) problems[#problems + 1] = text end
  if not DOCUMENTED[result.status] then complain(("status %d: %s"):format(result.status, result.err)) end
  -- A module that cannot be read, or no memory: Lua's own words.
  local said = result.err
  local is_own = not (said:find "memory" or said:find "/usr/share/lua" or said:find "dkjson")
  if is_own and (result.err:find "traceback" or result.err:find "%.lua:%d+:") then
    complain("a bug's message: " .. result.err)
  end
  if result.status ~= 0 and result.err == "" and not SILENCING[case.call] then
    complain "it failed without a word"
  end
  local report, text = report_of(result)
  if report and report.cells then
    check_values(result.scenario, report, complain)
    if result.status == 0 then check_whole(result.scenario, result, report, complain) end
  elseif result.status == 0 and not SILENCING[case.call] then
    complain("it ended well without a report: " .. text:sub(1, 200))
  elseif text ~= "" and result.status == 0 then
    complain "it ended well with part of a report"
  end
  if result.scenario.stored then check_stored(case, result, complain) end
  local files, processes = left_files(result), left_processes(result)
  if files ~= "" and not files:find "history" then complain("files are left: " .. files) end
  if processes ~= "" then complain("processes are left: " .. processes) end
  return problems
end

-- ---- the matrix ----

--- The first, the middle and the last of n.
local function occurrences(n)
  local list = { 1 }
  if n > 2 then list[#list + 1] = math.ceil(n / 2) end
  if n > 1 then list[#list + 1] = n end
  return list
end

--- How often each call is made without faults: by scenario, program and call.
local function census(scenario, program)
  local result = run { scenario = scenario, program = program, call = "read", occurrence = 0, action = "" }
  assert(result.status == 0, result.err)
  return result.plan.counts
end

--- All cases.
---@return { scenario: string, program: string, call: string, occurrence: integer, action: string }[]
function M.matrix()
  local cases, shim = {}, load_shim()
  for _, scenario in ipairs(M.NAMES) do
    for _, program in ipairs(PROGRAMS) do
      census(scenario, program)                                  -- what is compiled is compiled here
      local counts = census(scenario, program)
      for _, call in ipairs(shim.calls) do
        local n = counts[shim.index[call]]
        for action in (n > 0 and ACTIONS[call] or ""):gmatch "%S+" do
          for _, occurrence in ipairs(occurrences(n)) do
            cases[#cases + 1] = { scenario = scenario, program = program, call = call,
              occurrence = occurrence, action = action }
          end
        end
      end
    end
  end
  return cases
end

--- A case in words.
function M.describe(case)
  return ("%s: %s of %s, the %d.: %s")
    :format(case.scenario, case.call, case.program, case.occurrence, case.action)
end

--- Runs a case and removes what it left. What is wrong; and whether the fault was met at all.
---@return string[] problems, boolean met
function M.try(case)
  local result = run(case)
  local problems = judge(case, result)
  os.execute("rm -rf " .. support.quote(result.place))
  return problems, result.plan.met > 0
end

return M
