--- Whose code runs: pmclua's own from where it was built or installed, a script's own from beside the script, and
--- nothing of the working directory unasked.

local support = require "tests.support"

-- Names under which somebody could leave code for pmclua to find: modules that it needs and its own; programs that
-- it, or the compiler, starts.
local MODULES = { "lfs", "lpeg", "re", "dkjson", "pmclua", "pmclua/init", "pmclua/cli" }
local PROGRAMS = { "cc", "gcc", "as", "ld", "collect2", "gnuplot", "ldconfig", "sh", "env" }

--- A folder of code by those names, each of which writes `owned` there. With a module in C where there is a compiler.
local function hostile_folder()
  local folder = support.folder()
  for _, name in ipairs(MODULES) do
    local code = ("io.open('%s/owned', 'a'):write '%s\\n'"):format(folder, name)
    support.write(("%s/%s.lua"):format(folder, name), code)
  end
  for _, name in ipairs(PROGRAMS) do
    support.write(folder .. "/" .. name, ("#!/bin/sh\necho %s >>%s/owned\n"):format(name, folder))
    os.execute(("chmod 755 '%s/%s'"):format(folder, name))
  end
  if support.have "cc" then
    local source = support.write(folder .. "/owned.c", ([[
      #include <stdio.h>
      __attribute__((constructor)) static void run(void)
      { FILE *f = fopen("%s/owned", "a"); if (f) fputs("C\n", f); }
    ]]):format(folder))
    support.build(folder .. "/lfs.so", "cc", "-shared", "-fPIC", source)
    os.execute(("cd '%s' && cp lfs.so lpeg.so && cp lfs.so libpmclua.so"):format(folder))
    support.write(folder .. "/stdint.h", '#error "owned"\n')
  end
  return folder
end

local function owned(folder) return table.concat(support.lines_of(folder .. "/owned"), " ") end

