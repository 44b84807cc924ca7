/*
 * calls.h: what calls.c (samples), calls_stack.c (who called what), calls_frames.c (open calls), calls_measure.c
 * (what each took), calls_threads.c (whose counts), calls_spreads.c (distributions) and calls_block.c (as one block)
 * share. Private to the core.
 */
#pragma once

#include "pmclua.h"

/* Values of one kind: with callees, or itself alone. */
struct spread {
    struct pmclua_spread facts;
    uint64_t *buckets;             /* BUCKETS of them; NULL before the first value */
};

enum {
    BUCKETS = 128 + 57 * 64,       /* of all u64: 128 exact ones, and 64 for each octave above */
    PROCESS_SLOTS = 256,
    ROWS_MAX = 4096,               /* threads with a row of their own; the others share one */
    KEPT_CHUNK = 1024
};

/* A region's sums in one thread. */
struct row {
    uint32_t region, pid, tid;
    uint64_t calls;
    int is_switching;              /* of a process whose stacks are not its threads' */
    char name[16];
    uint64_t *sums;                /* 2 * call_u64s: outermost with callees, itself alone */
};

/* A region. */
struct region {
    struct pmclua_region facts;
    uint64_t flags;
    char *name;
    /* 2 * call_u64s: with callees, and itself alone. As long as no call had a callee that is a region
     * the second half is not filled in: it would be the first. */
    struct spread *spreads;
    int has_callees;
    uint64_t *outermost, *unsure, *spent;      /* call_u64s each; spent: what its probes cost */
    const int64_t *cost;           /* 3 * (values + 1); NULL: not known. See pmclua_calls_setup */
};

struct pmclua_calls {
    uint32_t regions, cpus, values, link_register, return_bytes;
    uint32_t counted;              /* of a thread: values, and what probing cost it of each and of time */
    int64_t *costs;                /* of all regions; NULL: not known */
    uint64_t samples, lost;
    struct region *region;
    struct thread **threads;       /* by tid, hashed: power of two of chains */
    uint32_t thread_count, thread_slots, threads_seen;
    struct process *processes[PROCESS_SLOTS];
    struct frame **table, *spare;  /* calls_frames.c */
    uint32_t table_size, frame_count;
    uint32_t losses;               /* times that records were lost */
    struct row *rows;
    uint32_t row_count;
    uint64_t **kept;               /* chunks of KEPT_CHUNK calls: see kept_place */
    uint64_t kept_count, keep;
    uint64_t *scratch;             /* 2 * call_u64s */
};

/* ---- threads (calls_threads.c) ---- */

struct process;

/* An open call. `outer` is the open call of its region around it; it is above and below others in its
 * thread's list. Until a call returns it is not known whether it was really around those within it (it may
 * have been unwound long ago): `inner` of them, with what they took, wait for that. `is_unsure`: it called
 * one that left without return. */
struct frame {
    struct frame *chain, *below, *above, *outer;
    struct process *process;
    struct thread *thread;         /* NULL: it was left, as far as was seen; above and below are others left */
    uint64_t *counted_as;          /* what it was left as */
    uint32_t region, level, cuts, losses, orphans, inner;
    int is_unsure, is_doubtful;
    uint64_t stack_pointer, start_ns;
    /* Counts of the thread at entry, what callees took, what inner calls took, and what passed between the
     * entry of a callee that left without return and the next sample. */
    uint64_t u64s[];
};

/* Threads that share an address space. */
struct process {
    struct process *next;
    uint32_t pid, threads, left;   /* left: frames from newest to oldest */
    int is_switching;              /* its stacks are not its threads': see calls.c */
    struct frame *newest, *oldest;
    uint32_t orphans[];            /* by region: returns without an entry */
};

/* The one open call of a region that is no function. */
struct pair {
    int is_open;
    uint32_t cuts;
    uint64_t start_ns;
    uint64_t counts[];             /* `counted`, of the thread when it began */
};

/* A thread's totals of one region. */
struct thread_region {
    struct frame *open;            /* its topmost open call */
    struct pair *pair;             /* NULL: never begun */
    int32_t row;                   /* index of its row; -1: none yet */
};

/* A thread's last reading on one CPU. */
struct last { int is_stale; uint64_t values[]; };

struct thread {
    struct thread *next;
    uint32_t pid, tid, cpu;        /* cpu: of its last sample */
    uint32_t source;               /* of its first sample */
    int is_counted;                /* it has had one */
    uint32_t cuts;                 /* grows when open calls become useless */
    char name[16];
    uint64_t *counts;              /* `counted`: sums over CPUs; then what probing cost: duration, values */
    struct last **last;            /* by CPU; NULL: never there */
    struct process *process;
    struct frame *top;
    uint32_t depth;                /* of the list below it */
    struct thread_region region[];
};

/* The thread, made when first seen; NULL: no memory. */
struct thread *thread_of(struct pmclua_calls *calls, uint32_t pid, uint32_t tid);
/* Takes what a sample says of its CPU into the thread's counts. */
int  thread_take(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample);
/* Whether the sample may be of a new thread that got the tid of one whose end was not seen. */
int  thread_is_another(const struct thread *thread, const struct pmclua_calls_sample *sample);
/* Takes a thread out of the table and frees it. */
void thread_remove(struct pmclua_calls *calls, struct thread *thread);
/* Known threads; NULL: none of that tid. */
struct thread *thread_find(struct pmclua_calls *calls, uint32_t tid);
/* Iterates: the first for NULL, NULL after the last. */
struct thread *thread_next(const struct pmclua_calls *calls, const struct thread *thread);
int  threads_new(struct pmclua_calls *calls);
void threads_free(struct pmclua_calls *calls);

