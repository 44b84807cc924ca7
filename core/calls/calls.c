/*
 * calls.c: calls put together from samples at the places where functions are entered and left.
 *
 * Invariants: a thread's counts are the sum over CPUs of what it had last on each, so that it may migrate; a call
 * around which records were lost is cut. calls_stack.c says whose return a sample is, pmclua.h what samples are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

/* ---- samples ---- */

/* How a sample of each kind of point is taken. */
typedef int take_point(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample);
static const struct { take_point *take; int is_end; } points[] = {
    [PMCLUA_POINT_ENTRY] = { stack_enter, 0 }, [PMCLUA_POINT_RETURN] = { stack_leave, 1 },
    [PMCLUA_POINT_TAIL] = { stack_leave, 1 }, [PMCLUA_POINT_WHOLE] = { stack_pass, 0 },
    [PMCLUA_POINT_RETURN_PROBE] = { stack_leave, 1 },
    [PMCLUA_POINT_FROM] = { pair_from, 0 }, [PMCLUA_POINT_TO] = { pair_to, 1 },
};

/* The thread of a sample; NULL and *result: -errno; 0: the sample is ignored. */
static struct thread *take_sample(struct pmclua_calls *calls, const struct pmclua_calls_sample *sample, int *result)
{
    *result = -EINVAL;
    if (sample->cpu >= calls->cpus)
        return NULL;
    calls->samples++;
    *result = -ENOMEM;
    struct thread *thread = thread_of(calls, sample->pid, sample->tid);
    if (thread && calls->lost > 0 && thread_is_another(thread, sample)) {
        pmclua_calls_end(calls, sample->tid);
        thread = thread_of(calls, sample->pid, sample->tid);
    }
    if (thread && thread->is_counted && thread->source != sample->source) {
        *result = 0;
        return NULL;
    }
    if (thread)
        *result = thread_take(calls, thread, sample);
    return *result < 0 ? NULL : thread;
}

int pmclua_calls_point(struct pmclua_calls *calls, const struct pmclua_calls_sample *sample)
{
    int result;
    if (sample->region >= calls->regions || sample->kind >= sizeof points / sizeof *points)
        return -EINVAL;
    struct thread *thread = take_sample(calls, sample, &result);
    if (!thread)
        return result;
    /* A probe's cost is the caller's: it is spent before a call begins, after it has ended. */
    int is_end = points[sample->kind].is_end;
    if (!is_end)
        thread_spend(calls, thread, sample->region, 0);
    result = points[sample->kind].take(calls, thread, sample);
    if (is_end)
        thread_spend(calls, thread, sample->region, 1);
    return result;
}

int pmclua_calls_switch(struct pmclua_calls *calls, const struct pmclua_calls_sample *sample)
{
    int result;
    take_sample(calls, sample, &result);
    return result;
}

int pmclua_calls_name(struct pmclua_calls *calls, uint32_t pid, uint32_t tid, const char *name, int32_t executed)
{
    struct thread *thread = thread_of(calls, pid, tid);
    if (!thread)
        return -ENOMEM;
    strncpy(thread->name, name, sizeof thread->name - 1);
    for (uint32_t region = 0; region < calls->regions; region++)
        if (thread->region[region].row >= 0)
            spreads_rename_row(calls, (uint32_t)thread->region[region].row, thread->name);
    if (executed) {
        stack_leave_all(calls, thread);
        frames_forget(calls, thread->process);
    }
    return 0;
}

int pmclua_calls_fork(struct pmclua_calls *calls, uint32_t pid, uint32_t tid, uint32_t parent_tid)
{
    const struct thread *parent = thread_find(calls, parent_tid);
    return parent && tid != parent_tid ? pmclua_calls_name(calls, pid, tid, parent->name, 0) : 0;
}

int pmclua_calls_end(struct pmclua_calls *calls, uint32_t tid)
{
    struct thread *thread = thread_find(calls, tid);
    if (!thread)
        return 0;
    stack_leave_all(calls, thread);
    thread_remove(calls, thread);
    return 0;
}

void pmclua_calls_pause(struct pmclua_calls *calls)
{
    struct thread *thread;
    while ((thread = thread_next(calls, NULL)))
        pmclua_calls_end(calls, thread->tid);
}

void pmclua_calls_lost(struct pmclua_calls *calls, uint32_t cpu, uint64_t records)
{
    calls->lost += records;
    calls->losses++;
    for (struct thread *thread = thread_next(calls, NULL); thread; thread = thread_next(calls, thread)) {
        thread->cuts++;
        if (cpu < calls->cpus && thread->last[cpu])
            thread->last[cpu]->is_stale = 1;
    }
}

/* ---- beginning and end ---- */

void pmclua_calls_free(struct pmclua_calls *calls)
{
    if (!calls)
        return;
    threads_free(calls);
    frames_free(calls);
    free(calls->scratch);
    spreads_free(calls);
    free(calls);
}

int pmclua_calls_new(struct pmclua_calls **out, const struct pmclua_calls_setup *setup)
{
    if (setup->regions == 0 || setup->cpus == 0 || setup->values < 2)
        return -EINVAL;
    struct pmclua_calls *calls = calloc(1, sizeof *calls);
    if (!calls)
        return -ENOMEM;
    calls->regions = setup->regions;
    calls->cpus = setup->cpus;
    calls->values = setup->values;
    calls->counted = setup->values + (setup->costs ? setup->values + 1 : 0);
    calls->link_register = setup->link_register;
    calls->return_bytes = setup->return_bytes;
    calls->keep = setup->keep;
    calls->scratch = calloc(2 * (size_t)call_u64s(calls), sizeof *calls->scratch);
    if (!calls->scratch || threads_new(calls) < 0 || frames_new(calls) < 0 || spreads_new(calls, setup) < 0) {
        pmclua_calls_free(calls);
        return -ENOMEM;
    }
    *out = calls;
    return 0;
}
