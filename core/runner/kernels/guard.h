/*
 * guard.h: whether a kernel has left the counters of a thread alone.
 */
#pragma once

#include <sys/resource.h>

#include "runner/session/set_counters.h"

/* A thread's task-clock (thread_starts.c). */
struct guard {
    int is_on, broken;                 /* broken: -errno when it was switched on */
    uint64_t enabled_ns, cpu_ns;       /* when it was switched on */
    int64_t missing_ns;                /* of guard_look */
    int doubts;                        /* repetitions in a row in which missing_ns is too large for the switches */
};

/* Switches the guard on, unless it is. Two looks surround as many repetitions as there are without a switch of the
 * thread: after one, is_on is set to 0. */
void guard_begin(struct guard *guard, const struct thread_starts *clock);
/* missing_ns: for how long of the thread's CPU time since guard_begin its counters were disabled; -EUCLEAN where
 * they were reset or are gone. The guard's time surrounds the CPU time, so that it is 0 where nobody touched them,
 * but for each switch of the thread: there it may be some microseconds. */
void guard_look(struct guard *guard, const struct thread_starts *clock);
/* How often this process was switched since *last, which becomes what it is now. */
uint64_t guard_switches(uint64_t *last, const struct rusage *now);
/* Whether the kernel has disabled, reset, closed or replaced the thread's counters. `errnum`: of reading them. */
int guard_is_broken(struct guard *guard, const struct counters *counters, int errnum, uint64_t switches);
