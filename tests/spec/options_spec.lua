-- A script's options: one table in, checked values or exit status 2 out.

local support = require "tests.support"

local HEADER = [[
#!/usr/bin/env pmclua
-- How many frobs does a command make?
--
-- method: counts them.
-- usage: pmclua tool [options] -- CMD
-- example: pmclua tool -r 5 -- ls

]]

local TOOL = HEADER .. [[
local pmc = require "pmclua"
local opt = pmc.options {
  { "repeat", 1, short = "r", type = "integer", help = "how often" },
  { "ratio", 0.5 },
  { "dry-run", false, short = "n" },
  { "kind", "alpha", choices = { "alpha", "beta" } },
  { "label", many = true, short = "L" },
  { "columns", { "x" }, type = "list" },
  { "pid", type = "integer" },
  { "command", rest = true },
  experiment = false,
}
print(opt["repeat"], opt.ratio, opt.dry_run, opt.kind, table.concat(opt.label, "+"),
  table.concat(opt.columns, "+"), opt.pid, table.concat(opt.command, " "))
]]

describe("a format that nobody named", function()
  local folder

  lazy_setup(function()
    folder = support.folder()
    support.write(folder .. "/tool.lua", HEADER .. [[
      local pmc = require "pmclua"
      local opt = pmc.options { { "format", "table", choices = pmc.formats(), by = "output" },
        { "output", type = "string" }, experiment = false }
      print(opt.format)]])
    support.write(folder .. "/run.lua", HEADER .. [[
      local pmc = require "pmclua"
      return pmc.experiment { workloads = { "true" }, events = "page-faults", repetitions = 2 }]])
  end)

  it("is what the ending of the file asks for, and the default where that is none", function()
    local function format(...) return support.pmclua({ folder .. "/tool.lua", ... }).out:match "%a+" end
    local function of_file(path, ...) return format("--output", path, ...) end
    assert.same({ "table", "html", "latex", "json", "table", "csv", "table" }, { format(), of_file "a.html",
      of_file "a.tex", of_file "x.y/a.JSON", of_file "a.nosuch", of_file("a.html", "--format", "csv"),
      of_file "-" })
  end)

  it("is so of every experiment", function()
    local path = folder .. "/page.html"
    local words = { folder .. "/run.lua", "--quiet", "--no-store", "--output", path }
    assert.equal(0, support.pmclua(words).status)
    assert.matches("^<!DOCTYPE html>", support.read(path))
  end)
end)

