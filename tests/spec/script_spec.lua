-- Scripts: finding them by path and name, and what their headers say.

local support = require "tests.support"

local function question(text) return ("#!/usr/bin/env pmclua\n-- %s\n\nprint %q\n"):format(text, text) end

describe("a script's word", function()
  local folder, first, second, data

  lazy_setup(function()
    folder = support.folder()
    first, second, data = folder .. "/first", folder .. "/second", folder .. "/data"
    support.write(first .. "/alpha.lua", question "first alpha?")
    support.write(second .. "/alpha.lua", question "second alpha?")
    support.write(second .. "/beta.lua", question "second beta?")
    support.write(data .. "/pmclua/scripts/gamma.lua", question "data gamma?")
    support.write(folder .. "/path.lua", question "by path?")
  end)

  local function run(args)
    return support.pmclua(args, { folder = folder,
      env = { PMCLUA_PATH = first .. ":" .. second .. ":/nonexistent", XDG_DATA_HOME = data } })
  end

  it("is a path when it has a slash or ends in .lua", function()
    assert.equal("by path?\n", run({ "path.lua" }).out)
    assert.equal("by path?\n", run({ "./path.lua" }).out)
    assert.equal("by path?\n", run({ folder .. "/path.lua" }).out)
  end)

  it("is a name found in the first folder of PMCLUA_PATH that has it", function()
    assert.equal("first alpha?\n", run({ "alpha" }).out)
    assert.equal("second beta?\n", run({ "beta" }).out)
  end)

  it("is a name found among the user's own scripts", function()
    assert.equal("data gamma?\n", run({ "gamma" }).out)
  end)

  it("is refused with the nearest name when there is none", function()
    local result = run { "betta" }
    assert.equal(2, result.status)
    assert.matches("no script is called 'betta': did you mean 'beta'%?", result.err)
    assert.equal("pmclua: /bin/ls is a program, not a script: `pmclua stat -- /bin/ls` counts it\n",
      support.pmclua({ "/bin/ls" }).err)
  end)

  it("is refused when the path is not there", function()
    local result = run { "nowhere.lua" }
    assert.equal(2, result.status)
    assert.matches("cannot open nowhere.lua: No such file or directory", result.err)
  end)

  it("may be a pipe, which is read once", function()
    local command = ("cat %s | %s /dev/stdin a b"):format(folder .. "/words.lua", support.program)
    support.write(folder .. "/words.lua", "#!/usr/bin/env pmclua\nprint(...)\nerror 'wrong'\n")
    local result = support.run { "sh", "-c", command }
    assert.equal("a\tb\n", result.out)
    assert.matches("/dev/stdin:3: wrong", result.err, 1, true)
  end)

  it("is refused when the path is a folder's", function()
    require("lfs").mkdir(folder .. "/folder.lua")
    for _, words in ipairs { { "folder.lua" }, { "./folder.lua", "--help" } } do
      local result = run(words)
      assert.equal(1, result.status)
      assert.matches("^pmclua: cannot read [./]*folder.lua: Is a directory\n$", result.err)
    end
  end)

  it("is listed once by --list, with the header's question", function()
    local result = run { "--list" }
    assert.equal(0, result.status)
    assert.matches("alpha%s+first alpha%?\n", result.out)
    assert.not_matches("second alpha", result.out)
    assert.matches("beta%s+second beta%?\n", result.out)
    assert.matches("gamma%s+data gamma%?\n", result.out)
    -- A header without "for: …" is that of a user's own script.
    assert.is_true(result.out:find "\nlearn:\n" < result.out:find "\nyours:\nalpha ")
    assert.matches("\n  yours +alpha beta gamma\n", run({ "--help" }).out)
  end)

  it("finds modules beside the script before any other", function()
    support.write(folder .. "/there/script.lua", 'print(require("helper"), (require("deep")))')
    support.write(folder .. "/there/helper.lua", 'return "beside"')
    support.write(folder .. "/there/deep/init.lua", 'return "below"')
    support.write(folder .. "/helper.lua", 'return "elsewhere"')
    assert.equal("beside\tbelow\n", run({ "there/script.lua" }).out)
  end)
end)

describe("a script's header", function()
  local script = require "pmclua.cli.script"
  local folder = support.folder()

  local function header(text) return script.header(support.write(folder .. "/header.lua", text)) end

  it("is the comment at the top, without its marks", function()
    local found = header [[
#!/usr/bin/env pmclua
-- What does it cost,
-- all in all?
--
-- method: by doing it
--   twice.
-- usage: pmclua cost [N]
-- example: pmclua cost 3
--   cost 4
-- reading: less is better.

-- Not part of it.
print "x"
]]
    assert.equal("What does it cost, all in all?", found.question)
    assert.same({ method = "by doing it\n  twice.", usage = "pmclua cost [N]",
      example = "pmclua cost 3\n  cost 4", reading = "less is better." }, found.parts)
    assert.matches("^What does it cost,\nall in all%?\n\nmethod:", found.text)
    assert.not_matches("Not part", found.text)
  end)

  it("is empty where the script has none", function()
    assert.same({ text = "", question = "", parts = {} }, header "print 'x'\n-- later\n")
    assert.same({ text = "", question = "", parts = {} }, header "")
  end)

  it("is what --help prints of a script that takes no arguments, which is not run then", function()
    local path = support.write(folder .. "/plain.lua", "-- Says hello.\nprint 'hello'\n")
    assert.same({ status = 0, out = "Says hello.\n", err = "" }, support.pmclua { path, "--help" })
  end)

  it("is left to a script that reads its arguments itself", function()
    local path = support.write(folder .. "/own.lua", "-- Echoes.\nprint(...)\n")
    assert.equal("--help\n", support.pmclua({ path, "--help" }).out)
  end)
end)

