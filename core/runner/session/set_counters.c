/*
 * set_counters.c: event sets opened on a target.
 *
 * Invariant: of struct counters all groups of its set are open, or `set` is NULL and none is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "set_counters.h"

/* The group of this thread alone, running and read in user space; else -errno and nothing is open. */
static int open_readable(struct pmclua_group **out, const struct set_group *group)
{
    struct pmclua_attr attrs[group->count];
    struct pmclua_failure ignored;
    memcpy(attrs, group->attrs, sizeof attrs);
    for (int i = 0; i < group->count; i++)
        pmclua_attr_set(&attrs[i], "inherit", 0);
    int result = pmclua_group_open(out, attrs, group->count, 0, -1, group->options, &ignored);
    if (result < 0)
        return result;
    result = pmclua_group_start(*out);
    if (result == 0 && pmclua_group_method(*out) == PMCLUA_BY_USER)
        return 0;
    pmclua_group_close(*out);
    *out = NULL;
    return -EOPNOTSUPP;
}

/* Opens a group and sets its filters; both, or neither and *out (NULL before) stays NULL. */
static int open_group(struct pmclua_group **out, const struct set_group *group, int pid, uint32_t options,
                      struct pmclua_failure *failure)
{
    uint32_t never = pid == 0 ? PMCLUA_READ_USER : PMCLUA_READ_USER | PMCLUA_READ_TOGGLE;
    int result = pmclua_group_open(out, group->attrs, group->count, pid, -1, (group->options | options) & ~never,
                                   failure);
    for (int i = 0; result == 0 && i < group->count; i++)
        if (group->filters[i])
            result = pmclua_group_filter(*out, i, group->filters[i], failure);
    if (result < 0 && *out) {
        pmclua_group_close(*out);
        *out = NULL;
    }
    return result;
}

int counters_open(struct counters *counters, const struct event_set *set, int pid, uint32_t options,
                  struct pmclua_failure *failure)
{
    *counters = (struct counters){ 0 };
    if (pid == 0)
        thread_starts_open(&counters->starts);       /* where it cannot be opened, all are inherited */
    if (!set || set->groups == 0)
        return 0;
    if (set->refused.errnum) {
        *failure = set->refused;
        return -failure->errnum;
    }
    counters->group = calloc((size_t)set->groups, sizeof *counters->group);
    counters->before = calloc(set->reading_u64s, 2 * sizeof *counters->before);
    counters->set = set;
    if (!counters->group || !counters->before) {
        counters_close(counters);
        *failure = (struct pmclua_failure){ .errnum = ENOMEM, .index = -1 };
        return -ENOMEM;
    }
    counters->after = counters->before + set->reading_u64s;
    for (int i = 0; i < set->groups; i++) {
        const struct set_group *group = &set->group[i];
        if (counters->starts.page && (group->options & options & PMCLUA_READ_USER)
            && open_readable(&counters->group[i], group) == 0) {
            counters->alone = 1;
            continue;
        }
        int result = open_group(&counters->group[i], group, pid, options, failure);
        if (result < 0) {
            failure->group = i;
            counters_close(counters);
            return result;
        }
    }
    return 0;
}

void counters_close(struct counters *counters)
{
    if (counters->set)
        for (int i = 0; counters->group && i < counters->set->groups; i++)
            pmclua_group_close(counters->group[i]);
    thread_starts_close(&counters->starts);
    free(counters->group);
    free(counters->before);
    *counters = (struct counters){ 0 };
}

int counters_start(struct counters *counters)
{
    for (int i = 0; counters->set && i < counters->set->groups; i++) {
        int in_regions_alone = pmclua_group_method(counters->group[i]) == PMCLUA_BY_TOGGLE;
        int result = in_regions_alone ? 0 : pmclua_group_start(counters->group[i]);
        if (result < 0)
            return result;
    }
    return 0;
}

int counters_read(struct counters *counters, uint64_t *reading)
{
    for (int i = 0; counters->set && i < counters->set->groups; i++) {
        int result = pmclua_group_read(counters->group[i], reading);
        if (result < 0)
            return result;
        reading += 2 + pmclua_group_count(counters->group[i]);
    }
    return 0;
}

int counters_method(const struct counters *counters)
{
    int method = PMCLUA_BY_SYSCALL;
    for (int i = 0; counters->set && i < counters->set->groups; i++) {
        int its = pmclua_group_method(counters->group[i]);
        if (i > 0 && its != method)
            return PMCLUA_BY_SYSCALL;
        method = its;
    }
    return method;
}

void counters_difference(struct counters *counters, uint64_t *out)
{
    const uint64_t *before = counters->before, *after = counters->after;
    for (int group = 0; counters->set && group < counters->set->groups; group++) {
        int count = 2 + counters->set->group[group].count;
        pmclua_reading_delta(before, after, out, count);
        counters->has_lost |= pmclua_reading_is_lost(out);
        before += count;
        after += count;
        out += count;
    }
}
