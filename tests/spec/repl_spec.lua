-- The prompt: what it compiles, shows and completes, and how it behaves in a pipe and in a terminal.

local support = require "tests.support"
local terminal = require "tests.support.terminal"

describe("what is typed", function()
  local compile = require("pmclua.cli.repl").compile

  local function values_of(source)
    local results
    compile(source)(function(...) results = { ... } end)
    return results
  end

  it("is an expression where it can be one", function()
    assert.same({ 3 }, values_of "1 + 2")
    assert.same({ 3 }, values_of "= 1 + 2")
    assert.same({ 1, 2, 3 }, values_of "1, 2, 3 -- three")
  end)

  it("may end with a semicolon, as in other languages", function()
    assert.same({ 3 }, values_of "1 + 2;")
    assert.same({ 3 }, values_of "= 1 + 2 ; ")
    assert.same({ 3 }, { compile "1 + 2; -- three" (error) })
    assert.is_nil(values_of "local x = 1;")
  end)

  it("is a statement where it is none", function()
    assert.is_nil(values_of "local x = 1")
    assert.is_nil(values_of "for i = 1, 2 do end")
  end)

  it("may go on in the next line where it is unfinished", function()
    for _, source in ipairs { "for i = 1, 2 do", "f(", "x =", "local s = [[", "function f()" } do
      local chunk, _, unfinished = compile(source)
      assert.is_nil(chunk)
      assert.is_true(unfinished, source)
    end
  end)

  it("is refused where no line could mend it", function()
    for _, source in ipairs { "x = = 1", "end", "1 +* 2", "f(1) (2))" } do
      local chunk, why, unfinished = compile(source)
      assert.is_nil(chunk)
      assert.is_false(unfinished, source)
      assert.matches("^stdin:1:", why)
    end
  end)
end)

describe("a value", function()
  local show = require("pmclua.cli.repl.pretty").show

  it("is shown exactly when it is a whole number of up to 64 bits", function()
    assert.equal("9007199254740992", show(2 ^ 53))
    assert.equal("18446744073709551615", show(18446744073709551615ULL))
    assert.equal("-9223372036854775807", show(-9223372036854775807LL))
    assert.equal("0.1", show(0.1))
    assert.equal("1e+300", show(1e300))
    assert.equal("nan", (show(0 / 0):gsub("%-", "")))
  end)

  it("is shown as it is when it is text, quoted and harmless inside a table", function()
    assert.equal("a\nb", show "a\nb")
    assert.equal([[{ "a\nb", "\e[0m \"q\"" }]], show { "a\nb", "\27[0m \"q\"" })
  end)

  it("is shown with its keys in order when it is a table", function()
    assert.equal('{ 1, 2, [10] = 3, a = true, b = { c = {} }, ["end"] = 1, ["x y"] = 2 }',
      show { 1, 2, [10] = 3, b = { c = {} }, a = true, ["x y"] = 2, ["end"] = 1 })
    assert.equal("{}", show {})
  end)

  it("is cut where it is deep, long or goes round", function()
    assert.equal("{ { { { {...} } } } }", show { { { { { { 1 } } } } } })
    local round = {}
    round.self = round
    assert.equal("{ self = { this again } }", show(round))
    local long = {}
    for i = 1, 100 do long[i] = i end
    assert.matches("\n  40,\n  %.%.%. 60 more\n}$", show(long))
  end)

  it("is shown by its own text when it has one, by its methods when it is an object", function()
    assert.equal("me", show(setmetatable({}, { __tostring = function() return "me" end })))
    local class = { close = print, read = print, _hidden = print }
    class.__index = class
    assert.equal("object with :close :read", show(setmetatable({ inside = 1 }, class)))
  end)
end)

