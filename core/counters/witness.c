/*
 * witness.c: how long a pinned group of another's should have been enabled.
 *
 * A pinned group that loses its place on the PMU goes into error state, in which its time stands still, and
 * reading it gives nothing. But the end of its task takes it out of that state again: what it had counted by
 * then reads like the whole. An event that counts nothing, and is enabled when the group is, tells.
 *
 * Invariant: it is started after the group, stopped before it and read before it. So it is enabled for no
 * longer than a group that was not lost.
 */

#include "attr.h"
#include "group.h"
#include "host/release.h"

/* Until Linux 6.2 the hardware's and the software's events of a task have times of their own, which begin
 * microseconds apart in each of its processes: a shorter loss is not seen there. */
enum { APART_NS = 200000, APART_SHARE = 100, APART_MOST = 2 };

static uint64_t least_ns(uint64_t witnessed)
{
    if (release_is_from(6, 2))
        return witnessed;
    uint64_t apart = APART_NS + witnessed / APART_SHARE;
    return apart < witnessed / APART_MOST ? witnessed - apart : witnessed / APART_MOST;
}

int witness_open(struct pmclua_group *group, const struct pmclua_attr *leader, int32_t pid, int32_t cpu)
{
    struct perf_event_attr like = native_of(leader);
    struct pmclua_attr attr = attr_of(&(struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED, .disabled = like.disabled,
        .enable_on_exec = like.enable_on_exec, .inherit = like.inherit, .inherit_thread = like.inherit_thread });
    int fd = pmclua_open(&attr, pid, cpu, -1, 0);
    group->witness = fd < 0 ? -1 : fd;
    return fd < 0 ? fd : 0;
}

void witness_close(struct pmclua_group *group)
{
    if (group->witness >= 0)
        pmclua_close(group->witness);
    group->witness = -1;
}

int witness_switch(const struct pmclua_group *group, enum pmclua_ioc request)
{
    return group->witness >= 0 ? pmclua_ioctl(group->witness, request, 0, NULL) : 0;
}

uint64_t witness_ns(const struct pmclua_group *group)
{
    uint64_t words[2] = { 0, 0 };            /* a value, which is 0, and the time */
    if (group->witness < 0 || pmclua_read(group->witness, words, sizeof words) != (long)sizeof words)
        return 0;
    return least_ns(words[1]);
}
