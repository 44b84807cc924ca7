/*
 * kernel_run.c: repetitions of a kernel: its calls in the hot loop, between two reads.
 *
 * The counters run all the time; a repetition is the difference of the read before the call and the one
 * after it. Setup, reset and teardown are never between the two.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host/padding.h"
#include "runner/session/answer.h"
#include "runner/session/channel.h"
#include "runner/session/child.h"
#include "runner/session/descriptors.h"
#include "runner/session/memory.h"
#include "runner/session/sampled.h"
#include "crash.h"
#include "kernel.h"
#include "simulated.h"

/* ---- the measured call ---- */

struct measured_call { struct kernel *kernel; const struct run *run; struct pmclua_sampler *sampler; };

static int pin_seat(const struct run *run, cpu_set_t *before)
{
    if (!run->pinned)
        return 0;
    if (sched_getaffinity(0, sizeof *before, before) < 0)
        return -errno;
    return sched_setaffinity(0, sizeof run->cpus, &run->cpus) < 0 ? -errno : 0;
}

/* Goes to the CPU that the run asks for, and may leave it again at once: threads that the kernel starts go where they
 * like. Where that CPU is not there any more, or not ours, the run begins where it is. */
static void go_to_start(const struct run *run)
{
    cpu_set_t before, start;
    int cpu = (int)run->start_cpu - 1;
    if (!run->start_cpu || run->pinned || cpu >= CPU_SETSIZE || sched_getcpu() == cpu
        || sched_getaffinity(0, sizeof before, &before) < 0)
        return;
    CPU_ZERO(&start);
    CPU_SET(cpu, &start);
    if (CPU_ISSET(cpu, &before) && sched_setaffinity(0, sizeof start, &start) == 0)
        sched_setaffinity(0, sizeof before, &before);
}

/* The measured call itself, by the thread's counters or by callgrind. */
static int call_measured(struct team_thread *thread, const struct measured_call *call, void *state)
{
    struct counters *counters = &thread->counters;
    if (call->run->simulated)
        return simulated_call(call->run, call->kernel->run, state);
    return pmclua_groups_measure(counters->group, counters->set ? counters->set->groups : 0, call->kernel->run, state,
                                 call->run->iterations, counters->before, counters->after);
}

static int cool(const struct run *run)
{
    if (!run->simulated)
        return memory_cool(run->cold_bytes);
    if (run->cold_bytes && !run->inherit)
        simulated_cool();
    return 0;
}

static void measure_step(struct team_thread *thread, void *argument)
{
    const struct measured_call *call = argument;
    const struct kernel *kernel = call->kernel;
    struct counters *counters = &thread->counters;
    void *state = kernel->state[thread->index];
    if (call->run->stack_offset)
        /* cppcheck-suppress allocaCalled */
        pmclua_keep(alloca(call->run->stack_offset));     /* moves the stack of what is called below */
    cpu_set_t affinity;
    int ready = pin_seat(call->run, &affinity), is_pinned = call->run->pinned && ready == 0;
    if (kernel->reset) {
        kernel->reset(state, call->run->iterations);
        kernel_end_if_forked();           /* it would wait for threads that it has not got */
    }
    if (ready == 0)
        ready = cool(call->run);
    if (thread->team->count > 1)
        team_barrier(thread);
    account_of_self(call->run->take, &thread->account_before);
    guard_begin(&thread->guard, &counters->starts);
    /* Once for nothing: the way to the counters is then as warm before the call as after it. */
    counters_read(counters, counters->before);
    account_stamp(call->run->take, &thread->account_before);
    int samples = call->sampler && thread->team->count == 1;
    if (samples)
        pmclua_sampler_start(call->sampler);
    thread->start_ns = pmclua_now_ns();
    int result = call_measured(thread, call, state);
    thread->end_ns = pmclua_now_ns();
    if (samples)
        pmclua_sampler_stop(call->sampler);
    account_stamp(call->run->take, &thread->account_after);
    guard_look(&thread->guard, &counters->starts);
    kernel_end_if_forked();
    account_of_self(call->run->take, &thread->account_after);
    if (is_pinned)
        sched_setaffinity(0, sizeof affinity, &affinity);
    thread->errnum = ready < 0 ? -ready : -result;
}

static void measure(struct kernel *kernel, struct measured_call *call)
{
    if (call->run->simulated)
        simulated_begin();
    /* Several threads are sampled from before they begin. */
    if (call->sampler && kernel->team->count > 1)
        pmclua_sampler_start(call->sampler);
    team_do(kernel->team, measure_step, call);
    if (call->sampler)
        pmclua_sampler_stop(call->sampler);
    if (call->run->simulated)
        simulated_end(call->run);
}

