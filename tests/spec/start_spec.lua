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

  it("reads plain options without argparse, and generic events without LPeg, sysfs, tracefs and libpfm4",
    function()
      local calls = strace { support.program, "stat", "-e", "page-faults,task-clock", "-r", "2", "--",
        "true" }
      -- libc counts the CPUs that there may be, once.
      local counts
      calls, counts = calls:gsub("/sys/devices/system/cpu/possible", "")
      assert.is_true(counts <= 1, counts)
      for _, word in ipairs { "argparse", "lpeg", "dkjson", "/sys/bus", "/sys/devices", "tracing", "libpfm",
        "libdw" } do
        assert.is_nil(calls:find(word, 1, true), word)
      end
    end)
end)

describe("plain options", function()
  local options = require "pmclua.cli.options"
  local declared = {
    { "repeat", 1, type = "integer", short = "r" }, { "event", short = "e", many = true }, { "json", false,
      short = "j" },
    { "url", "http://localhost", short = "u" }, { "set", type = "list" }, { "kind", choices = { "a", "b" } },
    { "dry-run", false }, { "first", argument = true }, { "command", rest = true },
  }

  local function outcome(words)
    local ok, given = pcall(options.read, words, declared, {}, { name = "test", word = "test" })
    return ok and given or tostring(given)
  end

  -- The same by argparse alone.
  local function by_argparse(words)
    local plain = require "pmclua.cli.options.plain"
    local read = plain.read
    plain.read = function() end
    local result = outcome(words)
    plain.read = read
    return result
  end

  local WORDS = { "-r", "--repeat", "--repeat=3", "5", "-r5", "x", "-e", "--event", "a,b", "-j", "--json",
    "--json=1",
    "-je", "--url", "--url=", "--url=-", "-", "--", "--set=1,2", "--kind", "--kind=a", "c", "--dry-run",
    "--dry_run", "--no-such", "ls", "-l", "--help-me", "", "--repeat=-1" }

  for _, deed in ipairs { { "some", 1, 700 }, { "many", 5, 700 } } do
    it(("are read as argparse reads them, in %s words at random"):format(deed[1]), function()
      local random = require("pmclua.stats").random(8, deed[1])
      local by_itself = 0
      for _ = 1, deed[3] do
        local words = {}
        for i = 1, deed[2] + random:integer(4) - 1 do words[i] = WORDS[random:integer(#WORDS)] end
        local mine = outcome(words)
        assert.same(by_argparse(words), mine, table.concat(words, " "))
        if type(mine) == "table" then by_itself = by_itself + 1 end
      end
      assert.is_true(by_itself > 20, tostring(by_itself))
    end)
  end
end)
