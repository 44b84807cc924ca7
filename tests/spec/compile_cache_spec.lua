--- Kernels from the cache: one is taken from it only where compiling it again would make the same.

local core = require "pmclua.core"
local ffi = require "ffi"
local support = require "tests.support"

ffi.cdef "int pmclua_test_value(void);"

describe("a compiled kernel in the cache", function()
  local compile = require "pmclua.workload.compile"
  local runner, folder

  lazy_setup(function() runner = require("pmclua.workload.session").new() end)
  lazy_teardown(function() runner:close() end)

  before_each(function()
    support.need(support.have "cc", "no C compiler")
    support.need_unwatched("what is watched cannot be traced", "valgrind")
    folder = support.folder()
    require("lfs").mkdir(folder .. "/tmp")
  end)

  local function sh(text)
    local result = support.run({ "sh", "-ec", text }, { folder = folder })
    assert.equal(0, result.status, result.err)
  end

  --- Writes a file as it was written long ago, that is before any compiler began.
  local function put(name, text)
    support.write(folder .. "/" .. name, text)
    sh("touch -d '1 minute ago' " .. name)
  end

  local function build(unit)
    local whole = support.merged({ label = "value.c", folder = folder .. "/first" }, unit)
    local env = { XDG_CACHE_HOME = folder, TMPDIR = folder .. "/tmp" }
    return support.with_env(env, function() return compile.build(runner, whole) end)
  end

  local function value(unit) return ffi.load(build(unit)).pmclua_test_value() end

  --- Runs a command; the files that it looks for are listed.
  local function watched(words, list, where)
    return runner:run_only(function(message)
      for _, word in ipairs(words) do message:text("argument", word) end
      message:text("reads", list):text("directory", where)
      message:number("output", core.OUTPUT.capture):number("errors", core.OUTPUT.capture)
    end)
  end

  local CALLS = "int other(void); int pmclua_test_value(void) { return other(); }\n"
  local function other(n) return ("int other(void) { return %d; }\n"):format(n) end
  local function object(place, n)
    put("other.c", other(n))
    sh(("P=%s; mkdir -p $(dirname $P); cc -fPIC -c -o $P other.c; touch -d '1 minute ago' $P"):format(place))
  end
  local function archive(place, n)
    object("other.o", n)
    local made = "P=%s; mkdir -p $(dirname $P); rm -f $P; ar rcs $P other.o; touch -d '1 minute ago' $P"
    sh(made:format(place))
  end
  local function header(place, n) put(place, ("#define VALUE %d\n"):format(n)) end

  local FROM_HEADER = '#include <value.h>\nint pmclua_test_value(void) { return VALUE; }\n'
  local INCBIN = [[asm(".data\nplace: .incbin \"%s/value.bin\"\n.previous");
    extern int place __attribute__((visibility("hidden"))); int pmclua_test_value(void) { return place; }]]

  -- What is read: the unit, and how it is made to say a number; `shadow`: a second one that hides the first.
  local function flag(letter, name) return ("-%s%s/%s"):format(letter, folder, name) end
  local cases = {
    { "a static library", function() return { text = CALLS, libs = { folder .. "/lib.a" } } end,
      function(n) archive("lib.a", n) end },
    { "an object file", function() return { text = CALLS, libs = { folder .. "/one.o" } } end,
      function(n) object("one.o", n) end },
    { "a library found by -l", function() return { text = CALLS, libs = { flag("L", "a"), "-lvalue" } } end,
      function(n) archive("a/libvalue.a", n) end },
    { "a library that hides another",
      function() return { text = CALLS, libs = { flag("L", "a"), flag("L", "b"), "-lvalue" } } end,
      function(n) archive(n == 1 and "b/libvalue.a" or "a/libvalue.a", n) end },
    { "a header", function() return { text = FROM_HEADER, cflags = { flag("I", "a") } } end,
      function(n) header("a/value.h", n) end },
    { "a header that hides another",
      function() return { text = FROM_HEADER, cflags = { flag("I", "a"), flag("I", "b") } } end,
      function(n) header(n == 1 and "b/value.h" or "a/value.h", n) end },
    { "a header that hides another beside the script",
      function() return { text = FROM_HEADER, cflags = { flag("I", "b") } } end,
      function(n) header(n == 1 and "b/value.h" or "first/value.h", n) end },
    { "a header by CPATH",
      function() return { text = FROM_HEADER, cc = "env CPATH=" .. folder .. "/a cc" } end,
      function(n) header("a/value.h", n) end },
    { "a file of options", function() return { text = "int pmclua_test_value(void) { return VALUE; }",
      cflags = { "@" .. folder .. "/options" } } end, function(n) put("options", "-DVALUE=" .. n) end },
    { "what the assembler takes in", function() return { text = INCBIN:format(folder) } end,
      function(n) put("value.bin", string.char(n, 0, 0, 0)) end },
    { "a linker script", function() return { text = CALLS, libs = { folder .. "/script" } } end,
      function(n)
        archive("lib.a", 1)
        archive("second.a", 2)
        put("script", ("INPUT(%s)\n"):format(folder .. (n == 1 and "/lib.a" or "/second.a")))
      end },
    { "a program of the compiler's", function() return { text = CALLS:gsub("other%(%)", "VALUE"),
      cc = folder .. "/cc" } end,
      function(n)
        put("cc", ('#!/bin/sh\nexec cc -DVALUE=%d "$@"\n'):format(n))
        sh "chmod 755 cc; touch -d '1 minute ago' cc"
      end },
  }
  for _, case in ipairs(cases) do
    local name, unit, says = unpack(case)
    it(("is made again where %s is another"):format(name), function()
      says(1)
      local first = build(unit())
      assert.equal(1, ffi.load(first).pmclua_test_value())
      assert.equal(first, build(unit()))
      says(2)
      assert.equal(2, value(unit()))
    end)
  end

  it("is found again, whatever was written beside what it was made of", function()
    header("first/value.h", 1)
    local first = build { text = FROM_HEADER }
    header("first/another.h", 2)
    sh "cp first/value.h copy; touch -d '2 minutes ago' copy; mv copy first/value.h"
    assert.equal(first, build { text = FROM_HEADER })
    local objects = support.output_of(("ls '%s'/pmclua/kernels/*.so | wc -l"):format(folder))
    assert.equal(1, tonumber(objects))
  end)

  it("is not found where the source says when it is compiled, in itself or in a header", function()
    header("first/value.h", 1)
    put("cc", ('#!/bin/sh\necho >>%s/compiled\nexec cc "$@"\n'):format(folder))
    sh "chmod 755 cc"
    local unit = { text = FROM_HEADER .. 'const char *when = __TIME__;', cc = folder .. "/cc" }
    for _ = 1, 2 do build(unit) end
    put("first/value.h", "#define VALUE 1\n#define WHEN __DATE__\n")
    unit.text = FROM_HEADER
    for _ = 1, 2 do build(unit) end
    assert.equal("\n\n\n\n", support.read(folder .. "/compiled"))
  end)

  it("is compiled all the same where the compiler cannot be watched, and then not kept", function()
    local script = support.write(folder .. "/run.lua", [[
      local pmc = require "pmclua"
      local code = "#include <stdint.h>\nvoid f(void *s, uint64_t n) { (void)s; (void)n; }"
      local kernel = pmc.kernel { code = code, symbol = "f" }
      local r = pmc.measure(kernel, { events = "page-faults", repetitions = 2 })
      print(r:cells()().page_faults.n)]])
    -- A program has one watcher at most: here it is pmclua itself that is watched.
    local words = { "env", "XDG_CACHE_HOME=" .. folder, support.program, script }
    local result = watched(words, folder .. "/calls", ".")
    assert.equal("2\n", result.output, result.errors)
    assert.matches("\nunknown ", support.output_of(("cat '%s'/pmclua/kernels/*.reads"):format(folder)))
  end)

  --- How the list of an entry begins: "unknown" where none could be made.
  local function first_word()
    return support.output_of(("sed -n '2s/ .*//p' '%s'/pmclua/kernels/*.reads"):format(folder))
  end

  -- Where each file is that is no source, object or list.
  local function left()
    return support.output_of(([[cd '%s'; find tmp -mindepth 1
      find pmclua -mindepth 2 ! -name '*.so' ! -name '*.c' ! -name '*.reads']]):format(folder))
  end

  it("is compiled without a list where its watcher is killed; nothing of either stays", function()
    put("cc", ([[#!/bin/sh
      mkdir "$TMPDIR/.mine" && echo >"$TMPDIR/.mine/half"
      test -e %s/killed || { echo >%s/killed; kill -9 $PPID; }
      exec cc "$@"]]):format(folder, folder))
    sh "chmod 755 cc"
    assert.equal(1, value { text = "int pmclua_test_value(void) { return 1; }", cc = folder .. "/cc" })
    assert.is_true(support.exists(folder .. "/killed"))
    assert.equal("unknown\n", first_word())
    assert.equal("", left())
  end)

  it("is kept where there is no folder for temporary files", function()
    sh "rmdir tmp"
    build { text = "int x;" }
    assert.are_not.equal("unknown\n", first_word())
  end)

  it("is listed where the limit on descriptors is far below what the runner has", function()
    local script = support.write(folder .. "/run.lua", [[
      local runner = require("pmclua.workload.session").new()
      require("pmclua.workload.compile").build(runner, { label = "x.c", text = "int x;" })
      runner:close()]])
    local result = support.run({ "sh", "-c", 'ulimit -Sn 18; exec "$@"', "sh", support.program, script },
      { env = { XDG_CACHE_HOME = folder } })
    assert.equal(0, result.status, result.err)
    assert.are_not.equal("unknown\n", first_word())
  end)

  it("is another where the working directory or the environment is, as far as compilers look", function()
    header("first/value.h", 1)
    local script = support.write(folder .. "/run.lua", [[
      local compile = require "pmclua.workload.compile"
      local runner = require("pmclua.workload.session").new()
      print(compile.build(runner, { label = "x.c", text = "int x;" }))
      runner:close()]])
    local function path(env, where)
      env.XDG_CACHE_HOME = folder
      return support.pmclua({ script }, { env = env, folder = where or folder }).out
    end
    local first = path {}
    assert.equal(first, path { TERM = "another", COLUMNS = "33", SSH_TTY = "x" })
    assert.are_not.equal(first, path { SOURCE_DATE_EPOCH = "1" })
    assert.are_not.equal(first, path({}, folder .. "/first"))
  end)

  it("is not found again where what the compiler looked for is not known, or its list was cut", function()
    local dependencies = require "pmclua.workload.dependencies"
    local own = { ["/x.c"] = true }
    local unknown = dependencies.listing("?\n", own, math.huge, { "/x.c" })
    for _, cut in ipairs { "", "r /etc/host" } do
      assert.equal(unknown, dependencies.listing(cut, own, math.huge, { "/x.c" }))
    end
    assert.are_not.equal(unknown, dependencies.listing("r /x.c\n", own, math.huge, { "/x.c" }))
  end)

  it("is not found again where the name of a folder would end a line of the list", function()
    local odd, list = support.folder() .. "/odd\nname", support.folder() .. "/list"
    require("lfs").mkdir(odd)
    watched({ "/bin/cat", "nothing.h" }, list, odd)
    assert.matches("\n%?\n", support.read(list))
    assert.is_nil(support.read(list):find("name/nothing.h", 1, true))
  end)
end)
