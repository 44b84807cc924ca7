/*
 * probe_group.c: the events of one thread on one CPU: a leader that counts nothing, the events asked for, the
 * probes, and the ring that they write to. Where events open behind the first of them alone, that one leads.
 */
#include <errno.h>
#include <stdlib.h>

#include "counters/attr.h"
#include "host/lists.h"
#include "probe_attrs.h"
#include "probes.h"

enum {
    RING_LARGEST = 8 << 20, RING_SMALLEST = 128 << 10,     /* bytes of one ring */
    RINGS_TOGETHER = 64 << 20
};

int refuse_probes(const struct refusal *refusal, enum pmclua_stage stage, int result)
{
    *refusal->stage = stage;
    return result;
}

static int add_member(const struct probes *probes, struct probe_group *group, const struct pmclua_attr *attr,
                      enum member_role role, int point)
{
    if (list_grow(&group->member, (size_t)group->members, sizeof *group->member) < 0)
        return -ENOMEM;
    int leader = group->members > 0 ? group->member[0].fd : -1;
    struct member member = { .point = point, .role = role };
    member.fd = pmclua_open(attr, probes->target.tids[group->source], group->cpu, leader, 0);
    if (member.fd < 0)
        return member.fd;
    if (native_of(attr).sample_period > 0)
        member.sample_type = native_of(attr).sample_type;
    group->member[group->members++] = member;
    return pmclua_ioctl(member.fd, PMCLUA_IOC_ID, 0, &group->member[group->members - 1].id);
}

void probe_group_close(struct probe_group *group)
{
    /* Closing the leader first would set its siblings counting on their own. */
    while (group->members > 0)
        pmclua_close(group->member[--group->members].fd);
    free(group->member);
    group->member = NULL;
}

static uint64_t ring_bytes(const struct probes *probes)
{
    if (probes->regions->ring_bytes)
        return probes->regions->ring_bytes;
    return ring_bytes_each(RING_LARGEST, RING_SMALLEST, RINGS_TOGETHER, (size_t)probes_ring_count(probes));
}

/* A CPU that is offline, or a thread that has ended meanwhile. */
static int is_missing(int result) { return result == -ENODEV || result == -ESRCH; }

static int add_event(const struct probes *probes, struct probe_group *group, int set_group, int index,
                     const struct refusal *refusal)
{
    const struct set_group *asked = &probes->set->group[set_group];
    struct pmclua_attr attr = asked->attrs[index];
    if (probes_are_inherited(probes) && native_of(&attr).type == uprobe_type())
        return refuse_probes(refusal, PMCLUA_STAGE_REGION_INHERIT, -EINVAL);
    if (group->members == 0)
        attr_set_leader(&attr, probes_are_inherited(probes), probes->target.options, ring_bytes(probes));
    else
        attr_set_common(&attr, probes_are_inherited(probes));
    int result = add_member(probes, group, &attr, MEMBER_COUNTS, -1), is_open = result >= 0;
    if (is_open && asked->filters[index])
        result = pmclua_ioctl(group->member[group->members - 1].fd, PMCLUA_IOC_SET_FILTER, 0, (void *)asked->filters[index]);
    if (result < 0 && !is_missing(result))
        *refusal->failure = (struct pmclua_failure){
            .errnum = -result, .group = set_group, .index = index, .pid = probes->target.tids[group->source],
            .cpu = group->cpu, .filter = is_open, .attr = attr };
    return result;
}

static int add_events(const struct probes *probes, struct probe_group *group, const struct refusal *refusal)
{
    int result = 0;
    for (int i = 0; probes->set && i < probes->set->groups; i++)
        for (int k = 0; result == 0 && k < probes->set->group[i].count; k++)
            result = add_event(probes, group, i, k, refusal);
    return result;
}

