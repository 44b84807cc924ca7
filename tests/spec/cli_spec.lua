-- The executable's command line: what runs, where output goes, how it exits.

local support = require "tests.support"

local folder = support.folder()

local function script(text) return support.write(folder .. "/script.lua", text) end

local function run(args, options) return support.pmclua(args, options) end

describe("the command line", function()
  it("runs a script with its arguments", function()
    support.need_unwatched("it runs the executable by another name", "valgrind")
    local path = script "print(select('#', ...), ..., arg[0], arg[1], arg[-1])"
    assert.equal(("2\ta\t%s\ta\t%s\n"):format(path, support.program), run({ path, "a", "b c" }).out)
  end)

  it("runs chunks in order, which share their globals", function()
    assert.equal("1\n3\n", run({ "-e", "x = 1 print(x)", "-e", "print(x + 2)" }).out)
    assert.equal("4\n", run({ "-eprint(4)" }).out)
  end)

  it("runs a script on standard input when it is no terminal, or for '-'", function()
    assert.equal("hello\n", run({}, { stdin = "print 'hello'" }).out)
    assert.equal("a\n", run({ "-", "a" }, { stdin = "#!/usr/bin/env pmclua\nprint(...)" }).out)
  end)

  it("gives an experiment on standard input its options", function()
    local stdin = 'return pmc.experiment { workloads = { "true" }, events = "page-faults" }'
    local result = run({ "-", "--plan", "--repetitions", "7" }, { stdin = stdin })
    assert.equal(0, result.status)
    assert.matches("%f[%d]7%f[%D]", result.out)
    assert.equal(2, run({ "-", "--plam" }, { stdin = stdin }).status)
  end)

  it("refuses what is no script", function()
    support.write(folder .. "/garbage.lua", "\1\2\3\0")
    assert.equal(1, run({ folder .. "/garbage.lua" }).status)
    assert.equal(1, run({ folder .. "/" }).status)
    assert.equal(2, run({ "" }).status)
  end)

  it("requires a module under its own name with -l", function()
    support.write(folder .. "/five.lua", "return 5")
    assert.equal("5\n", run({ "-l", "five", "-e", "print(five)" },
      { env = { LUA_PATH = folder .. "/?.lua;;" } }).out)
    local result = run { "-l", "no.such.module" }
    assert.equal(1, result.status)
    assert.matches("module 'no.such.module' not found", result.err)
  end)

  it("leaves to the script what follows its word", function()
    local path = script "print(...)"
    assert.equal("-e\t-v\t--list\n", run({ path, "-e", "-v", "--list" }).out)
    assert.equal("-v\n", run({ "--", path, "-v" }).out)
  end)

  it("says its version and its usage on standard output", function()
    local version = run { "-v" }
    assert.matches("^pmclua %d+%.%d+%.%d+ %(LuaJIT .*%)\n$", version.out)
    assert.equal(0, version.status)
    assert.matches("^usage: pmclua", run({ "-h" }).out)
    assert.equal(run({ "-h" }).out, run({ "--help" }).out)
  end)

  it("refuses what is no option with exit status 2 and its usage on standard error", function()
    for _, args in ipairs { { "-x" }, { "--lsit" }, { "-e" }, { "-l" } } do
      local result = run(args)
      assert.equal(2, result.status)
      assert.equal("", result.out)
      assert.matches("usage: pmclua", result.err)
    end
    assert.matches("unknown option '--lsit', did you mean '--list'?", run({ "--lsit" }).err, 1, true)
  end)

  it("has a help that fits the terminal, of 24 lines where it has 80 columns", function()
    local text = require "pmclua.base.text"
    for _, columns in ipairs { 40, 60, 80, 200 } do
      local lines = text.lines(run({ "--help" }, { env = { COLUMNS = tostring(columns) } }).out)
      for _, line in ipairs(lines) do assert.is_true(text.width(line) <= math.min(columns, 80), line) end
      assert.is_true(columns < 80 or #lines < 24, #lines)
    end
  end)

  it("groups its commands by what people want", function()
    local shown = run({ "--help" }).out
    for _, purpose in ipairs { "count", "compare", "find out why", "gate", "search" } do
      assert.matches("\n  " .. purpose .. "  +%l", shown)
    end
  end)
end)

describe("globals", function()
  it("raise with the nearest name when nobody has defined them", function()
    local result = run { script "local n = 1\nprnt(n)" }
    assert.equal(1, result.status)
    assert.matches("script.lua:2: undefined variable 'prnt': did you mean 'print'%?", result.err)
    assert.matches("'measure': did you mean 'pmc.measure'?", run({ "-e", "measure 'ls'" }).err, 1, true)
    assert.matches("'quit': did you mean 'os.exit'?", run({ "-e", "quit()" }).err, 1, true)
    assert.matches('begin with `local pmc = require "pmclua"`', run({ script "pmc.help()" }).err, 1, true)
  end)

  it("may be set and read, and asked for by rawget", function()
    assert.equal("3\tnil\n", run({ script "x = 3\nprint(x, rawget(_G, 'y'))" }).out)
  end)

  it("of a script are not seen by the modules that it requires", function()
    support.write(folder .. "/peek.lua", "return tostring(mine)")
    assert.equal("nil\n", run({ script "mine = 1\nprint(require 'peek')" }).out)
  end)

  it("have pmc for chunks and standard input, and not for scripts", function()
    assert.equal("table\n", run({ "-e", "print(type(pmc))" }).out)
    assert.equal("table\n", run({}, { stdin = "print(type(pmc))" }).out)
    assert.matches("undefined variable 'pmc'", run({ script "print(pmc)" }).err)
  end)
end)

describe("an error", function()
  it("in a script has a traceback that ends where the script does", function()
    local result = run { script "local function f() error 'no' end\nf()" }
    assert.equal(1, result.status)
    assert.equal("", result.out)
    assert.matches("^pmclua: .*script.lua:1: no\nstack traceback:\n", result.err)
    assert.matches("script.lua:2: in function 'chunk'\n$", result.err)
    assert.not_matches("pmclua%.cli", result.err)
  end)

  it("that prints itself has none, and its own exit status", function()
    local text = [[error(setmetatable({ status = %s }, { __tostring = function() return "said well" end }))]]
    assert.same({ status = 1, out = "", err = "pmclua: said well\n" }, run { script(text:format "nil") })
    assert.same({ status = 2, out = "", err = "pmclua: said well\n" }, run { script(text:format "2") })
  end)

  it("without a value is silent", function()
    assert.same({ status = 1, out = "", err = "" }, run { "-e", "error()" })
  end)

  it("of syntax names the place", function()
    local result = run { script "print(\n(" }
    assert.equal(1, result.status)
    assert.matches("^pmclua: .*script.lua:2: ", result.err)
    assert.not_matches("traceback", result.err)
    assert.equal(1, run({ "-e", "x =" }).status)
  end)

  it("comes after what was printed before it", function()
    local result = support.run { "sh", "-c", support.program .. " -e 'print(1) error()' 2>&1; echo $?" }
    assert.equal("1\n1\n", result.out)
  end)

  it("in one chunk keeps the next from running", function()
    assert.equal("", run({ "-e", "error()", "-e", "print 'not run'" }).out)
  end)
end)

describe("the exit status", function()
  it("is 0 when all went well, and the whole number that a script returns", function()
    assert.equal(0, run({ "-e", "" }).status)
    assert.equal(77, run({ script "return 77" }).status)
    assert.equal(0, run({ script "return {}" }).status)
  end)

  local DECLARED = [[local pmc = require "pmclua"
    local declared = pmc.experiment { events = "page-faults", workloads = { "true" }, repetitions = 2 }
    ]]

  it("is 1 for a script that declares an experiment and does not return it, whatever else", function()
    for _, rest in ipairs { "", "return 0", "return { declared }", "declared:override { repetitions = 3 }",
      "pmc.measure('true', { events = 'page-faults', repetitions = 1 })",
      "declared:plan(); pmc.experiment { events = 'page-faults', workloads = { 'true' } }" } do
      local ended = run { script(DECLARED .. rest), "--quiet" }
      assert.equal(1, ended.status, rest .. ended.err)
      assert.matches("declared and never run: end the script with `return pmc%.experiment", ended.err, rest)
    end
    assert.equal(1, run({}, { stdin = DECLARED }).status)
    assert.equal(1, run({ "-e", DECLARED }).status)
    assert.equal(5, run({ script(DECLARED .. "return 5") }).status)
    local path = support.write(support.folder() .. "/declares.lua", DECLARED .. "return declared")
    local env = { LUA_PATH = path:gsub("declares", "?") }
    assert.equal(1, run({ "-l", "declares" }, { env = env }).status)
    assert.equal(0, run({ "-l", "declares", "-e", "declares:plan()" }, { env = env }).status)
  end)

  it("is that of the run where the experiment is returned, run or planned, or one of several is", function()
    for _, rest in ipairs { "return declared:override { repetitions = 1 }",
      "declared:run { store = false, quiet = true }", "io.write(declared:plan())",
      "pmc.experiment { events = 'page-faults', workloads = { 'true' } }; do return declared end" } do
      local ended = run { script(DECLARED .. rest), "--quiet", "--no-store" }
      assert.equal(0, ended.status, rest .. ended.err)
    end
    assert.equal(0, run({ "-e", "made = pmc.experiment { events = 'page-faults', workloads = { 'true' } }",
      "-e", "made:plan()" }).status)
  end)

  it("is what os.exit says", function()
    assert.equal(5, run({ "-e", "os.exit(5, true)" }).status)
  end)

  it("is 1 when standard output cannot be written", function()
    for _, ending in ipairs { "", "os.exit(0)", "os.exit(true, true)" } do
      local line = ("%s -e 'print(1) %s' >/dev/full"):format(support.program, ending)
      local result = support.run { "sh", "-c", line }
      assert.equal(1, result.status, ending)
    end
  end)

  it("costs no other file what was written to it", function()
    local path = support.folder() .. "/file"
    local chunk = ("f = io.open([[%s]], [[w]]) f:write([[whole]]) print(1) os.exit(0)"):format(path)
    local line = ("%s -e '%s' >/dev/full"):format(support.program, chunk)
    assert.equal(1, support.run({ "sh", "-c", line }).status)
    assert.equal("whole", support.read(path))
  end)

  it("is the script's own where it failed and its output was lost as well", function()
    local result = support.run { "sh", "-c", support.program .. " -e 'print(1) os.exit(5)' >/dev/full" }
    assert.equal(5, result.status)
  end)

  it("is 130 after an interrupt", function()
    local result = run { "-e", [[io.popen("kill -INT $PPID"):close() while true do end]] }
    assert.equal(130, result.status)
  end)
end)

describe("start-up", function()
  it("loads nothing that an empty chunk does not need", function()
    local result = run { "-e", [[
      local loaded = {}
      for name in pairs(package.loaded) do
        if name:find "^pmclua" or name == "lpeg" then table.insert(loaded, name) end
      end
      table.sort(loaded)
      print(table.concat(loaded, " "))]] }
    assert.equal("pmclua.base.scope pmclua.cli pmclua.cli.modules\n", result.out)
  end)

  it("works from any folder and as an ordinary user", function()
    support.need(support.have_root(), "only root can become another user")
    local result = run({ "-e", "print(pmc ~= nil)" }, { folder = "/", user = true, env = { HOME = false } })
    assert.same({ status = 0, out = "true\n", err = "" }, result)
  end)
end)
