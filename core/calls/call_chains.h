/*
 * call_chains.h: whom a command's first thread waits for, and what that one does meanwhile. Private to the core.
 */
#pragma once

#include <stdint.h>

#include "pmclua.h"

struct call_chains;

/* `first` is the thread whose waits are followed. NULL: no memory. */
struct call_chains *call_chains_new(int32_t first);
void call_chains_free(struct call_chains *chains);
/* A thread was started, as one of a new process or not; it has ended. */
void call_chains_start(struct call_chains *chains, int32_t tid, int is_process);
void call_chains_end(struct call_chains *chains, int32_t tid);
/* It leaves its CPU, to wait for something where `waits` is set, in a call made at `place`; and goes on. */
void call_chains_stop(struct call_chains *chains, int32_t tid, uint64_t time_ns, int waits, uint64_t place);
void call_chains_go_on(struct call_chains *chains, int32_t tid, uint64_t time_ns);
/* One thread wakes another; `waker` 0: an interrupt does. */
void call_chains_wake(struct call_chains *chains, int32_t waker, int32_t tid, uint64_t time_ns);
/* A thread has entered a call. */
void call_chains_enter(struct call_chains *chains, int32_t tid);
/* A thread has left call `number`; of the first what it waited for there is booked. */
void call_chains_leave(struct call_chains *chains, int32_t tid, uint64_t number);
/* The causes of the first thread's waits: how many rows; `row` may be NULL. */
uint64_t call_chains_rows(const struct call_chains *chains, struct pmclua_call_chain *row);
