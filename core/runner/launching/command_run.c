/*
 * command_run.c: one repetition of a command, counted from exec to the end with all children.
 *
 * Hold a child, open the counters on it, release, wait, read. Nothing is allocated between release and exec.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/padding.h"
#include "runner/probing/regions.h"
#include "calls/call_trace.h"
#include "runner/session/accounts.h"
#include "runner/session/child.h"
#include "runner/session/descriptors.h"
#include "runner/session/left.h"
#include "runner/session/memory.h"
#include "runner/session/sampled.h"
#include "runner/session/set_counters.h"
#include "command.h"
#include "launch.h"

extern char **environ;

/* One repetition: its child, from the moment when it is held. */
struct repetition {
    const struct command *command;
    const struct event_set *set;
    const struct run *run;
    struct answer *answer;
    struct streams streams;
    struct held held;
};

/* A command that got SIGTERM at its limit may still have ended by itself. */
static void take_status(struct pmclua_result *result, int status, int has_grace)
{
    result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (child_hit_limit() && (result->signal || has_grace))
        result->outcome = PMCLUA_TIMED_OUT;
    else if (result->signal)
        result->outcome = PMCLUA_SIGNALLED;
}

/* Waits for the child: 0, or -errno: how it ended is not known. It stays a zombie until its accounts are read and
 * nothing kills it any more, so that neither its time limit nor SIGTERM ever strikes a stranger who got its pid. */
