-- Kernels do not share a process: nothing that one sets is there for another, or for a command.

local core = require "pmclua.core"
local pmc = require "pmclua"
local session = require "pmclua.workload.session"
local support = require "tests.support"

-- `probe` sets a kind of process state if it is told to, then writes to a file how it finds it.
local SOURCE = [[
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "pmclua_kernel.h"

static char line[4096];

static const char *grep(const char *path, const char *start)
{
    FILE *file = fopen(path, "r");
    strcpy(line, "absent");
    char one[4096];
    while (file && fgets(one, sizeof one, file))
        if (strncmp(one, start, strlen(start)) == 0) strcpy(line, one);
    if (file) fclose(file);
    return line;
}

static const char *number(long value) { sprintf(line, "%ld", value); return line; }

static void set_umask(void) { umask(0135); }
static const char *get_umask(void) { return grep("/proc/self/status", "Umask"); }
static void set_nice(void) { setpriority(PRIO_PROCESS, 0, 7); }
static const char *get_nice(void) { return number(getpriority(PRIO_PROCESS, 0)); }
static void set_cwd(void) { if (chdir("/proc/self/fdinfo")) abort(); }
static const char *get_cwd(void) { return getcwd(line, sizeof line) ? line : "gone"; }
static void set_affinity(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}
static const char *get_affinity(void) { return grep("/proc/thread-self/status", "Cpus_allowed_list"); }
static void set_limit(void)
{
    struct rlimit now;
    getrlimit(RLIMIT_STACK, &now);
    now.rlim_cur = 7 << 20;
    setrlimit(RLIMIT_STACK, &now);
}
static const char *get_limit(void) { return grep("/proc/self/limits", "Max stack"); }
static void set_locale(void) { setlocale(LC_ALL, "C.UTF-8"); }
static const char *get_locale(void) { return setlocale(LC_ALL, NULL); }
static void set_environment(void) { setenv("KERNEL_WAS_HERE", "yes", 1); }
static const char *get_environment(void) { return getenv("KERNEL_WAS_HERE") ? "yes" : "no"; }
static void set_scheduler(void) { sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 }); }
static const char *get_scheduler(void) { return number(sched_getscheduler(0)); }
static void set_timer(void)
{
    signal(SIGPROF, SIG_IGN);
    setitimer(ITIMER_PROF, &(struct itimerval){ { 3, 0 }, { 5, 0 } }, NULL);
}
static const char *get_timer(void)
{
    struct itimerval now;
    getitimer(ITIMER_PROF, &now);
    return number(now.it_interval.tv_sec);
}
static void set_posix_timer(void)
{
    timer_t timer;
    struct sigevent silent = { .sigev_notify = SIGEV_NONE };
    if (timer_create(CLOCK_MONOTONIC, &silent, &timer)) abort();
}
static const char *get_posix_timer(void) { return grep("/proc/self/timers", "ID"); }
static void set_huge_pages(void) { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
static const char *get_huge_pages(void) { return number(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0)); }
static void set_disposition(void) { signal(SIGUSR2, SIG_IGN); }
static const char *get_disposition(void) { return grep("/proc/self/status", "SigIgn"); }
static void set_mask(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
}
static const char *get_mask(void) { return grep("/proc/thread-self/status", "SigBlk"); }
static void set_stack(void)
{
    static char room[65536];
    sigaltstack(&(stack_t){ .ss_sp = room, .ss_size = sizeof room }, NULL);
}
static const char *get_stack(void)
{
    stack_t now;
    sigaltstack(NULL, &now);
    return number((long)now.ss_size);
}
static void set_slack(void) { prctl(PR_SET_TIMERSLACK, 123456); }
static const char *get_slack(void) { return number(prctl(PR_GET_TIMERSLACK)); }
static void set_privileges(void) { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
static const char *get_privileges(void) { return grep("/proc/self/status", "NoNewPrivs"); }
static void set_personality(void) { personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE); }
static const char *get_personality(void) { return number(personality(0xffffffff)); }
static void set_killer(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY);
    if (write(fd, "321", 3) != 3) abort();
    close(fd);
}
static const char *get_killer(void) { return grep("/proc/self/oom_score_adj", ""); }
static void set_name(void) { prctl(PR_SET_NAME, "kernel-was-here"); }
static const char *get_name(void) { return grep("/proc/thread-self/comm", ""); }
static void set_subreaper(void) { prctl(PR_SET_CHILD_SUBREAPER, 0); }
static const char *get_subreaper(void)
{
    int now = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &now);
    return number(now);
}
static void set_malloc(void) { mallopt(M_MMAP_THRESHOLD, 1 << 28); free(malloc(1 << 26)); }
static const char *get_malloc(void)
{
    struct mallinfo2 before = mallinfo2();
    void *volatile block = malloc(1 << 24);       /* not freed: that would teach malloc another threshold */
    return number((long)(mallinfo2().hblks - before.hblks) + (block == NULL));
}
static void set_buffer(void)
{
    static char room[8192];
    setvbuf(stdin, room, _IOFBF, sizeof room);
    fgetc(stdin);
}
static const char *get_buffer(void) { return number(feof(stdin)); }
static void set_descriptors(void)
{
    for (int i = 0; i < 50; i++)
        if (open("/dev/null", O_RDONLY) < 0) abort();
}
static const char *get_descriptors(void)
{
    int fd = open("/dev/null", O_RDONLY), found = fd > 50;
    close(fd);
    return number(found);
}
static void set_global(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
    if (!library) abort();
}
static const char *get_global(void) { return number(dlsym(RTLD_DEFAULT, "lgammaf_r") != NULL); }
static void set_threads(void)
{
    if (fork() == 0) { sleep(5); _exit(0); }
}
static const char *get_threads(void) { return number(waitpid(-1, NULL, WNOHANG)); }
#ifdef __x86_64__
static void set_mxcsr(void) { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); }
static const char *get_mxcsr(void) { return number(__builtin_ia32_stmxcsr() & 0xffc0); }
static void set_x87(void) { unsigned short word = 0x027f; __asm__ volatile("fldcw %0" : : "m"(word)); }
static const char *get_x87(void)
{
    unsigned short word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    return number(word);
}
#endif

