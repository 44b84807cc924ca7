/*
 * call_times.c: how many system calls there were, from where, and how long each was off CPU, from the records of threads
 * in the order of time.
 *
 * Invariant: a thread is in one call at most. Where records are missing, their call is left out: no
 * time is given to a call that it was not in.
 */
#include <errno.h>
#include <stdlib.h>

#include "call_chains.h"
#include "call_trace.h"

enum { NUMBERS = 1024, FIRST_ROOM = 64, SITES = 4096 };

/* An open call of a thread, and from where; stopped_ns: when it left its CPU (0: it is on one). */
struct thread {
    int32_t tid;                   /* 0: free */
    int is_in_call, yielded;
    uint16_t place;
    uint64_t stopped_ns, woken_ns;     /* woken_ns: since when it only waits for a CPU; 0: it is not woken */
    uint64_t blocked_ns, waited_ns;
};

struct sum { uint64_t count, blocked_ns, waited_ns; };

struct call_times {
    int32_t first;
    int has_executed;              /* the first thread has left its exec, which was entered before it was watched */
    struct thread *thread;         /* open addressing, `room` a power of two */
    size_t room, used;
    struct sum sum[2][NUMBERS];    /* of other threads, of the first */
    struct sum outside[2], unfinished[2];
    struct pmclua_call_site site[SITES];   /* open addressing, half of it at most; count 0: free */
    size_t sites;
    struct call_chains *chains;
};

struct call_times *call_times_new(int32_t first)
{
    struct call_times *times = calloc(1, sizeof *times);
    if (!times)
        return NULL;
    times->first = first;
    times->room = FIRST_ROOM;
    times->thread = calloc(times->room, sizeof *times->thread);
    times->chains = call_chains_new(first);
    if (!times->thread || !times->chains) {
        call_times_free(times);
        return NULL;
    }
    return times;
}

void call_times_free(struct call_times *times)
{
    if (!times)
        return;
    call_chains_free(times->chains);
    free(times->thread);
    free(times);
}

/* ---- threads ---- */

static struct thread *slot_of(struct thread *thread, size_t room, int32_t tid)
{
    uint32_t hash = (uint32_t)tid * 2654435761u;
    size_t at = hash & (room - 1);
    while (thread[at].tid && thread[at].tid != tid)
        at = (at + 1) & (room - 1);
    return &thread[at];
}

static int grow(struct call_times *times)
{
    struct thread *more = calloc(2 * times->room, sizeof *more);
    if (!more)
        return -ENOMEM;
    for (size_t i = 0; i < times->room; i++)
        if (times->thread[i].tid)
            *slot_of(more, 2 * times->room, times->thread[i].tid) = times->thread[i];
    free(times->thread);
    times->thread = more;
    times->room *= 2;
    return 0;
}

static struct thread *thread_of(struct call_times *times, int32_t tid)
{
    struct thread *thread = slot_of(times->thread, times->room, tid);
    if (thread->tid)
        return thread;
    if (2 * ++times->used > times->room) {
        if (grow(times) < 0)
            return NULL;
        thread = slot_of(times->thread, times->room, tid);
    }
    thread->tid = tid;
    thread->place = UINT16_MAX;
    return thread;
}

/* ---- calls ---- */

static void add(struct sum *sum, const struct thread *thread)
{
    sum->count++;
    sum->blocked_ns += thread->blocked_ns;
    sum->waited_ns += thread->waited_ns;
}

static void begin_call(struct call_times *times, struct thread *thread, uint16_t place)
{
    call_chains_enter(times->chains, thread->tid);
    thread->is_in_call = 1;
    thread->place = place;
    thread->blocked_ns = thread->waited_ns = 0;
}

/* A program with more sites than there is room for has calls whose site is not known. */
static void add_site(struct call_times *times, uint64_t number, uint64_t place)
{
    uint64_t at = (number * 31 + place) % SITES;
    while (times->site[at].count && (times->site[at].number != number || times->site[at].place != place))
        at = (at + 1) % SITES;
    if (!times->site[at].count && 2 * ++times->sites > SITES)
        return;
    times->site[at] = (struct pmclua_call_site){ number, place, times->site[at].count + 1 };
}

static void end_call(struct call_times *times, struct thread *thread, const struct call_record *record)
{
    int is_first = thread->tid == times->first, is_exec = is_first && !times->has_executed;
    if ((thread->is_in_call || is_exec) && record->number < NUMBERS) {
        add(&times->sum[is_first][record->number], thread);
        if (thread->is_in_call)
            add_site(times, record->number, thread->place);
    }
    times->has_executed |= is_first;
    call_chains_leave(times->chains, thread->tid, record->number);
    thread->is_in_call = 0;
    thread->place = UINT16_MAX;
    thread->blocked_ns = thread->waited_ns = 0;
}

