/*
 * team.h: the threads that kernels run on.
 */
#pragma once

#include <pthread.h>
#include <sched.h>

#include "runner/session/accounts.h"
#include "guard.h"

/* One thread of a team, its open counters and what its last step measured. */
struct team_thread {
    struct team *team;
    int index;
    pthread_t handle;
    struct counters counters;
    int errnum;                            /* of its last step; 0: fine */
    struct pmclua_failure failure;         /* when counters could not be opened */
    uint64_t start_ns, end_ns;
    struct account account_before, account_after;
    struct guard guard;                    /* of its counters */
};

/* Runs step(thread, argument) on each thread of a team. */
typedef void (*team_step)(struct team_thread *thread, void *argument);

struct team {
    int count;
    int own_threads;                       /* 0: the single thread is the runner's own thread */
    struct team_thread *thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned generation;
    int working, ending;
    team_step step;
    void *argument;
    unsigned spins;                        /* at the barrier, before a thread sleeps */
    int arrived;                           /* at the barrier of the running step */
};

/* The runner's own thread as a team of one; never freed. */
struct team *team_of_self(void);
/* `threads` threads, the i-th pinned to the i-th of `cpus` CPUs (0: not pinned) in turn. NULL and
 * errno on failure. */
struct team *team_new(int threads, const int16_t *cpu, int cpus);
/* Runs a step on every thread and waits for all. */
void team_do(struct team *team, team_step step, void *argument);
/* In a step: waits until every thread of the team has come here. Once a step. */
void team_barrier(struct team_thread *thread);
/* Makes every thread count `set` (NULL: nothing), kept open until another set, team or `options` (as for
 * counters_open) are asked for. The first thread that failed, or NULL. */
struct team_thread *team_open_counters(struct team *team, const struct event_set *set, uint32_t options);
/* Whether team_open_counters would leave the counters as they are. */
int team_is_counting(const struct team *team, const struct event_set *set, uint32_t options);
/* Whether a thread has started threads or processes since this was last asked. */
int team_has_started(struct team *team);
/* How many threads of this process belong to no team and are not its first. */
int team_other_threads(void);
void team_close_counters(void);
void team_free(struct team *team);

/* Restarts its threads' guards, after a context switch. */
void team_end_guards(struct team *team);
