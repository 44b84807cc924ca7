/*
 * crew.c: the threads that kernels run on.
 *
 * Invariant: at most one crew has counters open, for one event set: two sets open at once would compete
 * for the PMU. Counters are opened by each thread on itself.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/cpulist.h"
#include "crew.h"

static struct crew *counting;              /* the crew with counters open, */
static uint32_t counting_options;          /* and how they were asked for */
static int members;                        /* threads of all crews */

struct crew *crew_of_self(void)
{
    static struct seat seat;
    static struct crew self = { .count = 1, .seat = &seat };
    seat.crew = &self;
    return &self;
}

/* ---- threads ---- */

static void *work(void *argument)
{
    struct seat *seat = argument;
    struct crew *crew = seat->crew;
    unsigned seen = 0;
    pthread_mutex_lock(&crew->mutex);
    for (;;) {
        while (crew->generation == seen && !crew->ending)
            pthread_cond_wait(&crew->changed, &crew->mutex);
        if (crew->ending)
            break;
        seen = crew->generation;
        pthread_mutex_unlock(&crew->mutex);
        crew->step(seat, crew->argument);
        pthread_mutex_lock(&crew->mutex);
        if (--crew->working == 0)
            pthread_cond_broadcast(&crew->changed);
    }
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

static int start_thread(struct seat *seat, const cpu_set_t *cpus)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (cpus) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpulist_nth(cpus, seat->index), &one);
        pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
    }
    int errnum = pthread_create(&seat->thread, &attributes, work, seat);
    pthread_attr_destroy(&attributes);
    return errnum;
}

struct crew *crew_new(int threads, const cpu_set_t *cpus)
{
    struct crew *crew = calloc(1, sizeof *crew);
    struct seat *seats = calloc((size_t)threads, sizeof *seats);
    if (!crew || !seats) {
        free(crew);
        free(seats);
        errno = ENOMEM;
        return NULL;
    }
    crew->own_threads = 1;
    crew->spins = threads <= sysconf(_SC_NPROCESSORS_ONLN) ? 10000 : 0;
    crew->seat = seats;
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->changed, NULL);
    for (; crew->count < threads; crew->count++) {
        struct seat *seat = &seats[crew->count];
        seat->crew = crew;
        seat->index = crew->count;
        int errnum = start_thread(seat, cpus);
        if (errnum) {
            crew_free(crew);
            errno = errnum;
            return NULL;
        }
        members++;
    }
    return crew;
}

void crew_do(struct crew *crew, crew_step step, void *argument)
{
    __atomic_store_n(&crew->arrived, 0, __ATOMIC_RELAXED);
    if (!crew->own_threads) {
        step(&crew->seat[0], argument);
        return;
    }
    pthread_mutex_lock(&crew->mutex);
    crew->step = step;
    crew->argument = argument;
    crew->working = crew->count;
    crew->generation++;
    pthread_cond_broadcast(&crew->changed);
    while (crew->working > 0)
        pthread_cond_wait(&crew->changed, &crew->mutex);
    pthread_mutex_unlock(&crew->mutex);
}

/* Spinning lets all go within nanoseconds, where each thread has a CPU. Where they have not, they sleep: a
 * thousand that spin in turn take a hundred times as long to meet. */
void crew_meet(struct seat *seat)
{
    struct crew *crew = seat->crew;
    int arrived = __atomic_add_fetch(&crew->arrived, 1, __ATOMIC_ACQ_REL);
    if (arrived == crew->count)
        syscall(SYS_futex, &crew->arrived, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    unsigned spins = crew->spins;
    while ((arrived = __atomic_load_n(&crew->arrived, __ATOMIC_ACQUIRE)) < crew->count)
        if (spins > 0)
            spins--;
        else
            syscall(SYS_futex, &crew->arrived, FUTEX_WAIT_PRIVATE, arrived, NULL, NULL, 0);
}

/* ---- counters ---- */

static void close_counters(struct seat *seat, void *argument)
{
    (void)argument;
    counters_close(&seat->counters);
}

static void open_counters(struct seat *seat, void *argument)
{
    seat->errnum = -counters_open(&seat->counters, argument, 0, counting_options, &seat->failure);
    if (seat->errnum)
        return;
    seat->errnum = -counters_start(&seat->counters);
    if (seat->errnum) {
        seat->failure = (struct pmclua_failure){ .errnum = seat->errnum, .index = -1 };
        counters_close(&seat->counters);
    }
}

void crew_close_counters(void)
{
    if (counting)
        crew_do(counting, close_counters, NULL);
    counting = NULL;
}

int crew_is_counting(const struct crew *crew, const struct event_set *set, uint32_t options)
{
    return counting == crew && crew->seat[0].counters.set == set && counting_options == options;
}

/* A pinned group that lost its place has to be opened anew. */
static int has_lost(const struct crew *crew)
{
    int lost = 0;
    for (int i = 0; i < crew->count; i++)
        lost |= crew->seat[i].counters.has_lost;
    return lost;
}

struct seat *crew_count(struct crew *crew, const struct event_set *set, uint32_t options)
{
    if (crew_is_counting(crew, set, options) && !has_lost(crew))
        return NULL;
    crew_close_counters();
    counting = crew;
    counting_options = options;
    crew_do(crew, open_counters, (void *)set);
    for (int i = 0; i < crew->count; i++)
        if (crew->seat[i].errnum) {
            crew_close_counters();
            return &crew->seat[i];
        }
    return NULL;
}

/* ---- threads that are not ours ---- */

int crew_births(struct crew *crew)
{
    int seen = 0;
    for (int i = 0; i < crew->count; i++)
        seen |= births_seen(&crew->seat[i].counters.births);
    return seen;
}

int crew_strangers(void)
{
    int threads = 0;
    DIR *folder = opendir("/proc/self/task");
    while (folder && readdir(folder))
        threads++;
    if (folder)
        closedir(folder);
    return threads - 2 - 1 - members;      /* "." and "..", and our first */
}

void crew_free(struct crew *crew)
{
    if (counting == crew)
        crew_close_counters();
    pthread_mutex_lock(&crew->mutex);
    crew->ending = 1;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->mutex);
    for (int i = 0; i < crew->count; i++)
        pthread_join(crew->seat[i].thread, NULL);
    members -= crew->count;
    pthread_mutex_destroy(&crew->mutex);
    pthread_cond_destroy(&crew->changed);
    free(crew->seat);
    free(crew);
}
