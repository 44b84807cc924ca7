/*
 * breakpoint.c: whether a breakpoint counts on this machine.
 *
 * Some hypervisors let a guest set the CPU's debug registers and never deliver the exception: the event opens, runs,
 * and reads 0 for ever.
 */
#include <errno.h>
#include <linux/hw_breakpoint.h>

#include "attr.h"

int pmclua_breakpoints_fire(void)
{
    static volatile uint64_t watched;
    struct pmclua_attr attr = attr_of(&(struct perf_event_attr){
        .type = PERF_TYPE_BREAKPOINT, .bp_type = HW_BREAKPOINT_W, .bp_addr = (uintptr_t)&watched,
        .bp_len = HW_BREAKPOINT_LEN_8, .exclude_kernel = 1, .exclude_hv = 1 });
    uint64_t count = 0;
    int fd = pmclua_open(&attr, 0, -1, -1, 0);
    if (fd < 0)
        return fd;
    watched++;
    long got = pmclua_read(fd, &count, sizeof count);
    pmclua_close(fd);
    return got == (long)sizeof count ? count > 0 : -EIO;
}
