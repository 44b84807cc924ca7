/*
 * measure.c: the hot path: reading groups, and calling what is measured between two readings.
 *
 * Everything between a reading's system call and its return is inlined here: after a system call the CPU has
 * forgotten where returns go, and each costs some 10 ns.
 */
#include <errno.h>

#include "group.h"

#define INLINE static inline __attribute__((always_inline))

static int value_by_id(const struct pmclua_group *group, uint64_t id, uint64_t *value)
{
    for (int32_t i = 0; i < group->count; i++)
        if (group->buffer->member[i].id == id) {
            *value = group->buffer->member[i].value;
            return 0;
        }
    return -EPROTO;
}

/* By id, not by position: the OS kernel promises no order. The usual order makes this one compare each. */
INLINE int take_values(const struct pmclua_group *group, uint64_t *out)
{
    const struct group_read *buffer = group->buffer;
    for (int32_t i = 0; i < group->count; i++) {
        out[2 + i] = buffer->member[i].value;
        if (buffer->member[i].id != group->ids[i]) {
            int result = value_by_id(group, group->ids[i], &out[2 + i]);
            if (result < 0)
                return result;
        }
    }
    out[0] = buffer->enabled;
    out[1] = buffer->running;
    return 0;
}

INLINE int read_by_syscall(struct pmclua_group *group, uint64_t *out)
{
    long got;
    do
        got = pmclua_system.read(group->fds[0], group->buffer, group->buffer_bytes);
    while (got == -EINTR);
    if (got == 0) {
        reading_lose(out, 2 + group->count);
        return 0;
    }
    if (got < 0)
        return (int)got;
    if ((size_t)got != group->buffer_bytes || group->buffer->nr != (uint64_t)group->count)
        return -EPROTO;
    return take_values(group, out);
}

INLINE int read_group(struct pmclua_group *group, uint64_t *out)
{
    if (group->pages && userread(group, out) == 0)
        return 0;
    return read_by_syscall(group, out);
}

/* The events of a CPU that went offline are groups of one each, and stand still. */
static int read_apart(struct pmclua_group *group, uint64_t *out)
{
    const struct group_read *buffer = group->buffer;
    for (int32_t i = 0; i < group->count; i++) {
        if (pmclua_system.read(group->fds[i], group->buffer, group->buffer_bytes) <= 0)
            return -EPROTO;
        if (buffer->nr != 1 || buffer->member[0].id != group->ids[i])
            return -EPROTO;
        out[2 + i] = buffer->member[0].value;
    }
    out[0] = buffer->enabled;
    out[1] = buffer->running;
    return 1;
}

int pmclua_group_read(struct pmclua_group *group, uint64_t *out)
{
    uint64_t due_ns = witness_ns(group);     /* first: it may only be the shorter */
    int result = read_group(group, out);
    if (result == -EPROTO && group->count > 1)
        result = read_apart(group, out);
    if (result >= 0 && out[0] < due_ns)
        reading_lose(out, 2 + group->count);
    return result;
}

INLINE int open_region(struct pmclua_group *const *groups, int32_t count, uint64_t *before)
{
    for (int32_t i = 0; i < count; i++) {
        int result = read_group(groups[i], before);
        if (result == 0 && (groups[i]->options & PMCLUA_READ_TOGGLE))
            result = pmclua_group_start(groups[i]);
        if (result < 0)
            return result;
        before += 2 + groups[i]->count;
    }
    return 0;
}

/* In reverse order, so that the groups' regions nest. `after` is the end of all words. */
INLINE int close_region(struct pmclua_group *const *groups, int32_t count, uint64_t *after)
{
    for (int32_t i = count - 1; i >= 0; i--) {
        after -= 2 + groups[i]->count;
        int result = groups[i]->options & PMCLUA_READ_TOGGLE ? pmclua_group_stop(groups[i]) : 0;
        if (result == 0)
            result = read_group(groups[i], after);
        if (result < 0)
            return result;
    }
    return 0;
}

int pmclua_groups_measure(struct pmclua_group *const *groups, int32_t count, void (*fn)(void *, uint64_t),
                          void *state, uint64_t iterations, uint64_t *before, uint64_t *after)
{
    int32_t words = 0;
    for (int32_t i = 0; i < count; i++)
        words += 2 + groups[i]->count;
    int result = open_region(groups, count, before);
    if (result < 0)
        return result;
    fn(state, iterations);
    return close_region(groups, count, after + words);
}
