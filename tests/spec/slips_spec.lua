-- Slips of the pen in a script: each is said, with what was meant, and none is taken for something else.

local pmc = require "pmclua"
local support = require "tests.support"

local message_of = support.message_of

local function refusal(more)
  local spec = support.merged({ workloads = { "true" }, events = { "page-faults" } }, more)
  return message_of(pmc.experiment, spec)
end

local function remarks(more)
  local result = support.experiment(support.merged({ workloads = { "true" }, events = { "page-faults" },
    repetitions = 1, warmup = 0 }, more))
  return table.concat(result.remarks, "\n")
end

local KERNEL = [[
#include <pmclua_kernel.h>
void *f_setup(const struct pmclua_params *p) { return (void *)pmclua_u64(p, "size", 1); }
void f(void *s, uint64_t iterations) { while (iterations--) pmclua_keep(s); }
]]

describe("a name that is nearly right", function()
  local function said(...)
    local run = support.pmclua { ... }
    assert.is_true(run.status ~= 0)
    return run.err
  end

  it("is named in a limit, an event and a factor", function()
    assert.matches("did you mean 'valgrind_instructions'?", said("gate", "--against", "true", "-l",
      "valgrind_instruction <= +1%", "--", "true"), 1, true)
    assert.matches("did you mean 'valgrind::allocations'?", said("stat", "-e", "allocations", "--", "true"),
      1, true)
    assert.matches("did you mean 'pages'?", said("pages", "--set", "page=1"), 1, true)
    assert.matches("pmclua NAME --help", said("help", "pages"), 1, true)
  end)
end)

describe("a name in braces", function()
  it("that is no factor is refused, with the nearest", function()
    local sizes = { { "size", { 1 } } }
    local none = refusal { workloads = { "ls {m}" } }
    assert.matches("ls {m}: {m} is not a factor, and none is declared", none, 1, true)
    assert.matches("did you mean 'size'", refusal { workloads = { "ls {sise}" }, factors = sizes })
    assert.matches("there is no factor 'other'; there are size",
      refusal { workloads = { "ls {other} {size}" }, factors = sizes })
    assert.matches("did you mean 'size'",
      refusal { workloads = { pmc.command { "ls", "-{siez}" } }, factors = sizes })
    assert.matches("no factor 'folder'",
      refusal { workloads = { pmc.command { "ls", cwd = "{folder}" } }, factors = sizes })
    assert.matches("no factor 'what'",
      refusal { workloads = { pmc.kernel { code = KERNEL, symbol = "f_{what}" } }, factors = sizes })
    assert.matches("{m} is not a factor", refusal { prepare = pmc.command "touch {m}" }, 1, true)
  end)

  it("stays as it is where a program may want it so", function()
    for _, workload in ipairs { "awk '{print}' /dev/null", pmc.command { "awk", "{print}", "/dev/null" },
      pmc.command { "echo {a}", shell = true }, "find /dev/null -exec true {} +" } do
      assert.is_truthy(pmc.experiment { workloads = { workload }, events = "page-faults" }:plan())
      assert.is_truthy(pmc.experiment { workloads = { workload }, events = "page-faults",
        factors = { { "size", { 1 } } } }:plan())
    end
  end)
end)

describe("a factor", function()
  it("that no workload uses is said", function()
    local unused = { { "size", { 1, 2 } } }
    assert.matches("no workload uses the factor size", remarks { factors = unused })
    assert.matches("no workload uses the factor size",
      remarks { factors = unused, workloads = { function() end } })
    assert.equal("", remarks { factors = unused, workloads = { "true {size}" } })
    assert.equal("", remarks { factors = unused, workloads = { "true", "true {size}" } })
    assert.equal("", remarks { factors = unused, workloads = { function(_levels) end } })
    assert.equal("", remarks { factors = unused, prepare = function(_levels) end })
    assert.equal("", remarks { factors = { { "environment_bytes", { 0, 64 } } } })
  end)

  it("that a kernel asks for by its name is used, and one that it does not is said", function()
    support.need(support.have "cc", "no C compiler")
    local kernel = pmc.kernel { code = KERNEL, symbol = "f" }
    assert.equal("", remarks { factors = { { "size", { 1, 2 } } }, workloads = { kernel }, iterations = 1 })
    assert.matches("no workload uses the factor sise",
      remarks { factors = { { "sise", { 1, 2 } } }, workloads = { kernel }, iterations = 1 })
  end)
end)

