/*
 * sampler.c: an event that is sampled: counted, and the instruction noted each time that `period` more were counted.
 *
 * An event that is inherited can have a ring only on one CPU, so there is one of each on every CPU; and beside it, in
 * a ring of its own that samples cannot crowd out, one that tells what is mapped where. A thread reads the rings
 * whenever one is a quarter full, and keeps counts by instruction, no samples.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "counters/attr.h"
#include "sampler.h"

enum { RINGS_BYTES = 64 << 20, RING_MAX = 8 << 20, RING_USER = 256 * 1024, RING_LEAST = 64 * 1024, NEWS_BYTES = 64 * 1024 };

/* ---- attrs ---- */

static struct perf_event_attr native_of(const struct pmclua_attr *attr)
{
    struct perf_event_attr native;
    memcpy(&native, attr, sizeof native);
    return native;
}

static void set_common(struct perf_event_attr *native, const struct pmclua_sampling *asked)
{
    int of_cpu = asked->pid < 0 || (asked->options & PMCLUA_CGROUP);
    native->inherit = native->inherit_stat = !of_cpu && !(asked->options & PMCLUA_ALONE);
    native->sample_id_all = 1;
    native->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    native->use_clockid = 1;
    native->clockid = CLOCK_MONOTONIC;
    native->watermark = 1;
}

static struct pmclua_attr sampling_attr(const struct pmclua_sampler *sampler, uint64_t ring_bytes)
{
    struct perf_event_attr native = native_of(&sampler->asked.attr);
    set_common(&native, &sampler->asked);
    native.freq = 0;
    native.sample_period = sampler->asked.period;
    native.read_format = sampler->read_format;
    native.disabled = 1;
    native.enable_on_exec = (sampler->asked.options & PMCLUA_ON_EXEC) != 0;
    native.wakeup_watermark = (uint32_t)(ring_bytes / 4);
    return attr_of(&native);
}

static struct pmclua_attr news_attr(const struct pmclua_sampler *sampler)
{
    struct perf_event_attr native = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1, .exclude_hv = 1,
        .task = 1, .comm = 1, .comm_exec = 1, .mmap = 1, .mmap2 = 1, .build_id = 1,
        .wakeup_watermark = NEWS_BYTES / 4, .read_format = sampler->read_format,
    };
    set_common(&native, &sampler->asked);
    return attr_of(&native);
}

/* ---- opening ---- */

static int refused(struct pmclua_failure *failure, int result, int cpu, const struct pmclua_sampler *sampler)
{
    *failure = (struct pmclua_failure){ .errnum = -result, .index = 0, .pid = sampler->asked.pid, .cpu = cpu,
                                        .attr = sampler->asked.attr };
    return result;
}

static int remember(struct pmclua_sampler *sampler, int fd, uint32_t ring, int is_sampling)
{
    if (sampler->events == sampler->event_room) {
        uint32_t room = sampler->event_room ? 2 * sampler->event_room : 8;
        struct event_fd *more = realloc(sampler->event, room * sizeof *more);
        if (!more) {
            pmclua_close(fd);
            return -ENOMEM;
        }
        sampler->event = more;
        sampler->event_room = room;
    }
    sampler->event[sampler->events++] = (struct event_fd){ fd, ring, is_sampling };
    return 0;
}

static int open_event(struct pmclua_sampler *sampler, const struct pmclua_attr *attr, int pid, uint32_t ring,
                      int is_sampling)
{
    uint32_t flags = sampler->asked.options & PMCLUA_CGROUP ? PERF_FLAG_PID_CGROUP : 0;
    int fd = pmclua_open(attr, pid, sampler->ring[ring].cpu, -1, flags);
    return fd < 0 ? fd : remember(sampler, fd, ring, is_sampling) < 0 ? -ENOMEM : fd;
}

/* Others of a CPU write into the ring of the first. */
static int share_ring(struct pmclua_sampler *sampler, int fd, uint32_t ring, int is_sampling)
{
    for (uint32_t i = 0; i < sampler->events; i++) {
        const struct event_fd *first = &sampler->event[i];
        if (first->ring == ring && first->is_sampling == is_sampling)
            return first->fd == fd ? 0 : pmclua_ioctl(fd, "SET_OUTPUT", (uint64_t)first->fd, NULL);
    }
    return 0;
}

static int open_ring(struct pmclua_sampler *sampler, struct ring *ring, const struct pmclua_attr *attr, int pid,
                     uint32_t number, int is_sampling, size_t bytes)
{
    int fd = open_event(sampler, attr, pid, number, is_sampling);
    if (fd < 0)
        return fd;
    return ring->page ? share_ring(sampler, fd, number, is_sampling) : ring_open(ring, fd, bytes);
}

static size_t ring_bytes_of(const struct pmclua_sampler *sampler)
{
    if (sampler->asked.ring_bytes)
        return sampler->asked.ring_bytes;
    size_t bytes = pmclua_uid() == 0 ? RING_MAX : RING_USER;
    while (bytes > RING_LEAST && bytes * sampler->rings > RINGS_BYTES)
        bytes /= 2;
    return bytes;
}

