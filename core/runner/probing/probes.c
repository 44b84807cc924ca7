/*
 * probes.c: the events that follow calls: groups of counting events and probes, whose samples hold
 * all counts at that instant.
 *
 * Each group has a leader that counts nothing (it switches the others and reports threads; where events open behind the
 * first of them alone, that one leads), the events asked for, and the probes. To follow threads and children, events are
 * inherited; then they can only write to rings of one CPU each. So there is a group and a ring for each CPU, and a sample
 * at each context switch has a thread's counts there. All probes are one tracepoint, defined through tracefs:
 * events of the uprobe PMU must not be inherited (the target's fork would fail), are as many as there are
 * probes, and closing each waits for all CPUs, 30 to 400 ms. They serve where tracefs may not be written to.
 *
 * Invariant of struct probes: everything is open, or nothing is.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/lists.h"
#include "probe_attrs.h"
#include "probes.h"

/* Whether samples of inherited events hold each thread's own counts (6.12). */
static int can_follow_threads(const struct probes *probes)
{
    struct pmclua_attr attr = attr_of_switches(1);
    int fd = pmclua_open(&attr, probes->target.tids[0], -1, -1, 0);
    if (fd >= 0)
        pmclua_close(fd);
    return fd >= 0;
}

static int index_ids(struct probes *probes)
{
    int result = 0;
    for (int i = 0; i < probes->groups; i++)
        for (int k = 0; result == 0 && k < probes->group[i].members; k++)
            result = LIST_ADD(probes->ids, probes->id_count, (struct id_slot){ probes->group[i].member[k].id, i, k });
    list_sort(probes->ids, probes->id_count, sizeof *probes->ids);
    return result;
}

/* Opens a thread's groups, on every CPU that is online: calls on another one would be missing unnoticed. */
static int open_source(struct probes *probes, int source, const struct refusal *refusal)
{
    int opened = 0, online = probes_are_inherited(probes) ? (int)sysconf(_SC_NPROCESSORS_ONLN) : 1;
    for (int cpu = 0; cpu < (probes_are_inherited(probes) ? probes->cpus : 1); cpu++) {
        int result = probe_group_open(probes, source, probes_are_inherited(probes) ? cpu : -1, refusal);
        if (result == NO_THREAD)
            return probes->target.count > 1 ? 0 : refuse_probes(refusal, PMCLUA_STAGE_REGION_TARGET, -ESRCH);
        if (result < 0)
            return result;
        opened += result == 0;
    }
    return opened >= online ? 0 : refuse_probes(refusal, PMCLUA_STAGE_REGION_CPU, -ENODEV);
}

static int open_groups(struct probes *probes, const struct refusal *refusal)
{
    size_t rings = (size_t)probes_ring_count(probes);
    probes->group = calloc((size_t)probes->target.count * (probes_are_inherited(probes) ? rings : 1), sizeof *probes->group);
    probes->ring = calloc(rings, sizeof *probes->ring);
    if (!probes->group || !probes->ring)
        return refuse_probes(refusal, PMCLUA_STAGE_REGION_MEMORY, -ENOMEM);
    for (int source = 0; source < probes->target.count; source++) {
        int result = open_source(probes, source, refusal);
        if (result < 0)
            return result;
    }
    return probes->groups > 0 ? 0 : refuse_probes(refusal, PMCLUA_STAGE_REGION_TARGET, -ESRCH);
}

static int is_closed_to_us(int result)
{
    return result == -EACCES || result == -ENOENT || result == -EROFS || result == -EPERM;
}

static int open_all(struct probes *probes, const struct refusal *refusal)
{
    int result = region_set_open_files(probes->regions);
    if (result < 0)
        return refuse_probes(refusal, PMCLUA_STAGE_REGION_FILE, result);
    if (probes_are_inherited(probes) && !can_follow_threads(probes))
        probes->path = PMCLUA_REGIONS_ONE_THREAD_OLD;
    result = region_set_define(probes->regions);
    if (result < 0 && !is_closed_to_us(result))
        return refuse_probes(refusal, PMCLUA_STAGE_REGION_DEFINITION, result);
    probes->by_tracefs = result == 0;
    if (result < 0 && probes_are_inherited(probes))
        probes->path = PMCLUA_REGIONS_ONE_THREAD_NO_TRACEFS;
    result = open_groups(probes, refusal);
    if (result == 0 && probes_are_inherited(probes) && (result = probe_clocks_open(probes)) < 0)
        refuse_probes(refusal, PMCLUA_STAGE_REGION_CLOCK, result);
    if (result == 0 && (result = index_ids(probes)) < 0)
        refuse_probes(refusal, PMCLUA_STAGE_REGION_MEMORY, result);
    return result;
}

int probes_open(struct probes *probes, struct region_set *regions, const struct event_set *set,
                const struct probe_target *target, struct pmclua_failure *failure, enum pmclua_stage *stage)
{
    *probes = (struct probes){ .regions = regions, .set = set, .target = *target,
                               .cpus = (int)sysconf(_SC_NPROCESSORS_CONF),
                               .path = regions->one_thread ? PMCLUA_REGIONS_ONE_THREAD : PMCLUA_REGIONS_ALL_THREADS };
    for (int i = 0; set && i < set->groups; i++) {
        probes->events += set->group[i].count;
        probes->target.options |= set->group[i].options;
    }
    probes->first_event = !(probes->events > 0 && (probes->target.options & PMCLUA_LEADS));
    struct refusal refusal = { failure, stage };
    *stage = PMCLUA_STAGE_NONE;
    if (set && set->groups > 1)
        return refuse_probes(&refusal, PMCLUA_STAGE_REGION_GROUPS, -EINVAL);
    if (set && set->refused.errnum) {
        *failure = set->refused;
        return -failure->errnum;
    }
    int result = open_all(probes, &refusal);
    if (result < 0)
        probes_close(probes);
    return result;
}

void probes_switch(struct probes *probes, int on)
{
    /* The clocks run for no longer than the groups: see probes_read. */
    if (!on)
        probe_clocks_switch(probes, 0);
    for (int i = 0; i < probes->groups; i++)
        pmclua_ioctl(probes->group[i].member[0].fd, on ? PMCLUA_IOC_ENABLE : PMCLUA_IOC_DISABLE, 0, NULL);
    if (on)
        probe_clocks_switch(probes, 1);
}

void probes_close(struct probes *probes)
{
    for (int i = 0; probes->ring && i < probes->rings; i++)
        ring_close(&probes->ring[i].ring);
    for (int i = 0; probes->group && i < probes->groups; i++)
        probe_group_close(&probes->group[i]);
    probe_clocks_close(probes);
    free(probes->group);
    free(probes->ring);
    free(probes->ids);
    *probes = (struct probes){ 0 };
}

/* ---- while they are open ---- */

const struct member *probes_find(const struct probes *probes, uint64_t id, const struct probe_group **group)
{
    size_t up_to = list_up_to(probes->ids, probes->id_count, sizeof *probes->ids, id);
    const struct id_slot *slot = up_to > 0 ? &probes->ids[up_to - 1] : NULL;
    if (!slot || slot->id != id)
        return NULL;
    *group = &probes->group[slot->group];
    return &(*group)->member[slot->member];
}
