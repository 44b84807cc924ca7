-- What is written: a report wholly or not at all, and nothing that a terminal acts upon.

local support = require "tests.support"
local text = require "pmclua.base.text"

local ESCAPE, CSI, OVERRIDE = "\27[31m", "\194\155", "\226\128\174"      -- red; U+009B; U+202E
local HOSTILE = "x" .. ESCAPE .. CSI .. OVERRIDE .. "y"

local function is_harmless(said)
  return not (said:gsub("[\n\t]", ""):find "%c" or said:find(CSI, 1, true) or said:find(OVERRIDE, 1, true))
end

describe("a report that cannot be written", function()
  local COMMANDS = {
    { 2, 125, "where -e page-faults -- true" }, { 2, 125, "stat -e page-faults -- true" },
    { 2, 125, "stat -e page-faults --limit 'page_faults <= 9999' -- true" },
    { 2, 125, "stat -e page-faults -I 100 -- true" }, { 2, 125, "monitor -e page-faults -I 100 -- true" },
    { 1, 1, "why --budget 1s --no-simulate true true" }, { 1, 1, "topdown --plan true" },
    { 1, 1, "compare -e page-faults --repetitions 2 true true" }, { 1, 1, "events page" },
    { 1, 1, "gate --against true --limit 'page_faults <= +90%' -- true" },
    { 1, 1, "report tests/fixtures/none.jsonl" },
  }
  for _, case in ipairs(COMMANDS) do
    local stream, status, words = case[1], case[2], case[3]
    it("is a failure: pmclua " .. words, function()
      support.need_unwatched "a watcher writes there, too"
      for _, place in ipairs { ">/dev/full", ">&-" } do
        local command = ("%s %s %d%s"):format(support.quote(support.program), words, stream, place)
        local result = support.run({ "sh", "-c", command }, { folder = support.root })
        assert.same({ place, status }, { place, result.status }, result.err)
      end
    end)
  end

  it("is one of regions, too", function()
    require("tests.support.regions").need_probes()
    local command = support.quote(support.program)
      .. " regions -e page-faults -f libc.so.6:malloc -- true 2>/dev/full"
    assert.equal(125, support.run({ "sh", "-c", command }).status)
  end)

  it("leaves the exit status of a command that failed itself", function()
    local command = support.quote(support.program) .. " stat -e page-faults -- sh -c 'exit 7' 2>&1 >/dev/full"
    assert.equal(7, support.run({ "sh", "-c", command }).status)
  end)
end)

describe("what people read has no control characters", function()
  it("of the words that they typed", function()
    local lines = { { "stat", "-e", HOSTILE, "--", "true" }, { HOSTILE }, { "--" .. HOSTILE },
      { "stat", "--", HOSTILE }, { "report", HOSTILE }, { "report", "--format", HOSTILE },
      { "events", HOSTILE }, { "stat", "-r", HOSTILE, "--", "true" }, { "-e", ("error %q"):format(HOSTILE) },
      { "gate", HOSTILE, HOSTILE, "--limit", HOSTILE }, { "plot", HOSTILE },
      { "where", HOSTILE, HOSTILE },
      { "regions", "-f", HOSTILE, "--", "true" }, { "monitor", "-p", HOSTILE },
      { "matrix", "--set", HOSTILE } }
    for _, words in ipairs(lines) do
      local result = support.pmclua(words)
      assert.is_true(result.status ~= 0 or words[1] == "events")
      assert.is_true(is_harmless(result.err), result.err)
      assert.is_true(is_harmless(result.out), result.out)
    end
  end)

  it("of a stored result, however it is made and of whatever kind", function()
    local folder = support.folder()
    local stored = folder .. "/stored.jsonl"
    assert.equal(0, support.pmclua({ "stat", "-e", "page-faults", "--store", stored, "--", "true" }).status)
    local forged, count = support.read(stored):gsub('"kind":"command"', function()
      return '"kind":' .. require("pmclua.base.json").string("command" .. HOSTILE)
    end)
    assert.is_true(count > 0)
    support.write(stored, forged)
    local how = support.pmclua { "report", "--how", stored }
    assert.is_true(is_harmless(how.out .. how.err), how.out)
  end)

  it("of functions, in folded stacks", function()
    local profiles = require "tests.support.profiles"
    local line = profiles.line(HOSTILE, 9, { file = "/bin/" .. HOSTILE })
    local chained = profiles.profile { line }
    chained.chains = { ["main;" .. HOSTILE .. "\nnext"] = 9 }
    for _, profile in ipairs { profiles.profile { line }, chained } do
      for _, format in ipairs { "folded", "speedscope" } do
        local shown = profiles.code({ profile }, { profile }):report { format = format }
        assert.is_true(is_harmless(shown), shown)
        assert.equal(1, select(2, shown:gsub("\n", "")))
      end
    end
  end)

  it("but for the colours of reports", function()
    local painted = "a \27[33mword\27[0m, \27[8mhidden\27[0m\t" .. CSI .. "\n"
    assert.equal("a \27[33mword\27[0m, \\e[8mhidden\27[0m\t\\xc2\\x9b\n", text.printed(painted))
    assert.equal("no change: · µs\n", text.printed "no change: · µs\n")
    assert.equal("a \\e[33mword", text.plain "a \27[33mword")
  end)

  it("in long reports either, wherever it is", function()
    local core = require "pmclua.core"
    local long = ("0,1\n\t~ "):rep(1000)
    assert.is_true(core.is_plain(long))
    for byte = 0, 255 do
      local character = string.char(byte)
      local is_plain = character:find "^[\32-\126\n\t]$" ~= nil
      for _, before in ipairs { 0, 63, 64, 130 } do
        assert.equal(is_plain, core.is_plain(long:sub(1, before) .. character), byte)
        assert.equal(is_plain, core.is_plain(long:sub(1, before) .. character .. long:sub(1, 64)), byte)
      end
    end
    assert.is_true(core.is_plain "")
    local path = support.folder() .. "/long"
    for _, ending in ipairs { { "", "" }, { "\127", "\\x7f" }, { "\27[8m", "\\e[8m" }, { "·", "·" } } do
      require("pmclua.host.output").write(long .. ending[1] .. long, path)
      assert.equal(long .. ending[2] .. long, support.read(path))
    end
  end)
end)
