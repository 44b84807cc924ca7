/*
 * call_trace.h: what call_trace.c (opening, reading the rings) and call_times.c (how long calls took) share. Private to
 * the core.
 */
#pragma once

#include <stddef.h>

#include "pmclua.h"

/* The tracepoints raw_syscalls:sys_enter and sys_exit by their ids, and whose calls: `pid` with threads and children to
 * come (0: this thread), from its next exec on where `on_exec` is set. */
struct call_points { uint64_t enter, leave; int32_t pid, on_exec; };

struct call_trace;

/* Opens it and starts a thread that reads its rings; what is to be executed begins now. The first time it also measures
 * what calls, tracing them and page faults cost here, some 10 ms, and opens an event of each tracepoint that never
 * counts, for as long as this process lives: closing the last one of a tracepoint takes Linux some 50 ms, and much
 * longer on a busy machine. -errno. */
int call_trace_open(struct call_trace **trace, const struct call_points *points);
/* Closes it. What came of it: a block of `count` u64s (struct pmclua_system_calls); or -errno. */
int call_trace_end(struct call_trace *trace, uint64_t **block, uint32_t *count);

enum call_step { CALL_ENTERS, CALL_LEAVES, CALL_STOPS, CALL_YIELDS, CALL_GOES_ON };

/* What a thread did at a time. YIELDS: it lost its CPU though it could have gone on; STOPS: it waits for something. */
struct call_record {
    uint64_t time_ns;
    int32_t tid;
    uint16_t step;                 /* enum call_step */
    uint16_t number;               /* of the system call, of LEAVES */
};

struct call_times;

/* `first` is the thread whose calls are kept apart; it executes at `start_ns`. NULL: no memory. */
struct call_times *call_times_new(int32_t first);
void call_times_start(struct call_times *times, uint64_t start_ns);
/* Takes a record: those of a thread in their order. -ENOMEM. */
int call_times_take(struct call_times *times, const struct call_record *record);
/* Rows for what was seen: those whose count or time is not 0. Returns how many; `row` may be NULL. */
uint64_t call_times_rows(struct call_times *times, struct pmclua_system_call *row);
void call_times_free(struct call_times *times);