describe("a value of another kind", function()
  it("is refused with what to write", function()
    assert.matches('did you mean \'fit\'', refusal { workloads = { pmc.kernel { code = "", symbol = "f" } },
      iterations = "fits" })
    assert.matches('not 1: write "1%"', refusal { margin = 1 }, 1, true)
    assert.matches('not 0.5: write "0.5%", or "50%"', refusal { margin = 0.5 }, 1, true)
    assert.matches('write "2%"', refusal { margin = { "1%", page_faults = 2 } }, 1, true)
    local stop = { interval = 0.5, repetitions = 9 }
    assert.matches('write "0.5%", or "50%"', refusal { stop = stop }, 1, true)
  end)
end)

describe("misspelt events", function()
  it("are all said at once, in a list and in one string", function()
    for _, events in ipairs { { "page-fautls", "tsk-clock", "cylces" },
      "page-fautls,tsk-clock,task-clock,cylces", { "page-fautls,tsk-clock", "cylces" } } do
      local said = refusal { events = events }
      for _, word in ipairs { "page-fautls", "tsk-clock", "cylces" } do
        assert.matches(word, said, 1, true)
      end
      assert.matches("3 mistakes", said)
    end
    local one = refusal { events = "page-faults,{task-clock,cylces},mem:0x10/4:r" }
    assert.is_nil(one:find "mistakes")
  end)

  it("are all said on the command line", function()
    local got = support.pmclua { "compare", "true", "true", "-e", "page-fautls,tsk-clock" }
    assert.equal(2, got.status)
    assert.matches("page%-fautls.*tsk%-clock", got.err)
  end)
end)

describe("a script that returns what is no experiment", function()
  local function run(text)
    return support.pmclua { support.write(support.folder() .. "/bare.lua", text), "--no-store", "--quiet" }
  end

  it("but a table of one, or several, is told so, and fails", function()
    local bare = run 'return { workloads = { "true" }, events = { "page-faults" } }'
    assert.equal(1, bare.status)
    assert.matches("returned a table and ran nothing: `return pmc.experiment", bare.err, 1, true)
    assert.equal(0, run("return { answer = 42 }").status)
    local list = run 'return { { workloads = { "true" }, events = "page-faults" } }'
    assert.equal(1, list.status)
    assert.matches("returned a table and ran nothing", list.err, 1, true)
  end)

  it("but two of them runs neither, and fails", function()
    local two = run [[local pmc = require "pmclua"
      local function declared(command)
        return pmc.experiment { workloads = { command }, events = "page-faults", repetitions = 1, warmup = 0 }
      end
      return declared "true", declared "echo run"]]
    assert.same({ 1, "" }, { two.status, two.out })
    assert.matches("2 experiments were returned, and a script runs one: call the :run() of each", two.err,
      1, true)
  end)
end)

describe("an HTML page without gnuplot", function()
  it("says that its plots are missing, and what to install", function()
    local result = pmc.measure("true", { events = "page-faults", repetitions = 6 })
    local without = support.with_env({ PATH = support.folder() }, function()
      return result:report { format = "html" }
    end)
    assert.matches("gnuplot is not installed (apt-get install gnuplot-nox", without, 1, true)
    support.need(support.have "gnuplot", "no gnuplot")
    local with = result:report { format = "html" }
    assert.is_nil(with:find("gnuplot is not installed", 1, true))
    assert.matches("<img", with)
  end)
end)
