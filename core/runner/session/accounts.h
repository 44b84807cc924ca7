/*
 * accounts.h: what Linux has on account of a thread: its time on and off CPUs, and its reading and writing.
 */
#pragma once

#include "pmclua.h"

/* A reading of a thread's accounts; `taken` says which of PMCLUA_TAKE_* it has. Zeroed is empty. */
struct account {
    uint64_t taken;
    uint64_t on_cpu_ns, wait_ns;
    struct pmclua_io io;
};

/* Times of a process's first thread (PMCLUA_TAKE_TIMES) and I/O of the whole process (PMCLUA_TAKE_IO), also when it has
 * ended and is not yet reaped. The time on CPUs of a running thread is that at its last tick. */
void account_read(int pid, uint64_t what, struct account *account);
/* The same of the calling thread, without its time on CPUs and without I/O: reading its counters is reading, too. */
void account_of_self(uint64_t what, struct account *account);
/* The calling thread's time on CPUs, to the instant. */
void account_stamp(uint64_t what, struct account *account);
/* Adds the difference of two readings, `wall_ns` apart, to the result: the accounts that both have. */
void account_add(struct pmclua_result *result, const struct account *before, const struct account *after,
                 uint64_t wall_ns);