describe("a script's options", function()
  local folder

  lazy_setup(function()
    folder = support.folder()
    support.write(folder .. "/tool.lua", TOOL)
  end)

  local function run(...) return support.pmclua({ folder .. "/tool.lua", ... }) end

  local function prints(expected, ...)
    assert.same({ status = 0, out = expected .. "\n", err = "" }, run(...))
  end

  local function refuses(pattern, ...)
    local result = run(...)
    assert.equal(2, result.status)
    assert.equal("", result.out)
    assert.matches(pattern, result.err)
    assert.matches("usage: pmclua tool %[options%] %-%- CMD", result.err)
    assert.not_matches("traceback", result.err)
  end

  it("have their defaults when nothing is given", function()
    prints "1\t0.5\tfalse\talpha\t\tx\tnil\t"
  end)

  it("take a value after a blank, after '=' and right after a letter", function()
    prints("5\t0.25\tfalse\tbeta\t\tx\t7\t", "-r", "5", "--ratio=0.25", "--kind", "beta", "--pid=7")
    prints("5\t0.5\ttrue\talpha\t\tx\tnil\t", "-nr5")
  end)

  it("collect what may be given several times, and split lists", function()
    prints("1\t0.5\tfalse\talpha\ta+b\t1+2\tnil\t", "--label", "a", "-L", "b", "--columns", "1,2")
  end)

  it("end at the first word of a command, whose own options stay its own", function()
    prints("2\t0.5\tfalse\talpha\t\tx\tnil\tls -l --help -n", "-r", "2", "ls", "-l", "--help", "-n")
    prints("1\t0.5\tfalse\talpha\t\tx\tnil\tls -r 5", "--", "ls", "-r", "5")
  end)

  it("are refused with the option's name when the value has the wrong type", function()
    refuses("%-%-repeat: 'x' is not a whole number", "-r", "x")
    refuses("%-%-repeat: '1.5' is not a whole number", "--repeat=1.5")
    refuses("%-%-ratio: 'nan' is not a number", "--ratio", "nan")
  end)

  it("are refused with the nearest name or value when they are misspelt", function()
    refuses("unknown option '%-%-repaet', did you mean '%-%-repeat'%?", "--repaet", "3")
    refuses("unknown option '%-%-runs', did you mean '%-%-repeat'%?", "--runs", "3")
    refuses("unknown option '%-%-export%-beta', did you mean '%-%-kind beta'%?", "--export-beta", "f")
    refuses("%-%-kind: 'betta' is not alpha or beta, did you mean 'beta'%?", "--kind", "betta")
  end)

  it("are refused without a value, and flags with one", function()
    refuses("'%-%-ratio' requires an argument", "--ratio")
    refuses("'%-%-dry%-run' does not take arguments", "--dry-run=yes")
  end)

  it("are explained by --help after the script's header", function()
    local result = run("--help")
    assert.equal(0, result.status)
    assert.equal("", result.err)
    assert.matches("^How many frobs does a command make%?\n\nmethod: counts them%.\nusage: ", result.out)
    assert.matches("\n  %-r, %-%-repeat N%s+how often %(default: 1%)\n", result.out)
    assert.matches("\n      %-%-kind TEXT%s+%(alpha or beta%) %(default: alpha%)\n", result.out)
    assert.not_matches("repetitions", result.out)
  end)

  it("raise when one is read that was not declared", function()
    local script = support.write(folder .. "/typo.lua", HEADER .. [[
local opt = require("pmclua").options { { "pid", 1 } }
print(opt.pdi)
]])
    local result = support.pmclua { script }
    assert.equal("", result.out)
    assert.not_equal(0, result.status)
    assert.matches("no option 'pdi' was declared, did you mean 'pid'%?", result.err)
  end)

  it("raise at the script's line when the declaration is wrong", function()
    for pattern, declaration in pairs {
      ["no key 'hlep', did you mean 'help'%?"] = '{ "pid", hlep = "x" }',
      ["two options are called 'pid'"] = '{ "pid" }, { "pid" }',
      ["no type 'intger'"] = '{ "pid", type = "intger" }',
      ["first value is its name"] = '{ name = "pid" }',
      ["whose first value is its name"] = '"pid"',
    } do
      local script = support.write(folder .. "/wrong.lua",
        ('local pmc = require "pmclua"\npmc.options { %s }\n'):format(declaration))
      local result = support.pmclua { script }
      assert.not_equal(0, result.status)
      assert.matches(pattern, result.err)
      assert.matches("wrong%.lua:2:", result.err)
    end
  end)

  it("are those of other scripts where they are named alone", function()
    local script = support.write(folder .. "/alike.lua", [[
local pmc = require "pmclua"
local opt = pmc.options { "pin", "strict", { "name", "a" }, "note", experiment = false }
print(opt.pin, opt.strict, opt.name, table.concat(opt.note, "+"))
]])
    assert.equal("nil\tfalse\ta\t\n", support.pmclua({ script }).out)
    local words = { script, "--pin", "0", "--strict", "--note", "a=1", "--note", "b=2" }
    assert.equal("0\ttrue\ta\ta=1+b=2\n", support.pmclua(words).out)
    for _, tool in ipairs { script, "gate" } do
      local help = support.pmclua({ tool, "--help" }).out
      assert.truthy(help:find("treat an undecided limit as failed", 1, true))
    end
  end)

  it("require the words that have no default", function()
    local script = support.write(folder .. "/needs.lua", [[
local pmc = require "pmclua"
local opt = pmc.options { { "file", argument = true }, { "again", "no", argument = true } }
print(opt.file, opt.again)
]])
    assert.equal("a\tno\n", support.pmclua({ script, "a" }).out)
    assert.equal("a\tb\n", support.pmclua({ script, "a", "b" }).out)
    local result = support.pmclua { script }
    assert.equal(2, result.status)
    assert.matches("missing argument 'file'", result.err)
    assert.matches("usage: pmclua %S+/needs%.lua %[options%] file %[again%]", result.err)
  end)

  it("of experiments are refused where the script ran none", function()
    local script = support.write(folder .. "/none.lua",
      'local opt = require("pmclua").options { { "pid", 1 } }\nprint(opt.pid)\n')
    local result = support.pmclua { script, "--seed", "3" }
    assert.equal(2, result.status)
    assert.matches("%-%-seed has no effect: none ran no experiment", result.err)
    local help = support.pmclua({ script, "--help" }).out
    assert.matches("options of every experiment:\n.*%-%-repetitions N", help)
  end)
end)

