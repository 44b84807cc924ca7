--- judge: what must hold, whichever call failed.
--
-- The exit status is a documented one and there is a message; no count is false; what is missing is reported
-- as missing; no file or process is left behind; a stored result has every answered repetition and can be
-- resumed.

local json = require "dkjson"
local support = require "tests.support"

local M = {}

local function text_of(result)
  local scenario = result.scenario
  if scenario.report == "out" then return result.out end
  local path = result.place .. "/" .. scenario.report
  return support.exists(path) and support.read(path) or ""
end

--- A value within its bounds; less of it where a word says that it is a part, but never nothing.
local function check_bounds(bounds, field, value, is_said, complain)
  local limits = bounds[field]
  if not limits or type(value) ~= "number" then return end
  local least = is_said and math.min(1, limits[1]) or limits[1]
  if value < least or value > limits[2] then complain(("%s %s, which is false"):format(field, value)) end
end

-- ---- cells: an experiment's report, JSON ----

local function check_values(scenario, report, complain)
  local is_said = report.remarks[1] ~= nil
  for _, cell in ipairs(report.cells) do
    for field in pairs(cell.region == scenario.region and scenario.bounds or {}) do
      for _, value in ipairs(cell.values[field] and cell.values[field].values or {}) do
        check_bounds(scenario.bounds, field, value, is_said, complain)
      end
    end
  end
end

--- Says so where fewer repetitions are in the report than were asked for and nothing explains it.
local function check_whole(scenario, result, report, complain)
  local count = 0
  local is_said = result.err ~= "" or report.status ~= "complete" or report.problem or report.problems[1]
    or report.remarks[1]
  for _, cell in ipairs(report.cells) do
    local faults = cell.values.page_faults
    if cell.region == scenario.region then count = count + (faults and faults.n or 0) end
    is_said = is_said or faults == nil or faults.why ~= nil or next(cell.failed) ~= nil
    if faults and faults.status ~= "unsupported" and faults.n + faults.missing < cell.repetitions then
      complain "repetitions vanished from a cell"
    end
  end
  if count < scenario.repetitions and not is_said then
    complain(("only %d of %d repetitions counted, and nothing says why"):format(count, scenario.repetitions))
  end
end

local TRUTHS = {}

function TRUTHS.cells(result, text, complain)
  local report = json.decode(text)
  if not report or not report.cells then return false end
  check_values(result.scenario, report, complain)
  if result.status == 0 then check_whole(result.scenario, result, report, complain) end
  return true
end

-- ---- lines: those of intervals, JSON ----

function TRUTHS.lines(result, text, complain)
  local sums, absent = {}, result.err ~= ""
  for line in text:gmatch "[^\n]+" do
    local facts = json.decode(line)
    if not facts or not facts.events then return false end
    for field, event in pairs(facts.events) do
      sums[field] = (sums[field] or 0) + (event.value or 0)
      absent = absent or event.status ~= "counted"
    end
  end
  for field, sum in pairs(result.status == 0 and not absent and sums or {}) do
    check_bounds(result.scenario.bounds, field, sum, false, complain)
  end
  return text ~= ""
end

-- ---- calls: of functions, JSON ----

function TRUTHS.calls(result, text, complain)
  local whole = json.decode(text)
  local report = whole and whole.calls and whole.calls[1]
  if not report then return false end
  local is_said = result.err ~= "" or whole.remarks[1] or report.lost > 0 or report.why
    or report.outcome ~= "done"
  for _, region in ipairs(report.regions) do
    local faults = region.events.page_faults
    is_said = is_said or region.notes[1] or region.why or not faults or faults.why
    if not is_said and region.name == result.scenario.region then
      check_bounds(result.scenario.bounds, "calls", region.calls, false, complain)
      check_bounds(result.scenario.bounds, "page_faults", faults.total or 0, false, complain)
    end
  end
  if not report.regions[1] and not is_said then complain "no function, and nothing says why" end
  return true
end

-- ---- same: as without faults, or a word on what is not ----

-- What is said not to be there is not; and lfs does not tell an error from the end of a folder.
local function is_believed(case) return case.action == "ENOENT" or case.call == "readdir" end

function TRUTHS.same(result, text, complain, case)
  local is_other = text ~= result.reference.out and not is_believed(case)
  if result.status == 0 and result.err == "" and is_other then
    complain "it is not what it is without faults, and nothing says why"
  end
  return text ~= ""
end

-- ---- kinds: of events, whether they count here ----

function TRUTHS.kinds(result, text, complain)
  local report = json.decode(text)
  if not report or not report.kinds then return false end
  for i, kind in ipairs(json.decode(result.reference.out).kinds) do
    local now = report.kinds[i]
    if now.status ~= kind.status and not now.why then
      complain(("%s: %s, and nothing says why"):format(kind.name, now.status))
    end
    if now.status == "counted" and kind.status ~= "counted" then
      complain(kind.name .. " counted, which is false")
    end
  end
  return true
end

-- ---- what is stored ----

-- Calls by which the result file is written: what they refuse cannot be in it.
local STORING = { write = true, ftruncate = true, lseek = true, flock = true, open = true, fstat = true }

local LIMIT_S = 20

