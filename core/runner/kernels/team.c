/*
 * team.c: the threads that kernels run on.
 *
 * Invariant: at most one team has counters open, for one event set: two sets open at once would compete
 * for the PMU. Counters are opened by each thread on itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/proc.h"
#include "crash.h"
#include "team.h"

static struct team *counting;              /* the team with counters open, */
static uint32_t counting_options;          /* and how they were asked for */
static int members;                        /* threads of all teams */

struct team *team_of_self(void)
{
    static struct team_thread thread;
    static struct team self = { .count = 1, .thread = &thread };
    thread.team = &self;
    return &self;
}

/* ---- threads ---- */

static void *work(void *argument)
{
    struct team_thread *thread = argument;
    struct team *team = thread->team;
    unsigned seen = 0;
    crash_take_stack();
    pthread_mutex_lock(&team->mutex);
    for (;;) {
        while (team->generation == seen && !team->ending)
            pthread_cond_wait(&team->changed, &team->mutex);
        if (team->ending)
            break;
        seen = team->generation;
        pthread_mutex_unlock(&team->mutex);
        team->step(thread, team->argument);
        pthread_mutex_lock(&team->mutex);
        if (--team->working == 0)
            pthread_cond_broadcast(&team->changed);
    }
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

static int start_thread(struct team_thread *thread, const int16_t *cpu, int cpus)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (cpus > 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu[thread->index % cpus], &one);
        pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
    }
    int errnum = pthread_create(&thread->handle, &attributes, work, thread);
    pthread_attr_destroy(&attributes);
    return errnum;
}

struct team *team_new(int threads, const int16_t *cpu, int cpus)
{
    struct team *team = calloc(1, sizeof *team);
    struct team_thread *list = calloc((size_t)threads, sizeof *list);
    if (!team || !list) {
        free(team);
        free(list);
        errno = ENOMEM;
        return NULL;
    }
    team->own_threads = 1;
    team->spins = threads <= sysconf(_SC_NPROCESSORS_ONLN) ? 10000 : 0;
    team->thread = list;
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->changed, NULL);
    for (; team->count < threads; team->count++) {
        struct team_thread *thread = &list[team->count];
        thread->team = team;
        thread->index = team->count;
        int errnum = start_thread(thread, cpu, cpus);
        if (errnum) {
            team_free(team);
            errno = errnum;
            return NULL;
        }
        members++;
    }
    return team;
}

void team_do(struct team *team, team_step step, void *argument)
{
    __atomic_store_n(&team->arrived, 0, __ATOMIC_RELAXED);
    if (!team->own_threads) {
        step(&team->thread[0], argument);
        return;
    }
    pthread_mutex_lock(&team->mutex);
    team->step = step;
    team->argument = argument;
    team->working = team->count;
    team->generation++;
    pthread_cond_broadcast(&team->changed);
    while (team->working > 0)
        pthread_cond_wait(&team->changed, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}

/* Spinning lets all go within nanoseconds, where each thread has a CPU. Where they have not, they sleep: a
 * thousand that spin in turn take a hundred times as long to meet. */
void team_barrier(struct team_thread *thread)
{
    struct team *team = thread->team;
    int arrived = __atomic_add_fetch(&team->arrived, 1, __ATOMIC_ACQ_REL);
    if (arrived == team->count)
        syscall(SYS_futex, &team->arrived, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    unsigned spins = team->spins;
    while ((arrived = __atomic_load_n(&team->arrived, __ATOMIC_ACQUIRE)) < team->count)
        if (spins > 0)
            spins--;
        else
            syscall(SYS_futex, &team->arrived, FUTEX_WAIT_PRIVATE, arrived, NULL, NULL, 0);
}

/* ---- counters ---- */

static void close_counters(struct team_thread *thread, void *argument)
{
    (void)argument;
    counters_close(&thread->counters);
}

static void open_counters(struct team_thread *thread, void *argument)
{
    thread->errnum = -counters_open(&thread->counters, argument, 0, counting_options, &thread->failure);
    if (thread->errnum)
        return;
    thread->errnum = -counters_start(&thread->counters);
    if (thread->errnum) {
        thread->failure = (struct pmclua_failure){ .errnum = thread->errnum, .index = -1 };
        counters_close(&thread->counters);
    }
}

void team_close_counters(void)
{
    if (counting)
        team_do(counting, close_counters, NULL);
    counting = NULL;
}

int team_is_counting(const struct team *team, const struct event_set *set, uint32_t options)
{
    return counting == team && team->thread[0].counters.set == set && counting_options == options;
}

/* A pinned group that lost its place has to be opened anew. */
static int has_lost(const struct team *team)
{
    int lost = 0;
    for (int i = 0; i < team->count; i++)
        lost |= team->thread[i].counters.has_lost;
    return lost;
}

struct team_thread *team_open_counters(struct team *team, const struct event_set *set, uint32_t options)
{
    if (team_is_counting(team, set, options) && !has_lost(team))
        return NULL;
    team_close_counters();
    counting = team;
    counting_options = options;
    team_do(team, open_counters, (void *)set);
    for (int i = 0; i < team->count; i++)
        if (team->thread[i].errnum) {
            team_close_counters();
            return &team->thread[i];
        }
    return NULL;
}

void team_end_guards(struct team *team)
{
    for (int i = 0; i < team->count; i++)
        team->thread[i].guard.is_on = 0;
}

/* ---- threads that are not ours ---- */

int team_has_started(struct team *team)
{
    int seen = 0;
    for (int i = 0; i < team->count; i++)
        seen |= thread_starts_seen(&team->thread[i].counters.starts);
    return seen;
}

int team_other_threads(void)
{
    return proc_tasks(0, NULL) - 1 - members;      /* our first, and those of teams */
}

void team_free(struct team *team)
{
    if (counting == team)
        team_close_counters();
    pthread_mutex_lock(&team->mutex);
    team->ending = 1;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->mutex);
    for (int i = 0; i < team->count; i++)
        pthread_join(team->thread[i].handle, NULL);
    members -= team->count;
    pthread_mutex_destroy(&team->mutex);
    pthread_cond_destroy(&team->changed);
    free(team->thread);
    free(team);
}
