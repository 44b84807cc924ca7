-- Groups of metrics are text files: what they say, where they are found, and how mistakes in them are told.

local support = require "tests.support"
local groups = require "pmclua.metric.groups"
local metric = require "pmclua.metric"

local FAULTS = [[
Page faults, and what part
of the time Linux takes.
# a comment

events
  faults = page-faults
  task-clock
  user_time
  system_time

metrics
  faults_per_ms = 1e6 * faults / task_clock [/ms]: page faults per millisecond of CPU time
  kernel_share = system_time /
    (user_time + system_time) [%]:
    share of CPU time spent in Linux
]]

-- A folder with such files, for a test.
local function folder_with(files)
  local folder = support.folder()
  for name, text in pairs(files) do support.write(folder .. "/" .. name, text) end
  return folder
end

local function of_text(text) return metric.of_group(folder_with { ["X.group"] = text } .. "/X.group") end

describe("a group's file", function()
  it("says what its metrics are of, and what they mean", function()
    local list = of_text(FAULTS)
    assert.same({ "faults_per_ms", "/ms", "page faults per millisecond of CPU time" },
      { list[1].name, list[1].unit, list[1].meaning })
    assert.same({ "faults = page-faults", "task-clock" }, list[1].events)
    assert.same({ "system_time / (user_time + system_time)", "%", "share of CPU time spent in Linux" },
      { list[2].formula, list[2].unit, list[2].meaning })
    assert.equal(3, list[1].evaluate { faults = 6, task_clock = 2e6 })
    local meaning = groups.read(FAULTS, "x.group").meaning
    assert.equal("Page faults, and what part of the time Linux takes.", meaning)
  end)

  it("has variants for other machines", function()
    local text = "S.\nevents on A\n  cycles\nmetrics\n  m = cycles / 2\nevents on B\n  instructions\n"
      .. "metrics\n  m = instructions / 4\n"
    local list = of_text(text)
    assert.same({ 1, "A", "B" }, { #list, list[1].variants[1].where, list[1].variants[2].where })
    assert.same({ "instructions" }, list[1].variants[2].events)
  end)

  local HEAD = "S.\nevents\n  cycles\nmetrics\n"

  it("with a mistake is refused with the line", function()
    local rows = {
      { "events\n  cycles\n", "1: it begins with a sentence" },
      { "S.\n", "it has no metrics" },
      { "S.\nevents\n  cycles\n", "it has no metrics" },
      { "S.\nmetrics\n  a = cycles\n", "2: metrics come after their events" },
      { "S.\nevents\n  cycles\nmetric\n", "4: there is no section 'metric'" },
      { "S.\nevents\n  cycles\nevents\n", "4: the events before have no metrics" },
      { "S.\nevents\n  cycles, instructions\n", "3: one event a line" },
      { "S.\nevents\n  msr/tsc/\n", "3: give 'msr/tsc/' a name" },
      { HEAD .. "  cycles / 2\n", "5: a metric is written" },
      { HEAD .. "  a = cycles\n  a = 2 * cycles\n", "6: 'a' is there twice" },
      { HEAD .. "  a = cycels\n", "5: a needs 'cycels', which is none of its events; did you mean 'cycles'" },
      { HEAD .. "  a = cycles +\n", "5: expected a number, a name" },
      { "S.\nevents\n  cycles\n  branches\nmetrics\n  a = cycles\n", "4: no metric needs 'branches'" },
    }
    for _, row in ipairs(rows) do
      local list, why = of_text(row[1])
      assert.is_nil(list, row[1])
      assert.match(row[2], why)
      assert.is_nil(why:find "%c")
    end
  end)

  it("is data, whatever it contains", function()
    local random = require("pmclua.stats.random").new(5)
    local pieces = { "events", "metrics", "\n", "  ", "a = b", "{", "}", "/", ",", ":", "[%]", "\0", "\255",
      "cycles", "= ", "# x", "events on ", "é", "S." }
    for _ = 1, 2000 do
      local parts = {}
      for i = 1, random:integer(20) do parts[i] = pieces[random:integer(#pieces)] end
      local ok, why = pcall(groups.read, table.concat(parts), "x.group")
      assert.is_true(ok or type(why) == "string" and why:find "^x%.group:%d+: " ~= nil, why)
    end
  end)
end)

describe("the groups that come with pmclua", function()
  it("are right, each to its last line", function()
    assert.is_true(#metric.group_list() >= 10)
    for _, group in ipairs(metric.group_list()) do
      local list, why = metric.of_group(group.name)
      assert.is_nil(why)
      for _, one in ipairs(list) do assert.is_true(#one.meaning > 0, one.name) end
    end
  end)
end)

describe("a group of the user's", function()
  -- A folder that is XDG_DATA_HOME, and what pmclua says with it.
  local function run(files, args)
    local data = support.folder()
    for name, text in pairs(files) do support.write(data .. "/pmclua/groups/" .. name, text) end
    return support.pmclua(args, { env = { XDG_DATA_HOME = data } })
  end

  it("is asked for by its name", function()
    local result = run({ ["FAULTS.group"] = FAULTS }, { "stat", "-M", "FAULTS", "--", "true" })
    assert.equal(0, result.status)
    assert.match("faults_per_ms +[%d,.]+ /ms", result.err)
    assert.match("kernel_share", result.err)
  end)

  it("is listed and explained with the others", function()
    local listed = run({ ["FAULTS.group"] = FAULTS }, { "events", "--source", "group" })
    assert.match("FAULTS +Page faults, and what part", listed.out)
    assert.match("BRANCH", listed.out)
    assert.match("of faults = page%-faults, task%-clock",
      run({ ["FAULTS.group"] = FAULTS }, { "events", "--explain", "FAULTS" }).out)
    assert.match("faults_per_ms", run({ ["FAULTS.group"] = FAULTS }, { "events", "faults_per" }).out)
  end)

  it("that is wrong is told with its line, and leaves the others", function()
    local wrong = { ["BAD.group"] = "S.\nevents\n  cycles\nevent\n" }
    local asked = run(wrong, { "stat", "-M", "BAD", "--", "true" })
    assert.equal(125, asked.status)
    assert.match("BAD%.group:4: there is no section", asked.err)
    local listed = run(wrong, { "events", "--source", "group" })
    assert.match("BRANCH", listed.out)
    assert.match("BAD%.group", listed.err)
  end)

  it("beside a script is the script's", function()
    local folder = folder_with { ["FAULTS.group"] = FAULTS, ["x.lua"] = [[
      local pmc = require "pmclua"
      print(pmc.measure("true", { metrics = "FAULTS", events = "page-faults", repetitions = 2 }))]] }
    local result = support.pmclua { folder .. "/x.lua" }
    assert.match("kernel_share", result.out)
  end)

  it("stays in a stored result, which needs no file", function()
    local folder = folder_with { ["FAULTS.group"] = FAULTS }
    local stored, group = folder .. "/r.jsonl", folder .. "/FAULTS.group"
    local done = support.pmclua { "stat", "-M", group, "--store", stored, "--", "true" }
    assert.equal(0, done.status)
    os.remove(group)
    assert.match("faults_per_ms +[%d,.]+ /ms", support.pmclua({ "report", stored }).out)
  end)
end)
