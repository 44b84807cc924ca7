/*
 * group.c: perf event groups.
 *
 * Invariants: either every member is open or none is; membership is frozen at opening; the leader is
 * disabled and the siblings are not, so that ENABLE and DISABLE on the leader alone, argument 0, govern
 * all of them on every PMU (the group flag, and siblings enabled late, count silent zeros in groups of
 * several PMUs); counts only grow, so that callers take differences.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "attr.h"
#include "group.h"

/* An inherited descriptor's ioctl would reach the parent's event. */
unsigned group_fork_generation;
static void count_fork(void) { group_fork_generation++; }
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static void watch_forks(void) { pthread_atfork(NULL, NULL, count_fork); }

#ifdef __aarch64__
/* attr.config1 of armv8_pmuv3: its word, and the bit that asks for reads in user space. */
enum { CONFIG1 = 7, ARM_USER_READ = 2 };
#endif

static size_t read_bytes(int32_t count)
{
    return sizeof(struct group_read) + (size_t)count * sizeof ((struct group_read *)0)->member[0];
}

static void free_group(struct pmclua_group *group)
{
    free(group->fds);
    free(group->ids);
    free(group->buffer);
    free(group);
}

static struct pmclua_group *new_group(int32_t count)
{
    struct pmclua_group *group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    group->fds = malloc((size_t)count * sizeof *group->fds);
    group->ids = calloc((size_t)count, sizeof *group->ids);
    group->buffer_bytes = read_bytes(count);
    group->buffer = malloc(group->buffer_bytes);
    if (!group->fds || !group->ids || !group->buffer) {
        free_group(group);
        return NULL;
    }
    group->witness = -1;
    pthread_once(&fork_once, watch_forks);
    group->fork_generation = group_fork_generation;
    return group;
}

/* The leader as it must be opened; siblings follow it and are never disabled, pinned or exclusive. */
static struct pmclua_attr member_attr(const struct pmclua_attr *asked, int32_t index, uint32_t options)
{
    struct pmclua_attr attr = *asked;
    int leader = index == 0;
    pmclua_attr_set(&attr, "read_format", PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                          PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID);
    pmclua_attr_set(&attr, "disabled", leader);
    pmclua_attr_set(&attr, "enable_on_exec", leader && (options & PMCLUA_ON_EXEC));
    if (!leader) {
        pmclua_attr_set(&attr, "pinned", 0);
        pmclua_attr_set(&attr, "exclusive", 0);
    } else if (options & PMCLUA_PINNED) {
        pmclua_attr_set(&attr, "pinned", 1);
    }
#ifdef __aarch64__
    if (options & PMCLUA_READ_USER)
        attr.words[CONFIG1] |= ARM_USER_READ;
#endif
    return attr;
}

static int open_member(struct pmclua_group *group, const struct pmclua_attr *attr, int32_t pid, int32_t cpu)
{
    int leader_fd = group->count == 0 ? -1 : group->fds[0];
    int fd = pmclua_open(attr, pid, cpu, leader_fd, group->options & PMCLUA_CGROUP ? PERF_FLAG_PID_CGROUP : 0);
    if (fd < 0)
        return fd;
    int result = pmclua_ioctl(fd, PMCLUA_IOC_ID, 0, &group->ids[group->count]);
    if (result < 0) {
        pmclua_close(fd);
        return result;
    }
    group->fds[group->count++] = fd;
    return 0;
}

static int note_pinned(struct pmclua_group *group, const struct pmclua_attr *leader, int32_t pid, int32_t cpu)
{
    group->is_pinned = native_of(leader).pinned;
    int is_task = pid > 0 && !(group->options & PMCLUA_CGROUP);
    return group->is_pinned && is_task ? witness_open(group, leader, pid, cpu) : 0;
}

static int open_all(struct pmclua_group **out, const struct pmclua_attr *attrs, int32_t count,
                    int32_t pid, int32_t cpu, uint32_t options, struct pmclua_failure *failure)
{
    struct pmclua_group *group = new_group(count);
    if (!group) {
        *failure = (struct pmclua_failure){ .errnum = ENOMEM, .index = -1, .pid = pid, .cpu = cpu };
        return -ENOMEM;
    }
    group->options = options;
    for (int32_t i = 0; i < count; i++) {
        struct pmclua_attr attr = member_attr(&attrs[i], i, options);
        int result = open_member(group, &attr, pid, cpu);
        if (result == 0 && i == 0)
            result = note_pinned(group, &attr, pid, cpu);
        if (result < 0) {
            *failure = (struct pmclua_failure){ .errnum = -result, .index = i, .pid = pid, .cpu = cpu, .attr = attr };
            pmclua_group_close(group);
            return result;
        }
    }
    *out = group;
    return 0;
}

/* Whether an event could be on a counter that user space may read. Generic, cache and raw events are those
 * of the CPU's own PMU, whatever its name. */
static int is_of_cpu(const struct pmclua_attr *attr)
{
    uint32_t type = native_of(attr).type;
    return !native_of(attr).inherit
        && (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW);
}

static int may_read_in_user_space(const struct pmclua_attr *attrs, int32_t count, int32_t pid, int32_t cpu)
{
    for (int32_t i = 0; i < count; i++)
        if (!is_of_cpu(&attrs[i]))
            return 0;
    return pid == 0 && cpu == -1;
}

