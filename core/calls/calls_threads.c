/*
 * calls_threads.c: the threads whose calls are followed, and the counts of each.
 *
 * Invariant: a thread's counts are the sum over CPUs of what its last sample on each said. They are
 * useless for calls that were open while a record of that thread may have been lost: `cuts` has grown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

static uint32_t slot_of(const struct pmclua_calls *calls, uint32_t tid)
{
    return (tid * 2654435761u) & (calls->thread_slots - 1);
}

struct thread *thread_find(struct pmclua_calls *calls, uint32_t tid)
{
    struct thread *thread = calls->threads[slot_of(calls, tid)];
    while (thread && thread->tid != tid)
        thread = thread->next;
    return thread;
}

/* ---- processes ---- */

static struct process *process_of(struct pmclua_calls *calls, uint32_t pid)
{
    struct process **slot = &calls->processes[pid % PROCESS_SLOTS], *process = *slot;
    while (process && process->pid != pid)
        process = process->next;
    if (process)
        return process;
    process = calloc(1, sizeof *process + calls->regions * sizeof *process->orphans);
    if (!process)
        return NULL;
    process->pid = pid;
    process->next = *slot;
    return *slot = process;
}

/* Called at the end of one of its threads; frees the process at that of the last. */
static void leave_process(struct pmclua_calls *calls, struct process *process)
{
    if (--process->threads > 0)
        return;
    if (process->is_switching)
        spreads_mark_rows(calls, process->pid);
    frames_forget(calls, process);
    struct process **place = &calls->processes[process->pid % PROCESS_SLOTS];
    while (*place != process)
        place = &(*place)->next;
    *place = process->next;
    free(process);
}

/* ---- threads ---- */

static void free_thread(struct pmclua_calls *calls, struct thread *thread)
{
    while (thread->top)
        frame_remove(calls, thread->top);
    for (uint32_t cpu = 0; thread->last && cpu < calls->cpus; cpu++)
        free(thread->last[cpu]);
    for (uint32_t i = 0; i < calls->regions; i++)
        free(thread->region[i].pair);
    free(thread->last);
    free(thread->counts);
    if (thread->process)
        leave_process(calls, thread->process);
    free(thread);
}

static struct thread *new_thread(struct pmclua_calls *calls, uint32_t pid, uint32_t tid)
{
    struct thread *thread = calloc(1, sizeof *thread + calls->regions * sizeof *thread->region);
    if (!thread)
        return NULL;
    thread->pid = pid;
    thread->tid = tid;
    thread->last = calloc(calls->cpus, sizeof *thread->last);
    thread->counts = calloc(calls->counted, sizeof *thread->counts);
    struct process *process = process_of(calls, pid);
    if (!process || !thread->last || !thread->counts) {
        free_thread(calls, thread);
        return NULL;
    }
    thread->process = process;
    process->threads++;
    for (uint32_t i = 0; i < calls->regions; i++)
        thread->region[i].row = -1;
    struct thread **slot = &calls->threads[slot_of(calls, tid)];
    thread->next = *slot;
    *slot = thread;
    calls->thread_count++;
    calls->threads_seen++;
    return thread;
}

/* Twice as many chains when there are more threads than chains. */
static int grow_table(struct pmclua_calls *calls)
{
    uint32_t old = calls->thread_slots;
    if (calls->thread_count < old)
        return 0;
    struct thread **larger = calloc(2 * (size_t)old, sizeof *larger), **smaller = calls->threads;
    if (!larger)
        return -ENOMEM;
    calls->threads = larger;
    calls->thread_slots = 2 * old;
    for (uint32_t i = 0; i < old; i++) {
        for (struct thread *thread = smaller[i], *next; thread; thread = next) {
            next = thread->next;
            struct thread **slot = &larger[slot_of(calls, thread->tid)];
            thread->next = *slot;
            *slot = thread;
        }
    }
    free(smaller);
    return 0;
}

struct thread *thread_of(struct pmclua_calls *calls, uint32_t pid, uint32_t tid)
{
    struct thread *thread = thread_find(calls, tid);
    if (thread || grow_table(calls) < 0)
        return thread;
    return new_thread(calls, pid, tid);
}

struct thread *thread_next(const struct pmclua_calls *calls, const struct thread *thread)
{
    if (thread && thread->next)
        return thread->next;
    for (uint32_t slot = thread ? slot_of(calls, thread->tid) + 1 : 0; slot < calls->thread_slots; slot++)
        if (calls->threads[slot])
            return calls->threads[slot];
    return NULL;
}

void thread_remove(struct pmclua_calls *calls, struct thread *thread)
{
    struct thread **place = &calls->threads[slot_of(calls, thread->tid)];
    while (*place != thread)
        place = &(*place)->next;
    *place = thread->next;
    calls->thread_count--;
    free_thread(calls, thread);
}

int threads_new(struct pmclua_calls *calls)
{
    calls->thread_slots = 64;
    calls->threads = calloc(calls->thread_slots, sizeof *calls->threads);
    return calls->threads ? 0 : -ENOMEM;
}

void threads_free(struct pmclua_calls *calls)
{
    struct thread *thread;
    while (calls->threads && (thread = thread_next(calls, NULL)))
        thread_remove(calls, thread);
    /* Processes whose thread found no memory. */
    for (int i = 0; i < PROCESS_SLOTS; i++) {
        for (struct process *process = calls->processes[i], *next; process; process = next) {
            next = process->next;
            free(process);
        }
    }
    free(calls->threads);
}

/* ---- counts across CPUs ---- */

enum { ENABLED, RUNNING, FIRST_EVENT };

/* Between the sample of a context switch and the switch itself events still run, unseen. That is shorter,
 * and a place on the PMU is lost for longer (perf_event_mux_interval_ms): for some milliseconds. */
enum { SWITCH_NS = 1000000 };

int thread_is_another(const struct thread *thread, const struct pmclua_calls_sample *sample)
{
    return sample->values[ENABLED] < thread->counts[ENABLED];
}

/* The time for which a thread's events were enabled is the same on whichever CPU they are asked: it is not
 * summed. CPUs' clocks may differ by a little: it never shrinks. */
static void take_times(struct thread *thread, const struct last *last, const struct pmclua_calls_sample *sample)
{
    uint64_t before = thread->counts[ENABLED], now = sample->values[ENABLED];
    uint64_t enabled = now > before ? now - before : 0;
    uint64_t running = sample->values[RUNNING] - last->values[RUNNING];
    int has_moved = thread->cpu != sample->cpu;
    if (has_moved && running < enabled && enabled - running <= SWITCH_NS)
        running = enabled;
    thread->counts[ENABLED] += enabled;
    thread->counts[RUNNING] += running;
    thread->cpu = sample->cpu;
}

int thread_take(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    struct last **place = &thread->last[sample->cpu];
    if (!*place && !(*place = calloc(1, sizeof **place + calls->values * sizeof(uint64_t))))
        return -ENOMEM;
    struct last *last = *place;
    thread->source = sample->source;
    thread->is_counted = 1;
    take_times(thread, last, sample);
    for (uint32_t i = FIRST_EVENT; i < calls->values; i++)
        thread->counts[i] += sample->values[i] - last->values[i];
    memcpy(last->values, sample->values, calls->values * sizeof *last->values);
    /* A loss is only known now, too late for calls that are open. */
    if (last->is_stale)
        thread->cuts++;
    last->is_stale = 0;
    return 0;
}
