--- rows.lua: what is compared with what, and the goal of each: "mine at most GOAL times the other".
--
-- A row's sides give one number each turn, in the same unit. A row that cannot be measured here says why.

local core = require "pmclua.core"
local programs = require "programs"
local stats = require "pmclua.stats"

---@class bench.Row
---@field name string for --only
---@field what string
---@field against string
---@field goal number
---@field unit "ns"|"bytes"|"instructions"
---@field turns integer in the full form
---@field needs? string a program of this name
---@field prepare? fun(short: boolean): string? why it cannot be measured here; nil: it can
---@field mine fun(short: boolean): number
---@field other fun(short: boolean): number

local EVENTS = { "page-faults", "task-clock" }
local REGIONS, REGIONS_SHORT = 20000, 200

local function regions(short) return short and REGIONS_SHORT or REGIONS end

-- ---- a region ----

local attrs = { { type = 1, config = 2, inherit = 1 }, { type = 1, config = 1, inherit = 1 } }
local empty_kernel, events

-- Median ns from before the first read to after the second one, of an empty kernel in the runner.
local function region_in_runner(short)
  local list, session = {}, programs.session
  empty_kernel = empty_kernel or session:workload(function(message)
    message:text("library", programs.compile("empty", { "-shared", "-fPIC" })):text("symbol", "empty")
  end)
  events = events or session:events { { attrs = attrs } }
  session:run_each({ workload = empty_kernel, events = events, repetitions = regions(short),
    in_runner = true },
    function(result)
      assert(result.outcome == "done", result.outcome .. ": " .. result.output)
      list[#list + 1] = result.wall_ns
    end)
  return stats.median(list)
end

local function region_by_hand(short)
  return programs.number { programs.compile "region", "each", tostring(regions(short)) }
end

local function regions_by_hand(short)
  return programs.number { programs.compile "region", "all", tostring(regions(short)) }
end

local function region_by_papi(short)
  return programs.number { programs.compile("papi", { "-lpapi" }), tostring(regions(short)) }
end

local function prepare_papi()
  if not core.stat "/usr/include/papi.h" then return "libpapi-dev is not installed" end
  local result = programs.run({ programs.compile("papi", { "-lpapi" }), "1" }, "capture")
  return result.exit ~= 0 and "PAPI: " .. result.errors:gsub("\n", " ") or nil
end

local group

local function nothing() end

local function count_often(times)
  for _ = 1, times do group:count(nothing) end
end

-- Mean ns of a region from compiled Lua.
local function region_in_lua(short)
  group = group or require("pmclua").group(EVENTS):start()
  local before = core.now_ns()
  count_often(regions(short))
  return (core.now_ns() - before) / regions(short)
end

-- ---- programs ----

local COUNTED = { "-e", table.concat(EVENTS, ","), "--", "true" }

local function words(first, more)
  local list = { unpack(first) }
  for _, word in ipairs(more) do list[#list + 1] = word end
  return list
end

local function runs(short) return short and 20 or 500 end

-- Mean ns of one of many repetitions, start and end of the program among them.
local function repetition(first, rest)
  return function(short)
    local list = {}
    for _, part in ipairs { first, { tostring(runs(short)) }, rest } do list = words(list, part) end
    return programs.wall_ns(list) / runs(short)
  end
end

local function repetition_by_hand(short)
  return programs.wall_ns { programs.compile "spawn", tostring(runs(short)), "true" } / runs(short)
end

local repetition_by_stat = repetition({ programs.PMCLUA, "stat", "-r" }, { "--", "true" })

local function wall(list) return function() return programs.wall_ns(list) end end
local function peak(list) return function() return programs.peak_bytes(list) end end

-- Two commands of 10 ms, in 30 pairs.
local function compared(short)
  local spin, pairs_wanted = programs.compile "spin", short and "3" or "30"
  return programs.wall_ns { programs.PMCLUA, "compare", "-r", pairs_wanted, "--warmup", "0",
    spin, spin .. " again" }
end

local function runs_by_hand(short)
  return programs.wall_ns { programs.compile "spawn", short and "6" or "60", programs.compile "spin" }
end

-- ---- kernels ----

local function first_experiment()
  local cache = programs.folder() .. "/cache"
  os.execute(("rm -rf '%s'"):format(cache))
  return programs.wall_ns { "env", "XDG_CACHE_HOME=" .. cache, programs.PMCLUA, programs.source "first.lua",
    "--no-store" }
end

local function compiled_by_hand()
  return programs.wall_ns { "env", os.getenv "CC" or "cc", "-O2", "-g", "-Wall", "-fPIC", "-shared", "-o",
    programs.folder() .. "/first.so", programs.source "empty.c" }
end

-- ---- records ----

local function lines(short) return short and 2000 or 50000 end

local function stored_line(short)
  return require("records").write_and_read(programs.folder() .. "/records", lines(short))
end

local function line_by_hand(short)
  return programs.number { programs.compile "lines", programs.folder() .. "/lines.jsonl",
    tostring(lines(short)) }
end

-- ---- exports ----

local function exported(short) return short and 1000 or 200000 end

-- A stored result of as many records, made once.
local function export_file(short)
  local path = ("%s/export-%d.jsonl"):format(programs.folder(), exported(short))
  if not core.stat(path) then require("records").write(path, exported(short)) end
  return path
end

local function export(format)
  return function(short)
    return programs.wall_ns { programs.PMCLUA, "report", export_file(short), "--format", format }
  end
end

local function export_by_hand(format)
  return function(short)
    return programs.number { programs.compile "export", format, export_file(short),
      tostring(exported(short)) }
  end
end

-- ---- reading in user space ----

local function reading(method)
  return function(short)
    local folder = core.folder()
    local path = programs.compile("seqlock", { "-L" .. folder, "-lpmclua", "-Wl,-rpath," .. folder })
    return programs.number { path, method, short and "100" or "10000" }
  end
end

local function prepare_reading()
  local ok, why = pcall(reading "pmclua", true)
  return not ok and "no counters that user space may read here (" .. why:gsub("^.* failed: ", ""):gsub("\n",
    "")
    .. "); in the lab: `--only user,user-read` there" or nil
end

-- ---- functions of a program ----

local function calls(short) return short and 500 or 10000 end

-- Mean ns of a call, start and end of the program among them.
local function followed_call(short)
  local result = require("pmclua.experiment.regions").measure(
    { programs.compile "probe", "plain", tostring(calls(short)) },
    { regions = { "probed" }, events = EVENTS, calibrate = false, timeout = 60 })
  assert(result[1].calls == calls(short) and result.lost == 0)
  return result.wall_ns / calls(short)
end

local function probed_call(short)
  return programs.number { programs.compile "probe", "bare", tostring(calls(short)) }
end

local function prepare_probes()
  local ok, why = pcall(function() return probed_call(true) + followed_call(true) end)
  return not ok and "no uprobes here: " .. tostring(why):gsub("\n", " ") or nil
end

-- ---- under Valgrind ----

local TURNS = 1000                     -- of reference/callgrind.c
local PASS = { simulated = { cache = false, branch = false }, events = {} }

local function calls_simulated(short) return short and 20 or 200 end

-- Median ns of a repetition of a kernel that callgrind counts.
local function simulated_repetition(short)
  local kernel = require("pmclua.workload.kernel").new { source = "reference/callgrind.c", symbol = "turns" }
  local surroundings = require("pmclua.simulate.surroundings").check(nil, error)
  local context = { session = programs.session, declaration = { warmup = 2 }, surroundings = surroundings }
  local counter = require("pmclua.simulate.kernel").new(context, { workload = kernel, levels = {} })
  local list = {}
  counter:run(PASS, TURNS)
  for i = 1, calls_simulated(short) do
    local before = core.now_ns()
    assert(counter:run(PASS, TURNS).instructions > TURNS)
    list[i] = core.now_ns() - before
  end
  counter:forget()
  counter.scratch:close()
  return stats.median(list)
end

local MILLISECOND = 1e6

local function simulated_by_hand(short)
  local under = { require("pmclua.simulate.valgrind").need(), "-q", "--tool=callgrind", "--vgdb=no",
    "--collect-atstart=no", ("--callgrind-out-file=%s/callgrind.out"):format(programs.folder()) }
  local program = { programs.compile "callgrind", tostring(calls_simulated(short)) }
  return programs.number(words(under, program)) + MILLISECOND
end

local function prepare_simulated()
  local path, why = require("pmclua.simulate.valgrind").path()
  return not path and why or nil
end

---@type bench.Row[]
return {
  { name = "region", what = "a region in the runner's hot loop", against = "two read(2) by hand",
    goal = 1.03, unit = "ns", turns = 80, mine = region_in_runner, other = region_by_hand },
  { name = "papi", what = "the same", against = "PAPI_start … PAPI_stop", goal = 0.5, unit = "ns", turns = 40,
    prepare = prepare_papi, mine = region_in_runner, other = region_by_papi },
  { name = "lua", what = "a region from compiled Lua (`group:count`)", against = "two read(2) by hand",
    goal = 1.15, unit = "ns", turns = 60, mine = region_in_lua, other = regions_by_hand },
  { name = "user", what = "a user-space read of a group of 4", against = "a seqlock loop by hand", goal = 1.2,
    unit = "instructions", turns = 3, prepare = prepare_reading, mine = reading "pmclua",
    other = reading "hand" },
  { name = "user-read", what = "the same", against = "read(2)", goal = 0.1, unit = "instructions", turns = 3,
    prepare = prepare_reading, mine = reading "pmclua", other = reading "syscall" },
  { name = "start", what = '`pmclua -e ""`', against = '`luajit -e ""`', goal = 2, unit = "ns", turns = 200,
    needs = "luajit", mine = wall { programs.PMCLUA, "-e", "" }, other = wall { "luajit", "-e", "" } },
  { name = "stat", what = "`pmclua stat -e page-faults,task-clock -- true`",
    against = "`perf stat` of the same", goal = 0.4, unit = "ns", turns = 100, needs = "perf",
    mine = wall(words({ programs.PMCLUA, "stat" }, COUNTED)),
    other = wall(words({ "perf", "stat" }, COUNTED)) },
  { name = "floor", what = "the same", against = '`luajit -e ""` and a bare spawn of `true`', goal = 2,
    unit = "ns", turns = 100, needs = "luajit", mine = wall(words({ programs.PMCLUA, "stat" }, COUNTED)),
    other = function() return programs.wall_ns { "luajit", "-e", "" } + programs.wall_ns { "true" } end },
  { name = "spawn", what = "a repetition of `pmclua stat -r 500 -- true`",
    against = "posix_spawn and wait by hand", goal = 1.03, unit = "ns", turns = 15, mine = repetition_by_stat,
    other = repetition_by_hand },
  { name = "perf-r", what = "the same", against = "`perf stat -r 500`", goal = 0.5, unit = "ns", turns = 20,
    needs = "perf", mine = repetition_by_stat,
    other = repetition({ "perf", "stat", "-r" }, { "--", "true" }) },
  { name = "hyperfine", what = "the same", against = "`hyperfine -N --runs 500`", goal = 1.1, unit = "ns",
    turns = 20, needs = "hyperfine", mine = repetition_by_stat,
    other = repetition({ "hyperfine", "-N", "--runs" }, { "true" }) },
  { name = "compare", what = "`pmclua compare` of two commands of 10 ms, 30 pairs",
    against = "the 60 runs by hand", goal = 1.05, unit = "ns", turns = 10, mine = compared,
    other = runs_by_hand },
  { name = "kernel", what = "a first experiment with a C kernel, nothing cached",
    against = "cc of the same file", goal = 1.5, unit = "ns", turns = 30, mine = first_experiment,
    other = compiled_by_hand },
  { name = "store", what = "a record stored and read back", against = "the same bytes by printf and fgets",
    goal = 3, unit = "ns", turns = 20, mine = stored_line, other = line_by_hand },
  { name = "csv", what = "CSV of 200,000 repetitions", against = "its bytes copied and a printf of each row",
    goal = 4, unit = "ns", turns = 10, mine = export "csv", other = export_by_hand "csv" },
  { name = "json", what = "JSON of the same", against = "its bytes copied and a printf of each number",
    goal = 4, unit = "ns", turns = 10, mine = export "json", other = export_by_hand "json" },
  { name = "events", what = "`pmclua events` (everything)", against = "`perf list`", goal = 0.35, unit = "ns",
    turns = 30, needs = "perf", mine = wall { programs.PMCLUA, "events" }, other = wall { "perf", "list" } },
  { name = "memory", what = "peak memory of `pmclua stat -- true`", against = "`perf stat`", goal = 0.7,
    unit = "bytes", turns = 20, needs = "perf", mine = peak { programs.PMCLUA, "stat", "--", "true" },
    other = peak { "perf", "stat", "--", "true" } },
  { name = "call", what = "a call of a probed function (its region: two hits, two samples of a group)",
    against = "two bare uprobe hits", goal = 1.2, unit = "ns", turns = 15, prepare = prepare_probes,
    mine = followed_call, other = probed_call },
  { name = "cachegrind", what = "`pmclua stat -e valgrind::instructions -- true`",
    against = "`valgrind --tool=cachegrind --cache-sim=no true`", goal = 1.15, unit = "ns", turns = 20,
    prepare = prepare_simulated,
    mine = wall { programs.PMCLUA, "stat", "-e", "valgrind::instructions", "--", "true" },
    other = wall { "valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
      "true" } },
  { name = "dhat", what = "`pmclua stat -e valgrind::allocations -- ls /usr/bin`",
    against = "`valgrind --tool=dhat ls /usr/bin`", goal = 1.1, unit = "ns", turns = 20,
    prepare = prepare_simulated,
    mine = wall { programs.PMCLUA, "stat", "-e", "valgrind::allocations", "--", "ls", "/usr/bin" },
    other = wall { "valgrind", "--tool=dhat", "--dhat-out-file=/dev/null", "ls", "/usr/bin" } },
  { name = "callgrind", what = "a repetition of a kernel that callgrind counts",
    against = "its call by hand under callgrind, and 1 ms", goal = 1, unit = "ns", turns = 10,
    prepare = prepare_simulated, mine = simulated_repetition, other = simulated_by_hand },
}