static int wait_for(int pid, const struct run *run, int *status, struct rusage *usage, uint64_t *end_ns,
                    struct account *after)
{
    siginfo_t info;
    TEMP_FAILURE_RETRY(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
    *end_ns = pmclua_now_ns();
    if (run->timeout_ns > 0)
        child_disarm();
    account_read(pid, run->take, after);
    child_watch(0);
    return TEMP_FAILURE_RETRY(wait4(pid, status, 0, usage)) < 0 ? -errno : 0;
}

/* Subtracts the child's reading of the gate: one call, one byte. */
static void add_account(struct pmclua_result *result, struct account *before, const struct account *after)
{
    before->io.read_chars++;
    before->io.read_calls++;
    account_add(result, before, after, result->wall_ns);
}

static void run_held(struct repetition *one, struct pmclua_drops *drops)
{
    const struct command *command = one->command;
    const struct run *run = one->run;
    struct pmclua_result *result = &one->answer->result;
    struct held *held = &one->held;
    struct rusage usage;
    uint64_t end_ns;
    int status;
    struct account account = { 0 }, after = { 0 };
    child_watch(command->foreground ? held->pid : -held->pid);
    child_limit(run->timeout_ns, command->grace_ns);
    account_read(held->pid, run->take, &account);
    result->start_ns = pmclua_now_ns();
    launch_release(held);
    streams_follow(&one->streams, held->pid, drops);
    int waited = wait_for(held->pid, run, &status, &usage, &end_ns, &after);
    if (child_hit_limit())
        child_end_descendants();
    result->wall_ns = end_ns - result->start_ns;
    if (waited < 0) {
        answer_refuse(one->answer, -waited, PMCLUA_STAGE_WAIT, NULL);
        return;
    }
    take_status(result, status, command->grace_ns != 0);
    add_account(result, &account, &after);
    struct rusage before = launch_counts_before(held);
    answer_usage(one->answer, &before, &usage);
    result->max_rss_bytes = memory_peak(&usage);
}

/* Executing a file that one may not read, or that gains rights, ends its events at once (the OS kernel
 * protects what it would show): then its counts are not 0 but absent. Enabled time of a task's group is its time
 * on CPUs (`before_ns` is what the child took before it executed), so it tells, unless the group lost its place on
 * the PMU: 3 to 6 µs where the events were ended. A group that is not inherited is enabled while the first thread
 * runs, whatever others used: 270 µs for the least that a program takes. */
enum { ENDED_NS = 50000 };

static int is_dropped(const struct pmclua_result *result, uint64_t before_ns, const struct set_group *group,
                      const uint64_t *reading)
{
    uint64_t enabled_ns = reading[0], used_ns = result->user_ns + result->system_ns;
    return !pmclua_reading_is_lost(reading) && before_ns + enabled_ns * 10 < used_ns
        && (group_is_inherited(group) || enabled_ns < ENDED_NS);
}

/* A program that the command, or a child of it, executed is missing in the counts. */
static int is_partial(const struct pmclua_result *result, const struct set_group *group, int pid)
{
    return result->drops > 0 && (group_is_inherited(group) || result->drop.pid == pid);
}

static void clear_dropped(const struct event_set *set, uint64_t before_ns, int pid, struct answer *answer)
{
    uint64_t *reading = answer->readings;
    for (int i = 0; i < set->groups; i++) {
        size_t count = 2 + (size_t)set->group[i].count;
        if (is_partial(&answer->result, &set->group[i], pid)
            || is_dropped(&answer->result, before_ns, &set->group[i], reading)) {
            memset(reading, 0, count * sizeof *reading);
            answer->result.errnum = EACCES;
        }
        reading += count;
    }
}

static void read_counters(struct counters *counters, uint64_t before_ns, int pid, struct answer *answer)
{
    uint32_t count = counters->set ? counters->set->reading_u64s : 0;
    int result = answer_reserve_readings(answer, count);
    if (result == 0)
        result = counters_read(counters, answer->readings);
    if (result < 0)
        answer_not_counted(answer, -result);
    else if (count)
        clear_dropped(counters->set, before_ns, pid, answer);
}

static void refuse_start(const struct repetition *one, int errnum, enum pmclua_stage stage)
{
    const char *subject = stage == PMCLUA_STAGE_ENTER ? one->command->directory : one->command->path;
    answer_refuse(one->answer, errnum, stage, subject);
}

/* By launch_end or launch_abandon: what kept the child itself from going on is the cause, also where it is that which
 * kept its events from being opened. */
static void end_held(struct repetition *one, int (*end)(struct held *, enum pmclua_stage *))
{
    enum pmclua_stage stage;
    int errnum = end(&one->held, &stage);
    if (errnum)
        refuse_start(one, errnum, stage);
}

/* Its events could not be opened. */
static void refuse_events(struct repetition *one)
{
    one->answer->result.outcome = PMCLUA_NOT_COUNTED;
    end_held(one, launch_abandon);
}

static int has_inherited(const struct event_set *set)
{
    int inherited = 0;
    for (int i = 0; set && i < set->groups; i++)
        inherited |= group_is_inherited(&set->group[i]);
    return inherited;
}

/* Kept between commands: opening it costs as much as making the child. */
static struct pmclua_drops *watch;

static void forget_watch(void)
{
    pmclua_drops_close(watch);
    watch = NULL;
}

void command_prepare(void)
{
    if (!watch)
        pmclua_drops_new(&watch, 1);          /* where it fails, the first run tries again and says why */
}

/* NULL, and the result says why, where the programs that it executes cannot be watched. */
static struct pmclua_drops *watch_programs(int pid, struct pmclua_result *result)
{
    int opened = watch ? pmclua_drops_watch(watch, pid) : pmclua_drops_open(&watch, pid, 1);
    result->unseen = opened < 0 ? (uint32_t)-opened : 0;
    if (opened < 0)
        forget_watch();
    return watch;
}

/* Whether all drops were seen. If children are not counted (`is_alone`), only programs of the command itself matter. */
static int take_drops(struct pmclua_drops *drops, int is_alone, int pid, struct pmclua_result *result)
{
    int count = drops ? pmclua_drops_read(drops, &result->drop) : -(int)result->unseen;
    int matters = count > 0 && (!is_alone || result->drop.pid == pid);
    const struct pmclua_drop *launcher = drops ? pmclua_drops_launcher(drops) : NULL;
    if (launcher)
        result->launcher = *launcher;
    result->unreached = drops ? pmclua_drops_unreached(drops) : 0;
    result->drops = matters ? (uint32_t)count : 0;
    result->unseen = count < 0 && !is_alone ? (uint32_t)-count : 0;
    if (count < 0)
        forget_watch();                       /* a ring that was full still has to say so */
    else if (drops)
        pmclua_drops_stop(drops);
    return drops && count >= 0;
}

/* NULL: the run does not ask for its system calls, or the answer says why they are not traced. */
static struct call_trace *open_trace(const struct run *run, int pid, struct answer *answer)
{
    struct call_trace *trace = NULL;
    struct call_points points = { run->enter_point, run->leave_point, run->wake_point, pid };
    int result = run->enter_point ? call_trace_open(&trace, &points) : 0;
    answer->result.untraced = result < 0 ? (uint32_t)-result : 0;
    return trace;
}

static void take_trace(struct call_trace *trace, struct answer *answer)
{
    int result = trace ? call_trace_end(trace, &answer->calls, &answer->result.call_u64s) : 0;
    if (result < 0)
        answer->result.untraced = (uint32_t)-result;
}

static void run_counted(struct repetition *one)
{
    struct answer *answer = one->answer;
    struct counters counters;
    int pid = one->held.pid;
    if (counters_open(&counters, one->set, pid, PMCLUA_ON_EXEC, &answer->result.failure) < 0) {
        refuse_events(one);
        return;
    }
    int is_watched = counters.set || one->command->watched;
    struct pmclua_drops *drops = is_watched ? watch_programs(pid, &answer->result) : NULL;
    struct call_trace *trace = open_trace(one->run, pid, answer);
    run_held(one, drops);
    take_trace(trace, answer);
    uint64_t before_ns = launch_used_ns(&one->held);
    end_held(one, launch_end);
    take_drops(drops, !has_inherited(one->set), pid, &answer->result);
    if (answer->result.outcome != PMCLUA_NOT_STARTED)
        read_counters(&counters, before_ns, pid, answer);
    counters_close(&counters);
}

/* The same with the calls of its regions. */
static void run_followed(struct repetition *one)
{
    struct answer *answer = one->answer;
    struct region_set *regions = one->command->regions;
    struct followed_regions followed;
    int pid = one->held.pid;
    int are_seen = 0;
    termination_defer(1);
    int result = regions_open(&followed, regions, one->set, pid, answer);
    if (result < 0 || termination_waits()) {
        end_held(one, launch_abandon);
        if (result == 0)
            answer_refuse(answer, ECANCELED, PMCLUA_STAGE_REGION_TERMINATION, NULL);
    } else {
        struct pmclua_drops *drops = watch_programs(pid, &answer->result);
        if (drops)
            region_set_note(regions, drops, regions->one_thread ? pid : 0);
        run_held(one, drops);
        end_held(one, launch_end);
        are_seen = take_drops(drops, regions->one_thread != 0, pid, &answer->result);
    }
    if (result == 0)
        regions_close(&followed, are_seen, answer);
    termination_defer(0);
}

/* The same with the event of its set sampled. */
static void run_sampled(struct repetition *one)
{
    struct pmclua_result *result = &one->answer->result;
    struct pmclua_sampler *sampler;
    if (sampled_open(&sampler, one->set, one->held.pid, PMCLUA_ON_EXEC, &result->failure) < 0) {
        refuse_events(one);
        return;
    }
    run_held(one, NULL);
    end_held(one, launch_end);
    if (result->outcome != PMCLUA_NOT_STARTED)
        sampled_take(sampler, one->answer);
    pmclua_sampler_close(sampler);
}

static void launch_and_count(struct repetition *one, char *const *envp)
{
    const struct command *command = one->command;
    const struct run *run = one->run;
    const int *fd = one->streams.fd;
    struct launch launch = {
        .path = command->path, .argv = command->argv, .envp = envp,
        .directory = command->directory, .standard = { fd[0], fd[1], fd[2] }, .own_group = !command->foreground,
        .standard_signals = command->standard != 0, .fixed_addresses = run->fixed_addresses != 0,
        .cpus = run->pinned ? &run->cpus : command->pinned ? &command->cpus : NULL,
    };
    if (command->foreground)
        launch.keep_count = descriptors_inherited(&launch.keep);
    int result = launch_hold(&one->held, &launch);
    if (result < 0)
        refuse_start(one, -result, PMCLUA_STAGE_START);
    else if (command->regions)
        run_followed(one);
    else if (one->set && one->set->period)
        run_sampled(one);
    else
        run_counted(one);
}

void command_run(struct command *command, const struct event_set *set, const struct run *run, struct answer *answer)
{
    struct repetition one = { .command = command, .set = set, .run = run, .answer = answer };
    left_begin();
    answer->result.threads = 1;
    answer->result.iterations = run->iterations;
    int result = streams_open(&one.streams, &command->streams, run->capture_limit);
    if (result < 0) {
        answer_refuse(answer, -result, PMCLUA_STAGE_READ,
                      command->streams.input ? command->streams.input : "/dev/null");
        return;
    }
    char *const *envp = command->envp ? command->envp : environ;
    char **padded = run->padding ? padding_add(envp, (uint32_t)run->padding) : NULL;
    launch_and_count(&one, padded ? padded : envp);
    padding_free(padded);
    left_take(&answer->result);
    streams_take(&one.streams, answer);
    streams_close(&one.streams);
}