static const struct kind { const char *name; void (*set)(void); const char *(*get)(void); } kinds[] = {
#define KIND(name) { #name, set_##name, get_##name }
    KIND(umask), KIND(nice), KIND(cwd), KIND(affinity), KIND(limit), KIND(locale), KIND(environment),
    KIND(scheduler), KIND(timer), KIND(posix_timer), KIND(huge_pages), KIND(disposition), KIND(mask),
    KIND(stack), KIND(slack), KIND(privileges), KIND(personality), KIND(killer), KIND(name),
    KIND(subreaper), KIND(malloc), KIND(buffer), KIND(descriptors), KIND(global), KIND(threads),
#ifdef __x86_64__
    KIND(mxcsr), KIND(x87),
#endif
};

struct probe { const struct kind *kind; int sets; const char *path; };

void *probe_setup(const struct pmclua_params *params)
{
    struct probe *probe = calloc(1, sizeof *probe);
    const char *name = pmclua_str(params, "kind", "");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) probe->kind = &kinds[i];
    if (!probe->kind) return pmclua_fail(params, "no such kind");
    probe->sets = (int)pmclua_u64(params, "sets", 0);
    probe->path = strdup(pmclua_str(params, "path", ""));
    return probe;
}

void probe(void *state, uint64_t iterations)
{
    const struct probe *probe = state;
    (void)iterations;
    if (probe->sets) probe->kind->set();
    const char *found = probe->kind->get();
    FILE *file = fopen(probe->path, "w");
    if (file) { fputs(found, file); fclose(file); }
}
]]

local KINDS = { "umask", "nice", "cwd", "affinity", "limit", "locale", "environment", "scheduler", "timer",
  "posix_timer", "huge_pages", "disposition", "mask", "stack", "slack", "privileges", "personality", "killer",
  "name", "subreaper", "malloc", "buffer", "descriptors", "global", "threads" }
if jit.arch == "x64" then
  table.insert(KINDS, "mxcsr")
  table.insert(KINDS, "x87")
end

-- What a command finds of all that, as far as a program can see it.
local SEEN = [[umask; pwd; ulimit -Ss; echo "${KERNEL_WAS_HERE-unset}"; ]]
  .. [[cat /proc/self/oom_score_adj /proc/self/timerslack_ns /proc/self/personality 2>/dev/null; ]]
  .. [[grep -E 'Cpus_allowed_list|Sig(Ign|Blk)|NoNewPrivs|THP' /proc/self/status; ]]
  .. [[cut -d' ' -f19,41 /proc/self/stat]]

local object, folder

local function library()
  folder = folder or support.folder()
  if object then return object end
  support.write(folder .. "/kinds.c", SOURCE)
  local built = support.run { "cc", "-O2", "-w", "-shared", "-fPIC", "-I" .. support.root .. "/core",
    "-o", folder .. "/kinds.so", folder .. "/kinds.c", "-ldl" }
  assert(built.status == 0, built.err)
  object = folder .. "/kinds.so"
  return object
end

