/*
 * call_chains.c: whom a command's first thread waits for, and what that one does meanwhile, from the records of threads
 * in the order of time.
 *
 * Each thread has an account of how it spent its time: at work, or waiting in a call for something outside. A wait that
 * another thread of the command ends is spent as that thread spent the same time, which is on its account already: so
 * waits are followed through any number of threads. What it spent on none of these, it waited for a CPU.
 *
 * Invariant: a wait is booked once, to causes that add up to its length.
 */
#include <stdlib.h>
#include <string.h>

#include "call_chains.h"

/* Threads beyond these count as outside; causes beyond these are the last one. */
enum { THREADS = 16, CAUSES = 64, CALLS = 32 };

/* A thread's work, or its waits in calls made at a place. */
struct cause { uint64_t thread, place; };

struct account { uint64_t ns[CAUSES]; };

enum state { AWAY, ON_CPU, WAITS };

struct chained {
    int32_t tid;
    int is_process, has_ended;
    enum state state;
    uint64_t since_ns, place;
    struct account spent, *before;     /* before: all threads' accounts when its wait began; THREADS of them */
};

struct call_chains {
    struct chained thread[THREADS];
    struct cause cause[CAUSES];
    int threads, causes, calls;
    struct account pending[2];         /* of the first thread, in the call that it is in: for what goes on, for an end */
    struct { uint64_t number, is_end; struct account account; } waited[CALLS];
};

struct call_chains *call_chains_new(int32_t first)
{
    struct call_chains *chains = calloc(1, sizeof *chains);
    if (chains)
        call_chains_start(chains, first, 1);
    if (chains && chains->threads == 0) {
        free(chains);
        return NULL;
    }
    return chains;
}

void call_chains_free(struct call_chains *chains)
{
    for (int i = 0; chains && i < chains->threads; i++)
        free(chains->thread[i].before);
    free(chains);
}

/* The latest of that id: one that has ended may have had it. */
static struct chained *find(struct call_chains *chains, int32_t tid)
{
    for (int i = chains->threads; i-- > 0;)
        if (chains->thread[i].tid == tid)
            return &chains->thread[i];
    return NULL;
}

static uint64_t number_of(const struct call_chains *chains, const struct chained *thread)
{
    return (uint64_t)(thread - chains->thread) + 1;
}

void call_chains_start(struct call_chains *chains, int32_t tid, int is_process)
{
    if (chains->threads == THREADS)
        return;
    struct chained *thread = &chains->thread[chains->threads];
    *thread = (struct chained){ .tid = tid, .is_process = is_process };
    thread->before = calloc(THREADS, sizeof *thread->before);
    chains->threads += thread->before != NULL;
}

void call_chains_end(struct call_chains *chains, int32_t tid)
{
    struct chained *thread = find(chains, tid);
    if (thread)
        thread->has_ended = 1;
}

/* ---- accounts ---- */

static uint64_t *entry_of(struct call_chains *chains, struct account *account, uint64_t thread, uint64_t place)
{
    int i = 0;
    while (i < chains->causes && (chains->cause[i].thread != thread || chains->cause[i].place != place))
        i++;
    if (i == chains->causes && i < CAUSES)
        chains->cause[chains->causes++] = (struct cause){ thread, place };
    return &account->ns[i < CAUSES ? i : CAUSES - 1];
}

/* Books the work of a thread up to now. */
static void settle(struct call_chains *chains, struct chained *thread, uint64_t time_ns)
{
    if (thread->state != ON_CPU || time_ns <= thread->since_ns)
        return;
    *entry_of(chains, &thread->spent, number_of(chains, thread), PMCLUA_CHAIN_WORK) += time_ns - thread->since_ns;
    thread->since_ns = time_ns;
}

void call_chains_stop(struct call_chains *chains, int32_t tid, uint64_t time_ns, int waits, uint64_t place)
{
    struct chained *thread = find(chains, tid);
    if (!thread)
        return;
    for (int i = 0; waits && i < chains->threads; i++) {
        settle(chains, &chains->thread[i], time_ns);
        memcpy(&thread->before[i], &chains->thread[i].spent, (size_t)chains->causes * sizeof *thread->spent.ns);
    }
    settle(chains, thread, time_ns);
    thread->state = waits ? WAITS : AWAY;
    thread->since_ns = time_ns;
    thread->place = place;
}