/* What tells of mappings first, on all CPUs: without it samples are worth nothing. */
static int open_task(struct pmclua_sampler *sampler, int pid, struct pmclua_failure *failure)
{
    struct pmclua_attr news = news_attr(sampler);
    size_t bytes = ring_bytes_of(sampler);
    struct pmclua_attr attr = sampling_attr(sampler, bytes);
    for (uint32_t i = 0; i < 2 * sampler->rings; i++) {
        struct cpu_rings *ring = &sampler->ring[i % sampler->rings];
        int is_sampling = i >= sampler->rings;
        int result = open_ring(sampler, is_sampling ? &ring->samples : &ring->news, is_sampling ? &attr : &news, pid,
                               i % sampler->rings, is_sampling, is_sampling ? bytes : NEWS_BYTES);
        if (result < 0)
            return refused(failure, result, ring->cpu, sampler);
    }
    return 0;
}

/* Whether Linux tells how many samples it lost (6.0): -errno where the event cannot be opened at all. */
static int find_format(struct pmclua_sampler *sampler, int pid, struct pmclua_failure *failure)
{
    uint64_t times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    uint32_t flags = sampler->asked.options & PMCLUA_CGROUP ? PERF_FLAG_PID_CGROUP : 0;
    int result = -EINVAL;
    for (int with_lost = 1; with_lost >= 0 && result == -EINVAL; with_lost--) {
        sampler->read_format = times | (with_lost ? (uint64_t)PERF_FORMAT_LOST : 0);
        struct pmclua_attr attr = sampling_attr(sampler, RING_LEAST);
        result = pmclua_open(&attr, pid, sampler->ring[0].cpu, -1, flags);
        if (result >= 0)
            pmclua_close(result);
    }
    return result < 0 ? refused(failure, result, sampler->ring[0].cpu, sampler) : 0;
}

/* One pair of rings for each CPU that is online and asked for. */
static int find_cpus(struct pmclua_sampler *sampler, const int32_t *cpus, int32_t count)
{
    sampler->ring = calloc((size_t)count, sizeof *sampler->ring);
    if (!sampler->ring)
        return -ENOMEM;
    sampler->rings = (uint32_t)count;
    for (int32_t i = 0; i < count; i++)
        sampler->ring[i].cpu = cpus[i];
    return 0;
}

/* ---- the thread ---- */

static void drop_ended(struct pollfd *ready, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (ready[i].revents & (POLLHUP | POLLERR))   /* it would be ready all the time */
            ready[i].fd = -1;
}

/* 1 when the owner has something to say: at first that it may begin, then that it is over. */
static int hears(const struct pmclua_sampler *sampler)
{
    uint64_t word;
    return read(sampler->word, &word, sizeof word) == (ssize_t)sizeof word;
}

static void *read_rings(void *argument)
{
    struct pmclua_sampler *sampler = argument;
    uint32_t count = 2 * sampler->rings;
    while (!hears(sampler))
        ;
    while (sampler->errnum == 0 && !sampler->is_over) {
        poll(sampler->ready, (nfds_t)count + 1, -1);
        if (sampler->ready[count].revents)
            return NULL;
        int result = sampler_take(sampler, 0);
        sampler->errnum = -result;
        drop_ended(sampler->ready, count);
    }
    return NULL;
}

/* Before the events are opened: one that is started by a thread that is sampled would be sampled itself. */
static int start_thread(struct pmclua_sampler *sampler)
{
    sigset_t all, before;
    sampler->ready = calloc(2 * (size_t)sampler->rings + 1, sizeof *sampler->ready);
    if (!sampler->ready)
        return -ENOMEM;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = -pthread_create(&sampler->thread, NULL, read_rings, sampler);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sampler->has_thread = result == 0;
    return result;
}

