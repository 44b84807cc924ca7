-- Root among other users: an attacker (user 65534) runs beside each measurement and tries to change what it reads,
-- writes or runs.

local support = require "tests.support"

local KEY = "root's own"

setup(function() support.need(support.have_root(), "it takes root to be attacked by another user") end)

--- Runs `words` beside an attack, Lua code that another user repeats until it is over. It has `found(pattern)`, what
--- a pattern finds in the arguments of all processes and of which, and `try(what, ok)`, which notes what succeeded.
---@return { status: integer, out: string, err: string } result
---@return string noted lines of what the attacker could do, "seen" once he found what to attack
local function attacked(attack, words, options)
  local folder = support.folder()
  local notes = support.write(folder .. "/notes", "")
  os.execute("chmod 666 " .. notes)
  local script = support.write(folder .. "/attack.lua", ([[
    local notes, lfs = io.open(%q, "a"), require "lfs"
    local function note(what) notes:write(what, "\n") notes:flush() end
    local function found(pattern)
      for pid in lfs.dir "/proc" do
        local file = tonumber(pid) and io.open("/proc/" .. pid .. "/cmdline")
        local text = file and file:read "*a" or ""
        if file then file:close() end
        if text:match(pattern) then return text:match(pattern), pid end
      end
    end
    local function try(what, ok) if ok then note(what) end end
    note "ready"
    while true do %s end]]):format(notes, attack))
  local shell = [[
    setpriv --reuid=65534 --regid=65534 --clear-groups timeout 100 "$1" "$2" >/dev/null 2>&1 &
    for i in $(seq 600); do grep -q ready "$3" && break; sleep 0.1; done
    shift 3; "$@"; status=$?
    kill $!; wait $! 2>/dev/null; exit $status]]
  local all = { "sh", "-c", shell, "sh", support.program, script, notes, unpack(words) }
  return support.run(all, options), support.read(notes)
end

