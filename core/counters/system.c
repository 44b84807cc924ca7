/*
 * system.c: the table of system calls that perf needs, and single events.
 *
 * Everything in core/ that touches a perf descriptor goes through `pmclua_system`, so that a test can
 * play any OS kernel. Members return a result or -errno.
 */
#include <errno.h>
#include <linux/perf_event.h>
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

/* On the hot path (measure.c): glibc's wrapper would add a return and look at the thread's cancellation. */
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

static const uint32_t requests[] = {
    [PMCLUA_IOC_ENABLE]            = PERF_EVENT_IOC_ENABLE,
    [PMCLUA_IOC_DISABLE]           = PERF_EVENT_IOC_DISABLE,
    [PMCLUA_IOC_REFRESH]           = PERF_EVENT_IOC_REFRESH,
    [PMCLUA_IOC_RESET]             = PERF_EVENT_IOC_RESET,
    [PMCLUA_IOC_PERIOD]            = PERF_EVENT_IOC_PERIOD,
    [PMCLUA_IOC_SET_OUTPUT]        = PERF_EVENT_IOC_SET_OUTPUT,
    [PMCLUA_IOC_SET_FILTER]        = PERF_EVENT_IOC_SET_FILTER,
    [PMCLUA_IOC_ID]                = PERF_EVENT_IOC_ID,
    [PMCLUA_IOC_SET_BPF]           = PERF_EVENT_IOC_SET_BPF,
    [PMCLUA_IOC_PAUSE_OUTPUT]      = PERF_EVENT_IOC_PAUSE_OUTPUT,
    [PMCLUA_IOC_QUERY_BPF]         = PERF_EVENT_IOC_QUERY_BPF,
    [PMCLUA_IOC_MODIFY_ATTRIBUTES] = PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
};

int pmclua_ioctl(int32_t fd, enum pmclua_ioc request, uint64_t value, void *memory)
{
    return pmclua_system.ioctl(fd, requests[request], memory ? (uint64_t)(uintptr_t)memory : value);
}