describe("completion", function()
  local words = require("pmclua.cli.repl.complete").words
  local scope

  before_each(function()
    local class = { start = print, stop = print }
    class.__index = class
    scope = require("pmclua.base.scope").new { pmc = function() return require "pmclua" end }
    scope.alpha = { beta = { gamma = 1, golf = 2 }, _private = 3 }
    scope.group = setmetatable({ sum = 1 }, class)
  end)

  local function complete(line)
    return words(scope, line, line:match "[^ \t\n\"'`()%[%]{}<>=+*%%^#~;,|&]*$")
  end

  it("knows globals, the script's own too, and keywords", function()
    assert.same({ "alpha" }, complete "x = alp")
    assert.same({ "print" }, complete "prin")
    assert.same({ "while" }, complete "whi")
    assert.same({}, complete "nosuchname")
  end)

  it("knows fields, at any depth, and methods after a colon", function()
    assert.same({ "alpha.beta" }, complete "alpha.b")
    assert.same({ "alpha.beta.gamma", "alpha.beta.golf" }, complete "f(alpha.beta.g")
    assert.same({ "group.start", "group.stop", "group.sum" }, complete "group.s")
    assert.same({ "group:start", "group:stop" }, complete "group:s")
    assert.same({ "string.format" }, complete "string.form")
  end)

  it("hides names that begin with _ until one is typed", function()
    assert.same({ "alpha.beta" }, complete "alpha.")
    assert.same({ "alpha._private" }, complete "alpha._")
  end)

  it("knows the public names before anything of them is loaded", function()
    assert.same({ "pmc.experiment" }, complete "return pmc.exp")
  end)

  it("keeps what stands before the name in the same word", function()
    assert.same({ "3-alpha" }, complete "x = 3-alp")
  end)

  it("knows events inside strings, after a comma or a brace too", function()
    assert.same({ "page-faults" }, complete 'pmc.measure("page-f')
    assert.same({ "page-faults" }, complete "events = { 'cycles,page-f")
    assert.same({ "L1-dcache-load-misses", "L1-dcache-loads" }, complete "'L1-dcache-load")
    assert.is_nil(complete 'source = "nosuch/fi')
    assert.same({ "alpha" }, complete '"closed" .. alp')
  end)

  it("knows scripts in pmc.script, and then the options of that one", function()
    assert.same({ "matrix" }, complete 'pmc.script("matr')
    assert.same({ "matrix" }, complete "pmc.script 'matr")
    assert.same({ "--repetitions" }, complete 'pmc.script("matrix", "--rep')
    assert.same({ "--repeat" }, complete 'pmc.script("stat", "--rep')
    assert.same({ "--unroll" }, complete 'pmc.script("snippet", "--quiet", "--unr')
  end)

  it("knows the keys of an experiment within its braces", function()
    assert.same({ "repetitions" }, complete 'pmc.measure("ls", { events = { "cycles" }, repeti')
    assert.same({ "quiet" }, complete 'pmc.compare("ls", "true", { qui')
    assert.same({}, complete 'pmc.kernel { repeti')
    assert.same({}, complete "f { repeti")
  end)

  it("offers of a result and a cell what the reference names, and nothing of their own", function()
    local pmc = require "pmclua"
    local result = pmc.measure("true", { events = "page-faults", repetitions = 1 })
    local mine = setmetatable({}, { __index = { own = print } })
    local known = { r = result, cell = result:cells()(), mine = mine }
    local complete_in = require("pmclua.cli.repl.complete").words
    local methods = table.concat(complete_in(known, "r:", "r:"), " ")
    for _, name in ipairs { "cells", "compare", "report", "where" } do
      assert.matches("r:" .. name, methods)
    end
    for _, name in ipairs { "clear", "finish", "add", "part" } do
      assert.is_nil((methods .. " "):find("r:" .. name .. " ", 1, true))
    end
    assert.same({ "cell:clusters", "cell:components", "cell:iterations", "cell:label", "cell:summary",
      "cell:values", "cell:values_by_block" },
      complete_in(known, "cell:", "cell:"))
    assert.same({ "cell.page_faults" }, complete_in(known, "cell.pa", "cell.pa"))
    assert.same({ "mine:own" }, complete_in(known, "mine:", "mine:"))
  end)

  it("raises nothing where a field does", function()
    scope.evil = setmetatable({}, { __index = function() error "no" end })
    assert.same({}, complete "evil.x.y")
    assert.same({}, complete "nosuch.field")
  end)
end)

