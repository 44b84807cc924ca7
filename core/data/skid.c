/*
 * skid.c: where samples of an event stand on this CPU: found out by a chain of loads, each of which waits for the one
 * before it, so that nearly all the time belongs to one instruction.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "calls/ring.h"
#include "counters/attr.h"
#include "host/clocks.h"
#include "pmclua.h"

enum { NODES = 1 << 18, NODE_WORDS = 8, ROUND = 20000, RING_BYTES = 256 * 1024 };

/* Walks `steps` nodes: *load and *behind are the addresses of the load and of the instruction behind it, *end where the
 * loop ends. */
#if defined __x86_64__
#define CHASE(at, steps, load, behind, end) \
    __asm__ volatile("lea 1f(%%rip), %0\n lea 2f(%%rip), %1\n lea 3f(%%rip), %2\n" \
                     "1: mov (%3), %3\n 2: dec %4\n jnz 1b\n 3:\n" \
                     : "=&r"(load), "=&r"(behind), "=&r"(end), "+r"(at), "+r"(steps) :: "memory", "cc")
#elif defined __aarch64__
#define CHASE(at, steps, load, behind, end) \
    __asm__ volatile("adr %0, 1f\n adr %1, 2f\n adr %2, 3f\n" \
                     "1: ldr %3, [%3]\n 2: subs %4, %4, #1\n b.ne 1b\n 3:\n" \
                     : "=&r"(load), "=&r"(behind), "=&r"(end), "+r"(at), "+r"(steps) :: "memory", "cc")
#endif

#ifdef CHASE
/* A chain through all nodes in an order that no prefetcher guesses; NULL: no memory. */
static uint64_t *make_chain(void)
{
    uint64_t *node = malloc((size_t)NODES * NODE_WORDS * sizeof *node), state = 88172645463325252u;
    uint32_t *order = malloc((size_t)NODES * sizeof *order);
    for (uint32_t i = 0; node && order && i < NODES; i++)
        order[i] = i;
    for (uint32_t i = NODES - 1; node && order && i > 0; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint32_t other = (uint32_t)(state % i), held = order[i];
        order[i] = order[other];
        order[other] = held;
    }
    for (uint32_t i = 0; node && order && i < NODES; i++)
        node[(size_t)order[i] * NODE_WORDS] = (uint64_t)(uintptr_t)&node[(size_t)order[(i + 1) % NODES] * NODE_WORDS];
    if (!order) {
        free(node);
        node = NULL;
    }
    free(order);
    return node;
}

static void count(struct ring *ring, uint64_t load, uint64_t behind, uint64_t end, struct pmclua_skid *skid)
{
    const struct perf_event_header *record;
    int broken = 0;
    ring_look(ring);
    while ((record = ring_record(ring, &broken))) {
        uint64_t ip = record->type == PERF_RECORD_SAMPLE ? *(const uint64_t *)(const void *)(record + 1) : 0;
        skid->samples += ip - load <= end - load;
        skid->behind += ip == behind;
        ring_step(ring, record);
    }
}

static int walk(struct ring *ring, int fd, const uint64_t *chain, uint32_t milliseconds, struct pmclua_skid *skid)
{
    uint64_t at = (uint64_t)(uintptr_t)chain, load = 0, behind = 0, end = 0;
    uint64_t until = pmclua_now_ns() + milliseconds * 1000000ull;
    int result = pmclua_ioctl(fd, PMCLUA_IOC_ENABLE, 0, NULL);
    while (result >= 0 && pmclua_now_ns() < until) {
        uint64_t steps = ROUND;
        CHASE(at, steps, load, behind, end);
    }
    if (result >= 0)
        result = pmclua_ioctl(fd, PMCLUA_IOC_DISABLE, 0, NULL);
    if (result >= 0)
        count(ring, load, behind, end, skid);
    return result < 0 ? result : 0;
}

int pmclua_skid_test(const struct pmclua_attr *asked, uint64_t period, uint32_t milliseconds, struct pmclua_skid *skid)
{
    struct perf_event_attr native = native_of(asked);
    native.freq = native.inherit = native.enable_on_exec = 0;
    native.sample_period = period;
    native.sample_type = PERF_SAMPLE_IP;
    native.read_format = 0;
    native.disabled = native.exclude_kernel = native.exclude_hv = 1;
    struct pmclua_attr attr = attr_of(&native);
    struct ring ring = { 0 };
    *skid = (struct pmclua_skid){ 0 };
    uint64_t *chain = make_chain();
    if (!chain)
        return -ENOMEM;
    int fd = pmclua_open(&attr, 0, -1, -1, 0), result = fd < 0 ? fd : ring_open(&ring, fd, RING_BYTES);
    skid->has_no_ring = fd >= 0 && result < 0;
    if (result == 0)
        result = walk(&ring, fd, chain, milliseconds, skid);
    ring_close(&ring);
    if (fd >= 0)
        pmclua_close(fd);
    free(chain);
    return result;
}
#else
int pmclua_skid_test(const struct pmclua_attr *attr, uint64_t period, uint32_t milliseconds, struct pmclua_skid *skid)
{
    (void)attr; (void)period; (void)milliseconds;
    *skid = (struct pmclua_skid){ 0 };
    return -ENOTSUP;
}
#endif
