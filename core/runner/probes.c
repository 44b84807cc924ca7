/*
 * probes.c: the events that follow calls: groups of counting events and probes, whose samples hold
 * all counts at that instant.
 *
 * Each group has a leader that counts nothing (it switches the others and reports threads), the events
 * asked for, and the probes. To follow threads and children, events are inherited; then they can only
 * write to rings of one CPU each, so there is a group and a ring for each, and a sample at each context
 * switch says what a thread leaves behind on a CPU. All probes are one tracepoint, defined through tracefs:
 * events of the uprobe PMU must not be inherited (the target's fork would fail), are as many as there are
 * probes, and closing each waits for all CPUs, 30 to 400 ms. They serve where tracefs may not be written to.
 *
 * Invariant of struct probes: everything is open, or nothing is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regions.h"

enum {
    RING_LARGEST = 8 << 20, RING_SMALLEST = 128 << 10,     /* bytes of one ring */
    RINGS_TOGETHER = 64 << 20
};

/* What goes wrong while a group is opened. */
struct refusal { struct pmclua_failure *failure; const char **why; };

static int refuse(const struct refusal *refusal, const char *why, int result)
{
    *refusal->why = why;
    return result;
}

static int is_all(const struct probes *probes) { return probes->path == PMCLUA_REGIONS_ALL_THREADS; }

/* ---- one group ---- */

static int add_member(const struct probes *probes, struct probe_group *group, const struct pmclua_attr *attr,
                      enum member_role role, int point)
{
    struct member *members = realloc(group->member, ((size_t)group->members + 1) * sizeof *members);
    if (!members)
        return -ENOMEM;
    group->member = members;
    int leader = group->members > 0 ? members[0].fd : -1;
    struct member member = { .point = point, .role = role };
    member.fd = pmclua_open(attr, probes->target.tids[group->source], group->cpu, leader, 0);
    if (member.fd < 0)
        return member.fd;
    uint64_t period = 0;
    pmclua_attr_get(attr, "sample_period", &period);
    if (period > 0)
        pmclua_attr_get(attr, "sample_type", &member.sample_type);
    members[group->members++] = member;
    return pmclua_ioctl(member.fd, "ID", 0, &members[group->members - 1].id);
}

static void close_group(struct probe_group *group)
{
    /* Closing the leader first would set its siblings counting on their own. */
    while (group->members > 0)
        pmclua_close(group->member[--group->members].fd);
    free(group->member);
    group->member = NULL;
}

/* A CPU that is offline, or a thread that has ended meanwhile. */
static int is_missing(int result) { return result == -ENODEV || result == -ESRCH; }

