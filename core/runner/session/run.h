/*
 * run.h: what a RUN message asks.
 */
#pragma once

#include <sched.h>

#include "message/message.h"

/* pmclua.h explains the fields. */
struct run {
    uint64_t id, workload, events, iterations, repetitions, timeout_ns, capture_limit;
    uint64_t padding, fixed_addresses, stack_offset, cold_bytes, no_huge_pages, scatter_bytes, inherit;
    uint64_t stop_at_failure, take, simulated, enter_point, leave_point, wake_point;
    uint64_t node, start_cpu;          /* + 1; 0: any */
    int pinned;
    cpu_set_t cpus;
};

/* 0; -EPROTO. */
int run_take(struct run *run, const struct pmclua_message *message);