describe("the working directory", function()
  local folder
  before_each(function() folder = hostile_folder() end)

  local function run(args, env) return support.pmclua(args, { folder = folder, env = env }) end

  local commands = {
    { "stat", "-e", "page-faults", "--", "true" }, { "events", "page" }, { "doctor" }, { "--list" },
    { "events", "--json", "page-faults" }, { "stat", "--help" },
    { "compare", "--no-store", "--repetitions", "6", "--events", "page-faults", "true", "false" },
    { "-e", "print(pmc.metrics, pmc.machine().cpus, require('lfs').currentdir(), require 'lpeg')" },
  }
  for _, args in ipairs(commands) do
    it("is not where modules come from: " .. table.concat(args, " "):sub(1, 40), function()
      run(args)
      assert.equal("", owned(folder))
    end)
  end

  it("is a checkout of which the commit is asked, and none of the programs that it names is run", function()
    support.need(support.have "git", "no git")
    os.execute(([[cd '%s' && { git init -q . && echo a >f && git add f &&
      git -c user.email=a@b -c user.name=A commit -qm one &&
      echo 'f filter=x=y' >.gitattributes && touch -d 2001-01-01 f &&
      for key in filter.x=y.clean filter.x=y.process core.fsmonitor core.sshCommand; do
        git config $key "echo $key >>'%s/owned'; cat"
      done; } >/dev/null 2>&1]]):format(folder, folder))
    run { "stat", "-e", "page-faults", "--store", "r.jsonl", "--", "true" }
    assert.equal("", owned(folder))
    local how = require("pmclua").load(folder .. "/r.jsonl").header.how
    assert.same({ 40 }, { #how.commit, how.changes })
  end)

  for _, path in ipairs { "./?.lua;;", "?.lua;?/init.lua", ";;./?.lua" } do
    it("is not where modules come from with LUA_PATH=" .. path, function()
      run({ "events", "page" }, { LUA_PATH = path, LUA_CPATH = "./?.so;;", LUA_INIT = "@lfs.lua" })
      assert.equal("", owned(folder))
    end)
  end

  it("is where they come from where the user says so, but for what pmclua needs", function()
    support.write(folder .. "/mine.lua", "return 'mine'")
    local env = { LUA_PATH = folder .. "/?.lua;;" }
    assert.equal("mine\n", run({ "-e", "require 'lfs' print(require 'mine')" }, env).out)
    assert.equal("", owned(folder))
  end)

  it("is not where -l, -e and standard input have modules from, and they say how to ask for it", function()
    support.write(folder .. "/mine.lua", "return 'mine'")
    for _, args in ipairs { { "-l", "mine" }, { "-e", "require 'mine'" } } do
      local result = run(args)
      assert.equal(1, result.status)
      assert.matches("searched only when asked: LUA_PATH=\"$PWD/?.lua;;\"", result.err, 1, true)
    end
    local words = { "sh", "-c", 'echo "require [[mine]]" | "$0"', support.program }
    local result = support.run(words, { folder = folder })
    assert.equal(1, result.status)
  end)

  for _, name in ipairs { ".", "", "bin/.." } do
    it(("has no programs for pmclua where PATH has '%s'"):format(name), function()
      support.need(support.have "cc", "no C compiler")
      os.execute(("mkdir '%s/bin'"):format(folder))
      local env = { PATH = ("%s:%s"):format(name, os.getenv "PATH"), CPATH = name .. ":/nonexistent",
        COMPILER_PATH = name .. ":/nonexistent", LIBRARY_PATH = name, XDG_CACHE_HOME = folder .. "/cache" }
      local result = run({ "-e", [[
        local code = "#include <stdint.h>\nvoid f(void *s, uint64_t n) { (void)s; (void)n; }"
        local loop = pmc.kernel { code = code, symbol = "f" }
        local r = pmc.measure(loop, { events = "page-faults", repetitions = 6, warmup = 0 })
        assert(r:cells()().page_faults.n == 6)
        r:plot { kind = "order", output = "order.svg" }]] }, env)
      run({ "doctor" }, env)
      run({ "stat", "--regions", "libc.so:getpid", "-e", "page-faults", "--", "/bin/true" }, env)
      assert.equal("", owned(folder))
      if support.have "gnuplot" then assert.is_true(support.exists(folder .. "/order.svg"), result.err) end
    end)
  end

  it("has no scripts by name where PMCLUA_PATH has a relative folder, which is said", function()
    support.write(folder .. "/mine.lua", "print 'mine'")
    local result = run({ "mine" }, { PMCLUA_PATH = "/nonexistent:.:" })
    assert.equal(2, result.status)
    assert.matches("the folder '.' in PMCLUA_PATH is relative, so it is not searched", result.err, 1, true)
  end)

  it("has the commands that the user names, as for a shell", function()
    support.write(folder .. "/mine", "#!/bin/sh\nexit 7\n")
    os.execute(("chmod 755 '%s/mine'"):format(folder))
    local env = { PATH = os.getenv "PATH" .. ":" }
    assert.equal(7, run({ "stat", "-e", "page-faults", "--", "mine" }, env).status)
  end)
end)

describe("a script", function()
  it("has modules from beside it, and pmclua has none of what it needs from there", function()
    local folder = hostile_folder()
    support.write(folder .. "/mine.lua", "return 'mine'")
    support.write(folder .. "/part/init.lua", "return require 'part.of'")
    support.write(folder .. "/part/of.lua", "return 'part'")
    local script = support.write(folder .. "/run.lua", [[
      local pmc = require "pmclua"
      print(require "mine", require "part", #pmc.events.find("page-faults") > 0, pmc.machine().uid ~= nil)
      return pmc.experiment { events = "page-faults", repetitions = 2, workloads = { pmc.command "true" } }]])
    local result = support.pmclua { script, "--no-store", "--format", "json" }
    assert.matches("^mine\tpart\ttrue\ttrue\n", result.out)
    assert.equal("", owned(folder))
  end)

  it("has modules in C from beside it", function()
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    local source = support.write(folder .. "/part.c", [[
      int lua_gettop(void *); void lua_pushinteger(void *, long);
      int luaopen_inner_part(void *L) { lua_pushinteger(L, 42); return 1; }]])
    os.execute(("mkdir '%s/inner'"):format(folder))
    support.build(folder .. "/inner/part.so", "cc", "-shared", "-fPIC", source)
    local script = support.write(folder .. "/run.lua", "print(require 'inner.part')")
    assert.equal("42\n", support.pmclua({ script }).out)
  end)

  it("has modules in C++ from beside it, whose exceptions pcall catches", function()
    support.need(support.have "c++", "no C++ compiler")
    support.need_unwatched("it knows exceptions of programs alone that are C++ from the start", "asan")
    local folder = support.folder()
    local source = support.write(folder .. "/part.cc", [[
      extern "C" int lua_gettop(void *);
      extern "C" int luaopen_part(void *L) { if (lua_gettop(L) >= 0) throw 1; return 0; }]])
    support.build(folder .. "/part.so", "c++", "-shared", "-fPIC", source)
    local script = support.write(folder .. "/run.lua", "print(pcall(require, 'part'))")
    local result = support.pmclua { script }
    assert.same({ 0, "false\tC++ exception\n" }, { result.status, result.out }, result.err)
  end)

  it("keeps them where it changes the working directory, and in a folder with the signs of paths", function()
    local elsewhere, base = support.folder(), support.folder()
    local folder = base .. "/a;?;b"
    support.write(folder .. "/mine.lua", "return 'mine'")
    support.write(elsewhere .. "/mine.lua", "return 'another'")
    support.write(elsewhere .. "/b/mine.lua", "return 'another'")
    support.write(folder .. "/run.lua", ("require('lfs').chdir '%s' print(require 'mine')"):format(elsewhere))
    assert.equal("mine\n", support.pmclua({ "run.lua" }, { folder = folder }).out)
    assert.equal("mine\n", support.pmclua({ folder .. "/run.lua" }, { folder = elsewhere }).out)
  end)

  it("says which file a module that fails is in, and which were looked for", function()
    local folder = support.folder()
    support.write(folder .. "/broken.lua", "return +")
    local broken = support.write(folder .. "/run.lua", "require 'broken'")
    local absent = support.write(folder .. "/absent.lua", "require 'no.such'")
    assert.matches("error loading module 'broken' from file '" .. folder .. "/broken.lua':",
      support.pmclua({ broken }).err, 1, true)
    assert.matches("no file '" .. folder .. "/no/such/init.lua'", support.pmclua({ absent }).err, 1, true)
  end)
end)

describe("what a program names as its loader", function()
  it("is not run where somebody else could have put it there", function()
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    local loader = support.write(folder .. "/open/ld.so", ("#!/bin/sh\ntouch %s/owned\n"):format(folder))
    os.execute(("chmod 755 '%s'; chmod 777 '%s/open'"):format(loader, folder))
    local program = support.build(folder .. "/program", "cc", "-xc", "-Wl,--dynamic-linker=" .. loader,
      support.write(folder .. "/program.c", "int main(void) { return 0; }"))
    support.pmclua { "regions", "-e", "page-faults", "-f", "libz.so:inflate", "--", program }
    assert.is_false(support.exists(folder .. "/owned") and true)
  end)
end)

describe("the folder that pmclua is found in", function()
  it("is the executable's, whatever it was called by", function()
    local elsewhere = support.folder()
    local result = support.run({ "bash", "-c", 'exec -a ./my.so "$0" -e "$1"', support.program,
      "print(require('pmclua.core').folder())" }, { folder = elsewhere })
    assert.equal(support.root .. "/build\n", result.out)
  end)

  it("is no reason to look above where it was built", function()
    local base = support.folder()
    local build = base .. "/tree/build"
    os.execute(("mkdir -p '%s' && cp '%s' '%s/pmclua'"):format(build, support.program, build))
    support.write(base .. "/libexec/pmclua/pmclua-runner", "#!/bin/sh\ntouch " .. base .. "/owned\n")
    os.execute(("chmod 755 '%s/libexec/pmclua/pmclua-runner'"):format(base))
    support.run { build .. "/pmclua", "-e", "pmc.measure('true', { events = 'page-faults' })" }
    assert.is_false(support.exists(base .. "/owned"))
  end)
end)