static int add_event(const struct probes *probes, struct probe_group *group, int set_group, int index,
                     const struct refusal *refusal)
{
    const struct set_group *asked = &probes->set->group[set_group];
    struct pmclua_attr attr = asked->attrs[index];
    uint64_t type = 0;
    pmclua_attr_get(&attr, "type", &type);
    if (is_all(probes) && (long long)type == uprobe_type())
        return refuse(refusal, "inherit", -EINVAL);
    attr_set_common(&attr, is_all(probes));
    int result = add_member(probes, group, &attr, MEMBER_COUNTS, -1), is_open = result >= 0;
    if (is_open && asked->filters[index])
        result = pmclua_ioctl(group->member[group->members - 1].fd, "SET_FILTER", 0, (void *)asked->filters[index]);
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

static int add_tracepoint(const struct probes *probes, struct probe_group *group, const struct tracefs_event *event,
                          enum member_role role)
{
    if (!event->is_defined)
        return 0;
    struct pmclua_attr attr = attr_of_tracepoint(event, is_all(probes));
    return add_member(probes, group, &attr, role, -1);
}

static int add_point(const struct probes *probes, struct probe_group *group, int index)
{
    struct pmclua_attr attr;
    int result = attr_of_point(probes->regions, &probes->regions->point[index], is_all(probes), &attr);
    return result < 0 ? result : add_member(probes, group, &attr, MEMBER_POINT, index);
}

static int add_probes(const struct probes *probes, struct probe_group *group)
{
    int result = 0;
    if (is_all(probes)) {
        struct pmclua_attr switches = attr_of_switches(1);
        result = add_member(probes, group, &switches, MEMBER_SWITCH, -1);
    }
    if (result == 0 && probes->by_tracefs)
        result = add_tracepoint(probes, group, &probes->regions->tracefs.plain, MEMBER_PLAIN);
    if (result == 0 && probes->by_tracefs)
        result = add_tracepoint(probes, group, &probes->regions->tracefs.back, MEMBER_BACK);
    for (int i = 0; result == 0 && i < probes->regions->points; i++)
        if (!probes->by_tracefs || probes->regions->point[i].file < 0)
            result = add_point(probes, group, i);
    return result;
}

/* How many rings there will be: one a CPU, or one a thread. */
static int ring_count(const struct probes *probes) { return is_all(probes) ? probes->cpus : probes->target.count; }

static uint64_t ring_bytes(const struct probes *probes)
{
    if (probes->regions->ring_bytes)
        return probes->regions->ring_bytes;
    uint64_t bytes = RING_LARGEST;
    while (bytes > RING_SMALLEST && bytes * (uint64_t)ring_count(probes) > RINGS_TOGETHER)
        bytes /= 2;
    return bytes;
}

/* The ring of the group's CPU, which the first group there has opened; -1: none yet. */
static int ring_of_cpu(const struct probes *probes, int cpu)
{
    for (int i = 0; cpu >= 0 && i < probes->rings; i++)
        if (probes->ring_cpu[i] == cpu)
            return i;
    return -1;
}

/* The group's members that write, write to one ring. */
static int add_ring(struct probes *probes, struct probe_group *group)
{
    int result = 0, index = ring_of_cpu(probes, group->cpu);
    if (index < 0) {
        result = ring_open(&probes->ring[probes->rings], group->member[0].fd, ring_bytes(probes));
        if (result < 0)
            return result;
        index = probes->rings++;
        probes->ring_cpu[index] = group->cpu;
        probes->ring_fd[index] = group->member[0].fd;
    }
    group->ring = index;
    for (int i = 0; result == 0 && i < group->members; i++)
        if ((i == 0 || group->member[i].sample_type) && group->member[i].fd != probes->ring_fd[index])
            result = pmclua_ioctl(group->member[i].fd, "SET_OUTPUT", (uint64_t)probes->ring_fd[index], NULL);
    return result;
}

static int fill_group(struct probes *probes, struct probe_group *group, const struct refusal *refusal)
{
    struct pmclua_attr leader = attr_of_leader(is_all(probes), probes->target.options, ring_bytes(probes));
    int result = add_member(probes, group, &leader, MEMBER_COUNTS, -1);
    if (result < 0)
        return refuse(refusal, "leader", result);
    result = add_events(probes, group, refusal);
    if (result < 0)
        return result;
    result = add_probes(probes, group);
    if (result < 0)
        return refuse(refusal, "probe", result);
    result = add_ring(probes, group);
    return result < 0 ? refuse(refusal, "ring", result) : 0;
}

enum { NO_CPU = 1, NO_THREAD };         /* why a group is left out */

static int open_group(struct probes *probes, int source, int cpu, const struct refusal *refusal)
{
    struct probe_group *group = &probes->group[probes->groups];
    *group = (struct probe_group){ .source = source, .cpu = cpu };
    int result = fill_group(probes, group, refusal);
    if (is_missing(result)) {
        *refusal->why = NULL;
        close_group(group);
        return result == -ENODEV ? NO_CPU : NO_THREAD;
    }
    probes->groups++;
    return result;
}

/* ---- all groups ---- */

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
    uint32_t count = 0, size = 16;
    for (int i = 0; i < probes->groups; i++)
        count += (uint32_t)probes->group[i].members;
    while (size < 2 * count)
        size *= 2;
    probes->ids = malloc(size * sizeof *probes->ids);
    if (!probes->ids)
        return -ENOMEM;
    probes->id_mask = size - 1;
    for (uint32_t i = 0; i < size; i++)
        probes->ids[i].group = -1;
    for (int i = 0; i < probes->groups; i++) {
        for (int k = 0; k < probes->group[i].members; k++) {
            uint64_t id = probes->group[i].member[k].id;
            uint32_t slot = (uint32_t)id & probes->id_mask;
            while (probes->ids[slot].group >= 0)
                slot = (slot + 1) & probes->id_mask;
            probes->ids[slot] = (struct id_slot){ id, i, k };
        }
    }
    return 0;
}

