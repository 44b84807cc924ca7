/*
 * user_read.c: counts of this thread's own group, read in user space.
 *
 * Invariant: what is given is what read(2) would give, all members or none. The OS kernel writes a page for
 * each event (linux/perf_event.h, struct perf_event_mmap_page): `lock` changes with it, `offset` is what was
 * counted while the event was off the PMU, `index` says on which counter it is now. Where a page says that
 * its counter is not to be read, or that the event is on none, the answer is: ask read(2); never the bare
 * offset.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "group.h"
#include "user_read_machine.h"

typedef const volatile struct perf_event_mmap_page page_t;

/* The page is written on this CPU alone, by interrupts and context switches: the compiler must keep the
 * order, the CPU need not. */
#define KEEP_ORDER() __asm__ volatile("" ::: "memory")

/* A counter of `width` bits, sign-extended: it may have been set to count up to an overflow. */
static inline uint64_t extended(uint64_t counter, unsigned width)
{
    return (uint64_t)((int64_t)(counter << (64 - width)) >> (64 - width));
}

/* ns that have passed since the OS kernel last wrote the page; the formula is perf_event.h's. */
static inline uint64_t since_update(page_t *page)
{
    uint64_t cycles = machine_clock();
    if (page->cap_user_time_short)
        cycles = page->time_cycles + ((cycles - page->time_cycles) & page->time_mask);
    uint64_t whole = cycles >> page->time_shift, rest = cycles & ((UINT64_C(1) << page->time_shift) - 1);
    return page->time_offset + whole * page->time_mult + (rest * page->time_mult >> page->time_shift);
}

/* 0, the count and, where `times` is not NULL, enabled and running ns; 1: only read(2) knows. Both times go
 * on: the event is on a counter. */
__attribute__((nonnull(1, 2)))
static inline int read_event(page_t *page, uint64_t *count, uint64_t *times)
{
    uint64_t counter;
    uint32_t lock;
    do {
        lock = page->lock;
        KEEP_ORDER();
        uint32_t index = page->index;
        if (!index || !page->cap_user_rdpmc || (times && !page->cap_user_time))
            return 1;
        if (times) {
            uint64_t since = since_update(page);
            times[0] = page->time_enabled + since;
            times[1] = page->time_running + since;
        }
        if (machine_counter(index - 1, &counter))
            return 1;
        *count = (uint64_t)page->offset + extended(counter, page->pmc_width);
        KEEP_ORDER();
    } while (page->lock != lock);
    return 0;
}

/* The members of a group are on the PMU together: the leader's times are those of all. */
int userread(const struct pmclua_group *group, uint64_t *out)
{
    if (group->fork_generation != group_fork_generation)
        return 1;                     /* a forked child has the descriptors, and not the pages */
    machine_fence();                  /* what came before is counted, what comes after is not */
    if (read_event(group->pages[0], &out[2], out))
        return 1;
    for (int32_t i = 1; i < group->count; i++)
        if (read_event(group->pages[i], &out[2 + i], NULL))
            return 1;
    machine_fence();
    return 0;
}

/* ---- mapping ---- */

static int map_pages(struct pmclua_group *group)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    for (int32_t i = 0; i < group->count; i++) {
        void *page = mmap(NULL, bytes, PROT_READ, MAP_SHARED, group->fds[i], 0);
        if (page == MAP_FAILED)
            return -errno;
        group->pages[i] = page;
    }
    return 0;
}

int userread_map(struct pmclua_group *group)
{
    group->pages = calloc((size_t)group->count, sizeof *group->pages);
    if (!group->pages)
        return -ENOMEM;
    int result = map_pages(group);
    if (result < 0)
        userread_unmap(group);
    return result;
}

void userread_unmap(struct pmclua_group *group)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    for (int32_t i = 0; group->pages && i < group->count; i++)
        if (group->pages[i])
            munmap(group->pages[i], bytes);
    free(group->pages);
    group->pages = NULL;
}
