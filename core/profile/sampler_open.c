/*
 * sampler_open.c: opens a sampled event and one that records mappings, on every CPU, with a ring each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counters/attr.h"
#include "counters/registers.h"
#include "host/lists.h"
#include "sampler.h"

/* All rings of samples together; each at most, of root and of other users, who may lock 516 KB for each CPU in all that
 * they run; and at least. */
enum { RINGS_BYTES = 64 << 20, RING_MAX = 8 << 20, RING_USER = 256 * 1024, RING_LEAST = 64 * 1024 };
enum { NEWS_BYTES = 64 * 1024 };

int sampler_inherits(const struct pmclua_sampling *asked)
{
    return asked->task_count > 0 && !(asked->options & PMCLUA_ALONE);
}

/* ---- attrs ---- */

/* Without inherit_stat: it has Linux write what a task counted, when it ends, into the rings of all CPUs from the one
 * that it ends on. A ring that two CPUs write at once may publish nothing any more. */
static void set_common(struct perf_event_attr *native, const struct pmclua_sampling *asked)
{
    native->inherit = sampler_inherits(asked);
    native->sample_id_all = 1;
    native->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    native->use_clockid = 1;
    native->clockid = CLOCK_MONOTONIC;
    native->watermark = 1;         /* of 0 bytes: half of the ring, however large it is */
}

/* The word on top of the user's stack: what a function without a frame of its own returns to. Arm's is in a register,
 * which calls write over. */
static void ask_for_return(struct perf_event_attr *native)
{
#if defined(__x86_64__)
    native->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    native->sample_regs_user = 1ull << STACK_POINTER;
    native->sample_stack_user = sizeof(uint64_t);
#else
    (void)native;
#endif
}

static struct pmclua_attr sampling_attr(const struct pmclua_sampler *sampler)
{
    struct perf_event_attr native = native_of(&sampler->asked.attr);
    set_common(&native, &sampler->asked);
    native.freq = 0;
    native.sample_period = sampler->asked.period;
    native.read_format = sampler->read_format;
    native.disabled = 1;
    native.enable_on_exec = (sampler->asked.options & PMCLUA_ON_EXEC) != 0;
    native.wakeup_watermark = 0;
    if (sampler->asked.options & PMCLUA_CHAINS) {
        native.sample_type |= PERF_SAMPLE_CALLCHAIN;
        native.exclude_callchain_kernel = 1;       /* else an ordinary user may not */
        ask_for_return(&native);
    }
    if (sampler->asked.options & PMCLUA_ENTRIES) {
        native.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
        native.exclude_callchain_user = 1;
        native.sample_regs_user = 1ull << INSTRUCTION_POINTER;
    }
    if (sampler_keeps_records(sampler))
        sampler_ask_for_records(&native, sampler);
    struct pmclua_attr attr = sampler->asked.attr; /* with fields that the header does not know */
    memcpy(&attr, &native, sizeof native);
    return attr;
}

static struct pmclua_attr news_attr(const struct pmclua_sampler *sampler)
{
    struct perf_event_attr native = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1, .exclude_hv = 1,
        .task = 1, .comm = 1, .comm_exec = 1, .mmap = 1, .mmap2 = 1, .build_id = 1,
        .mmap_data = (unsigned)sampler_keeps_records(sampler),
        .read_format = sampler->read_format,
    };
    set_common(&native, &sampler->asked);
    return attr_of(&native);
}

/* ---- opening ---- */

/* Reports a task's events of all CPUs as one. */
static int refused(struct pmclua_failure *failure, int result, int pid, int cpu, const struct pmclua_sampler *sampler)
{
    *failure = (struct pmclua_failure){ .errnum = -result, .index = 0, .pid = pid,
                                        .cpu = sampler->asked.task_count > 0 ? -1 : cpu, .attr = sampler->asked.attr,
                                        .filter = sampler->has_no_ring ? 2 : 0 };
    return result;
}

static int open_event(struct pmclua_sampler *sampler, const struct pmclua_attr *attr, int pid, uint32_t ring,
                      int is_sampling)
{
    uint32_t flags = sampler->asked.options & PMCLUA_CGROUP ? PERF_FLAG_PID_CGROUP : 0;
    int fd = pmclua_open(attr, pid, sampler->ring[ring].cpu, -1, flags);
    if (fd < 0)
        return fd;
    int result = LIST_ADD(sampler->event, sampler->events, (struct event_fd){ fd, ring, is_sampling });
    if (result < 0)
        pmclua_close(fd);
    return result < 0 ? result : fd;
}

/* Others of a CPU write into the ring of the first. */
static int share_ring(struct pmclua_sampler *sampler, int fd, uint32_t ring, int is_sampling)
{
    for (uint32_t i = 0; i < sampler->events; i++) {
        const struct event_fd *first = &sampler->event[i];
        if (first->ring == ring && first->is_sampling == is_sampling)
            return first->fd == fd ? 0 : pmclua_ioctl(fd, PMCLUA_IOC_SET_OUTPUT, (uint64_t)first->fd, NULL);
    }
    return 0;
}

