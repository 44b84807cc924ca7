/*
 * memory.c: memory as a factor: NUMA node, huge pages, cold caches; and how much a command took.
 */
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/proc.h"
#include "memory.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { NODES = 1024, LINE_BYTES = 64, PAGE_BYTES = 4096 };

static int set_policy(int mode, uint64_t node)
{
    unsigned long mask[NODES / 64] = { 0 };
    if (node >= NODES)
        return -EINVAL;
    mask[node / 64] = 1ul << node % 64;
    long result = syscall(SYS_set_mempolicy, mode, mode == MPOL_DEFAULT ? NULL : mask, NODES + 1);
    return result < 0 ? -errno : 0;
}

/* Both are inherited by what this thread executes. */
int memory_policy_set(const struct run *run)
{
    if (run->no_huge_pages && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) < 0)
        return -errno;
    return run->node ? set_policy(MPOL_BIND, run->node - 1) : 0;
}

void memory_policy_reset(const struct run *run)
{
    if (run->no_huge_pages)
        prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    if (run->node)
        set_policy(MPOL_DEFAULT, 0);
}

int memory_cool(uint64_t bytes)
{
    static __thread volatile char *memory;
    static __thread uint64_t size;
    if (bytes > size) {
        void *more = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED)
            return -errno;
        if (size)
            munmap((void *)memory, size);
        memory = more;
        size = bytes;
    }
    for (uint64_t i = 0; i < bytes; i += LINE_BYTES)
        memory[i]++;
    return 0;
}

/* Knuth's MMIX generator; its high bits. */
static uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % limit;
}

/* Takes the pages in random order. Asking for each by madvise takes a third of the time of a fault in a guest. */
static void take_pages(char *pages, uint32_t *order, uint64_t count)
{
    uint64_t state = pmclua_now_ns();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t j = random_below(&state, i + 1);
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
    for (uint64_t i = 0; i < count; i++) {
        char *page = pages + (uint64_t)order[i] * PAGE_BYTES;
        if (madvise(page, PAGE_BYTES, MADV_POPULATE_WRITE) < 0)
            *page = 1;
    }
}

/* Linux hands out first what was given back last: the half that is given back lies in random order. The other half
 * stays taken, else neighbours would merge into large blocks again, in their own order. */
void memory_scatter(uint64_t bytes)
{
    uint64_t count = bytes / PAGE_BYTES / 2 * 2;
    uint32_t *order = calloc(count + 1, sizeof *order);
    char *pages = mmap(NULL, (count + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (order && pages != MAP_FAILED) {
        madvise(pages, (count + 1) * PAGE_BYTES, MADV_NOHUGEPAGE);
        take_pages(pages, order, count);
        munmap(pages, count / 2 * PAGE_BYTES);
    }
    free(order);
}

/* A held child shares our memory, and when it executes its peak goes on from ours. What getrusage says of us
 * is never below our peak (it goes on from pmclua's), and quick to ask for; our own never falls, so it is read
 * again only where a child is above what it was. */
uint64_t memory_peak(const struct rusage *usage)
{
    static uint64_t own_kb;
    struct rusage own;
    uint64_t peak_kb = (uint64_t)usage->ru_maxrss;
    if (getrusage(RUSAGE_SELF, &own) == 0 && usage->ru_maxrss > own.ru_maxrss)
        return peak_kb * 1024;
    if (peak_kb > own_kb)
        own_kb = proc_number(0, "VmHWM:", 10, UINT64_MAX);
    return peak_kb > own_kb ? peak_kb * 1024 : 0;
}
