-- Programs that Linux does not let be counted: setuid, setgid, with capabilities, or not readable by their user.
-- What they do is missing in the counts of whoever executes them, and that is said.

local dkjson = require "dkjson"
local pmc = require "pmclua"
local support = require "tests.support"

-- Touches argv[1] pages and executes the rest, as a child where the first letter is f.
local SOURCE = [[
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    long bytes = atol(argv[1]) * 4096;
    char *at = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at, bytes, MADV_NOHUGEPAGE);
    for (long i = 0; i < bytes; i += 4096) at[i] = 1;
    if (argc < 4) return 0;
    pid_t child = argv[2][0] == 'f' ? fork() : 0;
    if (child == 0) { execv(argv[3], argv + 3); _exit(9); }
    int status = 9 << 8;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
]]

local OWN, CHILDS = 2000, 1500
local folder

-- The program as each of these: the mode is of a file of root's, or of another group's.
local KINDS = {
  plain = "chmod 0755", readable_setuid = "chmod 4755", setuid = "chown 65534 %s; chmod 4755",
  setgid = "chgrp 65534 %s; chmod 2755", unreadable = "chmod 0711",
}

local function programs()
  support.need(support.have_root() and support.have "cc", "no C compiler, or not root")
  if folder then return folder end
  folder = support.folder()
  support.write(folder .. "/touch.c", SOURCE)
  local made = support.run { "cc", "-O1", "-o", folder .. "/plain", folder .. "/touch.c" }
  assert.equal(0, made.status, made.err)
  for name, how in pairs(KINDS) do
    local path = folder .. "/" .. name
    if name ~= "plain" then os.execute(("cp %s/plain %s"):format(folder, path)) end
    os.execute((how .. " %s"):gsub("%%s", path))
  end
  os.execute("chmod 0755 " .. folder)
  return folder
end

local USER = { "setpriv", "--reuid=1001", "--regid=1001", "--clear-groups" }

