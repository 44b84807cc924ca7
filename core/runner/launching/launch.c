/*
 * launch.c: a child that is held before it executes.
 *
 * The child shares our memory (CLONE_VM) on a stack of its own, so that making it costs what a bare
 * spawn costs, whatever our size; fork would copy page tables. Therefore the child runs only raw system
 * calls on memory that is written before it starts: glibc's wrappers would write our errno.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counters/rawcall.h"
#include "host/clocks.h"
#include "runner/session/valgrind_request.h"
#include "launch.h"

#if defined __SANITIZE_THREAD__
#define MUST_FORK 1
#else
#define MUST_FORK runs_under_valgrind()
#endif

enum { STACK_BYTES = 64 * 1024 };

/* In one shared mapping with the child's stack, so that a child made by fork can answer too. */
struct launch_shared {
    struct launch launch;
    int gate_read, gate_write;
    sigset_t mask;                   /* for the executed program */
    volatile int errnum;             /* why it did not execute */
    volatile enum pmclua_stage stage;    /* what it was about */
    struct timespec used;            /* CPU time before it executed */
    struct rusage before;            /* and what else it had used */
    char stack[STACK_BYTES] __attribute__((aligned(16)));
};

/* Puts the standard descriptors in place. None of the sources is 0, 1 or 2. */
UNSANITIZED static long place_standard(const struct launch *launch)
{
    for (int fd = 0; fd < 3; fd++) {
        long result = rawcall3(SYS_dup3, launch->standard[fd], fd, 0);
        if (result < 0)
            return result;
    }
    return 0;
}

/* Only adds to what the task has: other bits of its personality are its own. */
UNSANITIZED static long fix_addresses(void)
{
    long personality_now = rawcall3(SYS_personality, 0xffffffff, 0, 0);
    return personality_now < 0 ? personality_now : rawcall3(SYS_personality, personality_now | ADDR_NO_RANDOMIZE, 0, 0);
}

UNSANITIZED static void keep_descriptors(const struct launch *launch)
{
    for (int i = 0; i < launch->keep_count; i++)
        rawcall3(SYS_fcntl, launch->keep[i], F_SETFD, 0);
}

/* Far above what is ever open; some machines allow a thousand million. */
enum { DESCRIPTORS_MAX = 1 << 20 };

static struct rlimit descriptors_found;
static int is_raised;

void launch_raise_descriptor_limit(uint64_t theirs)
{
    if (getrlimit(RLIMIT_NOFILE, &descriptors_found) < 0)
        return;
    struct rlimit more = descriptors_found;
    if (theirs)
        descriptors_found.rlim_cur = theirs;
    more.rlim_cur = more.rlim_max < DESCRIPTORS_MAX ? more.rlim_max : DESCRIPTORS_MAX;
    is_raised = more.rlim_cur > descriptors_found.rlim_cur && setrlimit(RLIMIT_NOFILE, &more) == 0;
}

static const struct rlimit no_core = { 0, 0 };
static const unsigned long nothing[2] = { 0, 0 };      /* a mask of signals */

/* Everything before the gate; the stage that failed stays in shared->stage. */
UNSANITIZED static long make_ready(struct launch_shared *shared)
{
    const struct launch *launch = &shared->launch;
    long result = 0;
    shared->stage = PMCLUA_STAGE_START;
    /* Whoever kills us cannot keep us from taking the command along. */
    rawcall3(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0);
    if (launch->own_group)
        result = rawcall3(SYS_setpgid, 0, 0, 0);
    if (result == 0)
        result = place_standard(launch);
    keep_descriptors(launch);
    if (is_raised)
        rawcall4(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&descriptors_found, 0);
    if (launch->standard_signals)
        rawcall4(SYS_prlimit64, 0, RLIMIT_CORE, (long)&no_core, 0);
    if (result >= 0 && launch->fixed_addresses)
        result = fix_addresses();
    if (result >= 0 && launch->cpus) {
        shared->stage = PMCLUA_STAGE_PIN;
        result = rawcall3(SYS_sched_setaffinity, 0, sizeof *launch->cpus, (long)launch->cpus);
    }
    if (result >= 0 && launch->directory) {
        shared->stage = PMCLUA_STAGE_ENTER;
        result = rawcall3(SYS_chdir, (long)launch->directory, 0, 0);
    }
    return result;
}

/* Signals sent to the held command must not run our handlers, which would swallow them, and write our memory. Ignored signals stay ignored, unless all are to be as they are by default. */
enum { SIGNALS = 64 };

UNSANITIZED static void forget_ignored(void)
{
    unsigned long standard[4] = { (unsigned long)SIG_DFL };
    for (int signal = 1; signal <= SIGNALS; signal++)
        rawcall4(SYS_rt_sigaction, signal, (long)standard, 0, sizeof(unsigned long));
}

