/*
 * kernel.h: kernels: functions of a library, called by the runner's own threads.
 */
#pragma once

#include "runner/session/run.h"
#include "pmclua_kernel.h"
#include "team.h"

struct kernel {
    char *library, *symbol;
    char **parameters;                     /* "NAME=VALUE" */
    uint64_t threads, output, errors;
    int pinned;
    int16_t cpu[CPU_SETSIZE];              /* the first `pinned` of it */
    /* from here on: filled when first run */
    void *handle;
    void (*run)(void *state, uint64_t iterations);
    void *(*setup)(const struct pmclua_params *params);
    void (*reset)(void *state, uint64_t iterations);
    void (*teardown)(void *state);
    struct team *team;
    void **state;                          /* one a thread of the team */
    int is_set_up;
    int has_pool;                          /* it started threads that are still there */
    char why[1024];                        /* what went wrong, for people */
};

/* A new kernel from its message; -errno. The message is copied, nothing is loaded yet. */
int  kernel_new(struct kernel **kernel, const struct pmclua_message *message);
/* Loads it and starts its threads, once; -errno, and kernel->why says what went wrong. */
int  kernel_load(struct kernel *kernel);
/* Calls its setup on each thread, once; -errno, and kernel->why. */
int  kernel_set_up(struct kernel *kernel);
/* In a child that a kernel's code has forked: ends it, as it must not go on as a second runner. */
void kernel_end_if_forked(void);
/* Runs run->repetitions times and sends an answer for each. -EPIPE: the client has gone. */
int  kernel_run(struct kernel *kernel, const struct event_set *set, const struct run *run, int fd);
void kernel_free(struct kernel *kernel);
/* Ends the processes that a kernel has forked. */
void kernel_end_descendants(void);