/* An OS kernel that forbids user-space reads may refuse to open events for them. */
static int open_readable(struct pmclua_group **out, const struct pmclua_attr *attrs, int32_t count,
                         int32_t pid, int32_t cpu, uint32_t options)
{
    struct pmclua_failure ignored;
    struct pmclua_group *group;
    if (!may_read_in_user_space(attrs, count, pid, cpu))
        return -EOPNOTSUPP;
    int result = open_all(&group, attrs, count, pid, cpu, options, &ignored);
    if (result < 0)
        return result;
    result = userread_map(group);
    if (result < 0) {
        pmclua_group_close(group);
        return result;
    }
    *out = group;
    return 0;
}

int pmclua_group_open(struct pmclua_group **out, const struct pmclua_attr *attrs, int32_t count,
                      int32_t pid, int32_t cpu, uint32_t options, struct pmclua_failure *failure)
{
    if (count < 1)
        return -EINVAL;
    if ((options & PMCLUA_READ_USER) && open_readable(out, attrs, count, pid, cpu, options) == 0)
        return 0;
    return open_all(out, attrs, count, pid, cpu, options & ~(uint32_t)PMCLUA_READ_USER, failure);
}

void pmclua_group_close(struct pmclua_group *group)
{
    if (!group)
        return;
    userread_unmap(group);
    witness_close(group);
    /* Closing the leader first would set its siblings counting on their own. */
    while (group->count > 0)
        pmclua_close(group->fds[--group->count]);
    free_group(group);
}

int pmclua_group_filter(struct pmclua_group *group, int32_t index, const char *filter, struct pmclua_failure *failure)
{
    int fd = pmclua_group_fd(group, index);
    int result = fd < 0 ? fd : pmclua_ioctl(fd, PMCLUA_IOC_SET_FILTER, 0, (void *)filter);
    if (result < 0)
        *failure = (struct pmclua_failure){ .errnum = -result, .index = index, .filter = 1 };
    return result;
}

static int switch_group(struct pmclua_group *group, enum pmclua_ioc request)
{
    if (group->fork_generation != group_fork_generation)
        return -EOWNERDEAD;
    return pmclua_ioctl(group->fds[0], request, 0, NULL);
}

/* The first start shows whether the pages of a running group let it be read in user space. */
static void settle_method(struct pmclua_group *group)
{
    uint64_t words[2 + group->count];
    if ((group->options & PMCLUA_READ_USER) && userread(group, words) != 0) {
        group->options &= ~(uint32_t)PMCLUA_READ_USER;
        userread_unmap(group);
    }
}

/* Whether it is pinned and has lost its place. Enabled again it would count on, without what it missed. */
static int is_lost(struct pmclua_group *group)
{
    uint64_t words[2 + group->count];
    return group->is_pinned && pmclua_group_read(group, words) == 0 && pmclua_reading_is_lost(words);
}

int pmclua_group_start(struct pmclua_group *group)
{
    if (is_lost(group))
        return 0;
    int result = switch_group(group, PMCLUA_IOC_ENABLE);
    if (result < 0)
        return result;
    result = witness_switch(group, PMCLUA_IOC_ENABLE);
    if (result < 0)
        switch_group(group, PMCLUA_IOC_DISABLE);
    else if (group->pages)
        settle_method(group);
    return result;
}

int pmclua_group_stop(struct pmclua_group *group)
{
    int witness = witness_switch(group, PMCLUA_IOC_DISABLE);    /* first, and whatever comes of it the group stops */
    int result = switch_group(group, PMCLUA_IOC_DISABLE);
    return result < 0 ? result : witness;
}

/* ---- readings ---- */

void reading_lose(uint64_t *reading, int32_t words)
{
    memset(reading, 0, (size_t)words * sizeof *reading);
    reading[0] = 1;
}

int pmclua_reading_is_lost(const uint64_t *reading)
{
    return reading[0] == 1 && reading[1] == 0;
}

void pmclua_reading_delta(const uint64_t *earlier, const uint64_t *later, uint64_t *out, int32_t words)
{
    int lost = pmclua_reading_is_lost(earlier) || pmclua_reading_is_lost(later);
    for (int32_t i = 0; i < words; i++)
        out[i] = later[i] - earlier[i];
    if (lost)
        reading_lose(out, words);
}

void pmclua_reading_add(uint64_t *sum, const uint64_t *reading, int32_t words)
{
    int lost = pmclua_reading_is_lost(sum) || pmclua_reading_is_lost(reading);
    for (int32_t i = 0; i < words; i++)
        sum[i] += reading[i];
    if (lost)
        reading_lose(sum, words);
}

int32_t pmclua_group_count(const struct pmclua_group *group)
{
    return group->count;
}

int32_t pmclua_group_fd(const struct pmclua_group *group, int32_t index)
{
    return index >= 0 && index < group->count ? group->fds[index] : -ERANGE;
}

int32_t pmclua_group_method(const struct pmclua_group *group)
{
    if (group->options & PMCLUA_READ_TOGGLE)
        return PMCLUA_BY_TOGGLE;
    return group->pages ? PMCLUA_BY_USER : PMCLUA_BY_SYSCALL;
}
