/*
 * launch.h: a child that is held before it executes, so that counters can be attached to it.
 */
#pragma once

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>

#include "pmclua.h"

/* How the child is to be executed. The caller owns everything and keeps it until the child is reaped. */
struct launch {
    const char *path;                /* file to execute */
    char *const *argv, *const *envp;
    const char *directory;           /* NULL: stay */
    int standard[3];                 /* descriptors for 0, 1, 2 */
    int own_group;                   /* a process group of its own */
    int standard_signals;            /* every signal as it is by default, and no core file */
    int fixed_addresses;             /* without address space randomisation */
    const int *keep;                 /* close-on-exec descriptors that it gets all the same */
    int keep_count;
    const cpu_set_t *cpus;           /* NULL: any */
};

/* The child and what holds it. */
struct held {
    int pid, gate[2];                /* the pipe whose byte releases it; we hold both ends */
    struct launch_shared *shared;
};

/* Raises this process's soft limit of descriptors to the hard one, for many counters. Children get the
 * soft limit `theirs`; 0: the one that was found. */
void launch_raise_descriptor_limit(uint64_t theirs);
/* Makes the held child; -errno. Signals stay blocked in it until it executes. */
int launch_hold(struct held *held, const struct launch *launch);
/* Lets it execute. Where that fails it is killed, and launch_end says why. */
void launch_release(struct held *held);
/* The CPU time that a child had used before it executed: none of its program's. Known until launch_end. */
uint64_t launch_used_ns(const struct held *held);
/* Its faults and switches before it executed, those of waiting for its release included; times are 0. */
struct rusage launch_counts_before(const struct held *held);
/* Kills a child that was not released and reaps it: as launch_end, for one that had failed by itself. */
int launch_abandon(struct held *held, enum pmclua_stage *stage);
/* After the child was reaped: 0, or the errno with which it could not execute, and *stage what it was
 * about: to start, pin, enter its folder or execute. Frees what held it. */
int launch_end(struct held *held, enum pmclua_stage *stage);
