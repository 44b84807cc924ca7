-- Repetitions that the runner does by itself, one after the other: what they are, and how they end.

local core = require "pmclua.core"
local ffi = require "ffi"
local pmc = require "pmclua"
local support = require "tests.support"

ffi.cdef "int kill(int, int);"
local SIGINT = 2

local function lines_of(path)
  local count = 0
  for _ in io.lines(path) do count = count + 1 end
  return count
end

-- A command that leaves a line in `path` each time, and fails from the n-th time on.
local function counting(path, n)
  return pmc.command { ("echo >> %s; test $(wc -l < %s) -lt %d"):format(path, path, n), shell = true }
end


--- The records of a measurement and its result; `after` is called with how many there are so far.
local function measure(workload, options, after)
  local records = {}
  options.events = { "page-faults" }
  options.each = function(record)
    records[#records + 1] = record
    if after then after(#records) end
  end
  local result = pmc.measure(workload, options)
  return records, result
end

describe("a batch of repetitions", function()
  it("is recorded as its repetitions are, in the plan's order", function()
    local records = measure("true", { repetitions = 20, warmup = 3 })
    assert.equal(23, #records)
    for i, record in ipairs(records) do
      assert.same({ i, i <= 3, i <= 3 and i or i - 3, "done", 0 },
        { record.order, record.warmup, record.index, record.outcome, record.exit })
      assert.is_true(record.counts[1] > 0)
      assert.is_true(i == 1 or record.start_ns >= records[i - 1].start_ns + records[i - 1].wall_ns)
    end
  end)

  it("is not of commands with something to be done between them", function()
    local path = support.folder() .. "/lines"
    local seen = {}
    measure(counting(path, 1e6), { repetitions = 5, warmup = 0, prepare = function()
      seen[#seen + 1] = core.stat(path) and lines_of(path) or 0
    end })
    assert.same({ 0, 1, 2, 3, 4 }, seen)
  end)

  it("ends at the first failure, and nothing more is run", function()
    local path = support.folder() .. "/lines"
    local records, result = measure(counting(path, 5), { repetitions = 50, warmup = 0 })
    assert.equal("failed", result.status)
    assert.same({ 5, 5 }, { #records, lines_of(path) })
    assert.equal("exit status 1", records[5].why)
  end)

  it("goes on after failures where that is asked for", function()
    for _, on_failure in ipairs { "keep", "skip" } do
      local path = support.folder() .. "/lines"
      local records, result = measure(counting(path, 5), { repetitions = 20, warmup = 0,
        on_failure = on_failure })
      assert.equal("complete", result.status)
      assert.same({ 20, 20 }, { #records, lines_of(path) })
    end
  end)

  it("ends after the running repetition when it is interrupted, and all that was run is recorded", function()
    local path = support.folder() .. "/lines"
    local records, result = measure(counting(path, 1e9), { repetitions = 1e6, warmup = 0 }, function(n)
      if n == 10 then ffi.C.kill(core.pid(), SIGINT) end
    end)
    assert.equal("interrupted", result.status)
    assert.is_true(#records >= 10 and #records < 1e6)
    assert.equal(#records, lines_of(path))
  end)

  it("goes on in another runner after a kernel that ended its own", function()
    local kernel = pmc.kernel { symbol = "crash", code = [[
      #include <pmclua_kernel.h>
      static int calls;
      void crash(void *state, uint64_t iterations) { (void)state; if (++calls == 4) *(volatile int *)0 = 1; }
    ]] }
    local records = measure(kernel, { repetitions = 10, warmup = 0, iterations = 1, on_failure = "skip" })
    local outcomes = {}
    for i, record in ipairs(records) do outcomes[i] = record.outcome end
    local done, crashed = "done", "signalled"
    assert.same({ done, done, done, crashed, done, done, done, crashed, done, done }, outcomes)
  end)
end)
