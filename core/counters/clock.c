/*
 * clock.c: the frequency of the counter that the OS kernel's clock for perf is made of: the time stamp counter of
 * x86, the generic timer of Arm. The page of any event says how it becomes nanoseconds.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "attr.h"

/* ns = cycles * time_mult >> time_shift (linux/perf_event.h). */
static double hz_of(const struct perf_event_mmap_page *page)
{
    if (!page->cap_user_time || page->time_mult == 0 || page->time_shift > 63)
        return 0;
    return 1e9 * (double)(UINT64_C(1) << page->time_shift) / page->time_mult;
}

double pmclua_clock_hz(void)
{
    int fd = attr_hold(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    if (fd < 0)
        return 0;
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    double hz = 0;
    if (page != MAP_FAILED) {
        hz = hz_of(page);
        munmap(page, bytes);
    }
    pmclua_close(fd);
    return hz;
}
