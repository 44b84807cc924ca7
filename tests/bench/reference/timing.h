/* timing.h: what the references share: the clock and the median. */
#ifndef TIMING_H
#define TIMING_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts `values`. */
static inline double median(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    return ((double)values[(count - 1) / 2] + (double)values[count / 2]) / 2;
}

#endif