describe("words of a command line", function()
  local read = require("pmclua.cli.options").read
  local declared = {
    { "repeat", 1, type = "integer", short = "r" }, { "event", short = "e", many = true },
    { "json", false, short = "j" }, { "dry-run", false, short = "n" }, { "set", type = "list" },
    { "kind", choices = { "a", 2 } }, { "file", argument = true },
    { "more", "x", argument = true, many = true },
  }
  local with_rest = { { "json", false, short = "j" }, { "url", short = "u" }, { "first", argument = true },
    { "command", rest = true } }

  local function given(words, options) return read(words, options, {}, { name = "test", word = "test" }) end

  local function refusal(words, options)
    local ok, why = pcall(given, words, options)
    return not ok and tostring(why):match "^[^\n]*"
  end

  -- Ways to write an option with a value.
  local SPELLINGS = {
    function(words, option, value) words[#words + 1] = ("--%s=%s"):format(option[1], value) end,
    function(words, option, value)
      words[#words + 1], words[#words + 2] = "--" .. option[1], value
    end,
    function(words, option, value)
      words[#words + 1] = "-" .. option.short
      words[#words + 1] = value
    end,
    function(words, option, value) words[#words + 1] = "-" .. option.short .. value end,
    function(words, option, value) words[#words + 1] = "-j" .. option.short .. value end,
  }

  it("give the same in each spelling and order", function()
    local random = require("pmclua.stats").random(7)
    for _ = 1, 300 do
      local words, expected, is_json = {}, { file = nil, event = nil }, nil
      for _ = 1, random:integer(6) do
        local option, spelling = declared[random:integer(2)], random:integer(#SPELLINGS)
        local value = tostring(random:integer(1000))
        SPELLINGS[spelling](words, option, value)
        is_json = is_json or spelling == 5 or nil
        if option.many then
          expected.event = expected.event or {}
          table.insert(expected.event, value)
        else
          expected["repeat"] = tonumber(value)
        end
        if random:integer(3) == 1 then
          local argument = expected.file and "b" or "a"
          words[#words + 1] = argument
          if argument == "a" then expected.file = "a"
          else
            expected.more = expected.more or {}
            table.insert(expected.more, "b")
          end
        end
      end
      if not expected.file then words[#words + 1], expected.file = "-", "-" end
      expected.json = is_json
      assert.same(expected, given(words, declared), table.concat(words, " "))
    end
  end)

  it("have the values that their options say", function()
    assert.same({ dry_run = true, json = true, set = { "1", "2" }, kind = 2, file = "", more = { "-r" } },
      given({ "-nj", "--set=1,2", "", "--kind", "2", "--", "-r" }, declared))
    assert.same({ ["repeat"] = -1, file = "f" }, given({ "--repeat=-5", "f", "-r-1" }, declared))
  end)

  it("end at a command, whose options are its own, or at --", function()
    assert.same({ json = true, url = "=x", first = "ls", command = { "-j", "--", "--help" } },
      given({ "-j", "-u=x", "ls", "-j", "--", "--help" }, with_rest))
    assert.same({ first = "--url", command = {} }, given({ "--", "--url" }, with_rest))
  end)

  it("that fit no option are refused, the first that is wrong", function()
    for words, why in pairs {
      ["f --dry_run"] = "unknown option '--dry_run', did you mean '--dry-run'?",
      ["f -jx"] = "unknown option '-x'", ["f --json=1"] = "option '--json' does not take arguments",
      ["f -r"] = "option '-r' requires an argument", ["f -r -n --what"] = "option '-r' requires an argument",
      ["f --event --"] = "option '--event' requires an argument",
      ["-j"] = "missing argument 'file'", ["f --kind=c -r x"] = "--kind: 'c' is not a or 2",
    } do
      local list = {}
      for word in words:gmatch "%S+" do list[#list + 1] = word end
      assert.equal(why, refusal(list, declared))
    end
    assert.equal("too many arguments", refusal({ "a", "b" }, { { "file", argument = true } }))
  end)
end)

describe("the options of every experiment", function()
  local parse = require("pmclua.cli.experiment_options").parse

  it("are nothing when no word is given", function() assert.same({}, parse {}) end)

  it("become what an experiment takes", function()
    assert.same({
      events = { "cycles,{a,b}", "page-faults" }, repetitions = 5, warmup = 0, passes = "rerun", seed = 7,
      set = { n = { 256, 512 }, mode = { "fast", true } }, baseline = { workload = "rows", n = 256 },
      pin = "0,2-3", timeout = "500ms", format = "json", output = "-", store = "a.jsonl", no_store = true,
      plan = true, quiet = true,
    }, parse { "--events", "cycles,{a,b}", "--events=page-faults", "--repetitions", "5", "--warmup", "0",
      "--passes", "rerun", "--seed", "7", "--set", "n=256,512", "--set", "mode=fast,true",
      "--baseline", "rows,n=256", "--pin", "0,2-3", "--timeout", "500ms", "--format", "json", "--output", "-",
      "--store", "a.jsonl", "--no-store", "--plan", "--quiet" })
  end)

  it("refuse a level without a factor, and what is no option", function()
    for _, words in ipairs { { "--set", "n" }, { "--set", "=3" }, { "--repetitons", "3" }, { "word" },
      { "--store", "-", "--output", "-" } } do
      local ok, problem = pcall(parse, words)
      assert.is_false(ok)
      assert.equal(2, problem.status)
    end
  end)
end)
