-- What a run loads before it does its work, and what it does without.

local support = require "tests.support"

local function strace(words)
  support.need_unwatched "a watcher opens files of its own"
  support.need(os.execute "command -v strace >/dev/null" == 0, "strace is not installed")
  local log = support.folder() .. "/calls"
  local result = support.run { "strace", "-f", "-qq", "-e", "trace=openat,open,execve", "-o", log,
    unpack(words) }
  assert.equal(0, result.status, result.err)
  return support.read(log)
end

describe("starting", function()
  it("takes bytecode from the compiler that made it alone, and sources for any other", function()
    support.need_unwatched("the program is a script that starts it", "valgrind")
    local copy = support.folder() .. "/pmclua"
    local code, changed = support.read(support.program):gsub("=LuaJIT %d[%w.+-]*", function(version)
      return (version:gsub(".$", function(last) return last == "9" and "8" or "9" end))
    end)
    assert.is_true(changed > 0)
    support.write(copy, code)
    os.execute("chmod +x " .. support.quote(copy))
    local result = support.run { copy, "-e", "print(pmc.stats.median { 3, 1, 2 })" }
    assert.same({ 0, "2\n", "" }, { result.status, result.out, result.err })
  end)

  it("runs the text that a script's file has, though its own scripts come as bytecode", function()
    local text = support.read(support.root .. "/scripts/stat.lua")
    local same = support.write(support.folder() .. "/stat.lua", text)
    local other = support.write(support.folder() .. "/stat.lua", (text:gsub("\n", "\nprint 'another'; ", 1)))
    for path, printed in pairs { [same] = "", [other] = "another\n" } do
      local result = support.pmclua { path, "-e", "page-faults", "--no-report", "--", "true" }
      assert.same({ 0, printed, "" }, { result.status, result.out, result.err })
    end
  end)

  it("shows lines of the sources in tracebacks", function()
    local result = support.pmclua { "-e", "require('pmclua.base.text').nearest(nil)" }
    assert.is_truthy(result.err:find "pmclua%.base%.text:%d+:", result.err)
  end)

  it("reads options and generic events without LPeg, sysfs, tracefs and libpfm4",
    function()
      local calls = strace { support.program, "stat", "-e", "page-faults,task-clock", "-r", "2", "--",
        "true" }
      -- libc counts the CPUs that there may be, once.
      local counts
      calls, counts = calls:gsub("/sys/devices/system/cpu/possible", "")
      assert.is_true(counts <= 1, counts)
      for _, word in ipairs { "lpeg", "dkjson", "/sys/bus", "/sys/devices", "tracing", "libpfm",
        "libdw" } do
        assert.is_nil(calls:find(word, 1, true), word)
      end
    end)

  it("counts a command without the modules that launches, pins and other kinds of workloads need", function()
    local result = support.pmclua { "-e", [[
      pmc.measure("true", { events = "page-faults", repetitions = 1, warmup = 0 })
      for name in pairs(package.loaded) do print(name) end]] }
    assert.equal(0, result.status, result.err)
    assert.is_truthy(result.out:find "pmclua%.experiment%.run\n")
    local others = { "experiment.launching", "workload.pinning", "workload.kernel", "host.topology" }
    for _, name in ipairs(others) do
      assert.is_nil(result.out:find("pmclua." .. name .. "\n", 1, true), name)
    end
  end)

  it("lists events and metrics without LPeg", function()
    assert.is_nil(strace({ support.program, "events" }):find("lpeg", 1, true))
  end)
end)
