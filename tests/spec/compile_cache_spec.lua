--- Kernels from the cache: one is taken from it only where compiling it again would make the same.

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

  -- Takes sh longer than pmclua takes to find that an object is worth keeping.
  local SLOW = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"

  --- A slow compiler that notes whenever it compiles a source to an object; `before`: what it does first.
  local function noting(before)
    put("slow", ([[#!/bin/sh
      %s
      case " $* " in *" -c "*) echo >>%s/compiled; %s;; esac
      exec cc "$@"]]):format(before or "", folder, SLOW))
    sh "chmod 755 slow; touch -d '1 minute ago' slow"
    return folder .. "/slow"
  end

  --- How often it did.
  local function compilations() return #(support.read(folder .. "/compiled") or "") end

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
  local ASSEMBLY = [[
#include <value.h>
.globl pmclua_test_value
.type pmclua_test_value, %function
pmclua_test_value:
#ifdef __x86_64__
  mov $VALUE, %eax
#else
  mov w0, VALUE
#endif
  ret
.section .note.GNU-stack,"",%progbits
]]
  local FOR_TARGET = [[
#ifdef __x86_64__
#pragma GCC target("avx2")
#endif
#if defined __AVX2__ || !defined __x86_64__
#include <value.h>
#else
#define VALUE 1
#endif
int pmclua_test_value(void) { return VALUE; }
]]
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
      function() return { text = FROM_HEADER, cc = ("env CPATH=%s/a %s/slow"):format(folder, folder) } end,
      function(n) header("a/value.h", n) end },
    { "a file of options", function() return { text = "int pmclua_test_value(void) { return VALUE; }",
      cflags = { "@" .. folder .. "/options" } } end, function(n) put("options", "-DVALUE=" .. n) end },
    { "a header that the flags include",
      function() return { cflags = { "-include", folder .. "/value.h" },
        text = "int pmclua_test_value(void) { return VALUE; }" } end,
      function(n) header("value.h", n) end },
    { "a header whose macros the flags take",
      function() return { cflags = { "-imacros", folder .. "/value.h" },
        text = "int pmclua_test_value(void) { return VALUE; }" } end,
      function(n) header("value.h", n) end },
    { "a header of C++", function() return { extension = "cc", cflags = { flag("I", "a") },
      text = FROM_HEADER:gsub("int pm", 'extern "C" int pm') } end, function(n) header("a/value.h", n) end },
    { "a header of assembly",
      function() return { extension = "S", cflags = { flag("I", "a") }, text = ASSEMBLY } end,
      function(n) header("a/value.h", n) end },
    { "a precompiled header", function() return { text = FROM_HEADER, cflags = { flag("I", "a") } } end,
      function(n)
        header("a/value.h", n)
        sh "cc -O2 -g -Wall -fPIC -shared a/value.h; touch -d '1 minute ago' a/value.h.gch"
        header("a/value.h", 1)
      end },
    { "a header that is read for another target", function() return { cflags = { flag("I", "a") },
      text = FOR_TARGET } end, function(n) header("a/value.h", n) end },
    { "what a specs file says", function() return { cflags = { "-specs=" .. folder .. "/specs" },
      text = "int pmclua_test_value(void) { return VALUE; }" } end,
      function(n) put("specs", ("*cpp:\n+ -DVALUE=%d\n\n"):format(n)) end },
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
        put("cc", ('#!/bin/sh\n%s\nexec cc -DVALUE=%d "$@"\n'):format(SLOW, n))
        sh "chmod 755 cc; touch -d '1 minute ago' cc"
      end },
  }
  for _, case in ipairs(cases) do
    local name, unit, says = unpack(case)
    it(("is made again where %s is another"):format(name), function()
      local slow = noting()
      says(1)
      local first = unit()
      first.cc = first.cc or slow
      local path = build(first)
      assert.equal(1, ffi.load(path).pmclua_test_value())
      assert.equal(path, build(first))
      says(2)
      assert.equal(2, value(first))
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

  it("is found again without being compiled, and is made again where the source says the time", function()
    header("first/value.h", 1)
    local unit = { text = FROM_HEADER, cc = noting() }
    for _ = 1, 3 do build(unit) end
    assert.equal(1, compilations())
    put("first/value.h", "#define VALUE 1\n#define WHEN __TIME__\n")
    unit.text = FROM_HEADER .. 'const char *when = WHEN;'
    unit.cc = noting(([[set -- -Wno-builtin-macro-redefined "-D__TIME__=\"$(cat %s/second)\"" "$@"]])
      :format(folder))
    for second = 1, 2 do
      put("second", ("00:00:0%d"):format(second))
      build(unit)
    end
    assert.equal(3, compilations())
  end)

  it("is linked anew, not compiled, where only what the linker finds is another", function()
    archive("lib.a", 1)
    local unit = { text = CALLS, libs = { folder .. "/lib.a" }, cc = noting() }
    assert.equal(1, value(unit))
    archive("lib.a", 2)
    assert.equal(2, value(unit))
    assert.equal(1, compilations())
  end)

  it("is found again in a folder where nothing can be written", function()
    support.need(not support.have_root(), "root may write everywhere")
    header("first/value.h", 1)
    local first = build { text = FROM_HEADER }
    sh "chmod 500 pmclua/kernels"
    assert.equal(first, build { text = FROM_HEADER })
    sh "chmod 700 pmclua/kernels"
  end)

  -- Where each file is that is no source, object or list.
  local function left()
    return support.output_of(([[cd '%s'; find tmp -mindepth 1
      find pmclua -mindepth 2 ! -name '*.so' ! -name '*.c' ! -name '*.o' ! -name '*.last']]):format(folder))
  end

  it("leaves nothing of a compiler that was killed", function()
    put("cc", [[#!/bin/sh
      mkdir "$TMPDIR/.mine" && echo >"$TMPDIR/.mine/half"
      kill -9 $$]])
    sh "chmod 755 cc"
    assert.has_error(function() build { text = "int x;", cc = folder .. "/cc" } end)
    assert.equal("", left())
  end)

  it("is kept where there is no folder for temporary files", function()
    sh "rmdir tmp"
    local unit = { text = "int x;", cc = noting() }
    for _ = 1, 2 do build(unit) end
    assert.equal(1, compilations())
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
end)
