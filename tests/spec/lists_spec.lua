-- Lists that a script gives: an entry with a name, or one behind a nil, is refused and never lost; the message says
-- how it is written.

local pmc = require "pmclua"
local support = require "tests.support"

local message_of = support.message_of

-- What declaring an experiment with these keys raises.
local function refusal(more)
  local spec = support.merged({ workloads = { "true" }, events = { "page-faults" } }, more)
  return message_of(pmc.experiment, spec)
end

local function assert_says(words, message)
  for _, word in ipairs(words) do
    assert.is_truthy(message:find(word, 1, true), ("'%s' is not in: %s"):format(word, message))
  end
end

describe("a list with a named entry", function()
  it("is refused in each key of an experiment, with the way to write it", function()
    for _, case in ipairs {
      { { events = { "page-faults", clock = "task-clock" } }, 'write "clock = task-clock"' },
      { { events = { clock = "task-clock" } }, 'write "clock = task-clock"' },
      { { metrics = { "ipc", mine = "page_faults / 2" } }, 'write "mine = page_faults / 2"' },
      { { expect = { "page_faults > 0", task_clock = "> 1" } }, 'write "task_clock > 1"' },
      { { expect = { page_faults = 3 } }, 'write "page_faults == 3"' },
      { { gate = { "page_faults <= 5", task_clock = "<= +1%" } }, 'write "task_clock <= +1%"' },
      { { workloads = { "true", other = "ls /" } }, 'write pmc.command { "ls /", name = "other" }' },
      { { workloads = { "true", other = function() end } }, 'name = "other"' },
      { { factors = { { "n", { 1, 2 } }, m = { 3 } } }, 'write { "m", { ' },
      { { factors = { { "n", { 1, 2, most = 3 } } } }, "write 3" },
      { { factors = { n = { 1, 2, most = 3 } } }, "factor n is a list" },
      { { factors = { { "n", { 1, 2 }, { 3 } } } }, "without a third entry" },
      { { factors = { { "n", levels = { 1, 2 } } } }, "without 'levels'" },
      { { iterations = { 1, 2, most = 3 } }, "iterations is a list" },
      { { per = { "n * n" } }, '{ element = "n * n" }' },
      { { baseline = { "true" } }, "a workload's name or a partial cell" },
    } do
      assert_says({ case[2] }, refusal(case[1]))
    end
  end)

  it("is not called empty for it", function()
    assert.is_nil(refusal({ events = { clock = "task-clock" } }):find("empty", 1, true))
  end)

  it("is refused of workloads, targets, groups, monitors and results", function()
    local result = pmc.measure("true", { events = "page-faults", repetitions = 2 })
    local cos = "double cos(double x)"
    for _, case in ipairs {
      { "cflags is a list", pmc.kernel, { code = "", symbol = "f", cflags = { "-O2", more = "-g" } } },
      { "libs is a list", pmc.kernel, { code = "", symbol = "f", libs = { more = "-lm" } } },
      { "params: each entry needs a name", pmc.kernel, { code = "", symbol = "f", params = { 5 } } },
      { "cflags is a list", pmc.snippet, { c = "", cflags = { more = "-g" } } },
      { "args is a list", pmc.call, { declaration = cos, args = { 0.5, more = 2 } } },
      { "headers is a list", pmc.call, { declaration = cos, args = { 1 }, headers = { more = "<math.h>" } } },
      { "env: each entry needs a name", pmc.command, { "ls", env = { "A=1" } } },
      { "one list of CPUs", pmc.cpus, { "0", "0" } },
      { 'a label is written in its event: "clock = task-clock"', pmc.group,
        { "page-faults", clock = "task-clock" } },
      { 'write "clock = task-clock"', pmc.monitor,
        { events = { "page-faults", clock = "task-clock" }, target = pmc.self(), count = 1 } },
      { 'write "b = page_faults"', result.with, result, { metrics = { b = "page_faults" } } },
      { 'write "page_faults <= 3"', result.gate, result, { limits = { page_faults = "<= 3" } } },
      { 'only: workload is a list', result.only, result, { workload = { "true", b = "ls" } } },
      { 'names is a list', result.compare, result,
        { baseline = { workload = "true" }, names = { "page_faults", b = "task_clock" } } },
    } do
      assert_says({ case[1] }, message_of(unpack(case, 2)))
    end
  end)
end)

describe("a list with a nil in it", function()
  it("is refused where what stands behind would be lost", function()
    local lost = "a list ends at its first nil"
    assert_says({ lost, "after item 1", "item 3" }, refusal { events = { "page-faults", nil, "task-clock" } })
    assert_says({ lost }, refusal { metrics = { nil, "ipc" } })
    assert_says({ lost }, message_of(pmc.command, { "ls", nil, "-l" }))
    assert_says({ lost }, message_of(pmc.group, { "page-faults", nil, "task-clock" }))
    assert_says({ lost }, message_of(pmc.pid, { 1, nil, 2 }))
    assert_says({ lost }, message_of(pmc.load, { "a.jsonl", nil, "b.jsonl" }))
    assert_says({ lost }, message_of(pmc.call,
      { declaration = "int f(int a, int b, int c)", args = { 1, nil, 3 } }))
  end)

  it("takes maps where maps are taken", function()
    assert.is_truthy(pmc.experiment { workloads = { a = "true", b = "true" }, events = "page-faults",
      factors = { n = { 1, 2 } }, margin = { "1%", page_faults = "2%" } }:plan())
  end)
end)