/* A thread's groups. What it does on a CPU that is left out, though it runs programs, would be lost without a word. */
static int open_source(struct probes *probes, int source, const struct refusal *refusal)
{
    int opened = 0, online = is_all(probes) ? (int)sysconf(_SC_NPROCESSORS_ONLN) : 1;
    for (int cpu = 0; cpu < (is_all(probes) ? probes->cpus : 1); cpu++) {
        int result = open_group(probes, source, is_all(probes) ? cpu : -1, refusal);
        if (result == NO_THREAD)
            return probes->target.count > 1 ? 0 : refuse(refusal, "target", -ESRCH);
        if (result < 0)
            return result;
        opened += result == 0;
    }
    return opened >= online ? 0 : refuse(refusal, "cpu", -ENODEV);
}

static int open_groups(struct probes *probes, const struct refusal *refusal)
{
    size_t rings = (size_t)ring_count(probes);
    probes->group = calloc((size_t)probes->target.count * (is_all(probes) ? rings : 1), sizeof *probes->group);
    probes->ring = calloc(rings, sizeof *probes->ring);
    probes->ring_cpu = calloc(rings, sizeof *probes->ring_cpu);
    probes->ring_fd = calloc(rings, sizeof *probes->ring_fd);
    if (!probes->group || !probes->ring || !probes->ring_cpu || !probes->ring_fd)
        return refuse(refusal, "memory", -ENOMEM);
    for (int source = 0; source < probes->target.count; source++) {
        int result = open_source(probes, source, refusal);
        if (result < 0)
            return result;
    }
    return probes->groups > 0 ? 0 : refuse(refusal, "target", -ESRCH);
}

static int is_closed_to_us(int result)
{
    return result == -EACCES || result == -ENOENT || result == -EROFS || result == -EPERM;
}

static int open_all(struct probes *probes, const struct refusal *refusal)
{
    int result = region_set_open_files(probes->regions);
    if (result < 0)
        return refuse(refusal, "file", result);
    if (is_all(probes) && !can_follow_threads(probes))
        probes->path = PMCLUA_REGIONS_ONE_THREAD_OLD;
    result = region_set_define(probes->regions);
    if (result < 0 && !is_closed_to_us(result))
        return refuse(refusal, "definition", result);
    probes->by_tracefs = result == 0;
    if (result < 0 && is_all(probes))
        probes->path = PMCLUA_REGIONS_ONE_THREAD_NO_TRACEFS;
    result = open_groups(probes, refusal);
    if (result == 0 && is_all(probes) && (result = probe_clocks_open(probes)) < 0)
        refuse(refusal, "clock", result);
    if (result == 0 && (result = index_ids(probes)) < 0)
        refuse(refusal, "memory", result);
    return result;
}

int probes_open(struct probes *probes, struct region_set *regions, const struct event_set *set,
                const struct probe_target *target, struct pmclua_failure *failure, const char **why)
{
    *probes = (struct probes){ .regions = regions, .set = set, .target = *target,
                               .cpus = (int)sysconf(_SC_NPROCESSORS_CONF),
                               .path = regions->one_thread ? PMCLUA_REGIONS_ONE_THREAD : PMCLUA_REGIONS_ALL_THREADS };
    for (int i = 0; set && i < set->groups; i++) {
        probes->events += set->group[i].count;
        probes->target.options |= set->group[i].options;
    }
    struct refusal refusal = { failure, why };
    *why = NULL;
    if (set && set->groups > 1)
        return refuse(&refusal, "groups", -EINVAL);
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
        pmclua_ioctl(probes->group[i].member[0].fd, on ? "ENABLE" : "DISABLE", 0, NULL);
    if (on)
        probe_clocks_switch(probes, 1);
}

void probes_close(struct probes *probes)
{
    for (int i = 0; probes->ring && i < probes->rings; i++)
        ring_close(&probes->ring[i]);
    for (int i = 0; probes->group && i < probes->groups; i++)
        close_group(&probes->group[i]);
    probe_clocks_close(probes);
    free(probes->group);
    free(probes->ring);
    free(probes->ring_cpu);
    free(probes->ring_fd);
    free(probes->ids);
    *probes = (struct probes){ 0 };
}

/* ---- while they are open ---- */

const struct member *probes_find(const struct probes *probes, uint64_t id, const struct probe_group **group)
{
    for (uint32_t slot = (uint32_t)id & probes->id_mask; probes->ids[slot].group >= 0;
         slot = (slot + 1) & probes->id_mask) {
        if (probes->ids[slot].id != id)
            continue;
        *group = &probes->group[probes->ids[slot].group];
        return &(*group)->member[probes->ids[slot].member];
    }
    return NULL;
}
