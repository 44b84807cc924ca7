-- The libraries that a program loads, as files say; and what is said of one that it does not.

local linked = require "pmclua.event.linked"
local made = require "tests.support.regions"
local support = require "tests.support"

local function shell(...) return assert(support.output_of((...):format(select(2, ...)))) end

--- A library that has `mark`, and a program that calls it.
local function write_sources(folder)
  support.write(folder .. "/mark.c", "int mark(void) { return 0; }\n")
  support.write(folder .. "/other.c", "int mark(void); int other(void) { return mark(); }\n")
  support.write(folder .. "/main.c", "int mark(void); int main(void) { return mark(); }\n")
end

local function build_library(folder, path, ...)
  support.write(path, "")
  return support.build(path, "cc", "-shared", "-fPIC", folder .. "/mark.c", "-Wl,-soname,libmark.so.1", ...)
end

local function build_program(folder, name, library, ...)
  return support.build(folder .. "/" .. name, "cc", folder .. "/main.c", library, ...)
end

local function path_of(image, name)
  for _, path in ipairs(linked.of(image):paths()) do
    if path:match "[^/]*$" == name then return path end
  end
end

describe("the libraries that a program loads", function()
  local folder
  before_each(function()
    support.need(support.have "cc", "no C compiler")
    folder = support.folder()
    write_sources(folder)
  end)

  it("are those that its loader lists", function()
    local loader = require("pmclua.core.symbols").linked("/bin/sh").loader
    for _, name in ipairs { "sh", "cc", "git", "perf", "python3" } do
      local program = require("pmclua.host.tools").find(name)
      local listed = {}
      if program and linked.of { program = program } then
        for line in shell("%s --list %s", loader, program):gmatch "[^\n]+" do
          listed[#listed + 1] = line:match "=> (/.-) %(0x" or line:match "^%s*(/.-) %(0x"
        end
        local found = linked.of({ program = program }):paths()
        table.sort(listed)
        table.sort(found)
        assert.same(listed, found)
      end
    end
  end)

  it("are looked for in RPATH, LD_LIBRARY_PATH and RUNPATH, in this order, from $ORIGIN", function()
    local first = build_library(folder, folder .. "/first/libmark.so.1")
    local second = build_library(folder, folder .. "/second/libmark.so.1")
    local function program(name, ...)
      return { program = build_program(folder, name, first, ...), library_path = folder .. "/second" }
    end
    local old = program("old", "-Wl,--disable-new-dtags,-rpath,$ORIGIN/first")
    assert.equal(first, path_of(old, "libmark.so.1"))
    local new = program("new", "-Wl,--enable-new-dtags,-rpath,${ORIGIN}/first")
    assert.equal(second, path_of(new, "libmark.so.1"))
    new.library_path = nil
    assert.equal(first, path_of(new, "libmark.so.1"))
    local none = program "none"
    none.library_path = nil
    assert.is_nil(path_of(none, "libmark.so.1"))
  end)

  it("need libraries themselves: by the RPATH of who needs them, and not by another's RUNPATH", function()
    local mark = build_library(folder, folder .. "/deep/libmark.so.1")
    local function other(...)
      return support.build(folder .. "/libother.so", "cc", "-shared", "-fPIC", folder .. "/other.c", ...)
    end
    support.write(folder .. "/main.c", "int other(void); int main(void) { return other(); }\n")
    local function program(...)
      local library = folder .. "/libother.so"
      return { program = build_program(folder, "main", library, "-Wl,--allow-shlib-undefined", ...) }
    end
    other("-Wl,--no-as-needed", mark)
    local old = program("-Wl,--disable-new-dtags,-rpath,$ORIGIN/deep:$ORIGIN")
    assert.equal(mark, path_of(old, "libmark.so.1"))
    local new = program("-Wl,--enable-new-dtags,-rpath,$ORIGIN/deep:$ORIGIN")
    assert.is_nil(path_of(new, "libmark.so.1"))
    assert.equal(folder .. "/libother.so", path_of(new, "libother.so"))
  end)

  it("are of its own machine", function()
    local right = build_library(folder, folder .. "/right/libmark.so.1")
    local bytes = support.read(right)
    local wrong = support.write(folder .. "/wrong/libmark.so.1", bytes:sub(1, 18) .. "\8\0" .. bytes:sub(21))
    local path = folder .. "/wrong:" .. folder .. "/right"
    assert.equal(right, path_of({ program = build_program(folder, "main", right), library_path = path },
      "libmark.so.1"))
    assert.truthy(require("pmclua.core.symbols").linked(wrong))
  end)

  it("are those of the loader that the program brings, with that one's folders", function()
    local own = require("pmclua.core").real_path(require("pmclua.core.symbols").linked("/bin/sh").loader)
    local bytes, count = support.read(own):gsub("/etc/ld%.so%.cache", "/non/ld.so.cache")
    support.need(count > 0, "this loader has no cache")
    local loader = support.write(folder .. "/ld.so", (bytes:gsub("/lib/", "/bil/")))
    local library = build_library(folder, folder .. "/libmark.so.1")
    local program = build_program(folder, "main", library, "-Wl,--dynamic-linker=" .. loader)
    assert.is_nil(path_of({ program = program }, "libc.so.6"))
    assert.is_nil(linked.of({ program = program }):later("libz.so.1", function() return false end))
  end)

  it("are found without running anything of the program", function()
    local audit = support.write(folder .. "/audit.c", ([[
      #include <fcntl.h>
      unsigned la_version(unsigned version) { open("%s/owned", O_CREAT | O_WRONLY, 0600); return version; }]])
      :format(folder))
    support.build(folder .. "/audit.so", "cc", "-shared", "-fPIC", audit)
    local program = build_program(folder, "main", build_library(folder, folder .. "/libmark.so.1"),
      "-Wl,--audit=" .. folder .. "/audit.so", "-Wl,-rpath,$ORIGIN")
    assert.equal(folder .. "/libmark.so.1", path_of({ program = program }, "libmark.so.1"))
    assert.is_false(support.exists(folder .. "/owned"))
  end)
end)

describe("a function of a library that no program loads", function()
  lazy_setup(made.need_probes)
  local folder
  before_each(function()
    folder = support.folder()
    write_sources(folder)
  end)

  local function regions(...) return support.pmclua { "regions", "-e", "page-faults", ... } end

  it("has no calls that were counted, and the reason", function()
    local library = build_library(folder, folder .. "/libmark.so.1")
    local program = build_program(folder, "main", library, "-Wl,-rpath,$ORIGIN")
    local loaded = regions("-f", "libmark.so:mark", "--", program)
    assert.same({ 0, true }, { loaded.status, loaded.err:find("mark · 1 call", 1, true) ~= nil }, loaded.err)
    local result = regions("-f", library .. ":mark", "--", "true")
    assert.equal(125, result.status)
    assert.matches("mark · calls not counted\n" .. library .. " was never loaded", result.err, 1, true)
    local both = regions("-f", library .. ":mark", "-f", "libc.so.6:getpwnam", "-j", "-o", "-", "--", "true")
    local found = require("dkjson").decode(both.out).calls[1].regions
    assert.same({ 0, "not-counted", 0 }, { both.status, found[1].events.duration.status, found[2].calls })
    assert.is_nil(found[1].calls)
  end)

  it("is not taken from the system's libraries where the program is linked statically", function()
    local program = folder .. "/static"
    support.build(program, "cc", "-static", folder .. "/main.c", folder .. "/mark.c")
    local result = regions("-f", "libc.so.6:malloc", "--", program)
    assert.equal(125, result.status)
    local said = ("no library 'libc.so.6' is loaded by %s; it is linked statically"):format(program)
    assert.matches(said, result.err, 1, true)
  end)

  it("of a process that runs already has none either", function()
    local library = build_library(folder, folder .. "/libmark.so.1")
    local result = support.run { "sh", "-c", [[sleep 60 & "$0" regions -e page-faults --duration 0.2 -p $! \
      -f "$1:mark"; status=$?; kill $!; exit $status]], support.program, library }
    assert.equal(125, result.status)
    assert.matches("was never loaded", result.err, 1, true)
  end)

  it("has none in an experiment, whose report says why", function()
    local library = build_library(folder, folder .. "/libmark.so.1")
    local result = support.experiment { events = { "page-faults" }, repetitions = 2, warmup = 0,
      workloads = { require("pmclua").command { "true" } }, regions = { library .. ":mark" } }
    local said = result:report():gsub("%s+", " ")
    assert.matches("calls of mark are not counted: " .. library .. " was never loaded", said, 1, true)
  end)
end)
