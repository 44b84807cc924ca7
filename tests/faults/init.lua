--- faults: makes every system call of pmclua and its runner fail in each way that it can.
--
-- A case is one call of one program in one scenario, at one occurrence, with one action. The matrix of cases
-- is made from the calls of a run without faults, so a new call is covered automatically if the shim knows
-- it. judge.lua has what must hold in each case.

local calls = require "tests.faults.calls"
local ffi = require "ffi"
local judge = require "tests.faults.judge"
local scenarios = require "tests.faults.scenarios"
local support = require "tests.support"

local M = {}

--- The scenarios, in their order; and whether this user can run one of them.
M.NAMES, M.can_run = scenarios.NAMES, scenarios.can_run

ffi.cdef [[
struct faults_plan {
  char program[32]; uint32_t call, occurrence; int32_t action; uint32_t met; uint32_t counts[96];
};
]]

local PROGRAMS = { "pmclua", "pmclua-runner" }
local LIMIT_S = 20

-- ---- what all cases share ----

local shared

--- Builds the shim and what scenarios need, once a run.
local function share()
  if shared then return shared end
  local folder = scenarios.prepare()
  local library = support.build(folder .. "/shim.so", "cc", "-O1", "-Wall", "-fPIC", "-shared",
    "-I" .. support.root .. "/core", support.root .. "/tests/faults/shim.c", "-ldl")
  scenarios.prepare_results(folder, library)
  shared = { folder = folder, library = library, names = calls.names(), index = {}, references = {} }
  for i, name in ipairs(shared.names) do shared.index[name] = i - 1 end
  return shared
end

-- ---- one run ----

local function write_plan(path, case)
  local plan = ffi.new "struct faults_plan"
  ffi.copy(plan.program, case.program)
  plan.call, plan.occurrence = share().index[case.call], case.occurrence
  plan.action = calls.NUMBERS[case.action] or 0
  support.write(path, ffi.string(plan, ffi.sizeof(plan)))
end

local function read_plan(path)
  local plan = ffi.new "struct faults_plan"
  ffi.copy(plan, support.read(path), ffi.sizeof(plan))
  local counts = {}
  for i, name in ipairs(share().names) do counts[name] = plan.counts[i - 1] end
  return counts, plan.met
end

--- Runs a scenario with a fault; what came of it.
local function run(case)
  local scenario, place = scenarios.SCENARIOS[case.scenario], support.folder()
  os.execute(("mkdir '%s/tmp' '%s/home'"):format(place, place))
  write_plan(place .. "/plan", case)
  local env = scenario.env and scenario.env(place, share().folder) or {}
  env.LD_PRELOAD, env.PMCLUA_FAULTS_PLAN = share().library, place .. "/plan"
  env.TMPDIR, env.XDG_RUNTIME_DIR = place .. "/tmp", place .. "/tmp"
  env.HOME = env.HOME or place .. "/home"
  local words = scenario.words(place, share().folder)
  local result = support.run(words, { limit_s = LIMIT_S, env = env })
  result.place, result.scenario, result.library = place, scenario, share().library
  result.counts, result.met = read_plan(place .. "/plan")
  result.reference = share().references[case.scenario]
  return result
end

local function clear(result) os.execute("rm -rf " .. support.quote(result.place)) end

--- How often each call is made without faults, by its name; what came of it is what others are compared with.
local function census(scenario, program)
  local result = run { scenario = scenario, program = program, call = "read", occurrence = 0, action = "" }
  assert(result.status == 0, result.err)
  share().references[scenario] = result
  clear(result)
  return result.counts
end

-- ---- the matrix ----

--- The first, the middle and the last of n.
local function occurrences(n)
  local list = { 1 }
  if n > 2 then list[#list + 1] = math.ceil(n / 2) end
  if n > 1 then list[#list + 1] = n end
  return list
end

--- Those of a held child are looked for where the scenario makes them: the shim sees that there is a child.
local function is_made(scenario, call)
  local in_child = call:match "^child_(.*)"
  return not in_child or (" %s "):format(scenario.child or ""):find(" " .. in_child .. " ", 1, true) ~= nil
end

local function add_cases(cases, name, program)
  local counts = census(name, program)
  for _, call in ipairs(share().names) do
    local ways = counts[call] > 0 and is_made(scenarios.SCENARIOS[name], call) and calls.WAYS[call] or ""
    for action in ways:gmatch "%S+" do
      for _, occurrence in ipairs(occurrences(counts[call])) do
        cases[#cases + 1] = { scenario = name, program = program, call = call, occurrence = occurrence,
          action = action }
      end
    end
  end
end

---@class faults.Case
---@field scenario string
---@field program string
---@field call string
---@field occurrence integer from 1
---@field action string an errno, ZERO, SHORT or LATE

--- All cases that this user can run.
---@return faults.Case[]
function M.matrix()
  local cases = {}
  for _, name in ipairs(scenarios.NAMES) do
    local programs = scenarios.SCENARIOS[name].programs or PROGRAMS
    if not scenarios.can_run(name) then programs = {} end
    for _, program in ipairs(programs) do add_cases(cases, name, program) end
  end
  return cases
end

--- A case in words.
---@param case faults.Case
function M.describe(case)
  return ("%s: %s of %s, the %d.: %s")
    :format(case.scenario, case.call, case.program, case.occurrence, case.action)
end

--- Runs a case and removes what it left. What is wrong; and whether the fault was met at all.
---@param case faults.Case
---@return string[] problems, boolean met
function M.try(case)
  if not share().references[case.scenario] then census(case.scenario, case.program) end
  local result = run(case)
  local problems = judge.judge(case, result)
  clear(result)
  return problems, result.met > 0
end

return M
