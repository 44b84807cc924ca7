-- Processes that are not as most: the first thread has ended and the others go on; a child outlives them.

local pmc = require "pmclua"
local support = require "tests.support"
local tasks = require "pmclua.host.tasks"

-- Three threads that each touch 1,200 pages when a byte comes; main ends first, by pthread_exit.
local LEADERLESS = [[
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
enum { PAGES = 1200, BYTES = PAGES * 4096 };
char *pages[3];
pthread_barrier_t all;
__attribute__((noinline)) void touch(char *at) { for (long i = 0; i < BYTES; i += 4096) at[i] = 1; }
static void *wait_and_touch(void *at)
{
    char byte;
    if (read(0, &byte, 1) == 1) touch(at);
    pthread_barrier_wait(&all);            /* one byte each */
    while (read(0, &byte, 1) == 1) {}
    return 0;
}
int main(void)
{
    pthread_barrier_init(&all, 0, 3);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pages[i] = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(pages[i], BYTES, MADV_NOHUGEPAGE);
        pthread_create(&thread, 0, wait_and_touch, pages[i]);
    }
    printf("%d\n", getpid());
    fflush(stdout);
    pthread_exit(0);
}
]]
local TOUCHED = 3 * 1200

local built = {}

local function program(name, source)
  if built[name] then return built[name] end
  support.need(support.have "cc", "no C compiler")
  local path = support.folder() .. "/" .. name
  support.write(path .. ".c", source)
  local made = support.run { "cc", "-g", "-O1", "-o", path, path .. ".c", "-lpthread" }
  assert.equal(0, made.status, made.err)
  built[name] = path
  return path
end

--- Starts a program that says its pid first; `go(text)` writes to it, `finish()` ends its input.
local function start(path)
  local folder = support.folder()
  os.execute(("mkfifo %s/in; timeout 30 %s < %s/in > %s/out 2> %s/err &"):format(folder, path, folder, folder,
      folder))
  local input = assert(io.open(folder .. "/in", "we"))   -- nobody else keeps it open
  support.await_text(folder .. "/out", "\n")
  local running = { pid = tonumber(support.read(folder .. "/out")) }
  function running.go(text)
    input:write(text)
    input:flush()
  end
  function running.finish()
    input:close()
    support.await(function() return not tasks.living(running.pid) end, "the end of the program")
  end
  return running
end

local function leaderless()
  local running = start(program("leaderless", LEADERLESS))
  support.await(function() return tasks.state(running.pid) == "Z" end, "the first thread to end")
  return running
end

-- The minor faults of all threads, so far.
local function faults(running)
  local sum = 0
  for _, tid in ipairs(tasks.threads(running.pid)) do
    local line = support.read(("/proc/%d/task/%d/stat"):format(running.pid, tid))
    sum = sum + tonumber(line:match "^.*%) %a %d+ %d+ %d+ %d+ %-?%d+ %d+ (%d+)")
  end
  return sum
end

-- Has the threads touch their pages, and waits until they have.
local function have_touched(running)
  local before = faults(running)
  running.go "xxx"
  support.await(function() return faults(running) - before >= TOUCHED end, "the threads to touch their pages")
end

local function counted(target, running)
  local group = pmc.group { "page-faults", target = target }
  group:start()
  have_touched(running)
  local count = group:read().page_faults
  group:close()
  return count
end

