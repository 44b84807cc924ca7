-- Events at places that a program names: probes of functions, breakpoints on variables.

local core = require "pmclua.core"
local event = require "pmclua.event"
local lfs = require "lfs"
local pmc = require "pmclua"
local support = require "tests.support"
local session = require "pmclua.workload.session"
local symbol = require "pmclua.event.symbol"

local SOURCE = [[
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
volatile long counter;
static volatile int many[4];
__thread volatile int mine;
__attribute__((noinline)) long work(long n) { counter++; return n + 1; }
static inline __attribute__((always_inline)) long twice(long n) { return work(n) + work(n); }
static void *thread(void *n) { for (long i = 0; i < (long)n; i++) work(i); return 0; }
int main(int argc, char **argv)
{
    for (long i = 0; i < 8; i++) work(i);
    twice(1);
    if (argc > 1 && argv[1][0] == 'w') { puts("ready"); fflush(stdout); getchar(); work(1); return 0; }
    if (argc > 1) {
        pthread_t a, b;
        pthread_create(&a, 0, thread, (void *)100); pthread_create(&b, 0, thread, (void *)200);
        pthread_join(a, 0); pthread_join(b, 0);
        if (fork() == 0) { thread((void *)1000); _exit(0); }
        wait(0);
    }
    many[0] = mine = 3;
    return 0;
}
]]

local BY_ONE, BY_ALL = 10, 10 + 100 + 200 + 1000

local built, other

-- The same program, at addresses of its own (fixed; `other` at others) and loaded anywhere (pie).
local function programs()
  support.need(support.have "cc", "no C compiler")
  if built then return built end
  local folder = support.folder()
  support.write(folder .. "/program.c", SOURCE)
  local flags = { fixed = "-no-pie", pie = "-pie", other = "-no-pie -Wl,-Ttext-segment=0x800000" }
  for name, flag in pairs(flags) do
    local command = ("cd %s && cc -g -O1 %s -o %s program.c -lpthread"):format(folder, flag, name)
    local made = support.run { "sh", "-c", command }
    assert.equal(0, made.status, made.err)
  end
  built = { fixed = folder .. "/fixed", pie = folder .. "/pie" }
  other = folder .. "/other"
  return built
end

local function need_elfutils()
  local list, why = require("pmclua.core.symbols").open("/bin/sh")
  support.need(list or why ~= "ELIBACC", "elfutils is not installed")
  list:close()
end

local function opens(attr)
  local one = core.open(attr)
  if one then one:close() end
  return one ~= nil
end

local function need_probes()
  need_elfutils()
  support.need(support.have_root(), "probes need root")
  support.need(opens(event.encode("uprobe:/bin/true:0x40")[1].attr), "no uprobes here")
end

local function need_breakpoints()
  need_elfutils()
  support.need(opens { type = 5, bp_type = 2, bp_addr = 0x1000, bp_len = 8, exclude_kernel = 1 },
    "no breakpoints here")
  support.need(support.have_breakpoints(), "breakpoints open here and never count")
end

local function measure(words, events)
  local options = { events = events, repetitions = 3, store = false, quiet = true }
  return pmc.measure(pmc.command(words), options):cells()()
end

local message_of = support.message_of