static void stop(struct call_times *times, struct thread *thread, const struct call_record *record)
{
    call_chains_stop(times->chains, thread->tid, record->time_ns, record->step == CALL_STOPS, thread->place);
    thread->woken_ns = 0;
    thread->stopped_ns = record->time_ns;
    thread->yielded = record->step == CALL_YIELDS;
}

static void go_on(struct call_times *times, struct thread *thread, uint64_t time_ns)
{
    uint64_t off_ns = thread->stopped_ns && time_ns > thread->stopped_ns ? time_ns - thread->stopped_ns : 0;
    struct sum *outside = &times->outside[thread->tid == times->first];
    uint64_t *blocked = thread->is_in_call ? &thread->blocked_ns : &outside->blocked_ns;
    uint64_t *waited = thread->is_in_call ? &thread->waited_ns : &outside->waited_ns;
    uint64_t ready_ns = thread->yielded ? off_ns : thread->woken_ns ? time_ns - thread->woken_ns : 0;
    call_chains_go_on(times->chains, thread->tid, time_ns);
    *waited += ready_ns < off_ns ? ready_ns : off_ns;
    *blocked += ready_ns < off_ns ? off_ns - ready_ns : 0;
    outside->count += !thread->is_in_call && off_ns;
    thread->stopped_ns = 0;
}

static void wake(struct call_times *times, struct thread *thread, const struct call_record *record)
{
    /* In a soft interrupt (the network) the waker is the thread whose call led there. */
    int is_soft = record->number != 0;
    struct thread *waker = slot_of(times->thread, times->room, record->other);
    int32_t by = record->other && (!is_soft || waker->is_in_call) ? record->other : 0;
    call_chains_wake(times->chains, by, thread->tid, record->time_ns);
    if (thread->stopped_ns && !thread->yielded && !thread->woken_ns)
        thread->woken_ns = record->time_ns;
}

static void take(struct call_times *times, struct thread *thread, const struct call_record *record)
{
    switch ((enum call_step)record->step) {
    case CALL_ENTERS:  begin_call(times, thread, record->number); break;
    case CALL_LEAVES:  end_call(times, thread, record); break;
    case CALL_STOPS:
    case CALL_YIELDS:  stop(times, thread, record); break;
    case CALL_GOES_ON: go_on(times, thread, record->time_ns); break;
    case CALL_WAKES:   wake(times, thread, record); break;
    case CALL_STARTS:  call_chains_start(times->chains, record->tid, record->number); break;
    case CALL_ENDS:    call_chains_end(times->chains, record->tid); break;
    }
}

int call_times_take(struct call_times *times, const struct call_record *record)
{
    struct thread *thread = thread_of(times, record->tid);
    if (!thread)
        return -ENOMEM;
    take(times, thread, record);
    return 0;
}

/* ---- rows ---- */

static void put(const struct sum *sum, uint64_t number, uint64_t is_first, struct pmclua_system_call *rows,
                uint64_t *count)
{
    if (!sum->count)
        return;
    if (rows)
        rows[*count] = (struct pmclua_system_call){ number, is_first, sum->count, sum->blocked_ns, sum->waited_ns };
    ++*count;
}

/* Calls that were open at the end: that by which a thread ends does not return. */
static void sum_unfinished(struct call_times *times)
{
    times->unfinished[0] = times->unfinished[1] = (struct sum){ 0 };
    for (size_t i = 0; i < times->room; i++) {
        const struct thread *thread = &times->thread[i];
        if (thread->tid && thread->is_in_call)
            add(&times->unfinished[thread->tid == times->first], thread);
    }
}

uint64_t call_times_rows(struct call_times *times, struct pmclua_system_call *row)
{
    uint64_t count = 0;
    sum_unfinished(times);
    for (uint64_t is_first = 0; is_first < 2; is_first++) {
        for (uint64_t number = 0; number < NUMBERS; number++)
            put(&times->sum[is_first][number], number, is_first, row, &count);
        put(&times->outside[is_first], PMCLUA_CALL_NONE, is_first, row, &count);
        put(&times->unfinished[is_first], PMCLUA_CALL_OPEN, is_first, row, &count);
    }
    return count;
}

uint64_t call_times_sites(const struct call_times *times, struct pmclua_call_site *site)
{
    uint64_t count = 0;
    for (size_t i = 0; i < SITES; i++)
        if (times->site[i].count) {
            if (site)
                site[count] = times->site[i];
            count++;
        }
    return count;
}

uint64_t call_times_chains(const struct call_times *times, struct pmclua_call_chain *chain)
{
    return call_chains_rows(times->chains, chain);
}