UNSANITIZED static void forget_handlers(void)
{
    static const int caught[] = { SIGINT, SIGTERM, SIGALRM };      /* child.c */
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
        /* The OS kernel's struct sigaction on all our machines: the handler, and no more than three words. */
        unsigned long now[4] = { 0 }, standard[4] = { (unsigned long)SIG_DFL };
        rawcall4(SYS_rt_sigaction, caught[i], 0, (long)now, sizeof(unsigned long));
        if (now[0] != (unsigned long)SIG_IGN)
            rawcall4(SYS_rt_sigaction, caught[i], (long)standard, 0, sizeof(unsigned long));
    }
}

UNSANITIZED static long become(struct launch_shared *shared)
{
    const struct launch *launch = &shared->launch;
    /* Our copy of the gate's other end would keep the child waiting for itself. */
    rawcall3(SYS_close, shared->gate_write, 0, 0);
    long result = make_ready(shared);
    if (result < 0)
        return result;
    char go;
    if (rawcall3(SYS_read, shared->gate_read, (long)&go, 1) != 1)
        return -ECANCELED;
    shared->stage = PMCLUA_STAGE_EXECUTE;
    forget_handlers();
    if (launch->standard_signals)
        forget_ignored();
    rawcall3(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, (long)&shared->used, 0);
    rawcall3(SYS_getrusage, RUSAGE_SELF, (long)&shared->before, 0);
    rawcall4(SYS_rt_sigprocmask, SIG_SETMASK, launch->standard_signals ? (long)nothing : (long)&shared->mask, 0, 8);
    return rawcall3(SYS_execve, (long)launch->path, (long)launch->argv, (long)launch->envp);
}

UNSANITIZED static int child(void *argument)
{
    struct launch_shared *shared = argument;
    shared->errnum = (int)-become(shared);
    rawcall3(SYS_exit, 127, 0, 0);
    return 127;
}

/* The last child's, for the next one: mapping it costs as much as all other system calls of a launch. */
static struct launch_shared *spare;

static struct launch_shared *take_shared(void)
{
    struct launch_shared *shared = spare;
    spare = NULL;
    if (!shared)
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? NULL : shared;
}

static void give_back(struct launch_shared *shared)
{
    if (spare)
        munmap(spare, sizeof *spare);
    spare = shared;
}

/* Valgrind and TSan do not support a child that shares our memory. */
static int make_child(struct launch_shared *shared)
{
    if (!MUST_FORK)
        return clone(child, shared->stack + STACK_BYTES, CLONE_VM | SIGCHLD, shared);
    int pid = fork();
    return pid == 0 ? child(shared) : pid;
}

int launch_hold(struct held *held, const struct launch *launch)
{
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) < 0)
        return -errno;
    struct launch_shared *shared = take_shared();
    if (!shared) {
        close(gate[0]);
        close(gate[1]);
        return -ENOMEM;
    }
    shared->errnum = 0;
    shared->used = (struct timespec){ 0, 0 };
    shared->before = (struct rusage){ 0 };
    shared->launch = *launch;
    shared->gate_read = gate[0];
    shared->gate_write = gate[1];
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &shared->mask);
    int pid = make_child(shared);
    int errnum = errno;
    sigprocmask(SIG_SETMASK, &shared->mask, NULL);
    if (pid < 0) {
        close(gate[0]);
        close(gate[1]);
        give_back(shared);
        return -errnum;
    }
    *held = (struct held){ pid, { gate[0], gate[1] }, shared };
    return 0;
}

void launch_release(struct held *held)
{
    /* A child that has ended before reads nothing: our own end keeps the pipe from breaking. */
    ssize_t written = TEMP_FAILURE_RETRY(write(held->gate[1], "g", 1));
    if (written == 1)
        return;
    held->shared->errnum = written < 0 ? errno : EIO;
    kill(held->pid, SIGKILL);
}

uint64_t launch_used_ns(const struct held *held) { return ns_of(held->shared->used); }

struct rusage launch_counts_before(const struct held *held)
{
    const struct rusage *before = &held->shared->before;
    return (struct rusage){ .ru_minflt = before->ru_minflt, .ru_majflt = before->ru_majflt,
                            .ru_nvcsw = before->ru_nvcsw, .ru_nivcsw = before->ru_nivcsw };
}

int launch_abandon(struct held *held, enum pmclua_stage *stage)
{
    kill(held->pid, SIGKILL);
    TEMP_FAILURE_RETRY(waitpid(held->pid, NULL, 0));
    return launch_end(held, stage);
}

int launch_end(struct held *held, enum pmclua_stage *stage)
{
    int errnum = held->shared->errnum;
    *stage = held->shared->stage;
    close(held->gate[0]);
    close(held->gate[1]);
    give_back(held->shared);
    return errnum;
}