--- Definitions of probes by runners that have ended: those of others that count here meanwhile are theirs.
local function left_behind()
  local left = {}
  for line in support.read("/sys/kernel/tracing/uprobe_events"):gmatch "[^\n]+" do
    local runner = line:match "^[pr]%d*:pmclua_%d+_(%d+)_"
    if runner and not lfs.attributes("/proc/" .. runner) then left[#left + 1] = line end
  end
  return left
end

describe("a probe of a function", function()
  it("counts each call and each return of a program, exactly", function()
    need_probes()
    for _, path in pairs(programs()) do
      local cell = measure({ path }, { ("calls = %s:work"):format(path),
        ("returns = %s:work%%return"):format(path) })
      assert.same({ BY_ONE, BY_ONE }, { cell.calls.min, cell.calls.max })
      assert.same({ BY_ONE, BY_ONE }, { cell.returns.min, cell.returns.max })
    end
  end)

  it("counts those of threads and children, and takes its definitions away", function()
    need_probes()
    support.need(io.open("/sys/kernel/tracing/uprobe_events", "r+"), "tracefs cannot be written to")
    local path = programs().pie
    local cell = measure({ path, "all" }, { "page-faults", ("calls = %s:work"):format(path),
      ("returns = %s:work%%return"):format(path) })
    assert.same({ BY_ALL, BY_ALL }, { cell.calls.min, cell.calls.max })
    assert.same({ BY_ALL, BY_ALL }, { cell.returns.min, cell.returns.max })
    assert.same({}, left_behind())
  end)

  it("is taken away, too, when its runner is told to end while nothing runs", function()
    need_probes()
    support.need(io.open("/sys/kernel/tracing/uprobe_events", "r+"), "tracefs cannot be written to")
    local path = programs().pie
    local attr = event.encode(path .. ":work")[1].attr
    attr.inherit = 1
    local runner = session.new()
    local command = runner:workload(function(message) message:text("argument", path) end)
    local result = runner:run { workload = command, events = runner:events { { attrs = { attr } } } }
    assert.equal(BY_ONE, result.readings[3])
    local host = runner.common.runner
    os.execute("kill -TERM " .. host:pid())
    assert.equal("EPIPE", (select(2, host:receive(20e9))))
    runner:close()
    assert.same({}, left_behind())
  end)

  it("says so where it counts the first thread alone", function()
    need_probes()
    local path = programs().pie
    support.with_env({ TRACEFS_PATH = "/nowhere" }, function()
      local result = pmc.measure(pmc.command { path, "all" }, { events = { ("calls = %s:work"):format(path) },
        repetitions = 3, store = false, quiet = true })
      assert.equal(BY_ONE, result:cells()().calls.max)
      assert.match("threads and children not counted", tostring(result))
    end)
  end)

  it("of a library is hit by whoever calls it: a Lua function in this process", function()
    support.need_unwatched("a function that is probed ends who runs a copy of it", "valgrind")
    need_probes()
    local ffi = require "ffi"
    ffi.cdef "int pmclua_spec_getppid(void) __asm__(\"getppid\");"
    local libc
    for line in io.lines "/proc/self/maps" do libc = libc or line:match "(/%S+/libc%.so[%.%d]*)$" end
    support.need(libc, "libc is not mapped as libc.so")
    local g = pmc.group { ("hits = %s:getppid"):format(libc) }
    local counts = g:count(function() for _ = 1, 100 do ffi.C.pmclua_spec_getppid() end end)
    g:close()
    assert.equal(100, counts.hits)
  end)

  it("is explained where there is no such function, or it has been inlined", function()
    need_elfutils()
    local path = programs().pie
    local function refused(spec) return message_of(event.encode, (spec:gsub("^P", path))) end
    assert.match("pie has no function 'wrok'; did you mean 'work'", refused "P:wrok")
    assert.match("'twice' was inlined into its callers in 1 place %(program%.c:9%)", refused "P:twice")
    assert.match("there is no such file", refused "/nowhere/x:main")
    assert.match("is a script", refused(support.root .. "/tests/run.lua:main"))
    local _, problem = event.parse(path .. ":wrok")
    assert.same({ #path + 2, 4 }, { problem.position, problem.length })
  end)
end)

describe("a breakpoint on a symbol", function()
  it("counts each write of a variable of the program to be run", function()
    need_breakpoints()
    local cell = measure({ programs().fixed }, { "writes = mem:counter/8:w:u", "calls = mem:work:x:u",
      "one = mem:many/4:w:u" })
    assert.same({ BY_ONE, BY_ONE, 1 }, { cell.writes.max, cell.calls.max, cell.one.max })
    assert.same({ BY_ONE, BY_ONE, 1 }, { cell.writes.min, cell.calls.min, cell.one.min })
  end)

  it("has the name that C++ gives it, however the compiler spells that", function()
    need_elfutils()
    support.need(support.have "c++", "no C++ compiler")
    local folder = support.folder()
    support.write(folder .. "/program.cc", "namespace ns { volatile long counter; }\n"
      .. "static volatile long own;\nint main() { ns::counter = 1; own = 1; return 0; }\n")
    local path = support.build(folder .. "/program", "c++", "-no-pie", folder .. "/program.cc")
    local resolve = symbol.in_programs(function() return { path } end)
    assert.is_number(resolve "ns::counter")
    assert.equal(resolve "_ZN2ns7counterE", resolve "ns::counter")
    assert.is_number(resolve "own")
    assert.is_nil((resolve "counter"))
  end)

  it("counts those of threads and children", function()
    need_breakpoints()
    local cell = measure({ programs().fixed, "all" }, { "writes = mem:counter/8:w:u" })
    assert.same({ BY_ALL, BY_ALL }, { cell.writes.min, cell.writes.max })
  end)

  -- A process that has done its ten calls and does one more when its input comes; fn gets its pid.
  local function with_waiting(path, fn)
    local folder = support.folder()
    os.execute(("mkfifo %s/in"):format(folder))
    local output = assert(io.popen(("%s w <%s/in & echo $!"):format(path, folder)))
    local pid = output:read "*n"
    local input = assert(io.open(folder .. "/in", "w"))
    assert(output:read "*l" and output:read "*l" == "ready")
    local ok, why = pcall(fn, pid, function()
      input:write "x"
      input:close()
      output:read "*a"                    -- until it has ended
    end)
    pcall(input.close, input)
    output:close()
    if not ok then error(why, 0) end
  end

  it("finds a symbol of a process that runs, wherever it was loaded", function()
    need_elfutils()
    for _, path in pairs(programs()) do
      with_waiting(path, function(pid)
        local address = assert(symbol.in_process(pid) "counter")
        assert.equal(path:find "fixed" ~= nil, address < 0x1000000)
      end)
    end
  end)

  it("counts what that process does to it from then on", function()
    need_breakpoints()
    with_waiting(programs().pie, function(pid, finish)
      local ok, g = pcall(pmc.group, { "writes = mem:counter/8:w:u", target = pmc.pid(pid) })
      support.need(ok, "this user may not count another process")
      g:start()
      finish()
      assert.equal(1, g:read().writes)
      g:close()
    end)
  end)

  it("finds one of this process, for a group of its own thread", function()
    support.need_unwatched("a copy of the function runs", "valgrind")
    need_breakpoints()
    local g = pmc.group { "x = mem:pmclua_version:x:u" }
    local ffi = require "ffi"
    local c = g:count(function() for _ = 1, 50 do ffi.C.pmclua_version() end end)
    g:close()
    assert.equal(50, c.x)
  end)

  it("is explained where its address cannot be known or is not there", function()
    need_elfutils()
    local built_here = programs()
    local function refused(path, spec) return message_of(measure, { path }, { spec }) end
    assert.match("loaded anywhere %(a PIE%): link it", refused(built_here.pie, "mem:counter:w"))
    assert.match("did you mean 'counter'", refused(built_here.fixed, "mem:conter:w"))
    assert.match("is thread%-local", refused(built_here.fixed, "mem:mine:w"))
    assert.match("there is no program whose symbol", message_of(event.encode, "mem:counter:w"))
    local resolve = symbol.in_programs(function() return { built_here.fixed, other } end)
    local _, why = resolve "main"
    assert.match("not at the same address", why)
  end)
end)