/* From the first thread's start to the last one's end. */
static void take_times(struct pmclua_result *result, const struct team *team)
{
    uint64_t start = UINT64_MAX, end = 0;
    for (int i = 0; i < team->count; i++) {
        const struct team_thread *thread = &team->thread[i];
        start = thread->start_ns < start ? thread->start_ns : start;
        end = thread->end_ns > end ? thread->end_ns : end;
    }
    result->start_ns = start;
    result->wall_ns = end - start;
}

/* Sums over all threads; unset if any is unknown. */
static void take_accounts(struct pmclua_result *result, const struct team *team)
{
    uint64_t all = UINT64_MAX;
    for (int i = 0; i < team->count; i++) {
        const struct team_thread *thread = &team->thread[i];
        account_add(result, &thread->account_before, &thread->account_after, thread->end_ns - thread->start_ns);
        all &= result->taken;
    }
    result->taken = all;
}

static int take_counts(struct answer *answer, struct team *team, const struct event_set *set,
                       uint64_t switches)
{
    uint32_t count = set ? set->reading_u64s : 0;
    if (answer_reserve_readings(answer, count * (uint32_t)team->count) < 0)
        return -ENOMEM;
    for (int i = 0; i < team->count; i++) {
        struct team_thread *thread = &team->thread[i];
        if (count && guard_is_broken(&thread->guard, &thread->counters, thread->errnum, switches))
            return -EUCLEAN;
        if (thread->errnum)
            return -thread->errnum;
        counters_difference(&thread->counters, answer->readings + (size_t)i * count);
    }
    return 0;
}

/* ---- threads that a kernel starts ---- */

/* Whether the kernel has started threads or processes lately that its counters do not count. */
static int misses_threads(struct kernel *kernel, const struct run *run)
{
    if (run->simulated)
        return kernel->library[0] && !run->inherit && simulated_has_threads(kernel->team);
    if (!team_has_started(kernel->team))
        return 0;
    kernel->has_pool |= team_other_threads() > 0;
    return kernel->team->thread[0].counters.alone;
}

/* Counters opened now would miss the threads that are there already: another runner is needed. */
static void refuse_missed(struct answer *answer)
{
    answer->result.outcome = PMCLUA_MISSED;
    answer->result.reading_u64s = 0;
}

/* These counters are not used again: the client takes another runner. */
static void abandon(struct answer *answer)
{
    answer->result.threads = 0;
    team_close_counters();
}

/* The signal that pmclua's death sends us: SIGKILL while a kernel runs, which may have caught any other. Otherwise we may
 * be stopped: SIGCONT resumes us, and we find the connection closed. */
static void set_death_signal(const struct kernel *kernel, int is_running)
{
    if (kernel->library[0])
        prctl(PR_SET_PDEATHSIG, is_running ? SIGKILL : SIGCONT);
}

/* We may be stopped as soon as the last answer is out: the death signal is set before. */
static int send_last(const struct kernel *kernel, int fd, struct answer *answer)
{
    set_death_signal(kernel, 0);
    return answer_send(fd, answer);
}

/* The set to count while a kernel runs; a sampled one is left to its sampler. */
static const struct event_set *counted(const struct event_set *set)
{
    return set && set->period ? NULL : set;
}

/* Opens a sampler where the set is to be sampled; -errno, and the answer says why. */
static int begin_sampling(const struct event_set *set, struct measured_call *call, struct answer *answer)
{
    call->sampler = NULL;
    if (!set || !set->period)
        return 0;
    int result = sampled_open(&call->sampler, set, 0, 0, &answer->result.failure);
    if (result < 0)
        answer->result.outcome = PMCLUA_NOT_COUNTED;
    return result;
}

static void end_sampling(const struct measured_call *call, struct answer *answer)
{
    if (!call->sampler)
        return;
    sampled_take(call->sampler, answer);
    pmclua_sampler_close(call->sampler);
}