describe("the prompt in a pipe", function()
  local function run(stdin, args) return support.pmclua(args or { "-i" }, { stdin = stdin }) end

  it("prints results and nothing else", function()
    assert.same({ status = 0, out = "3\n6\n1\tnil\ta\n", err = "" }, run "x = 1\nx + 2\n_ * 2\n1, nil, 'a'\n")
  end)

  it("prints what a line returns", function()
    assert.same({ status = 0, out = "5\t6\n6\n", err = "" }, run "x = 5; return x, x + 1\nreturn\n_ + 1\n")
  end)

  it("shows pmc by all its names, loaded or not", function()
    local shown = run("pmc\n").out:gsub("%s+", " ")
    for _, name in ipairs(getmetatable(require "pmclua").__fields()) do
      assert.matches(" " .. name .. "%f[%W]", shown)
    end
  end)

  it("takes statements of several lines", function()
    assert.equal("1\n2\n", run("for i = 1, 2 do\nprint(i)\nend\n").out)
  end)

  it("says what is wrong, without a traceback for what was typed, and goes on", function()
    local result = run "prnt(1)\nx = = 2\nnil + 1\npmc.kernle\n7\n"
    assert.equal("7\n", result.out)
    assert.equal(1, result.status)
    assert.matches("stdin:1: undefined variable 'prnt': did you mean 'print'%?\n", result.err)
    assert.matches("stdin:1: unexpected symbol near '='\n", result.err)
    assert.matches("stdin:1: attempt to perform arithmetic on a nil value\n", result.err)
    assert.matches("stdin:1: pmc has no 'kernle', did you mean 'kernel'%?\n", result.err)
    assert.not_matches("traceback", result.err)
  end)

  it("shows a traceback where functions call each other, without its own frames", function()
    local result = run "function f() error 'deep' end\nfunction g() f() return 1 end\ng()\n"
    assert.matches("stdin:1: deep\nstack traceback:\n\tstdin:1: in function 'f'\n", result.err)
    assert.not_matches("pmclua%.", result.err)
  end)

  it("says once that a local ends with its line", function()
    local result = run "local x = 1\nlocal y = 2\n"
    assert.equal(1, select(2, result.err:gsub("`local` lasts only for its line", "")))
  end)

  it("comes after a script, and sees its globals", function()
    local path = support.write(support.folder() .. "/script.lua", "answer = 42\nprint(...)")
    assert.equal("word\n42\n", run("answer\n", { "-i", path, "word" }).out)
    assert.equal("5\n", run("x\n", { "-e", "x = 5", "-i" }).out)
  end)

  it("explains every public name, with an example that compiles", function()
    local listed = run("pmc.help()\n").out
    for _, name in ipairs(getmetatable(require "pmclua").__fields()) do
      assert.matches("pmc%." .. name .. " ", listed)
    end
  end)

  it("explains a name, given as text or as itself, a method, and a value at hand", function()
    for _, asked in ipairs { 'pmc.help "kernel"', "pmc.help(pmc.kernel)", 'pmc.help "pmc.kernel"' } do
      local said = run(asked .. "\n").out
      assert.matches("^pmc%.kernel%(options: kernel_options%) %-> kernel\n", said)
      assert.matches("\noptions:\n  symbol: name — the name of its function\n", said)
    end
    for asked, said in pairs { ['"r:compare"'] = "result:compare(options?: compare_options) -> comparison\n",
      ["pmc.self()"] = "class target", ["pmc.self().wait"] = "target:wait(seconds?: number(0..1e9)) -> ",
      ['"stats.median"'] = "pmc.stats.median(values: number[])", ["pmc.stats.median"] = "pmc.stats.median(",
      ['"g.read"'] = "group:read() -> counts\n" } do
      local shown = run(("pmc.help(%s)\n"):format(asked)).out
      assert.equal(said, shown:sub(1, #said))
    end
  end)

  it("says where more is written, and what may have been meant", function()
    local reference = run("pmc.help 'kernel'\n").out:match "\nmore about all of it: ([^\n]*)"
    assert.matches("### pmc.kernel(", support.read(reference), 1, true)
    assert.matches('no help on "kernle", did you mean \'kernel\'%?', run("pmc.help 'kernle'\n").err)
  end)
end)

describe("the prompt in a terminal", function()
  local screen

  before_each(function() support.need(support.have "tmux", "tmux is not installed") end)
  after_each(function()
    if screen then screen:close() end
    screen = nil
  end)

  local function open(environment)
    screen = terminal.open({ support.program }, environment)
    screen:expect "Ctrl-D leaves\n>"
    return screen
  end

  it("edits lines, remembers them and shows results", function()
    open()
    screen:enter("x = 40 x + 2", "> ")
    screen:enter("x = 40", "> ")
    screen:enter("x + 2", "42\n>")
    screen:press "Up"
    screen:type " + 1"
    screen:enter("", "43\n>")
    screen:enter([["é漢"]], "é漢\n>")
    screen:press "C-d"
    assert.equal(0, screen:wait_end())
  end)

  it("completes by the tabulator key", function()
    open()
    screen:type "pri"
    screen:press "Tab"
    screen:enter("('completed')", "completed\n>")
    screen:type "pmc.exp"
    screen:press "Tab"
    screen:expect "pmc.experiment"
    screen:press "C-u"
    screen:type "#'page-fau"
    screen:press "Tab"
    screen:enter("'", "11\n>")
  end)

  it("recalls a statement of several lines as one entry", function()
    open()
    screen:enter("function twice(n)", ">>")
    screen:enter("  return 2 * n", ">>")
    screen:enter("end", ">")
    screen:enter("'next'", "next\n>")
    screen:press "Up"
    screen:press "Up"
    screen:expect "> function twice(n) return 2 * n end"
    screen:press "Enter"
    screen:enter("twice(21)", "42\n>")
  end)

  it("keeps the history in a file of its user's own", function()
    open()
    screen:enter("remembered = 17 return remembered", "17\n>")
    screen:press "C-d"
    screen:wait_end()
    local state = screen.folder .. "/state"
    local path = state .. "/pmclua/history"
    assert.matches("remembered", support.read(path))
    local mode = require("pmclua.core").stat(path).mode
    assert.equal(tonumber("600", 8), mode % 512)
    screen:close()
    open { XDG_STATE_HOME = state }
    screen:press "Up"
    screen:expect "> remembered = 17"
  end)

  it("follows no link where its history is kept, and waits for no FIFO there", function()
    for _, command in ipairs { "ln -s ../../key %s", "mkfifo %s" } do
      local state = support.folder()
      local history, key = state .. "/pmclua/history", support.write(state .. "/key", "own")
      os.execute(("chmod 644 %s; mkdir %s/pmclua; "):format(key, state) .. command:format(history))
      open { XDG_STATE_HOME = state }
      screen:enter("remembered = 17 return remembered", "17\n>")
      screen:press "C-d"
      screen:wait_end()
      assert.matches("remembered", support.read(history))
      assert.same({ "own", tonumber("644", 8) },
        { support.read(key), require("pmclua.core").stat(key).mode % 512 })
      screen:close()
    end
  end)

  it("takes no keys that another user binds, where the home is his", function()
    support.need(support.have_root(), "it takes root to have another user's home")
    local home = support.folder()
    support.write(home .. "/.editrc", 'bind -s q "77"\n')
    for owner, length in pairs { ["0"] = "2", ["65534"] = "1" } do
      os.execute(("chown -R %s %s"):format(owner, home))
      screen = terminal.open({ support.program }, { HOME = home })
      if owner ~= "0" then screen:expect("HOME=" .. home .. " is ignored: another user") end
      screen:expect "\n>"
      screen:enter("#'q'", length .. "\n>")
      screen:close()
    end
  end)

  it("ends what runs at Ctrl-C and keeps the session", function()
    open()
    screen:enter("kept = 5 return kept", "5\n>")
    screen:enter("print 'begun' while true do end", "begun")
    screen:press "C-c"
    screen:expect "interrupted\n>"
    screen:enter("kept + 2", "7\n>")
    screen:type "half a line"
    screen:press "C-c"
    screen:enter("kept + 1", "6\n>")
  end)

  it("works where the terminal cannot edit lines", function()
    open { TERM = "dumb" }
    screen:enter("1 + 2", "3\n>")
    screen:enter("for i = 8, 9 do", ">>")
    screen:enter("print(i) end", "8\n9\n>")
    screen:enter("print 'begun' while true do end", "begun")
    screen:press "C-c"
    screen:expect "interrupted\n>"
    screen:press "C-d"
    assert.equal(0, screen:wait_end())
  end)
end)