-- `pmclua stat` of the program that executes `kind`: what it says of page faults, and all that it says.
local function stat(kind, how, as_user)
  local at = programs()
  local words = as_user and { unpack(USER) } or {}
  for _, word in ipairs { support.program, "stat", "-e", "page-faults", "--",
    at .. "/plain", tostring(OWN), how, at .. "/" .. kind, tostring(CHILDS) } do words[#words + 1] = word end
  local made = support.run(words)
  assert.equal(0, made.status, made.err)
  local line = made.err:match "\npage%-faults[^\n]*"
  return tonumber((line:match "page%-faults +([%d,]+)" or ""):gsub(",", ""), 10), made.err, line
end

-- Executes a program that ends at once so many times, one after the other. It starts no libc, which makes it cheap.
local OTHERS = [[
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef NOTHING
void _start(void) { _exit(0); }
#else
int main(int argc, char **argv)
{
    for (int i = atoi(argv[argc - 1]); i > 0; i--) {
        pid_t child = vfork();
        if (child == 0) { execl(argv[1], argv[1], (char *)0); _exit(9); }
        waitpid(child, 0, 0);
    }
    return 0;
}
#endif
]]

local others
-- A command that executes so many programs sooner than a shell.
local function execute(n)
  if not others then
    local at = support.folder() .. "/others"
    local source = support.write(at .. ".c", OTHERS)
    others = support.build(at, "cc", "-O1", "-static", source) .. " "
      .. support.build(at .. ".nothing", "cc", "-O1", "-static", "-nostartfiles", "-DNOTHING", source)
  end
  return ("%s %d"):format(others, n)
end

local ENDED = "Linux stopped counting '(%w+)'"

describe("a command that executes a program which may not be watched", function()
  for _, case in ipairs {
    { "setuid", false }, { "setuid", true }, { "setgid", false }, { "setgid", true }, { "unreadable", true },
    { "readable_setuid", true },
  } do
    local kind, as_user = case[1], case[2]
    local who = as_user and "an ordinary user" or "root"
    for _, how in ipairs { "fork", "exec" } do
      it(("has no count, and the reason and its name (%s, %s, %s)"):format(kind, who, how), function()
        local count, said, line = stat(kind, how, as_user)
        assert.is_nil(count)
        assert.matches("<not counted>: Linux stopped counting", line)
        assert.equal(kind:sub(1, 15), said:gsub("\n *", " "):match "Linux stopped counting '([%w_]+)'")
        assert.is_nil(said:find "as root")
      end)
    end
  end

  for _, case in ipairs { { "plain", false }, { "plain", true }, { "unreadable", false },
    { "readable_setuid", false } } do
    local who = case[2] and "an ordinary user" or "root"
    it(("is counted where it may (%s, %s)"):format(case[1], who), function()
      local count, said = stat(case[1], "fork", case[2])
      assert.is_nil(said:find(ENDED))
      assert.is_true(count >= OWN + CHILDS and count < OWN + CHILDS + 400, tostring(count))
    end)
  end

  it("is never missed without a word, however many others are executed", function()
    local at = programs()
    local line = ("%s; %s/setgid 10"):format(execute(4000), at)
    local result = pmc.measure(pmc.command { "sh", "-c", line }, { events = "page-faults", repetitions = 1,
      warmup = 0, store = false, quiet = true })
    assert.matches("^Linux stopped counting 'setgid'", (result.remarks or {})[1] or "nothing")
    assert.equal("not-counted", result:cells()().page_faults.status)
  end)

  it("is no matter to a count without children", function()
    local at = programs()
    local result = pmc.measure(pmc.command { at .. "/plain", tostring(OWN), "fork", at .. "/setgid", "10" },
      { events = "page-faults", repetitions = 6, warmup = 0, store = false, quiet = true, inherit = false })
    assert.same({}, result.remarks or {})
    assert.is_true(result:cells()().page_faults.median >= OWN)
  end)

  it("is said where its functions are followed", function()
    require("tests.support.regions").need_probes()
    local at = programs()
    local made = support.pmclua { "regions", "-e", "page-faults", "-f", "main", "--", at .. "/plain", "10",
      "fork", at .. "/setgid", "10" }
    assert.matches("Linux stopped following 'setgid'", (made.err:gsub("\n *", " ")))
  end)

  it("is said where the functions of a process that ran before are followed", function()
    require("tests.support.regions").need_probes()
    local at = programs()
    local input = io.popen(("while read x; do %s/setgid 10; done"):format(at), "w")
    local pid = require("pmclua.host.tasks").child_of(
      tonumber(support.read("/proc/self/stat"):match "^%d+") or 0)
    local out = support.folder() .. "/said"
    os.execute(("%s regions -e page-faults -p %d -f libc.so.6:read --duration 1.5 2> %s &"):format(
      support.quote(support.program), assert(pid), out))
    support.await(function()
      input:write "x\n"
      input:flush()
      return support.exists(out) and support.read(out):find "followed for"
    end, "the report")
    input:close()
    assert.matches("Linux stopped following 'setgid'", (support.read(out):gsub("\n *", " ")))
  end)

  it("is left out of an experiment's counts, once said", function()
    local at = programs()
    local result = pmc.measure(pmc.command { at .. "/plain", "10", "fork", at .. "/setgid", "10" },
      { events = "page-faults", repetitions = 6, warmup = 0, store = false, quiet = true })
    local cell = result:cells()()
    assert.equal("not-counted", cell.page_faults.status)
    assert.equal(1, #result.remarks)
    assert.matches("Linux stopped counting 'setgid'", result.remarks[1])
  end)

  it("is said by monitor, whose intervals before it have their counts", function()
    local at = programs()
    local made = support.pmclua { "monitor", "-e", "page-faults", "-I", "100", "-j", "-o", "-", "--",
      "sh", "-c", ("%s/plain 50; sleep 0.25; %s/setgid 1500; sleep 0.25"):format(at, at) }
    assert.equal(0, made.status, made.err)
    local first = dkjson.decode(made.out:match "[^\n]+").events.page_faults
    assert.equal("counted", first.status)
    assert.is_true(first.value > 50)
    assert.matches("Linux stopped counting 'setgid'", (made.err:gsub("\n *", " ")))
  end)

  it("is said of a process that ran before", function()
    local at = programs()
    local input = io.popen(("read x; %s/setgid 1500; read y"):format(at), "w")
    local pid = require("pmclua.host.tasks").child_of(
      tonumber(support.read("/proc/self/stat"):match "^%d+") or 0)
    local group = pmc.group { "page-faults", target = pmc.pid(assert(pid)) }
    group:start()
    input:write "x\n"
    input:flush()
    local ended = require("pmclua.explain.dropped").WHY
    support.await(function() return select(2, group:read():status "page-faults") == ended end, "the drop")
    local counts, remarks = group:read(), group:remarks()
    input:write "y\n"
    input:close()
    group:close()
    assert.is_nil(counts.page_faults)
    assert.equal(ended, select(2, counts:status "page-faults"))
    assert.matches("Linux stopped counting 'setgid'", remarks[#remarks])
  end)
end)

describe("programs that could not all be looked at", function()
  local function measured(line)
    return pmc.measure(pmc.command { "sh", "-c", line, name = "many" }, { events = "page-faults,user_time",
      repetitions = 1, warmup = 0, store = false, quiet = true })
  end

  it("are none while the command runs, however many they are", function()
    local result = measured(execute(4000))
    assert.same({}, result.remarks or {})
    assert.equal("counted", result:cells()().page_faults.status)
  end)

  it("leave their mark on the number itself", function()
    support.need(support.have "cc", "no C compiler")
    -- The runner is stopped, which would look.
    local result = measured("kill -STOP $PPID; " .. execute(4000) .. "; kill -CONT $PPID")
    local faults = result:cells()().page_faults
    assert.equal("unwatched", faults.status)
    assert.equal("unwatched", faults.quality)
    assert.is_true(faults.median > 4000)
    assert.equal("counted", result:cells()().user_time.status)        -- it is not of an event
    assert.matches("^not every program that many executed could be checked", result.remarks[1])
    assert.matches("unwatched programs", result:report())
    assert.matches(",unwatched,", require("pmclua.report").render(result, { format = "csv" }))
  end)

  it("are said of a process whose group nobody reads, and do not occur where it is waited for", function()
    for _, case in ipairs { { "unwatched", false }, { "counted", true } } do
      local done = support.folder() .. "/done"
      local input = io.popen(("read x; for k in 1 2 3 4; do %s; : > %s$k; done; read y"):format(
        execute(1000), done), "w")
      local pid = require("pmclua.host.tasks").child_of(
        tonumber(support.read("/proc/self/stat"):match "^%d+") or 0)
      local target = pmc.pid(assert(pid))
      local group = pmc.group { "page-faults", target = target }
      group:start()
      input:write "x\n"
      input:flush()
      for k = 1, 4 do
        support.await(function()
          if case[2] then target:wait(0.05) end
          return support.exists(done .. k)
        end, "1000 programs")
      end
      local status = group:read():status "page-faults"
      local remarks = group:remarks()
      input:write "y\n"
      input:close()
      group:close()
      assert.equal(case[1], status)
      assert.equal(case[2] and 0 or 1, #remarks)
    end
  end)

  it("leave their mark on what monitor counts", function()
    support.need(support.have "cc", "no C compiler")
    local line = "p=$(cut -d' ' -f4 /proc/$PPID/stat); kill -STOP $p; " .. execute(4000)
      .. "; kill -CONT $p; sleep 0.3"
    local made = support.pmclua { "monitor", "-e", "page-faults", "-I", "100", "-j", "-o", "-", "--",
      "sh", "-c", line }
    assert.equal(0, made.status, made.err)
    local last
    for one in made.out:gmatch "[^\n]+" do last = dkjson.decode(one) or last end
    assert.equal("unwatched", last.events.page_faults.status)
    assert.matches("not every program that the target executed could be checked",
      (made.err:gsub("\n *", " ")))
  end)
end)

describe("an ordinary command", function()
  for _, line in ipairs { "for i in 1 2 3 4 5; do /bin/true; done", "for i in $(seq 100); do (:); done",
    "yes | head -c 1000000 | gzip | wc -c", "(sleep 0.02 & wait; exec true)", "timeout 0.05 sleep 1",
    "for i in $(seq 30); do true & kill -9 $! 2>&-; done; wait", "/nonexistent; true", "env -i /bin/true" } do
    it("is never taken for one that was dropped: " .. line, function()
      local result = pmc.measure(pmc.command { "sh", "-c", line }, { events = "page-faults", repetitions = 6,
        warmup = 0, store = false, quiet = true, on_failure = "keep" })
      assert.same({}, result.remarks or {})
      assert.equal("counted", result:cells()().page_faults.status)
    end)
  end
end)