static int repeat(struct kernel *kernel, const struct event_set *set, const struct run *run, int fd,
                  struct answer *answer)
{
    struct measured_call call = { kernel, run, NULL };
    int result = 0;
    int goes_on = 1;
    uint64_t switched = 0;
    struct rusage before, after;
    if (kernel->team->count == 1 && !kernel->pinned)
        go_to_start(run);
    getrusage(RUSAGE_SELF, &before);
    guard_switches(&switched, &before);
    team_end_guards(kernel->team);
    for (uint64_t i = 0; i < run->repetitions && goes_on && result == 0; i++) {
        answer->result = (struct pmclua_result){ .sequence = run->id, .iterations = run->iterations,
                                                 .threads = (uint32_t)kernel->team->count,
                                                 .method = (uint32_t)counters_method(&kernel->team->thread[0].counters) };
        if (begin_sampling(set, &call, answer) < 0)
            return send_last(kernel, fd, answer);
        crash_answers(run->id);
        getrusage(RUSAGE_SELF, &before);
        measure(kernel, &call);
        getrusage(RUSAGE_SELF, &after);
        crash_answers(0);
        end_sampling(&call, answer);
        take_times(&answer->result, kernel->team);
        take_accounts(&answer->result, kernel->team);
        answer_usage(answer, &before, &after);
        uint64_t switches = guard_switches(&switched, &after);
        if (switches > 0)
            team_end_guards(kernel->team);
        int is_counted = take_counts(answer, kernel->team, counted(set), switches);
        int misses = misses_threads(kernel, run);
        if (misses) {
            refuse_missed(answer);
            return send_last(kernel, fd, answer);
        }
        if (is_counted < 0)
            answer_not_counted(answer, -is_counted);
        goes_on = is_counted != -EUCLEAN && !(is_counted < 0 && run->stop_at_failure) && !channel_has_message();
        if (is_counted == -EUCLEAN)
            abandon(answer);
        int is_last = !goes_on || i + 1 == run->repetitions;
        result = is_last ? send_last(kernel, fd, answer) : answer_send(fd, answer);
    }
    return result;
}

/* Everything that must be in place before the first measured call: 0, or the answer says what is not. */
static int prepare(struct kernel *kernel, const struct event_set *set, const struct run *run, struct answer *answer)
{
    uint32_t options = run->inherit ? 0 : PMCLUA_READ_USER;
    if (run->scatter_bytes && !kernel->team)
        memory_scatter(run->scatter_bytes);
    int result = kernel_load(kernel);
    /* A sampler is opened on threads that are there already, too. */
    if (result == 0 && kernel->has_pool && counted(set) == set && !team_is_counting(kernel->team, set, options)) {
        refuse_missed(answer);
        return -EAGAIN;
    }
    /* Counters before setup: threads that setup starts inherit them. */
    const struct team_thread *failed = result == 0 ? team_open_counters(kernel->team, counted(set), options) : NULL;
    if (failed) {
        answer->result.outcome = PMCLUA_NOT_COUNTED;
        answer->result.failure = failed->failure;
        return -failed->errnum;
    }
    if (result == 0)
        result = kernel_set_up(kernel);
    int simulated = result == 0 && run->simulated ? simulated_can(kernel->team, run) : 0;
    if (simulated < 0) {
        answer_not_counted(answer, -simulated);
        return simulated;
    }
    if (result == 0 && misses_threads(kernel, run)) {
        refuse_missed(answer);
        return -EAGAIN;
    }
    if (result < 0)
        answer_refuse(answer, -result, PMCLUA_STAGE_KERNEL, kernel->why);
    return result;
}

static void silence(FILE *stream, int fd)
{
    fflush(stream);
    /* cppcheck-suppress leakReturnValNotUsed -- it is `stream` */
    if (!freopen("/dev/null", fd == 0 ? "r" : "w", stream))
        close(fd);
}

static int has_run;

/* Standard output and error are the caller's only for the kernels that ask for them, standard input (a script, a
 * terminal) never. A runner has one kernel, so that this is done once; but the empty one, which needs nothing. */
static void become_kernels(const struct kernel *kernel, int fd)
{
    if (has_run || !kernel->library[0])
        return;
    has_run = 1;
    silence(stdin, 0);
    if (kernel->output != PMCLUA_TO_INHERIT)
        silence(stdout, 1);
    if (kernel->errors != PMCLUA_TO_INHERIT)
        silence(stderr, 2);
    descriptors_close();
    crash_watch(fd);
}

void kernel_end_descendants(void)
{
    if (has_run)
        child_end_descendants();
}

int kernel_run(struct kernel *kernel, const struct event_set *set, const struct run *run, int fd)
{
    struct answer answer = { .result.sequence = run->id };
    become_kernels(kernel, fd);
    kernel_end_if_forked();           /* knows our pid from here on */
    set_death_signal(kernel, 1);
    crash_answers(run->id);
    int result = prepare(kernel, set, run, &answer);
    crash_answers(0);
    answer.result.threads = result == 0 ? (uint32_t)kernel->team->count : 0;
    result = result < 0 || run->repetitions == 0 ? send_last(kernel, fd, &answer)
                                                 : repeat(kernel, set, run, fd, &answer);
    answer_free(&answer);
    return result;
}