describe("a script called from Lua", function()
  local folder = support.folder()

  local function run(text, code)
    support.write(folder .. "/called.lua", text)
    return support.pmclua({ "-e", code }, { folder = folder })
  end

  it("returns the result of the experiment that it is, with the options that were given", function()
    local result = run([[
      local pmc = require "pmclua"
      local opt = pmc.options { { "what", "true" } }
      return pmc.experiment { workloads = { opt.what }, events = "page-faults" }]],
      [[local r = pmc.script("./called.lua", "--what", "ls", "--repetitions", "3", "--no-store", "--quiet")
        for cell in r:cells() do print(cell.workload, cell.repetitions) end]])
    assert.same({ "ls\t3\n", "" }, { result.out, result.err })
  end)

  it("gives its exit status, and ends nothing but itself", function()
    assert.equal("7\tgoes on\n", run("os.exit(7)", "print(pmc.script './called.lua', 'goes on')").out)
    local code = "print(pmc.script('./called.lua', 'x'), rawget(_G, 'word') or 'a')"
    assert.equal("0\ta\n", run("word = ...", code).out)
  end)

  it("raises what it raises, and is not the running script any more", function()
    local result = run("error { code = 'OWN' }", [[
      local ok, problem = pcall(pmc.script, "./called.lua")
      print(ok, problem.code, require("pmclua.host.running").script,
        require("pmclua.host.paths").script_folder)]])
    assert.equal("false\tOWN\tnil\tnil\n", result.out)
  end)

  it("is refused where it forgets to return its experiment, not for one of its caller's", function()
    local declared = "local e = pmc.experiment { events = 'page-faults', workloads = { 'true' } }\n"
    local result = run("local pmc = require 'pmclua'\n" .. declared,
      "print(pcall(pmc.script, './called.lua'))")
    assert.matches("^false\t.*%./called%.lua: an experiment was declared and never run", result.out)
    local two = run("local pmc = require 'pmclua'\n" .. declared .. "return e, e",
      "print(pcall(pmc.script, './called.lua'))")
    assert.matches("^false\t.*%./called%.lua: 2 experiments were returned", two.out)
    assert.equal("0\n", run("", declared .. "print(pmc.script './called.lua'); e:plan()").out)
  end)

  it("is refused with the nearest name where there is none", function()
    assert.matches("no script is called 'matrx': did you mean 'matrix'%?", run("", "pmc.script 'matrx'").err)
  end)
end)

describe("a script that says something, or fails", function()
  local folder = support.folder()

  --- What a script of this text says on standard error, and its exit status.
  local function run(text)
    support.write(folder .. "/failing.lua", "local pmc = require 'pmclua'\n" .. text)
    local result = support.pmclua({ "./failing.lua" }, { folder = folder })
    return { result.err, result.status }
  end

  it("says why under its own name, and exits with 1 or the status that is asked for", function()
    assert.same({ "pmclua ./failing.lua: no such thing\n", 1 }, run "pmc.fail 'no such thing'")
    assert.same({ "pmclua ./failing.lua: no such thing\n", 3 }, run "pmc.fail('no such thing', 3)")
  end)

  it("tells of what was typed, not of its own lines, and exits with 2", function()
    local said = run "local ok, why = pcall(pmc.pid, 'x'); pmc.fail(why)"
    assert.equal(2, said[2])
    assert.matches("^pmclua %./failing%.lua: pmc%.pid", said[1])
  end)

  it("that runs a command exits as env(1) does where it cannot", function()
    local monitor = "local ok, why = pcall(pmc.monitor, { command = '%s' }); pmc.fail(why, 'command')"
    assert.equal(127, run(monitor:format "/nowhere/at-all")[2])
    assert.equal(126, run(monitor:format "/etc/passwd")[2])
    assert.equal(125, run("pmc.fail('the disk is full', 'command')")[2])
  end)

  it("says it once, however often it is caught", function()
    local text = "local ok, why = pcall(pmc.fail, 'once', 7); pmc.fail(why)"
    assert.same({ "pmclua ./failing.lua: once\n", 7 }, run(text))
  end)

  it("says other things once, in the characters of the place", function()
    local text = "local pmc = require 'pmclua'; for _ = 1, 2 do pmc.say '5 µs' end"
    support.write(folder .. "/failing.lua", text)
    local result = support.pmclua({ "./failing.lua" }, { folder = folder, env = { LC_ALL = "C" } })
    assert.same({ 0, "pmclua ./failing.lua: 5 us\n" }, { result.status, result.err })
  end)

  it("ends itself alone where it was called from Lua", function()
    support.write(folder .. "/failing.lua", "require('pmclua').fail('no', 5)")
    local code = "print(pmc.script './failing.lua', 'goes on')"
    local result = support.pmclua({ "-e", code }, { folder = folder })
    assert.same({ "5\tgoes on\n", "pmclua ./failing.lua: no\n" }, { result.out, result.err })
  end)
end)