/* Sets the filter of a tracepoint's event. */
static int set_filter(const struct pmclua_sampler *sampler, int fd)
{
    const char *filter = sampler->asked.filter;
    return filter ? pmclua_ioctl(fd, PMCLUA_IOC_SET_FILTER, 0, (void *)filter) : 0;
}

static int open_ring(struct pmclua_sampler *sampler, const struct pmclua_attr *attr, int pid, uint32_t number,
                     int is_sampling, size_t bytes)
{
    struct cpu_rings *rings = &sampler->ring[number];
    struct ring *ring = is_sampling ? &rings->samples : &rings->news;
    int fd = open_event(sampler, attr, pid, number, is_sampling);
    int result = fd < 0 ? fd : is_sampling ? set_filter(sampler, fd) : 0;
    if (result < 0)
        return result;
    if (ring->page)
        return share_ring(sampler, fd, number, is_sampling);
    *(is_sampling ? &rings->samples_fd : &rings->news_fd) = fd;
    result = ring_open(ring, fd, bytes);
    sampler->has_no_ring = result < 0;
    return result;
}

/* Its PMU belongs to other CPUs (one kind of core), or the CPU went offline meanwhile. */
static int is_elsewhere(int result) { return result == -ENOENT || result == -ENODEV; }

static size_t ring_bytes_of(const struct pmclua_sampler *sampler)
{
    if (sampler->asked.ring_bytes)
        return sampler->asked.ring_bytes;
    return ring_bytes_each(pmclua_uid() == 0 ? RING_MAX : RING_USER, RING_LEAST, RINGS_BYTES, sampler->rings);
}

/* The events that record mappings come first, on all CPUs: without them samples cannot be attributed. */
static int open_task(struct pmclua_sampler *sampler, int pid, struct pmclua_failure *failure)
{
    for (int is_sampling = 0; is_sampling < 2; is_sampling++) {
        struct pmclua_attr attr = is_sampling ? sampling_attr(sampler) : news_attr(sampler);
        size_t bytes = is_sampling ? ring_bytes_of(sampler) : NEWS_BYTES;
        for (uint32_t i = 0; i < sampler->rings; i++) {
            int result = open_ring(sampler, &attr, pid, i, is_sampling, bytes);
            if (result < 0 && !is_elsewhere(result))
                return refused(failure, result, pid, sampler->ring[i].cpu, sampler);
        }
    }
    return 0;
}

static int can_open(const struct pmclua_sampler *sampler, int pid, int cpu)
{
    struct pmclua_attr attr = sampling_attr(sampler);
    uint32_t flags = sampler->asked.options & PMCLUA_CGROUP ? PERF_FLAG_PID_CGROUP : 0;
    int result = pmclua_open(&attr, pid, cpu, -1, flags);
    if (result >= 0)
        pmclua_close(result);
    return result < 0 ? result : 0;
}

/* Whether Linux tells how many samples it lost (6.0): -errno where the event can be opened on no CPU at all. */
static int find_format(struct pmclua_sampler *sampler, int pid, struct pmclua_failure *failure)
{
    uint64_t times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    int result = -EINVAL;
    uint32_t at = 0;
    for (int with_lost = 1; with_lost >= 0 && result == -EINVAL; with_lost--) {
        sampler->read_format = times | (with_lost ? (uint64_t)PERF_FORMAT_LOST : 0);
        result = -ENOENT;
        for (at = 0; at < sampler->rings && is_elsewhere(result); at++)
            result = can_open(sampler, pid, sampler->ring[at].cpu);
    }
    return result < 0 ? refused(failure, result, pid, sampler->ring[at - 1].cpu, sampler) : 0;
}

int sampler_find_cpus(struct pmclua_sampler *sampler)
{
    const struct pmclua_sampling *asked = &sampler->asked;
    sampler->ring = calloc((size_t)asked->cpu_count, sizeof *sampler->ring);
    if (!sampler->ring)
        return -ENOMEM;
    sampler->rings = (uint32_t)asked->cpu_count;
    for (uint32_t i = 0; i < sampler->rings; i++)
        sampler->ring[i] = (struct cpu_rings){ asked->cpus[i], .samples_fd = -1, .news_fd = -1 };
    return 0;
}

int sampler_open_all(struct pmclua_sampler *sampler, struct pmclua_failure *failure)
{
    const int32_t *pids = sampler->asked.tasks;
    int32_t count = sampler->asked.task_count;
    int result = find_format(sampler, count > 0 ? pids[0] : sampler->asked.pid, failure);
    for (int32_t i = 0; result == 0 && i < count; i++) {
        result = open_task(sampler, pids[i], failure);
        if (result == -ESRCH && i > 0)
            result = 0;            /* a thread has ended meanwhile */
    }
    return result == 0 && count == 0 ? open_task(sampler, sampler->asked.pid, failure) : result;
}