describe("a process whose first thread has ended", function()
  it("is counted by its other threads", function()
    local running = leaderless()
    local count = counted(pmc.pid(running.pid), running)
    running.finish()
    -- A thread may fault on its stack besides.
    assert.is_true(count >= TOUCHED and count <= TOUCHED + 6, tostring(count))
  end)

  it("is meant by the id of any of its threads, once", function()
    local running = leaderless()
    local ids = tasks.threads(running.pid)
    local target = pmc.pid(ids)
    assert.equal("process " .. running.pid, target.name)
    local count = counted(target, running)
    running.finish()
    assert.is_true(count >= TOUCHED and count <= TOUCHED + 6, tostring(count))
  end)

  it("is alive until the last of them ends", function()
    local running = leaderless()
    local target = pmc.pid(running.pid)
    assert.is_true(target:is_alive())
    assert.equal("timeout", (target:wait(0.25)))
    running.finish()
    assert.is_false(target:is_alive())
    assert.matches("there is no process " .. running.pid,
      support.message_of(function() require("pmclua.counting.target").check(target) end))
  end)

  it("is followed by stat until it ends", function()
    local running = leaderless()
    local out = support.folder() .. "/report"
    os.execute(("(timeout 20 %s stat -e page-faults -j -o %s -p %d; echo ended > %s.end) 2> %s.err &"):format(
      support.quote(support.program), out, running.pid, out, out))
    support.await(function() return #tasks.threads(running.pid) == 4 end, "its threads")
    require("pmclua.core").pause(5e8)
    have_touched(running)
    running.finish()
    support.await_text(out .. ".end", "ended")
    local count = tonumber(support.read(out):match '"median":(%d+)')
    assert.is_true(count >= TOUCHED and count <= TOUCHED + 12, support.read(out))
  end)

  it("has its variables looked up in what they have mapped", function()
    local running = leaderless()
    local address, why = require("pmclua.event.symbol").in_process(running.pid) "pages"
    running.finish()
    support.need(address or not tostring(why):find "elfutils", "elfutils is not installed")
    assert.is_nil(why)
    assert.is_true(address > 0)
  end)

  it("has its functions followed in its other threads", function()
    require("tests.support.regions").need_probes()
    local running = leaderless()
    local pid = running.pid
    local ok, why = pcall(require("pmclua.workload.region_process").of, pid, { threads = "one" })
    local process = require("pmclua.workload.region_process").of(pid, { threads = "all" })
    running.finish()
    assert.is_false(ok)
    assert.matches("the first thread of process " .. pid .. " has ended", tostring(why))
    assert.are_not.equal(pid, process.task)
    assert.matches("^leaderless", process.name)
  end)
end)

-- Takes a name of its own when a byte comes, and ends with the next.
local RENAMED = [[
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
static volatile char pages[10 * 4096];
int main(void)
{
    char byte;
    printf("%d\n", getpid());
    fflush(stdout);
    if (read(0, &byte, 1) == 1) for (int i = 0; i < 10; i++) pages[i * 4096] = 1;
    prctl(PR_SET_NAME, "a) Z 1\n) X 2 b");
    while (read(0, &byte, 1) == 1) {}
    return 0;
}
]]

describe("a process whose name looks like /proc's own text", function()
  it("is alive while it runs, has its parent and its start, and is shown on one line", function()
    local running = start(program("renamed", RENAMED))
    local target = pmc.pid(running.pid)
    local _, parent, started = tasks.stat(running.pid)
    local group = pmc.group { "page-faults", target = target }
    group:start()
    running.go "x"
    support.await(function() return tasks.name(running.pid) == "a) Z 1\n) X 2 b" end, "its new name")
    assert.is_true(target:is_alive())
    assert.equal("timeout", (target:wait(0.25)))
    assert.is_true(group:read().page_faults >= 9)
    group:close()
    local _, parent_after, started_after = tasks.stat(running.pid)
    assert.same({ parent, started }, { parent_after, started_after })
    assert.equal("a) Z 1\\n) X 2 b-" .. running.pid,
      require("pmclua.counting.target").places(pmc.pid { running.pid, by = "thread" })[1].part)
    running.finish()
    assert.is_false(target:is_alive())
  end)
end)

-- Waits for a byte where it has an argument, and becomes a daemon by two forks, which lives for 2 s.
local DAEMON = [[
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char byte;
    printf("%d\n", getpid());
    fflush(stdout);
    if (argc > 1 && argv[1][0] == 'n') return 0;
    if (argc == 1 && read(0, &byte, 1) != 1) return 1;
    if (fork()) _exit(3);
    setsid();
    if (fork()) _exit(0);
    close(0); close(1); close(2);
    usleep(2000000);
    return 0;
}
]]

local function joined(said) return (said:gsub("\n *", " ")) end

describe("a process that leaves another behind", function()
  it("is said to, with the name of what still runs, when it was attached to", function()
    local running = start(program("leaver", DAEMON))
    local group = pmc.group { "page-faults", target = pmc.pid(running.pid) }
    group:start()
    assert.same({}, group:remarks())
    running.go "x"
    running.finish()
    local remark
    support.await(function()
      remark = group:remarks()[1]
      return remark
    end, "the daemon")
    group:close()
    assert.matches(("^process %d has ended"):format(running.pid), remark)
    local daemon = tonumber(remark:match "leaver %(process (%d+)%)")
    assert.are_not.equal(running.pid, daemon)
    assert.equal("leaver", tasks.name(daemon))
  end)

  for _, tool in ipairs { "stat", "monitor" } do
    it("is said to by " .. tool .. ", whose status is the command's", function()
      local path = program("leaver", DAEMON)
      local made = support.pmclua { tool, "-e", "page-faults", "--", path, "yes" }
      if tool == "stat" then assert.equal(3, made.status) end
      assert.matches("left running: leaver %(process %d+%).*; what they do from then on is not counted",
        joined(made.err))
    end)

    it("is no such where nothing is left, by " .. tool, function()
      local path = program("leaver", DAEMON)
      for _, words in ipairs { { path, "no" }, { "sh", "-c", "(true &); true | cat; sleep 0.05" } } do
        local made = support.pmclua { tool, "-e", "page-faults", "--", unpack(words) }
        assert.is_nil(joined(made.err):find "left running")
      end
    end)
  end
end)