local function repetitions_in(path)
  local kept = 0
  for line in io.lines(path) do
    if line:find '^{"kind":"repetition".*}$' then kept = kept + 1 end
  end
  return kept
end

--- What is missing is made up for by resuming it.
local function check_resumed(result, path, complain)
  local again = support.run(result.scenario.again(path),
    { limit_s = LIMIT_S, env = { LD_PRELOAD = result.library } })          -- as it was, but without a plan
  local report, n = again.status == 0 and json.decode(again.out), 0
  for _, cell in ipairs(report and report.cells or {}) do n = n + cell.values.page_faults.n end
  -- The one that met the fault is in the result as what it was, a failure.
  if n < result.scenario.repetitions - 1 then
    complain(("resumed it has %d of %d repetitions: %s"):format(n, result.scenario.repetitions, again.err))
  end
end

--- The records of the stored result are whole, and as many as there were and the runner has answered for.
local function check_stored(case, result, complain)
  local path = result.place .. "/" .. result.scenario.stored
  local answers = case.program == "pmclua-runner" and result.counts.send or 0
  local kept, before = repetitions_in(path), result.scenario.before
  local last = support.read(path):match "([^\n]*)$"
  if last ~= "" and kept > before + 1 and not STORING[case.call] then
    complain "the stored result ends in part of a line"
  end
  if kept < math.max(before, math.min(before + answers, result.scenario.repetitions) - 1) then
    complain(("%d repetitions were there, %d were answered for, %d are stored"):format(before, answers, kept))
  end
  -- What was unsupported there is not here: another experiment.
  if kept > 0 and not STORING[case.call] and case.call ~= "perf_event_open" then
    check_resumed(result, path, complain)
  end
end

-- ---- what is left ----

--- Files where none may be; of the cache all that is no source, object or name of the last one; folders of
--- compilers.
local function left_files(result)
  return support.output_of(([[
    cd '%s'; find tmp home -type f ! -name history ! -path 'home/.local/state/pmclua/results/*.jsonl' \
      ! -path 'home/.cache/pmclua/vendor/*'
    find cache ! -type d ! -name '*.so' ! -name '*.[co]' ! -name '*.last' 2>/dev/null
    find tmp -type d -name 'pmclua-compile-*']]):format(result.place))
end

local LEAVING_TRIES = 40        -- of 0.05 s: what is ending may take so long on a busy machine

--- Processes that were started by a run and stay, by the plan in their environment.
local function left_processes(result)
  local search = "grep -laz 'PMCLUA_FAULTS_PLAN=%s/plan' /proc/[0-9]*/environ 2>/dev/null"
  local command = search:format(result.place)
  local list
  for try = 1, LEAVING_TRIES do
    list = support.output_of(command)
    if list == "" then return list end
    if try < LEAVING_TRIES then os.execute "sleep 0.05" end
  end
  return list
end

-- ---- all ----

-- Where pmclua's own words cannot be written, nothing can be said.
local SILENCING = { fwrite = true, fflush = true, fclose = true, write = true }

local DOCUMENTED = { [0] = true, true, true, [77] = true, [125] = true, [126] = true, [127] = true }

local function check_words(case, result, complain)
  -- A module that cannot be read, or no memory: Lua's own words.
  local said = result.err
  local is_own = not (said:find "memory" or said:find "/usr/share/lua" or said:find "dkjson"
    or said:find "error loading module")
  if is_own and (said:find "traceback" or said:find "%.lua:%d+:") then
    complain("a bug's message: " .. said)
  end
  local must_speak = result.status ~= 0 and not SILENCING[case.call]
  if must_speak and said == "" then complain "it failed without a word" end
end

local function check_report(case, result, complain)
  local text = text_of(result)
  local is_whole = TRUTHS[result.scenario.truth](result, text, complain, case)
  if result.status == 0 and not is_whole then
    complain("it ended well without a whole report: " .. text:sub(1, 200))
  end
end

-- `stat` says by its status that a command was not executed.
local UNEXECUTED = { [126] = true, [127] = true }

local function check_status(case, result, complain)
  local is_unexecuted = case.call == "child_execve" and case.scenario == "stat"
  if not (is_unexecuted and UNEXECUTED or DOCUMENTED)[result.status] then
    complain(("status %d: %s"):format(result.status, result.err))
  end
end

-- LuaJIT ends the process where it is if it may not make its compiled code executable, as if it were killed.
local function may_leave(case)
  return case.call == "remove" or case.program == "pmclua" and case.call == "mprotect"
end

local function check_rest(case, result, complain)
  local files, processes = left_files(result), left_processes(result)
  if files ~= "" and not may_leave(case) then complain("files are left: " .. files) end
  if processes ~= "" then complain("processes are left: " .. processes) end
end

--- What is wrong with what came of a case.
---@param case faults.Case
---@param result table of faults.run: status, out, err, place, scenario, counts, reference
---@return string[] problems sentences
function M.judge(case, result)
  local problems = {}
  local function complain(text) problems[#problems + 1] = text end
  check_status(case, result, complain)
  check_words(case, result, complain)
  check_report(case, result, complain)
  if result.scenario.stored then check_stored(case, result, complain) end
  check_rest(case, result, complain)
  return problems
end

return M