static int add_tracepoint(const struct probes *probes, struct probe_group *group, int is_return)
{
    const struct tracefs_event *event = &probes->regions->tracefs.event[is_return];
    if (!event->is_defined)
        return 0;
    struct pmclua_attr attr = attr_of_tracepoint(event, probes_are_inherited(probes));
    return add_member(probes, group, &attr, MEMBER_TRACEPOINT, is_return);
}

static int add_point(const struct probes *probes, struct probe_group *group, int index)
{
    struct pmclua_attr attr;
    int result = attr_of_point(probes->regions, &probes->regions->point[index], probes_are_inherited(probes), &attr);
    return result < 0 ? result : add_member(probes, group, &attr, MEMBER_POINT, index);
}

static int add_probes(const struct probes *probes, struct probe_group *group)
{
    int result = 0;
    if (probes_are_inherited(probes)) {
        struct pmclua_attr switches = attr_of_switches(1);
        result = add_member(probes, group, &switches, MEMBER_SWITCH, -1);
    }
    for (int is_return = 0; result == 0 && probes->by_tracefs && is_return < 2; is_return++)
        result = add_tracepoint(probes, group, is_return);
    for (int i = 0; result == 0 && i < probes->regions->points; i++)
        if (!probes->by_tracefs || probes->regions->point[i].file < 0)
            result = add_point(probes, group, i);
    return result;
}

/* The ring of the group's CPU, which the first group there has opened; -1: none yet. */
static int ring_of_cpu(const struct probes *probes, int cpu)
{
    for (int i = 0; cpu >= 0 && i < probes->rings; i++)
        if (probes->ring[i].cpu == cpu)
            return i;
    return -1;
}

/* The group's members that write, write to one ring. */
static int add_ring(struct probes *probes, struct probe_group *group)
{
    int result = 0, index = ring_of_cpu(probes, group->cpu);
    if (!group->member)
        return -EINVAL;
    if (index < 0) {
        struct probe_ring *ring = &probes->ring[probes->rings];
        *ring = (struct probe_ring){ .cpu = group->cpu, .fd = group->member[0].fd };
        result = ring_open(&ring->ring, ring->fd, ring_bytes(probes));
        if (result < 0)
            return result;
        index = probes->rings++;
    }
    group->ring = index;
    int fd = probes->ring[index].fd;
    for (int i = 0; result == 0 && i < group->members; i++)
        if ((i == 0 || group->member[i].sample_type) && group->member[i].fd != fd)
            result = pmclua_ioctl(group->member[i].fd, PMCLUA_IOC_SET_OUTPUT, (uint64_t)fd, NULL);
    return result;
}

static int add_leader(const struct probes *probes, struct probe_group *group)
{
    struct pmclua_attr leader = attr_of_leader(probes_are_inherited(probes), probes->target.options, ring_bytes(probes));
    return add_member(probes, group, &leader, MEMBER_COUNTS, -1);
}

static int fill_group(struct probes *probes, struct probe_group *group, const struct refusal *refusal)
{
    int result = probes->first_event > 0 ? add_leader(probes, group) : 0;
    if (result < 0)
        return refuse_probes(refusal, PMCLUA_STAGE_REGION_LEADER, result);
    result = add_events(probes, group, refusal);
    if (result < 0)
        return result;
    result = add_probes(probes, group);
    if (result < 0)
        return refuse_probes(refusal, PMCLUA_STAGE_REGION_PROBE, result);
    result = add_ring(probes, group);
    return result < 0 ? refuse_probes(refusal, PMCLUA_STAGE_REGION_RING, result) : 0;
}

int probe_group_open(struct probes *probes, int source, int cpu, const struct refusal *refusal)
{
    struct probe_group group = { .source = source, .cpu = cpu };
    int result = fill_group(probes, &group, refusal);
    if (is_missing(result)) {
        *refusal->stage = PMCLUA_STAGE_NONE;
        probe_group_close(&group);
        return result == -ENODEV ? NO_CPU : NO_THREAD;
    }
    probes->group[probes->groups++] = group;
    return result;
}
