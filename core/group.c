/*
 * group.c: perf event groups.
 *
 * Invariants: either every member is open or none is; membership is frozen at opening; the leader is
 * disabled and the siblings are not, so that ENABLE and DISABLE on the leader alone, argument 0, govern
 * all of them on every PMU (the group flag, and siblings enabled late, count silent zeros in groups of
 * several PMUs); counts only grow, so that callers take differences.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pmclua.h"

/* What read(2) gives for PERF_FORMAT_GROUP | both times | ID. */
struct group_read {
    uint64_t nr, enabled, running;
    struct { uint64_t value, id; } member[];
};

struct pmclua_group {
    int32_t count;
    unsigned fork_generation;     /* of the process that opened it */
    int32_t *fds;
    uint64_t *ids;
    struct group_read *buffer;
    size_t buffer_bytes;
};

/* Grows in every forked child: an inherited descriptor's ioctl would reach the parent's event. */
static unsigned fork_generation;
static void count_fork(void) { fork_generation++; }
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static void watch_forks(void) { pthread_atfork(NULL, NULL, count_fork); }

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
    pthread_once(&fork_once, watch_forks);
    group->fork_generation = fork_generation;
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
    return attr;
}

static int open_member(struct pmclua_group *group, const struct pmclua_attr *attr, int32_t pid, int32_t cpu)
{
    int leader_fd = group->count == 0 ? -1 : group->fds[0];
    int fd = pmclua_open(attr, pid, cpu, leader_fd, 0);
    if (fd < 0)
        return fd;
    int result = pmclua_ioctl(fd, "ID", 0, &group->ids[group->count]);
    if (result < 0) {
        pmclua_close(fd);
        return result;
    }
    group->fds[group->count++] = fd;
    return 0;
}

int pmclua_group_open(struct pmclua_group **out, const struct pmclua_attr *attrs, int32_t count,
                      int32_t pid, int32_t cpu, uint32_t options, struct pmclua_failure *failure)
{
    if (count < 1)
        return -EINVAL;
    struct pmclua_group *group = new_group(count);
    if (!group)
        return -ENOMEM;
    for (int32_t i = 0; i < count; i++) {
        struct pmclua_attr attr = member_attr(&attrs[i], i, options);
        int result = open_member(group, &attr, pid, cpu);
        if (result < 0) {
            *failure = (struct pmclua_failure){ .errnum = -result, .index = i, .pid = pid, .cpu = cpu, .attr = attr };
            pmclua_group_close(group);
            return result;
        }
    }
    *out = group;
    return 0;
}

void pmclua_group_close(struct pmclua_group *group)
{
    if (!group)
        return;
    /* Closing the leader first would set its siblings counting on their own. */
    while (group->count > 0)
        pmclua_close(group->fds[--group->count]);
    free_group(group);
}

int pmclua_group_filter(struct pmclua_group *group, int32_t index, const char *filter, struct pmclua_failure *failure)
{
    int fd = pmclua_group_fd(group, index);
    int result = fd < 0 ? fd : pmclua_ioctl(fd, "SET_FILTER", 0, (void *)filter);
    if (result < 0)
        *failure = (struct pmclua_failure){ .errnum = -result, .index = index, .filter = 1 };
    return result;
}

static int switch_group(struct pmclua_group *group, const char *request)
{
    if (group->fork_generation != fork_generation)
        return -EOWNERDEAD;
    return pmclua_ioctl(group->fds[0], request, 0, NULL);
}

int pmclua_group_start(struct pmclua_group *group)
{
    return switch_group(group, "ENABLE");
}

int pmclua_group_stop(struct pmclua_group *group)
{
    return switch_group(group, "DISABLE");
}

/* One read(2) into the group's buffer: all of it, or an error. */
static int read_buffer(struct pmclua_group *group)
{
    long got = pmclua_read(group->fds[0], group->buffer, group->buffer_bytes);
    if (got < 0)
        return (int)got;
    if (got == 0)
        return -ENODATA;
    if ((size_t)got != group->buffer_bytes || group->buffer->nr != (uint64_t)group->count)
        return -EPROTO;
    return 0;
}

/* By id, not by position: the OS kernel promises no order. The usual order makes this one compare. */
static int value_by_id(const struct pmclua_group *group, int32_t index, uint64_t *value)
{
    uint64_t id = group->ids[index];
    for (int32_t i = 0; i < group->count; i++) {
        int32_t place = (index + i) % group->count;
        if (group->buffer->member[place].id == id) {
            *value = group->buffer->member[place].value;
            return 0;
        }
    }
    return -EPROTO;
}

int pmclua_group_read(struct pmclua_group *group, uint64_t *out)
{
    int result = read_buffer(group);
    if (result < 0)
        return result;
    for (int32_t i = 0; i < group->count; i++) {
        result = value_by_id(group, i, &out[2 + i]);
        if (result < 0)
            return result;
    }
    out[0] = group->buffer->enabled;
    out[1] = group->buffer->running;
    return 0;
}

void pmclua_group_delta(const struct pmclua_group *group, const uint64_t *earlier, const uint64_t *later, uint64_t *out)
{
    for (int32_t i = 0; i < 2 + group->count; i++)
        out[i] = later[i] - earlier[i];
}

int32_t pmclua_group_count(const struct pmclua_group *group)
{
    return group->count;
}

int32_t pmclua_group_fd(const struct pmclua_group *group, int32_t index)
{
    return index >= 0 && index < group->count ? group->fds[index] : -ERANGE;
}

int pmclua_group_measure(struct pmclua_group *group, void (*fn)(void *, uint64_t), void *state,
                         uint64_t iterations, uint64_t repetitions, uint64_t *out)
{
    size_t words = 2 + (size_t)group->count;
    uint64_t before[words], after[words];
    for (uint64_t i = 0; i < repetitions; i++) {
        int result = pmclua_group_read(group, before);
        if (result < 0)
            return result;
        fn(state, iterations);
        result = pmclua_group_read(group, after);
        if (result < 0)
            return result;
        pmclua_group_delta(group, before, after, out + i * words);
    }
    return 0;
}
