#!/usr/bin/env pmclua
-- Fuzzes for a given time: what was tried, and how much of the code it reached.
--
-- method: the C targets (*.c) run under libFuzzer with ASan and UBSan; the others (init.lua) run one seed
--   after another.
-- usage: pmclua tests/fuzz/run.lua [SECONDS [TARGET…]]      seconds for each target; default 60
-- reading: an edge is a branch in the code of core/; lines are of the modules that a target is about, from a
--   separate run. "understood": the share of inputs that were not refused.
-- exit: 0 if everything held; whatever broke it is printed, or is in build/fuzz/TARGET.log

local program = dofile((arg[0]:match "^(.*)/" or ".") .. "/../support/program.lua")

local core = require "pmclua.core"
local coverage = require "tests.fuzz.coverage"
local fuzz = require "tests.fuzz"
local support = require "tests.support"

local seconds = tonumber(arg[1]) or 60
local BUILD = support.root .. "/build/fuzz"
local failed = 0

local wanted = { unpack(arg, 2) }
local function is_wanted(name)
  for _, word in ipairs(wanted) do
    if word == name then return true end
  end
  return #wanted == 0
end

local function row(name, executions, took_ns, reached)
  local took_s = took_ns / 1e9
  print(("%-8s %10d executions %5d s   %s"):format(name, executions, took_s, reached))
end

-- ---- the C targets ----

local SANITIZE = "address,undefined"

-- For sh: $1 is the target, $BUILD where all is built, $SANITIZE and $STRICT the watchers, $SECONDS_EACH how
-- long.
local MAKE = [[
  make -s BUILD="$BUILD" CC=clang WARN=-Wall CFLAGS="-O1 -g -fsanitize=fuzzer-no-link,$SANITIZE $STRICT" \
    "$BUILD/libpmclua.so"
  mkdir -p "$BUILD/corpus/elf"
  cc -O1 -g -shared -fPIC -nostdlib -o "$BUILD/corpus/elf/sample" tests/fuzz/elf_sample.c]]
local RUN = [[
  rm -f "$BUILD/$1.log"
  clang -O1 -g "-fsanitize=fuzzer,$SANITIZE" "$STRICT" -Icore -o "$BUILD/$1" "tests/fuzz/$1.c" \
    $(find "$BUILD/core" -name '*.o') -liberty -ldl -lpthread
  mkdir -p "$BUILD/corpus/$1"
  set -- "$1" "$BUILD/corpus/$1" $(ls -d "tests/fuzz/corpus/$1" 2>/dev/null)
  name=$1
  shift
  "$BUILD/$name" -max_total_time="$SECONDS_EACH" -max_len=16384 -print_final_stats=1 \
    -artifact_prefix="$BUILD/$name-" "$@" >"$BUILD/$name.log" 2>&1]]

local function sh(text, name)
  local result = support.run({ "sh", "-euc", text, "sh", name }, { limit_s = seconds + 600,
    folder = support.root,
    env = { BUILD = BUILD, SANITIZE = SANITIZE, STRICT = "-fno-sanitize-recover=undefined",
      SECONDS_EACH = tostring(seconds) } })
  return result.status == 0, result.out .. result.err
end

local function fuzz_core(name)
  local start_ns = core.now_ns()
  local ok, said = sh(RUN, name)
  local log, edges = support.read(("%s/%s.log"):format(BUILD, name)), 0
  for found in log:gmatch "cov: (%d+)" do edges = tonumber(found) end
  row(name, log:match "number_of_executed_units: (%d+)" or 0, core.now_ns() - start_ns, edges .. " edges")
  if ok then return end
  failed = failed + 1
  print("FAILED " .. name .. ": " .. said .. log:sub(-2000))
end

-- ---- the others ----

local BATCH, COVERED = 100, 300

local function fuzz_lua(target)
  local name = target.name
  local start_ns, count, accepted, seed = core.now_ns(), 0, 0, 1
  local ok, problem = true, nil
  while ok and core.now_ns() - start_ns < seconds * 1e9 do
    ok, problem = pcall(function() accepted = accepted + fuzz.try(target, BATCH, seed) end)
    count, seed = count + BATCH, seed + 1
  end
  local took_ns = core.now_ns() - start_ns
  local share = coverage.share(target.modules, function() fuzz.try(target, COVERED, 1) end)
  row(name, count, took_ns, ("%d %% of the lines; understood %d %%"):format(100 * share,
    100 * accepted / count))
  if ok then return end
  failed = failed + 1
  print(("FAILED %s, seed %d: %s"):format(name, seed - 1, tostring(problem)))
end

local CORE_TARGETS = { "lines", "ring", "calls", "elf", "text" }

local function fuzz_all_core()
  local names = {}
  for _, name in ipairs(CORE_TARGETS) do names[#names + 1] = is_wanted(name) and name or nil end
  if not names[1] then return end
  if not support.have "clang" then return print "the C targets need clang" end
  local ok, said = sh(MAKE, "all")
  if not ok then error(said, 0) end
  for _, name in ipairs(names) do fuzz_core(name) end
end

return program.run(function()
  fuzz_all_core()
  for _, target in ipairs(fuzz.TARGETS) do
    if is_wanted(target.name) then fuzz_lua(target) end
  end
  return failed == 0 and 0 or 1
end, program.MEMORY)
