/*
 * clocks.h: times in nanoseconds, as all of the core has them.
 */
#pragma once

#include <stdint.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

static inline uint64_t ns_of(struct timespec time)
{
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static inline struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){ (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
}

/* The time of a clock; 0: there is none. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now = { 0, 0 };
    clock_gettime(clock, &now);
    return ns_of(now);
}