describe("kernels of one session", function()
  local runners
  before_each(function() runners = session.new() end)
  after_each(function() runners:close() end)

  local function probe(kind, sets)
    local path = ("%s/%s.%d"):format(support.folder(), kind, sets)
    local id = runners:workload(function(message)
      message:text("library", library()):text("symbol", "probe")
      message:text("parameter", "kind=" .. kind):text("parameter", "sets=" .. sets)
      message:text("parameter", "path=" .. path)
    end)
    return function()
      assert.equal("done", runners:run({ workload = id, in_runner = true }).outcome)
      return support.read(path)
    end
  end

  local function seen_by_a_command()
    local id = runners:workload(function(message)
      for _, word in ipairs { "/bin/sh", "-c", SEEN } do message:text("argument", word) end
      message:number("output", core.OUTPUT.capture)
    end)
    return runners:run({ workload = id }).output
  end

  for _, kind in ipairs(KINDS) do
    it(("find nothing of the %s that another one set"):format(kind), function()
      support.need(support.have "cc", "no C compiler")
      local looks, sets = probe(kind, 0), probe(kind, 1)
      local alone = looks()
      local set = sets()
      support.need(set ~= alone, ("the %s cannot be set here"):format(kind))
      assert.equal(alone, looks())
      assert.equal(alone, probe(kind, 0)())
    end)
  end

  it("leave nothing of what they set to a command", function()
    support.need(support.have "cc", "no C compiler")
    local before = seen_by_a_command()
    for _, kind in ipairs(KINDS) do probe(kind, 1)() end
    assert.equal(before, seen_by_a_command())
  end)
end)

-- Halves a number until it is a denormal: with -Ofast, whose start-up code has the CPU flush those, 0.
local DENORMAL = [[
#include <stdio.h>
#include "pmclua_kernel.h"
void *halve_setup(const struct pmclua_params *params) { return (void *)pmclua_str(params, "path", ""); }
void halve(void *state, uint64_t iterations)
{
    volatile double value = 0x1p-1022;
    for (uint64_t i = 0; i < iterations; i++) value /= 2;
    FILE *file = fopen(state, "w");
    fputs(value == 0 ? "flushed" : "kept", file);
    fclose(file);
}
]]

describe("an experiment on kernels", function()
  it("measures what each does alone, though -Ofast has the CPU flush denormals", function()
    support.need(support.have "cc" and jit.arch == "x64", "no C compiler whose -Ofast sets the CPU on x86")
    local path = support.folder() .. "/"
    local result = support.experiment {
      events = { "task-clock" }, repetitions = 4, warmup = 1, iterations = 1,
      factors = { { "flags", { "-O2", "-Ofast", "-O1" } } },
      workloads = { pmc.kernel { code = DENORMAL, symbol = "halve", cflags = { "{flags}" },
        params = { path = path .. "{flags}" } } },
    }
    assert.equal("complete", result.status)
    local function of(flags) return support.read(path .. flags) end
    assert.same({ "kept", "flushed", "kept" }, { of "-O2", of "-Ofast", of "-O1" })
  end)

  it("has a kernel as a hook that changes nothing for what is measured", function()
    support.need(support.have "cc", "no C compiler")
    local path = support.folder() .. "/umask"
    local result = support.experiment {
      events = { "task-clock" }, repetitions = 3, warmup = 0, iterations = 1,
      prepare = pmc.kernel { library = library(), symbol = "probe",
        params = { kind = "umask", sets = 1, path = "/dev/null" } },
      workloads = { pmc.kernel { library = library(), symbol = "probe",
        params = { kind = "umask", sets = 0, path = path } } },
    }
    assert.equal("complete", result.status)
    assert.equal(tonumber(support.output_of "umask", 8), tonumber(support.read(path):match "%d+", 8))
  end)

  it("gives many cells their runners where descriptors are few, and commands the limit that was", function()
    support.need(support.have "cc", "no C compiler")
    local place = support.folder()
    local script = support.write(place .. "/many.lua", ([[
      local pmc = require "pmclua"
      local levels = {}
      for i = 1, 40 do levels[i] = i end
      return pmc.experiment { events = "page-faults", repetitions = 2, warmup = 1, iterations = 1,
        factors = { { "n", levels } }, cleanup = pmc.command { "ulimit -Sn >> '%s/limits'", shell = true },
        workloads = { pmc.kernel { symbol = "nothing",
          code = "void nothing(void *state, unsigned long n) {}" } } }
    ]]):format(place))
    local ran = support.run { "bash", "-c", 'ulimit -Sn 50; exec "$@"', "bash", support.program, script,
      "--no-store", "--format", "csv" }
    assert.same({ 0, "" }, { ran.status, ran.err })
    assert.equal(("50\n"):rep(40), support.read(place .. "/limits"))
  end)
end)
