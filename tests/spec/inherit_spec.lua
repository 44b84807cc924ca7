-- Events that children and threads inherit: whatever is counted, the counted program forks, starts threads and
-- executes as it does uncounted, and the other events beside it count truly.

local core = require "pmclua.core"
local event = require "pmclua.event"
local pmc = require "pmclua"
local support = require "tests.support"

-- Each round: a fork whose child touches 10 pages of its own, a thread, a program executed by vfork.
local SOURCE = [[
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void work(void) { syscall(SYS_getppid); }
static void *calls(void *n) { for (long i = 0; i < (long)n; i++) work(); return 0; }
static int reap(pid_t child) { int s = 1; return child < 0 || waitpid(child, &s, 0) != child || s != 0; }
static int round_of(char *self)
{
    pthread_t thread;
    int failed = 0;
    pid_t child = fork();
    if (child == 0) { calls((void *)100); _exit(0); }
    failed += reap(child);
    if (pthread_create(&thread, 0, calls, (void *)50)) failed++; else pthread_join(thread, 0);
    child = vfork();
    if (child == 0) { execl(self, self, "leaf", (char *)0); _exit(1); }
    return failed + reap(child);
}
int main(int argc, char **argv)
{
    char line[8];
    if (argc > 1 && argv[1][0] == 'l') { calls((void *)10); return 0; }
    if (argc > 1) { puts("ready"); fflush(stdout); if (!fgets(line, sizeof line, stdin)) return 2; }
    int failed = 0;
    for (int i = 0; i < 3; i++) failed += round_of(argv[0]);
    calls((void *)20);
    return failed;
}
]]

local CALLS = 3 * (100 + 50 + 10) + 20
local FORKS = 3 * 3                          -- a child, a thread and a program a round

local built

local function program()
  if not built then
    support.need(support.have "cc", "no C compiler")
    local folder = support.folder()
    support.write(folder .. "/forker.c", SOURCE)
    local made = support.run { "cc", "-O1", "-g", "-o", folder .. "/forker", folder .. "/forker.c",
      "-lpthread" }
    assert.equal(0, made.status, made.err)
    built = folder .. "/forker"
  end
  return built
end

local function opens(spec)
  local list = event.parse(spec)
  local one = list and list[1] and core.open(list[1].attr)
  if one then one:close() end
  return one ~= nil
end

local function find_getppid()
  for line in io.lines "/proc/kallsyms" do
    local address, name = line:match "^(%x+) %a (__%w+_sys_getppid)$"
    if name == "__x64_sys_getppid" or name == "__arm64_sys_getppid" or name == "__riscv_sys_getppid" then
      return { name, address }
    end
  end
  return { "getppid", "0" }
end

local found
-- The system call's function in Linux, and where it is. The list is long: it is read once.
local function getppid()
  found = found or find_getppid()
  return unpack(found)
end

local function pmu_type(name)
  local file = io.open(("/sys/bus/event_source/devices/%s/type"):format(name))
  local number = file and file:read "*n" or 99
  if file then file:close() end
  return number
end

-- Specs, and how often the whole program does it; nil: not known.
local KINDS = {
  { "a software event", function() return "task-clock" end },
  { "a tracepoint", function() return "syscalls:sys_enter_getppid" end, CALLS },
  { "a tracepoint of forks", function() return "sched:sched_process_fork" end, FORKS },
  { "a breakpoint", function() return "mem:0x1000:x" end, 0 },
  { "a function of Linux by ftrace", function() return "ftrace:function" end },
  { "a uprobe", function() return ("uprobe:%s:work"):format(program()) end, CALLS },
  { "a return probe of a program", function() return ("uretprobe:%s:work"):format(program()) end, CALLS },
  { "a kprobe", function() return "kprobe:" .. getppid() end, CALLS },
  { "a return probe of Linux", function() return "kretprobe:" .. getppid() end, CALLS },
  { "a kprobe in perf's words", function() return ("kprobe/func=%s/"):format((getppid())) end, CALLS },
  { "a kprobe by address", function() return ("kprobe/addr=0x%s/"):format(select(2, getppid())) end, CALLS },
  { "a kprobe by its PMU's number", function()
    return ("%d:0/config2=0x%s/"):format(pmu_type "kprobe", select(2, getppid()))
  end, CALLS },
}

-- The program counted with its children. Raises where it does not exit with 0.
local function by_experiment(specs)
  local result = pmc.measure(pmc.command { program() }, { events = specs, repetitions = 1, warmup = 0,
    store = false, quiet = true })
  assert.is_nil(result.problem)
  local cell = result:cells()()
  return { x = cell.x, forks = cell.forks, faults = cell.page_faults }
end

local function median(of) return of and of.median end

describe("whatever event is counted", function()
  lazy_setup(function() support.need(support.have_root(), "most of these events take root") end)

  for _, kind in ipairs(KINDS) do
    local name, spec_of, truth = kind[1], kind[2], kind[3]

    it("a command forks, starts threads and executes; so it does with " .. name, function()
      local spec = spec_of()
      support.need(opens(spec), spec .. " does not open here")
      support.need(not spec:find "^mem:" or support.have_breakpoints(),
        "breakpoints open here and never count")
      local specs = { "x = " .. spec, "page-faults" }
      local has_forks = opens "sched:sched_process_fork"
      if has_forks then table.insert(specs, "forks = sched:sched_process_fork") end
      local counts = by_experiment(specs)
      assert.equal(has_forks and FORKS or nil, median(counts.forks))
      assert.is_true(counts.faults.median > 9 * 10)
      local is_whole = not (counts.x.why or ""):find "not counted"
      if truth and is_whole then assert.equal(truth, counts.x.median) end
    end)

    it("a running process that is attached to goes on the same with " .. name, function()
      local spec = spec_of()
      support.need(opens(spec), spec .. " does not open here")
      local folder = support.folder()
      os.execute(("mkfifo %s/in"):format(folder))
      os.execute(("sh -c 'echo $$ > %s/pid; %s wait < %s/in > %s/out; echo $? > %s/status' &"):format(
        folder, program(), folder, folder, folder))
      local input = assert(io.open(folder .. "/in", "w"))
      support.await_text(folder .. "/out", "ready")
      local shell = tonumber(support.read(folder .. "/pid"))
      local pid = require("pmclua.host.tasks").child_of(shell)
      local group = pmc.group { "x = " .. spec, "page-faults", target = pmc.pid(pid) }
      group:start()
      input:write "go\n"
      input:close()
      -- In an emulated machine every traced call takes long: 9 s in all on 6.12.
      support.await_text(folder .. "/status", "\n", 60)
      local counts = group:read()
      group:close()
      assert.equal("0\n", support.read(folder .. "/status"))
      assert.is_true(counts.page_faults > 9 * 10)
    end)
  end

  it("no script has an inherited probe by the system call either", function()
    for _, name in ipairs { "uprobe", "kprobe" } do
      local number = pmu_type(name)
      if number < 99 then
        for _, inherit in ipairs { 1, true } do
          local ok, problem = pcall(pmc.open, { type = number, config = 0, inherit = inherit })
          assert.is_false(ok)
          assert.matches("must not be inherited", tostring(problem))
        end
      end
    end
  end)
end)
