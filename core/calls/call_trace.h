/*
 * call_trace.h: what call_trace.c (opening, reading the rings) and call_times.c (how long calls took) share. Private to
 * the core.
 */
#pragma once

#include <stddef.h>

#include "pmclua.h"

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
/* Takes records in the order of time. -ENOMEM. */
int call_times_take(struct call_times *times, const struct call_record *record, size_t count);
/* Rows for what was seen: those whose count or time is not 0. Returns how many; `row` may be NULL. */
uint64_t call_times_rows(struct call_times *times, struct pmclua_system_call *row);
void call_times_free(struct call_times *times);
