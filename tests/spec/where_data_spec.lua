-- Which data: what was accessed, of programs whose data have names, and what cannot be told.

local pmc = require "pmclua"
local support = require "tests.support"
local where = require "tests.support.where"

local MACHINES = { x64 = true }

-- Skips where samples do not lead to data, with the reason.
local function need_data()
  support.need(MACHINES[jit.arch], "no decoding of this machine's instructions")
  local ok, problem = pcall(pmc.where, "true", { data = true })
  support.need(ok or not tostring(problem):find "cannot be found here", tostring(problem))
end

local function program(optimised)
  return where.program("data.c", optimised or "-O2", "-pthread")
end

local function measure(words, options)
  local asked = { data = true, event = "cpu-clock:u", seed = 5 }
  for key, value in pairs(options or {}) do asked[key] = value end
  return pmc.where(pmc.command(words), asked)
end

-- The counts of each object, and of all objects together.
local function objects_of(found)
  local counts, all = {}, 0
  for _, line in ipairs(found.profiles[1].data.lines) do
    counts[line.fn], all = (counts[line.fn] or 0) + line.count, all + line.count
  end
  return counts, all
end

-- Of what could be attributed to an object, this much is of these.
local function assert_share(found, least, ...)
  local counts, all = objects_of(found)
  local sum = 0
  for _, name in ipairs { ... } do sum = sum + (counts[name] or 0) end
  assert.is_true(all > 0, "nothing was attributed to an object")
  assert.is_true(sum >= least * all, ("%.3f of what has an object"):format(sum / all))
  return counts
end