describe("a count by Valgrind", function()
  before_each(function()
    support.need(support.have "valgrind", "Valgrind is not installed")
    support.need_unwatched "what Valgrind runs is run under nothing else"
  end)

  local SEEN = [[
    local folder, pid = found("%-%-log%-file=(" .. PLACE .. "/[^%z]*)/log")
    if folder then note "seen" end]]
  local ATTACKS = {
    { "writes to its log", [[
      local log = folder and io.open(folder .. "/log", "w")
      if log then
        for _, line in ipairs { "Command: x", "I   refs:      1" } do
          log:write(("==%d== %s\n"):format(pid, line), ("==77777== %s\n"):format(line))
        end
        note "log" log:close()
      end]] },
    { "writes counts of its own", [[
      for _, name in ipairs { pid, 77777 } do
        local file = folder and io.open(("%s/cachegrind.%s"):format(folder, name), "w")
        if file then file:write "events: Ir\nsummary: 7\n" note "counts" file:close() end
      end]] },
    { "has its counts written elsewhere", [[
      try("link", folder and lfs.link(KEY, folder .. "/cachegrind." .. pid, true))]] },
    { "has it wait for a FIFO", [[
      local fifo = ("mkfifo -m 666 %s/cachegrind.%s 2>/dev/null"):format(folder, pid)
      try("fifo", folder and os.execute(fifo) == 0)]] },
    { "renames its folder", [[try("rename", folder and os.rename(folder, folder .. "-"))]] },
  }
  for _, attack in ipairs(ATTACKS) do
    it("of root's is not changed by another user who " .. attack[1], function()
      local folder = support.folder()
      local key = support.write(folder .. "/key", KEY)
      os.execute("chmod 600 " .. key)
      local words = { support.program, "stat", "--simulate", "-e", "instructions", "-r", "2", "--", "true" }
      local open = { env = { TMPDIR = support.folder() } }
      os.execute("chmod 1777 " .. open.env.TMPDIR)
      local plain = support.run(words, open)
      local script = ("local KEY, PLACE = %q, %q\n%s\n%s"):format(key, open.env.TMPDIR, SEEN, attack[2])
      local result, notes = attacked(script, words, open)
      assert.same({ 0, plain.err }, { result.status, result.err })
      assert.equal(KEY, support.read(key))
      assert.same({ "ready", "seen" }, { notes:match "ready", notes:match "seen" })
      assert.equal("", (notes:gsub("%w+\n", { ["ready\n"] = "", ["seen\n"] = "" })))
    end)
  end

  it("of a command that becomes another user is absent, with what to do", function()
    local words = { "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "true" }
    local result = support.pmclua { "stat", "--simulate", "-e", "instructions", "--", unpack(words) }
    assert.equal(125, result.status)
    assert.matches("became another user: run pmclua as that user", result.err, 1, true)
  end)
end)

describe("folders of another user", function()
  local folder, theirs, key

  -- Has them belong to the other user, with all in them.
  local function give() os.execute("chown -Rh 65534:65534 " .. theirs) end

  before_each(function()
    folder = support.folder()
    theirs, key = folder .. "/theirs", support.write(folder .. "/key", KEY)
    os.execute(("chmod 600 %s; mkdir %s"):format(key, theirs))
  end)
  after_each(function() assert.equal(KEY, support.read(key)) end)

  local OWNED = "io.open(%q, 'a'):write 'x'"
  local function owned() return support.exists(folder .. "/owned") end
  local function program() return ("#!/bin/sh\necho x >>%s/owned\n"):format(folder) end

  -- Runs as root with their variables; says how often each variable is said to be ignored.
  local function run(words, variables)
    give()
    local result = support.run({ support.program, unpack(words) }, { env = variables, folder = folder })
    local told = {}
    for name in result.err:gmatch "([%u_]+)=%S+ is ignored: another user" do
      told[name] = (told[name] or 0) + 1
    end
    return result, told
  end

  local SHADOWS = {
    { "XDG_DATA_HOME", "/pmclua/scripts/stat.lua", function() return theirs end },
    { "HOME", "/.local/share/pmclua/scripts/stat.lua", function() return theirs end },
    { "PMCLUA_PATH", "/stat.lua", function() return theirs end },
  }
  for _, case in ipairs(SHADOWS) do
    it(("that %s names give no command to root, which is said once"):format(case[1]), function()
      support.write(theirs .. case[2], OWNED:format(folder .. "/owned"))
      local result, told = run({ "stat", "-e", "page-faults", "-r", "1", "--", "true" },
        { XDG_DATA_HOME = false, [case[1]] = case[3]() })
      assert.same({ 0, false, 1 }, { result.status, owned(), told[case[1]] }, result.err)
    end)
  end

  it("give it none behind a link in its own", function()
    support.write(theirs .. "/stat.lua", OWNED:format(folder .. "/owned"))
    os.execute(("mkdir -p %s/data/pmclua && ln -s %s %s/data/pmclua/scripts"):format(folder, theirs, folder))
    local result, told = run({ "stat", "-e", "page-faults", "-r", "1", "--", "true" },
      { XDG_DATA_HOME = folder .. "/data" })
    assert.same({ 0, false, 1 }, { result.status, owned(), told.XDG_DATA_HOME }, result.err)
  end)

  it("have no modules for it", function()
    for _, name in ipairs { "mine", "lpeg", "lfs" } do
      support.write(("%s/%s.lua"):format(theirs, name), OWNED:format(folder .. "/owned"))
    end
    local result, told = run({ "-e", "print(pcall(require, 'mine'), require 'lpeg' ~= nil)" },
      { LUA_PATH = theirs .. "/?.lua;;", LUA_CPATH = theirs .. "/?.so;;" })
    assert.matches("^false\t.*true\n$", result.out)
    assert.same({ false, { LUA_PATH = 1 } }, { owned(), told })
  end)

  it("have no compiler and no other program for it", function()
    support.need(support.have "cc", "no C compiler")
    for _, name in ipairs { "cc", "gcc", "as", "ld", "perf", "gnuplot", "valgrind" } do
      support.write(theirs .. "/" .. name, program())
      os.execute(("chmod 755 %s/%s"):format(theirs, name))
    end
    local result, told = run({ "-e", [[
      local code = "void f(void *s, unsigned long n) { (void)s; (void)n; }"
      local loop = pmc.kernel { code = code, symbol = "f" }
      local result = pmc.measure(loop, { events = "page-faults", repetitions = 2 })
      print(result:cells()().page_faults ~= nil)
      pmc.events.find "instructions"]] },
      { PATH = theirs .. ":" .. os.getenv "PATH", COMPILER_PATH = theirs,
        XDG_CACHE_HOME = folder .. "/cache" })
    assert.same({ "true\n", false, 1 }, { result.out, owned(), told.PATH }, result.err)
  end)

  it("are no homes of the programs that pmclua starts for it", function()
    support.need(support.have "cc", "no C compiler")
    local names = { "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME" }
    local cc = support.write(folder .. "/cc", ('#!/bin/sh\nenv >>%s/seen\nexec cc "$@"\n'):format(folder))
    os.execute(("chmod 755 %s; mkdir %s/home"):format(cc, folder))
    local code = [[
      local code = "void f(void *s, unsigned long n) { (void)s; (void)n; }"
      pmc.measure(pmc.kernel { code = code, symbol = "f" }, { events = "page-faults", repetitions = 1 })]]
    local env = { CC = cc, XDG_STATE_HOME = folder .. "/home" }
    for _, name in ipairs(names) do env[name] = theirs end
    local result = run({ "-e", code }, env)
    local seen = "\n" .. support.read(folder .. "/seen")
    assert.equal(0, result.status, result.err)
    for _, name in ipairs(names) do assert.is_nil(seen:find(("\n%s=%s"):format(name, theirs), 1, true)) end
    assert.matches("\nHOME=/root\n", seen)
    assert.matches(("\nXDG_STATE_HOME=%s/home\n"):format(folder), seen, 1, true)
  end)

  it("get no results of root's, and their links lead nowhere", function()
    local links = "mkdir -p F/elsewhere T/.local; ln -s F/elsewhere T/.local/state; "
      .. "ln -s F/elsewhere T/.cache"
    os.execute((links:gsub("[FT]/", { ["F/"] = folder .. "/", ["T/"] = theirs .. "/" })))
    local kernel, own = support.root .. "/tests/faults/scenarios/kernel.lua", support.folder()
    local result, told = run({ kernel, "--repetitions", "1" },
      { HOME = theirs, XDG_STATE_HOME = own, XDG_CACHE_HOME = theirs .. "/.cache" })
    assert.same({ 0, 1 }, { result.status, told.XDG_CACHE_HOME }, result.err)
    assert.equal("", support.output_of(("ls -A %s/elsewhere; find %s -user 0"):format(folder, theirs)))
    assert.not_equal("", support.output_of(("find %s -name '*.jsonl'"):format(own)))
  end)

  it("have no pipe that it waits at, neither as a result nor as a program", function()
    local pipe = support.folder() .. "/pipe"
    os.execute(("mkfifo -m 777 %s && chown 65534 %s"):format(pipe, pipe))
    for _, words in ipairs { { "report", pipe }, { "gate", pipe, "--limit", "page_faults <= 1" },
      { "stat", "--simulate", "--", pipe } } do
      local got = support.pmclua(words, { limit_s = 20 })
      local why = words[1] == "stat" and "cannot execute" or "it is a named pipe of another user"
      assert.matches(why, got.err, 1, true)
      assert.is_true(got.status ~= 0)
    end
  end)

  it("have no tables of events and metrics for it", function()
    support.write(theirs .. "/mine.json", '[{"MetricName": "mine", "MetricExpr": "cycles"}]')
    local _, told = run({ "events", "metrics" }, { PMCLUA_VENDOR = theirs })
    assert.equal(1, told.PMCLUA_VENDOR)
  end)
end)

describe("a table of marks", function()
  it("is root's alone, where another user's folder is named for the session", function()
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    local open, key = folder .. "/open", support.write(folder .. "/key", KEY)
    os.execute(("chmod 600 %s; mkdir -m 1777 %s; chown 65534 %s"):format(key, open, open))
    local program = support.build(folder .. "/marked", "cc", "-xc", "-lpthread",
      "-I", support.root .. "/core",
      support.write(folder .. "/marked.c", [[
      #include "pmclua_mark.h"
      int main(void) { pmclua_mark_begin("m"); pmclua_mark_end("m"); return 0; }]]))
    local attack = ([[
      for _, place in ipairs { %q, "/dev/shm" } do
        for name in lfs.dir(place) do
          local table_of = name:find "^pmclua%%-marks" and place .. "/" .. name
          if table_of then
            note "seen"
            try("rename", os.rename(table_of, table_of .. "-"))
            try("link", lfs.link(%q, table_of .. "/table", true))
          end
        end
      end]]):format(open, key)
    local words = { support.program, "stat", "--marks", "-e", "page-faults", "-r", "20", "--", program }
    local result, notes = attacked(attack, words, { env = { XDG_RUNTIME_DIR = open } })
    assert.same({ 0, KEY }, { result.status, support.read(key) }, result.err)
    assert.matches("m ", result.out .. result.err)
    assert.equal("", (notes:gsub("%w+\n", { ["ready\n"] = "", ["seen\n"] = "" })))
    assert.matches("seen", notes)
  end)
end)

describe("a process of another user", function()
  local PROGRAM = [[
    #include <dlfcn.h>
    #include <stdio.h>
    #include <sys/prctl.h>
    #include <sys/stat.h>
    #include <unistd.h>
    int main(int argc, char **argv)
    {
        void (*fault)(void) = (void (*)(void))dlsym(dlopen(argv[1], RTLD_NOW), "fault");
        unlink(argv[1]);
        if (argc > 2) symlink(argv[2], argv[1]); else mkfifo(argv[1], 0666);
        puts("ready"); fflush(stdout);
        for (int i = 0;; i++) {
            prctl(PR_SET_NAME, i % 2 ? "x\\nTgid:\\t1" : ") Z 1 (\\033]0;y\\a");
            fault();
            usleep(500);
        }
    }]]
  local LIBRARY = [[
    #include <sys/mman.h>
    void fault(void)
    {
        volatile char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *page = 1;
        munmap((void *)page, 4096);
    }]]

  --- Starts a process of the other user's, which loads a library of his and puts something in its place: its pid.
  local function start(folder, library_source, to)
    local program = support.build(folder .. "/program", "cc", "-xc", support.write(folder .. "/p.c", PROGRAM))
    local library = support.build(folder .. "/open/l.so", "cc", "-g", "-shared", "-fPIC", "-xc",
      support.write(folder .. "/open/l.c", library_source))
    os.execute(("chown -R 65534 %s/open"):format(folder))
    local other = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    local command = ("%s %s %s %s >%s/said & echo $!"):format(other, program, library, to, folder)
    local pid = support.output_of(command):match "%d+"
    support.await_text(folder .. "/said", "ready")
    return pid
  end

  it("shows no source that its user may not read, whose program is in the place of his own", function()
    support.need(support.have "cc" and support.have "setpriv", "no C compiler")
    local folder = support.folder()
    local key = support.write(folder .. "/key", (KEY .. "\n"):rep(20))
    os.execute("chmod 600 " .. key)
    for _, to in ipairs { "/bin/true", key } do
      local pid = start(folder, ('#line 1 "%s"\n%s'):format(key, LIBRARY), to)
      -- What Linux calls a file that was unlinked may be another's name.
      support.run { "ln", "-sf", to, folder .. "/open/l.so (deleted)" }
      local result = support.pmclua { "where", "--annotate", "fault", "-e", "page-faults", "-p", pid,
        "--timeout", "300" }
      support.run { "kill", pid }
      assert.equal(0, result.status, result.err)
      assert.matches("fault %[l.so.* · page%-faults", result.out .. result.err)
      assert.is_nil((result.out .. result.err):find(KEY, 1, true))
    end
  end)

  for _, to in ipairs { "", "/dev/zero", "/etc/shadow" } do
    it("is measured, whatever its name and the name of its library become: " .. to, function()
      support.need(support.have "cc" and support.have "setpriv", "no C compiler")
      local folder = support.folder()
      local pid = start(folder, LIBRARY, to)
      local told = {}
      for _, way in ipairs { { "stat" }, { "where" }, { "where", "--annotate", "fault" } } do
        local words = support.merged({}, way)
        for _, word in ipairs { "-e", "page-faults", "-p", pid, "--timeout", "300" } do
          words[#words + 1] = word
        end
        told[#told + 1] = support.pmclua(words)
      end
      support.run { "kill", pid }
      for _, result in ipairs(told) do
        assert.equal(0, result.status, result.err)
        assert.is_nil((result.out .. result.err):gsub("[\n\t]", ""):find "%c")
        assert.is_nil((result.out .. result.err):find "root:")
      end
      assert.matches("fault %[l.so", told[2].out .. told[2].err)
    end)
  end
end)
