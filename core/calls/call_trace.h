/*
 * call_trace.h: what call_trace.c (opening, reading the rings) and call_times.c (what calls did) share. Private to
 * the core.
 */
#pragma once

#include <stddef.h>

#include "pmclua.h"

/* The ids of the tracepoints raw_syscalls:sys_enter, sys_exit and sched:sched_waking (0: without), and whose calls are
 * traced: `pid` with threads and children to come, from its next exec on. */
struct call_points { uint64_t enter, leave, wake; int32_t pid; };

struct call_trace;

/* Opens it and starts a thread that reads its rings. The first time it also opens an event of each tracepoint that never
 * counts, for as long as this process lives: closing the last one of a tracepoint takes Linux some 50 ms, and much
 * longer on a busy machine. -errno. */
int call_trace_open(struct call_trace **trace, const struct call_points *points);
/* Closes it and gives its block of `count` u64s (struct pmclua_system_calls). -errno. */
int call_trace_end(struct call_trace *trace, uint64_t **block, uint32_t *count);

enum call_step { CALL_ENTERS, CALL_LEAVES, CALL_STOPS, CALL_YIELDS, CALL_GOES_ON, CALL_WAKES, CALL_STARTS, CALL_ENDS };

/* A step of a thread. YIELDS: it was preempted; STOPS: it waits for something. WAKES: `other` wakes it (0: an
 * interrupt). */
struct call_record {
    uint64_t time_ns;
    int32_t tid, other;
    uint16_t step;                 /* enum call_step */
    uint16_t number;               /* of LEAVES: the system call's; of ENTERS: where, as pmclua_call_site has it; of
                                    * STARTS 1: as one of a new process; of WAKES 1: in a soft interrupt */
};

struct call_times;

/* `first` is the thread whose calls are kept apart. NULL: no memory. */
struct call_times *call_times_new(int32_t first);
/* Takes a record: those of a thread in their order. -ENOMEM. */
int call_times_take(struct call_times *times, const struct call_record *record);
/* All rows, sites and chains: how many; the lists may be NULL. */
uint64_t call_times_rows(struct call_times *times, struct pmclua_system_call *row);
uint64_t call_times_sites(const struct call_times *times, struct pmclua_call_site *site);
uint64_t call_times_chains(const struct call_times *times, struct pmclua_call_chain *chain);
void call_times_free(struct call_times *times);