static void tell_thread(const struct pmclua_sampler *sampler)
{
    uint64_t one = 1;
    while (write(sampler->word, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* The first events are those that own rings. */
static void begin_reading(struct pmclua_sampler *sampler)
{
    uint32_t count = 2 * sampler->rings;
    for (uint32_t i = 0; i < count; i++)
        sampler->ready[i] = (struct pollfd){ sampler->event[i].fd, POLLIN, 0 };
    sampler->ready[count] = (struct pollfd){ sampler->word, POLLIN, 0 };
    sampler->is_reading = 1;
    tell_thread(sampler);
}

static void end_thread(struct pmclua_sampler *sampler)
{
    if (!sampler->has_thread)
        return;
    if (!sampler->is_reading)
        sampler->is_over = 1;          /* the word that it waits for is then the last */
    tell_thread(sampler);
    pthread_join(sampler->thread, NULL);
    sampler->has_thread = 0;
}

/* ---- the whole ---- */

static int open_all(struct pmclua_sampler *sampler, const int32_t *pids, int32_t count, struct pmclua_failure *failure)
{
    int result = find_format(sampler, count > 0 ? pids[0] : sampler->asked.pid, failure);
    for (int32_t i = 0; result == 0 && i < count; i++) {
        result = open_task(sampler, pids[i], failure);
        if (result == -ESRCH && i > 0)
            result = 0;            /* a thread has ended meanwhile */
    }
    return result == 0 && count == 0 ? open_task(sampler, sampler->asked.pid, failure) : result;
}

int pmclua_sampler_open(struct pmclua_sampler **out, const struct pmclua_sampling *asked, struct pmclua_failure *failure)
{
    struct pmclua_sampler *sampler = calloc(1, sizeof *sampler);
    *failure = (struct pmclua_failure){ .errnum = ENOMEM, .index = -1 };
    if (!sampler)
        return -ENOMEM;
    sampler->asked = *asked;
    sampler->word = eventfd(0, EFD_CLOEXEC);
    int result = sampler->word < 0 ? -errno : maps_new(&sampler->maps);
    if (result == 0)
        result = hits_new(&sampler->hits);
    if (result == 0)
        result = find_cpus(sampler, asked->cpus, asked->cpu_count);
    if (result == 0)
        result = start_thread(sampler);
    if (result == 0)
        result = open_all(sampler, asked->tasks, asked->task_count, failure);
    if (result == 0 && (asked->options & PMCLUA_RUNNING))
        result = sampler_take_running(sampler);
    if (result == 0)
        begin_reading(sampler);
    if (result < 0) {
        failure->errnum = -result;
        pmclua_sampler_close(sampler);
        return result;
    }
    *out = sampler;
    return 0;
}

static int switch_all(const struct pmclua_sampler *sampler, const char *name)
{
    int result = 0;
    for (uint32_t i = 0; i < sampler->events; i++)
        if (sampler->event[i].is_sampling) {
            int one = pmclua_ioctl(sampler->event[i].fd, name, 0, NULL);
            result = one < 0 ? one : result;
        }
    return result;
}

int pmclua_sampler_start(struct pmclua_sampler *sampler) { return switch_all(sampler, "ENABLE"); }

int pmclua_sampler_stop(struct pmclua_sampler *sampler) { return switch_all(sampler, "DISABLE"); }

/* Value, enabled, running and lost of one event. Its children's are in it. When Linux switches from a process to its
 * child it exchanges the counts of their events (inherit_stat), in the order of two lists that are not in the same
 * order: those of one CPU and another, and of a sampled event and one that tells of mappings and itself counts nothing.
 * Of all together nothing is lost: so all are read. */
static int read_event(struct pmclua_sampler *sampler, const struct event_fd *event, uint64_t *own)
{
    uint64_t words[4] = { 0 };
    long got = pmclua_read(event->fd, words, sizeof words);
    if (got < 0)
        return (int)got;
    *own += words[0];
    sampler->facts.total += words[0];
    if (!event->is_sampling)
        return 0;
    sampler->facts.enabled_ns += words[1];
    sampler->facts.running_ns += words[2];
    sampler->facts.lost += words[3];
    return 0;
}

static int read_all(struct pmclua_sampler *sampler)
{
    uint64_t *own = calloc(sampler->rings, sizeof *own);
    int result = own ? 0 : -ENOMEM;
    for (uint32_t i = 0; result == 0 && i < sampler->events; i++)
        result = read_event(sampler, &sampler->event[i], &own[sampler->event[i].ring]);
    for (uint32_t i = 0; result == 0 && i < sampler->rings; i++)
        if (own[i] > sampler->ring[i].ended)
            sampler->facts.begun += (own[i] - sampler->ring[i].ended) % sampler->asked.period;
    free(own);
    return result;
}

/* Of samples lost that only records tell of, where Linux does not count them. */
int pmclua_sampler_end(struct pmclua_sampler *sampler)
{
    end_thread(sampler);
    int result = sampler->errnum ? -sampler->errnum : sampler_take(sampler, 1);
    uint64_t told = sampler->facts.lost;
    sampler->facts.lost = 0;
    if (result == 0)
        result = read_all(sampler);
    if (!(sampler->read_format & PERF_FORMAT_LOST))
        sampler->facts.lost = told;
    return result;
}

void pmclua_sampler_close(struct pmclua_sampler *sampler)
{
    if (!sampler)
        return;
    end_thread(sampler);
    for (uint32_t i = 0; i < sampler->rings; i++) {
        ring_close(&sampler->ring[i].samples);
        ring_close(&sampler->ring[i].news);
    }
    for (uint32_t i = 0; i < sampler->events; i++)
        pmclua_close(sampler->event[i].fd);
    if (sampler->word >= 0)
        close(sampler->word);
    for (size_t i = 0; i < sampler->news_count; i++)
        free((void *)sampler->news[i].record);
    maps_free(&sampler->maps);
    hits_free(&sampler->hits);
    free(sampler->news);
    free(sampler->ready);
    free(sampler->event);
    free(sampler->ring);
    free(sampler);
}
