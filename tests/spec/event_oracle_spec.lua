-- What specs are encoded as, against what perf 6.1 passed to the OS kernel (tests/fixtures/perf/README.md).

local support = require "tests.support"
local oracle = require "tests.support.oracle"

local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "."
local perf = here .. "/../fixtures/perf"
local machines = { real = "this machine", x86_intel = "an Intel CPU", x86_amd = "an AMD CPU",
  arm64 = "an Arm CPU", hybrid = "a hybrid CPU" }

-- fixture and kind to cases, and the keys in the order of the file.
local function by_kind(path)
  local keys, lists = {}, {}
  for _, case in ipairs(oracle.read(path)) do
    local key = case.fixture .. " " .. case.kind
    if not lists[key] then
      lists[key] = { fixture = case.fixture, kind = case.kind }
      keys[#keys + 1] = key
    end
    table.insert(lists[key], case)
  end
  return keys, lists
end

local function compare(case, skipped)
  if case.fixture == "real" then
    local reason = oracle.adapt(case)
    if reason then
      skipped[reason] = (skipped[reason] or 0) + 1
      return {}
    end
    return oracle.compare(case, { sysfs = "/sys" })
  end
  return oracle.compare(case, { sysfs = perf .. "/sysfs/" .. case.fixture })
end

local function check(cases)
  local wrong, skipped, count = {}, {}, 0
  for _, case in ipairs(cases) do
    local differences, problem = compare(case, skipped)
    if problem and not (problem.position >= 1 and problem.position <= #case.spec + 1) then
      differences = { "rejected without a place" }
    end
    for _, difference in ipairs(differences) do
      wrong[#wrong + 1] = ("%s: %s"):format(case.spec, difference)
    end
  end
  for reason, number in pairs(skipped) do
    count = count + number
    print(("skipped %d %s specs of this machine: %s"):format(number, cases.kind, reason))
  end
  assert.equal("", table.concat(wrong, "\n"))
  if count == #cases then pending("not on this machine") end
end

for _, file in ipairs({ "perf-events.tsv", "perf-more.tsv", "perf-thin.tsv" }) do
  describe("on the specs of " .. file, function()
    local keys, lists = by_kind(perf .. "/" .. file)
    for _, key in ipairs(keys) do
      local cases = lists[key]
      local verb = cases.kind == "neg" and "rejects at a place what perf rejects"
        or ("encodes %s specs as perf does"):format(cases.kind)
      it(("%s on %s (%d)"):format(verb, machines[cases.fixture], #cases), function()
        if cases.kind == "neg" then support.need_unwatched("libpfm4 is shown another CPU", "valgrind") end
        check(cases)
      end)
    end
  end)
end
