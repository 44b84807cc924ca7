/*
 * runner_memory.c: memory as a factor: NUMA node, huge pages, cold caches.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner.h"

enum { NODES = 1024, LINE_BYTES = 64 };

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

void memory_cool(uint64_t bytes)
{
    static __thread char *memory;
    static __thread uint64_t size;
    if (bytes > size) {
        free(memory);
        memory = calloc(1, bytes);
        size = memory ? bytes : 0;
    }
    for (uint64_t i = 0; i < bytes && i < size; i += LINE_BYTES)
        ((volatile char *)memory)[i]++;
}