/* Words of one call: duration and values; and, where it is known, what of each is the cost of probing. */
static inline uint32_t call_u64s(const struct pmclua_calls *calls) { return calls->counted + 1; }

/* How many of these are not costs. */
static inline uint32_t own_u64s(const struct pmclua_calls *calls) { return calls->values + 1; }

/* Adds what a probe of a region costs a thread: `part` is 0 at an entry, 1 at a return. */
static inline void thread_spend(const struct pmclua_calls *calls, struct thread *thread, uint32_t region, int part)
{
    struct region *of = &calls->region[region];
    for (uint32_t i = 0, width = own_u64s(calls); of->cost && i < width; i++) {
        uint64_t more = (uint64_t)of->cost[(size_t)part * width + i];
        thread->counts[calls->values + i] += more;
        of->spent[i] += more;
    }
}

static inline uint64_t *callees_of(const struct pmclua_calls *calls, struct frame *frame)
{
    return frame->u64s + calls->counted;
}

static inline uint64_t *inner_of(const struct pmclua_calls *calls, struct frame *frame)
{
    return callees_of(calls, frame) + call_u64s(calls);
}

static inline uint64_t *unsure_of(const struct pmclua_calls *calls, struct frame *frame)
{
    return inner_of(calls, frame) + call_u64s(calls);
}

static inline void u64s_add(const struct pmclua_calls *calls, uint64_t *to, const uint64_t *more)
{
    for (uint32_t i = 0; i < call_u64s(calls); i++)
        to[i] += more[i];
}

/* ---- calls_measure.c ---- */

/* Writes the counts of a call, with callees and alone, to the scratch u64s. */
void call_measure(struct pmclua_calls *calls, const struct thread *thread, uint64_t duration_ns,
                  const uint64_t *before, const uint64_t *callees);
/* The part of a call in the scratch u64s that its own two probes cost. */
void call_measure_probes(struct pmclua_calls *calls, uint32_t region);
/* Adds the call in the scratch u64s. */
int  call_add(struct pmclua_calls *calls, struct thread *thread, uint32_t region, uint64_t start_ns,
              uint64_t level, const uint64_t *unsure);
/* `count` finished calls that took `took` belong to the open call of their region at `outer`; where there
 * is none, they are outermost. */
void call_settle(struct pmclua_calls *calls, const struct thread *thread, uint32_t region, struct frame *outer,
                 const uint64_t *took, uint32_t count);
/* A region between any two points begins, and ends: it is no function and lies on no stack; each is open at
 * most once in a thread, and nothing is a callee of it. */
int  pair_from(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample);
int  pair_to(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample);

/* ---- calls_stack.c ---- */

/* A function is entered; a function returns; one with an only instruction does both. 0 or -errno. */
int  stack_enter(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample);
int  stack_leave(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample);
int  stack_pass(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample);
/* The open calls of a thread that has ended, or executed, are unfinished. */
void stack_leave_all(struct pmclua_calls *calls, struct thread *thread);

/* ---- calls_frames.c ---- */

enum { ANY_REGION = UINT32_MAX };

int  frames_new(struct pmclua_calls *calls);
void frames_free(struct pmclua_calls *calls);
/* A call is entered: on top of the thread's; NULL: no memory. */
struct frame *frame_push(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample);
/* The frame of that region in a process with that stack pointer; NULL. */
struct frame *frame_find(const struct pmclua_calls *calls, const struct process *process, uint32_t region,
                         uint64_t stack_pointer);
/* Marks a call as left without return, counted in `counted_as`; if it returns after all, it is found. */
void frame_leave(struct pmclua_calls *calls, struct frame *frame, uint64_t *counted_as);
/* Removes a call that has ended, or whose place is taken by another. */
void frame_remove(struct pmclua_calls *calls, struct frame *frame);
/* Removes all calls that were left, with their address space. */
void frames_forget(struct pmclua_calls *calls, struct process *process);

/* ---- calls_spreads.c ---- */

int  spreads_new(struct pmclua_calls *calls, const struct pmclua_calls_setup *setup);
void spreads_free(struct pmclua_calls *calls);
/* A call ended: `total` and `self` are call_u64s each, and `unsure` is what of `self` may be a callee's; NULL:
 * nothing. `row` is this thread's of this region. */
struct call_end {
    uint32_t region, tid, row;
    uint64_t start_ns, level;
    const uint64_t *total, *self, *unsure;
};
/* Counts it in its region's spreads and its thread's row, but for the sums of outermost calls. */
int  spreads_add(struct pmclua_calls *calls, const struct call_end *end);
/* Value `value` of a region, of 2 * call_u64s: with callees first, then alone. */
const struct spread *spread_of(const struct pmclua_calls *calls, const struct region *region, uint32_t value);
/* Where call `index` is kept: a struct pmclua_region_call and 2 * call_u64s values; kept_u64s in all. */
uint64_t *kept_place(const struct pmclua_calls *calls, uint64_t index);
size_t kept_u64s(const struct pmclua_calls *calls);
/* Marks the rows of a process whose stacks are not its threads'. */
void spreads_mark_rows(struct pmclua_calls *calls, uint32_t pid);
void spreads_rename_row(struct pmclua_calls *calls, uint32_t row, const char *name);
/* The row of a thread and region, made when first needed: its index, or -ENOMEM. */
int32_t spreads_row(struct pmclua_calls *calls, uint32_t region, uint32_t pid, uint32_t tid, const char *name);