/* Adds the waker's account since the wait began, scaled to at most `ns`: how many ns it covers. */
static uint64_t follow(struct call_chains *chains, const struct chained *thread, const struct chained *waker, uint64_t ns,
                       struct account *wait)
{
    const struct account *before = &thread->before[number_of(chains, waker) - 1];
    uint64_t all = 0, booked = 0;
    for (int i = 0; i < CAUSES; i++)
        all += waker->spent.ns[i] - before->ns[i];
    for (int i = 0; i < CAUSES; i++) {
        uint64_t spent = waker->spent.ns[i] - before->ns[i];
        wait->ns[i] = all > ns ? (uint64_t)((double)spent / (double)all * (double)ns) : spent;
        booked += wait->ns[i];
    }
    return booked < ns ? booked : ns;
}

static void end_wait(struct call_chains *chains, struct chained *thread, struct chained *waker, uint64_t time_ns)
{
    struct account wait = { 0 };
    uint64_t ns = time_ns > thread->since_ns ? time_ns - thread->since_ns : 0;
    uint64_t followed = waker ? follow(chains, thread, waker, ns, &wait) : 0;
    uint64_t place = waker ? PMCLUA_CHAIN_READY : thread->place;
    struct account *pending = &chains->pending[waker && waker->has_ended];
    *entry_of(chains, &wait, number_of(chains, waker ? waker : thread), place) += ns - followed;
    for (int i = 0; i < CAUSES; i++) {
        thread->spent.ns[i] += wait.ns[i];
        if (thread == chains->thread)
            pending->ns[i] += wait.ns[i];
    }
    thread->state = AWAY;
}

void call_chains_wake(struct call_chains *chains, int32_t waker, int32_t tid, uint64_t time_ns)
{
    struct chained *thread = find(chains, tid), *by = waker ? find(chains, waker) : NULL;
    if (!thread || thread->state != WAITS || thread == by)
        return;
    if (by)
        settle(chains, by, time_ns);
    end_wait(chains, thread, by, time_ns);
}

void call_chains_go_on(struct call_chains *chains, int32_t tid, uint64_t time_ns)
{
    struct chained *thread = find(chains, tid);
    if (!thread)
        return;
    if (thread->state == WAITS)
        end_wait(chains, thread, NULL, time_ns);
    thread->state = ON_CPU;
    thread->since_ns = time_ns;
}

/* ---- what the first thread waited for ---- */

static int is_empty(const struct account *account)
{
    static const struct account empty;
    return memcmp(account, &empty, sizeof empty) == 0;
}

static struct account *waited_in(struct call_chains *chains, uint64_t number, uint64_t is_end)
{
    int i = 0;
    while (i < chains->calls && (chains->waited[i].number != number || chains->waited[i].is_end != is_end))
        i++;
    if (i == CALLS)
        return NULL;
    chains->waited[i].number = number;
    chains->waited[i].is_end = is_end;
    chains->calls += i == chains->calls;
    return &chains->waited[i].account;
}

/* Waits outside of calls, as in a page fault, belong to no call. */
void call_chains_enter(struct call_chains *chains, int32_t tid)
{
    if (tid == chains->thread->tid)
        memset(chains->pending, 0, sizeof chains->pending);
}

void call_chains_leave(struct call_chains *chains, int32_t tid, uint64_t number)
{
    for (uint64_t is_end = 0; tid == chains->thread->tid && is_end < 2; is_end++) {
        const struct account *pending = &chains->pending[is_end];
        struct account *waited = is_empty(pending) ? NULL : waited_in(chains, number, is_end);
        for (int i = 0; waited && i < CAUSES; i++)
            waited->ns[i] += pending->ns[i];
    }
}

uint64_t call_chains_rows(const struct call_chains *chains, struct pmclua_call_chain *row)
{
    uint64_t count = 0;
    for (int call = 0; call < chains->calls; call++)
        for (int i = 0; i < chains->causes; i++) {
            const struct cause *cause = &chains->cause[i];
            uint64_t ns = chains->waited[call].account.ns[i];
            if (ns == 0 || cause->thread == 1)
                continue;
            const struct chained *thread = &chains->thread[cause->thread - 1];
            if (row)
                row[count] = (struct pmclua_call_chain){ chains->waited[call].number, cause->thread, cause->place, ns,
                    (uint64_t)thread->is_process, chains->waited[call].is_end };
            count++;
        }
    return count;
}
