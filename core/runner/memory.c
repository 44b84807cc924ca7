/*
 * memory.c: memory as a factor: NUMA node, huge pages, cold caches; and how much a command took.
 */
#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/proc.h"
#include "memory.h"

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
