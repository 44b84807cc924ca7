/*
 * marked.c: a program with marks whose work a played PMU counts (pmu.c): three times 1000 pieces of the first kind and
 * 10 of the second between the marks of "parse", and other work outside.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <pmclua_mark.h>

enum { KINDS = 8, TIMES = 3 };

int main(void)
{
    const char *path = getenv("PMCLUA_PLAYED_WORK");
    int fd = path ? open(path, O_RDWR) : -1;
    uint64_t *work = fd < 0 ? MAP_FAILED : mmap(NULL, KINDS * sizeof *work, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (work == MAP_FAILED)
        return 1;
    for (int i = 0; i < TIMES; i++) {
        pmclua_mark_begin("parse");
        __atomic_fetch_add(&work[0], 1000, __ATOMIC_RELAXED);
        __atomic_fetch_add(&work[1], 10, __ATOMIC_RELAXED);
        pmclua_mark_end("parse");
        __atomic_fetch_add(&work[1], 7, __ATOMIC_RELAXED);
    }
    return 0;
}
