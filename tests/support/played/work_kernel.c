/*
 * work_kernel.c: a kernel whose work a played PMU counts (pmu.c): 3 pieces of the first kind and 1 of the second in
 * each iteration.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <pmclua_kernel.h>

enum { KINDS = 8 };

void *work_setup(const struct pmclua_params *params)
{
    const char *path = getenv("PMCLUA_PLAYED_WORK");
    int fd = path ? open(path, O_RDWR) : -1;
    void *work = fd < 0 ? MAP_FAILED : mmap(NULL, KINDS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return work == MAP_FAILED ? pmclua_fail(params, "there is no file of work") : work;
}

void work(void *state, uint64_t iterations)
{
    uint64_t *counts = state;
    while (iterations--) {
        __atomic_fetch_add(&counts[0], 3, __ATOMIC_RELAXED);
        __atomic_fetch_add(&counts[1], 1, __ATOMIC_RELAXED);
    }
}