describe("where --data", function()
  -- Nearly all; the loader and other data of a program have the rest, which is much only of short runs.
  local LEAST = 0.75

  setup(need_data)

  it("names the array of structures that is read and written at random", function()
    assert_share(measure { program(), "structs", "1" }, LEAST, "records")
  end)

  it("names the heap where a list of small blocks is walked", function()
    assert_share(measure { program(), "heap", "1" }, LEAST, "heap")
  end)

  it("gives more to the variable with more of the work", function()
    local counts = assert_share(measure { program(), "globals", "1" }, LEAST, "first", "second")
    -- Three steps for one; others on the machine may have the caches for a while.
    assert.is_true(counts.first > 1.3 * counts.second, ("%d to %d"):format(counts.first, counts.second))
  end)

  it("tells the stack of the first thread from those of others", function()
    assert_share(measure { program(), "stack", "1" }, LEAST, "stack of the first thread",
      "frame of stack, first thread")
    assert_share(measure { program(), "threads", "1" }, LEAST, "stack of other threads",
      "frame of work, other threads", "frame of stack, other threads")
  end)

  it("calls memory that several threads have their stacks in no thread's stack, as Go's heap", function()
    local beside = where.program("common_stacks.c", "-O2", "-g", "-pthread")
    assert_share(measure { beside }, LEAST, "memory of 1 MiB")
  end)

  it("names memory that was mapped at once by its size", function()
    assert_share(measure { program(), "memory", "1" }, LEAST, "memory of 4.00 MiB")
  end)

  it("names a mapped file", function()
    local path = support.folder() .. "/mapped.bin"
    assert_share(measure { program(), "file", "1", path }, LEAST, "file mapped.bin", "first")
  end)

  it("names what a copy in the C library reads and writes", function()
    assert_share(measure { program(), "copies", "1" }, LEAST, "first", "copied")
  end)

  it("names what vector code computes with", function()
    assert_share(measure { program "-O3", "matrix", "5" }, LEAST, "left", "right", "product")
  end)

  it("calls division computing, and gives it to no object", function()
    local found = measure { program(), "division", "1" }
    local profile = found.profiles[1]
    assert.is_true(profile.data.rest.computing > 0.3 * (profile.total - (profile.rest.kernel_unsampled or 0)))
  end)

  it("is exact for page faults, whose event tells the address", function()
    local found = measure({ program(), "pages", "7" }, { event = "page-faults" })
    local counts = objects_of(found)
    -- The first page of each may be shared with what lies before it.
    assert.is_true(math.abs(counts.touched - 100) <= 1 and math.abs(counts.less - 50) <= 1,
      ("%s and %s"):format(counts.touched, counts.less))
  end)

  it("adds up to what was counted in each view", function()
    local found = measure { program(), "structs", "1" }
    for _, by in ipairs { "data", "data line", "data function" } do
      local ledger, sum = found:ledger(by), 0
      for _, rows in ipairs { ledger.lines, ledger.rest } do
        for _, row in ipairs(rows) do sum = sum + row.a_sum end
      end
      assert.equal(ledger.total.a_sum, sum, by)
    end
  end)

  it("prints what it could not tell, also where that is nothing", function()
    local out = measure({ program(), "structs", "1" }):report { by = "data" }
    for _, words in ipairs { "no operand in memory", "address lost", "one of several objects",
      "computing" } do
      assert.matches(words, out, 1, true)
    end
    assert.not_matches("miss[^e]", out)
  end)

  it("names the data that two commands differ in", function()
    local path = program()
    local found = pmc.where(pmc.command { path, "globals", "0" }, pmc.command { path, "pages", "7" },
      { data = true, event = "page-faults", repetitions = 10, seed = 3 })
    local ledger, verdicts = found:ledger "data", {}
    for _, row in ipairs(ledger.lines) do verdicts[row.label] = row.verdict end
    assert.equal("more", verdicts.touched)
    assert.equal("more", verdicts.less)
    assert.equal("fewer", verdicts.first)
  end)

  it("reads back from a stored result as it was", function()
    local file = support.folder() .. "/data.jsonl"
    local found = measure({ program(), "pages", "7" }, { event = "page-faults", store = file })
    local read = pmc.load(file):where()
    assert.same(found.profiles[1].data, read.profiles[1].data)
    assert.equal(found:report { by = "data function" }, read:report { by = "data function" })
  end)

  it("writes stacks of objects and functions for flame graphs", function()
    local found = measure({ program(), "pages", "7" }, { event = "page-faults" })
    local out = found:report { by = "data", format = "folded" }
    assert.matches("\ntouched;pages 100\n", "\n" .. out)
  end)

  it("says that a result has no data where none were sampled", function()
    local found = pmc.where("true", { event = "page-faults" })
    assert.has_error(function() found:ledger "data" end, nil, "not recorded")
  end)
end)

local function arguments(words)
  local list = { "where" }
  for _, word in ipairs(words) do list[#list + 1] = word end
  list[#list + 1], list[#list + 2] = "--", "true"
  return list
end

describe("the options of where --data", function()
  it("are refused with the package of what decodes instructions, where that is missing", function()
    support.need_unwatched("a watcher's loader looks elsewhere", "valgrind")
    local folder = support.folder()
    support.write(folder .. "/libcapstone.so.4", "")
    local done = support.pmclua({ "where", "--data", "--", "true" }, { env = { LD_LIBRARY_PATH = folder } })
    assert.matches("Capstone, which decodes instructions, is not installed (apt-get install libcapstone4)",
      done.err, 1, true)
  end)

  it("are refused with an event that Valgrind counts by line", function()
    local result = support.pmclua { "where", "--data", "-e", "valgrind::instructions", "--", "true" }
    assert.equal(125, result.status)
    assert.matches("told by line alone", result.err)
  end)

  it("go together with those that make sense", function()
    for _, words in ipairs { { "--data", "-g" }, { "--data", "--inlined" }, { "--by", "function" },
      { "--data", "--by", "member", "--lines" }, { "--data", "--annotate", "main" } } do
      local result = support.pmclua(arguments(words))
      assert.equal(125, result.status, table.concat(words, " "))
    end
  end)
end)
