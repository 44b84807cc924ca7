/*
 * crew.h: the threads that kernels run on.
 */
#ifndef PMCLUA_RUNNER_CREW_H
#define PMCLUA_RUNNER_CREW_H

#include <pthread.h>
#include <sched.h>

#include "runner.h"

/* One thread of a crew, its open counters and what its last step measured. */
struct seat {
    struct crew *crew;
    int index;
    pthread_t thread;
    struct counters counters;
    int errnum;                            /* of its last step; 0: fine */
    struct pmclua_failure failure;         /* when counters could not be opened */
    uint64_t start_ns, end_ns;
    int64_t missing_ns;                    /* of guard_look */
    int doubts;                            /* repetitions in a row in which it cannot be right */
};

/* What a crew does together, one step at a time: step(seat, argument) on each thread. */
typedef void (*crew_step)(struct seat *seat, void *argument);

struct crew {
    int count;
    int own_threads;                       /* 0: the single seat is the runner's own thread */
    struct seat *seat;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned generation;
    int working, ending;
    crew_step step;
    void *argument;
    unsigned spins;                        /* at the barrier, before a seat sleeps */
    int arrived;                           /* at the barrier of the running step */
};

/* The runner's own thread as a crew of one; never freed. */
struct crew *crew_of_self(void);
/* `threads` threads, the i-th pinned to the i-th CPU of `cpus` (NULL: not pinned) in turn. NULL and
 * errno on failure. */
struct crew *crew_new(int threads, const cpu_set_t *cpus);
/* Runs a step on every seat and waits for all. */
void crew_do(struct crew *crew, crew_step step, void *argument);
/* In a step: waits until every seat of the crew has come here. Once a step. */
void crew_meet(struct seat *seat);
/* Makes every seat count `set` (NULL: nothing), kept open until another set, crew or `options` (as for
 * counters_open) are asked for. The first seat that failed, or NULL. */
struct seat *crew_count(struct crew *crew, const struct event_set *set, uint32_t options);
/* Whether crew_count would leave the counters as they are. */
int crew_is_counting(const struct crew *crew, const struct event_set *set, uint32_t options);
/* Whether a seat has started threads or processes since this was last asked. */
int crew_births(struct crew *crew);
/* How many threads of this process belong to no crew and are not its first. */
int crew_strangers(void);
void crew_close_counters(void);
void crew_free(struct crew *crew);

/* Two looks surround as many repetitions as there are without a switch: the next one begins anew. */
void crew_end_guard(struct crew *crew);
/* How often this process was switched since *last, which becomes what it is now. */
uint64_t guard_switches(uint64_t *last, const struct rusage *now);
/* Whether the kernel has disabled, reset, closed or replaced the counters of a thread. */
int guard_is_broken(struct seat *seat, uint64_t switches);

#endif
