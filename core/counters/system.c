/*
 * system.c: the table of system calls that perf needs, and single events.
 *
 * Everything in core/ that touches a perf descriptor goes through `pmclua_system`, so that a test can
 * play any OS kernel. Members return a result or -errno; errno itself is nobody's business outside.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmclua.h"
#include "rawcall.h"

static int real_open(const struct pmclua_attr *attr, int32_t pid, int32_t cpu, int32_t group_fd, uint32_t flags)
{
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, (unsigned long)flags);
    return fd < 0 ? -errno : (int)fd;
}

static int real_ioctl(int32_t fd, uint32_t request, uint64_t argument)
{
    int result = ioctl(fd, request, (unsigned long)argument);
    return result < 0 ? -errno : result;
}

/* On the hot path (region.c): glibc's wrapper would add a return and look at the thread's cancellation. */
static long real_read(int32_t fd, void *buffer, size_t bytes)
{
    return rawcall3(SYS_read, fd, (long)buffer, (long)bytes);
}

static int real_close(int32_t fd)
{
    return close(fd) < 0 ? -errno : 0;
}

struct pmclua_system pmclua_system = { real_open, real_ioctl, real_read, real_close };

int pmclua_open(const struct pmclua_attr *attr, int32_t pid, int32_t cpu, int32_t group_fd, uint32_t flags)
{
    /* Always our full size: an OS kernel that knows less accepts a zero tail, and says E2BIG to what
     * it does not know instead of ignoring it. */
    struct pmclua_attr sized = *attr;
    pmclua_attr_set(&sized, "size", sizeof sized);
    int fd;
    do
        fd = pmclua_system.perf_event_open(&sized, pid, cpu, group_fd, flags | PERF_FLAG_FD_CLOEXEC);
    while (fd == -EINTR);
    return fd;
}

int pmclua_close(int32_t fd)
{
    return pmclua_system.close(fd);
}

long pmclua_read(int32_t fd, void *buffer, size_t bytes)
{
    long got;
    do
        got = pmclua_system.read(fd, buffer, bytes);
    while (got == -EINTR);
    return got;
}

/* The requests, and whether each takes the plain value or memory. */
static const struct { const char *name; uint32_t request; int in_memory; } requests[] = {
    { "ENABLE",            PERF_EVENT_IOC_ENABLE,            0 },
    { "DISABLE",           PERF_EVENT_IOC_DISABLE,           0 },
    { "REFRESH",           PERF_EVENT_IOC_REFRESH,           0 },
    { "RESET",             PERF_EVENT_IOC_RESET,             0 },
    { "PERIOD",            PERF_EVENT_IOC_PERIOD,            1 },
    { "SET_OUTPUT",        PERF_EVENT_IOC_SET_OUTPUT,        0 },
    { "SET_FILTER",        PERF_EVENT_IOC_SET_FILTER,        1 },
    { "ID",                PERF_EVENT_IOC_ID,                1 },
    { "SET_BPF",           PERF_EVENT_IOC_SET_BPF,           0 },
    { "PAUSE_OUTPUT",      PERF_EVENT_IOC_PAUSE_OUTPUT,      0 },
    { "QUERY_BPF",         PERF_EVENT_IOC_QUERY_BPF,         1 },
    { "MODIFY_ATTRIBUTES", PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 1 },
};

int pmclua_ioctl(int32_t fd, const char *name, uint64_t value, void *memory)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (strcmp(requests[i].name, name) == 0)
            return pmclua_system.ioctl(fd, requests[i].request,
                                       requests[i].in_memory ? (uint64_t)(uintptr_t)memory : value);
    return -ENOENT;
}
