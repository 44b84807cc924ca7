/*
 * set_counters.h: an event set opened on one target.
 */
#pragma once

#include "event_set.h"
#include "thread_starts.h"

/* All groups of its set are open, or none is. */
struct counters {
    const struct event_set *set;       /* NULL: nothing open */
    struct pmclua_group **group;
    uint64_t *before, *after;          /* set->reading_u64s each */
    struct thread_starts starts;
    int alone;                         /* some group is not inherited, though it was to be */
    int has_lost;                      /* a difference: for good (pmclua.h) */
};

/* Opens `set` (NULL: nothing, successfully). On failure `failure` is filled and nothing is open. With
 * PMCLUA_READ_USER among `options`, groups that ask for it and allow it are read in user space, are not
 * inherited, and run already. */
int  counters_open(struct counters *counters, const struct event_set *set, int pid, uint32_t options,
                   struct pmclua_failure *failure);
int  counters_start(struct counters *counters);
/* Reads every group, in order, into `reading`: set->reading_u64s of them. */
int  counters_read(struct counters *counters, uint64_t *reading);
/* One of PMCLUA_BY_*: how its groups are read where they all are read alike; else by system calls. */
int  counters_method(const struct counters *counters);
/* out = after - before. */
void counters_difference(struct counters *counters, uint64_t *out);
void counters_close(struct counters *counters);
