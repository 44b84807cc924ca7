/*
 * sampler.c: an event that is sampled: counted, and the instruction noted each time that `period` more were counted.
 *
 * An event that is inherited can have a ring only on one CPU, so there is one of each on every CPU; and beside it, in
 * a ring of its own that samples cannot crowd out, one that tells what is mapped where. A thread reads the rings
 * whenever one is half full, and keeps counts by instruction, no samples.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/clocks.h"
#include "sampler.h"

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
    sampler->thread_return = (uint64_t)(uintptr_t)__builtin_return_address(0);
    while (!hears(sampler))
        ;
    /* The word that it is over may have come together with the first. */
    while (sampler->errnum == 0 && !__atomic_load_n(&sampler->is_over, __ATOMIC_ACQUIRE)) {
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
    sampler->ready = calloc(2 * (size_t)sampler->rings + 1, sizeof *sampler->ready);
    if (!sampler->ready)
        return -ENOMEM;
    int result = ring_reader_start(&sampler->thread, read_rings, sampler);
    sampler->has_thread = result == 0;
    return result;
}

static void begin_reading(struct pmclua_sampler *sampler)
{
    struct pollfd *ready = sampler->ready;
    for (uint32_t i = 0; i < sampler->rings; i++) {
        *ready++ = (struct pollfd){ sampler->ring[i].samples_fd, POLLIN, 0 };
        *ready++ = (struct pollfd){ sampler->ring[i].news_fd, POLLIN, 0 };
    }
    *ready = (struct pollfd){ sampler->word, POLLIN, 0 };
    eventfd_write(sampler->word, 1);
}

static void end_thread(struct pmclua_sampler *sampler)
{
    if (!sampler->has_thread)
        return;
    __atomic_store_n(&sampler->is_over, 1, __ATOMIC_RELEASE);
    eventfd_write(sampler->word, 1);
    pthread_join(sampler->thread, NULL);
    sampler->has_thread = 0;
}

/* ---- the whole ---- */

int pmclua_sampler_open(struct pmclua_sampler **out, const struct pmclua_sampling *asked,
                        struct pmclua_failure *failure)
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
        result = sampler_find_cpus(sampler);
    if (result == 0)
        result = start_thread(sampler);
    if (result == 0)
        result = sampler_open_all(sampler, failure);
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

static int switch_all(const struct pmclua_sampler *sampler, enum pmclua_ioc request)
{
    int result = 0;
    for (uint32_t i = 0; i < sampler->events; i++)
        if (sampler->event[i].is_sampling) {
            int one = pmclua_ioctl(sampler->event[i].fd, request, 0, NULL);
            result = one < 0 ? one : result;
        }
    return result;
}

int pmclua_sampler_start(struct pmclua_sampler *sampler) { return switch_all(sampler, PMCLUA_IOC_ENABLE); }

int pmclua_sampler_stop(struct pmclua_sampler *sampler) { return switch_all(sampler, PMCLUA_IOC_DISABLE); }

/* Value, enabled, running and lost of one event. Its children's are in it. What it counted since its last sample is
 * known where it has no children; else it is a period at most, as that of each task that was started. */
static int read_event(struct pmclua_sampler *sampler, const struct event_fd *event, int has_children)
{
    uint64_t words[4] = { 0 }, period = sampler->asked.period;
    long got = pmclua_read(event->fd, words, sizeof words);
    if (got < 0)
        return (int)got;
    sampler->facts.total += words[0];
    sampler->facts.enabled_ns += words[1];
    sampler->facts.running_ns += words[2];
    sampler->facts.lost += words[3];
    sampler->facts.begun += has_children ? period - 1 : words[0] % period;
    return 0;
}

static int read_all(struct pmclua_sampler *sampler)
{
    int result = 0, has_children = sampler_inherits(&sampler->asked) && sampler->facts.tasks > 0;
    uint64_t now_ns = pmclua_now_ns();
    for (uint32_t i = 0; i < sampler->living_count; i++)
        sampler->facts.begun += sampler_begun_most(sampler, now_ns - sampler->living[i].since_ns);
    for (uint32_t i = 0; result == 0 && i < sampler->events; i++)
        if (sampler->event[i].is_sampling)
            result = read_event(sampler, &sampler->event[i], has_children);
    return result;
}

/* Where Linux does not count lost samples, only records tell of them. */
int pmclua_sampler_end(struct pmclua_sampler *sampler)
{
    end_thread(sampler);
    int result = sampler->errnum ? -sampler->errnum : sampler_take(sampler, 1);
    if (result == 0 && (sampler->asked.options & PMCLUA_CHAINS))
        result = sampler_find_thread_start(sampler);
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
    maps_free(&sampler->maps);
    hits_free(&sampler->hits);
    chains_free(&sampler->chains);
    free(sampler->records.map);
    free(sampler->records.word);
    free(sampler->living);
    free(sampler->ready);
    free(sampler->event);
    free(sampler->ring);
    free(sampler);
}
