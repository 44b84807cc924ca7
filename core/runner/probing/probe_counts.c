/*
 * probe_counts.c: what the events of struct probes have counted in all, apart from their samples.
 *
 * Where a group is open on each CPU, none of them knows for how long a thread ran: a group's time stands still
 * while its thread is elsewhere, and what a thread leaves behind at its end may be short of that. So an event
 * that counts nothing, on whichever CPU, is open beside the groups of each thread: it is enabled for the CPU
 * time of the thread and of all that it starts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe_attrs.h"
#include "probes.h"

/* ---- clocks ---- */

static int open_clock(struct probes *probes, int source)
{
    struct pmclua_attr attr = attr_of_clock(probes->target.options);
    int result = pmclua_open(&attr, probes->target.tids[source], -1, -1, 0);
    if (result == -ESRCH && probes->target.count > 1)
        return 0;                  /* it has ended, and its groups are left out, too */
    if (result >= 0)
        probes->clock[source] = result;
    return result < 0 ? result : 0;
}

int probe_clocks_open(struct probes *probes)
{
    int result = 0;
    probes->clock = malloc(((size_t)probes->target.count + 1) * sizeof *probes->clock);
    if (!probes->clock)
        return -ENOMEM;
    for (int i = 0; i < probes->target.count; i++)
        probes->clock[i] = -1;
    for (int i = 0; result == 0 && i < probes->target.count; i++)
        result = open_clock(probes, i);
    return result;
}

void probe_clocks_switch(const struct probes *probes, int on)
{
    for (int i = 0; probes->clock && i < probes->target.count; i++)
        if (probes->clock[i] >= 0)
            pmclua_ioctl(probes->clock[i], on ? PMCLUA_IOC_ENABLE : PMCLUA_IOC_DISABLE, 0, NULL);
}

void probe_clocks_close(struct probes *probes)
{
    for (int i = 0; probes->clock && i < probes->target.count; i++)
        if (probes->clock[i] >= 0)
            pmclua_close(probes->clock[i]);
    free(probes->clock);
    probes->clock = NULL;
}

/* The CPU time of a source's threads. */
static int read_clock(const struct probes *probes, int source, uint64_t *enabled_ns)
{
    uint64_t words[2] = { 0, 0 };                  /* a value, which is 0, and the time */
    if (probes->clock[source] < 0)
        return 0;
    long got = pmclua_read(probes->clock[source], words, sizeof words);
    *enabled_ns = words[1];
    return got < 0 ? (int)got : 0;
}

/* ---- groups ---- */

/* The layout of read(2) for attr_set_common's format: members, enabled, running, then value and id of each. */
static int read_group(const struct probe_group *group, uint64_t *words, size_t size)
{
    long got = pmclua_read(group->member[0].fd, words, size * sizeof *words);
    if (got < 0)
        return (int)got;
    /* A pinned group that lost its place has no counts. */
    if (got == 0)
        memset(words, 0, size * sizeof *words);
    return got == 0 || words[0] == (uint64_t)group->members ? 0 : -EPROTO;
}

static size_t group_u64s(const struct probe_group *group) { return 3 + 2 * (size_t)group->members; }

static void add_reading(const struct probes *probes, const uint64_t *read, uint64_t *reading)
{
    const struct event_set *set = probes->set;
    const uint64_t *value = read + 3 + 2 * (size_t)probes->first_event;
    for (int k = 0; set && k < set->groups; k++) {
        reading[0] += read[1];
        reading[1] += read[2];
        reading += 2;
        for (int m = 0; m < set->group[k].count; m++, value += 2)
            *reading++ += *value;
    }
}

int probes_read(const struct probes *probes, uint64_t *reading)
{
    for (int i = 0; i < probes->groups; i++) {
        const struct probe_group *group = &probes->group[i];
        uint64_t read[group_u64s(group)];
        int result = read_group(group, read, group_u64s(group));
        if (result < 0)
            return result;
        /* A CPU's group says the time there as running, and not for how long its thread ran in all. */
        int is_first = i == 0 || group->source != probes->group[i - 1].source;
        if (probes->clock)
            read[1] = 0;
        if (probes->clock && is_first && (result = read_clock(probes, group->source, &read[1])) < 0)
            return result;
        add_reading(probes, read, reading);
    }
    return 0;
}

uint64_t probes_written(const struct probes *probes)
{
    uint64_t count = 0;
    for (int i = 0; i < probes->groups; i++) {
        const struct probe_group *group = &probes->group[i];
        uint64_t read[group_u64s(group)];
        if (read_group(group, read, group_u64s(group)) < 0)
            continue;
        for (int k = 0; k < group->members; k++)
            if (group->member[k].sample_type)
                count += read[3 + 2 * k];
    }
    return count;
}
