/*
 * runner_probes.c: the events that follow a command's calls: groups of counting events and probes, whose
 * samples hold all counts at that instant.
 *
 * Each group has a leader that counts nothing (it switches the others and reports threads), the events
 * asked for, and the probes. To follow threads and children, events are inherited; then they can only
 * write to rings of one CPU each, so there is a group and a ring for each, and a sample at each context
 * switch says what a thread leaves behind on a CPU. Events of the uprobe PMU must not be inherited (the
 * command's fork would fail): there the probes are tracepoints defined through tracefs.
 *
 * Invariant of struct probes: everything is open, or nothing is.
 */
#define _GNU_SOURCE
#include <asm/perf_regs.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "runner_regions.h"
#include "samples.h"

#if defined __x86_64__ || defined __i386__
enum { STACK_POINTER = PERF_REG_X86_SP };
#elif defined __aarch64__
enum { STACK_POINTER = PERF_REG_ARM64_SP };
#elif defined __riscv
enum { STACK_POINTER = PERF_REG_RISCV_SP };
#else
#error "which register is the stack pointer?"
#endif

enum {
    RING_LARGEST = 8 << 20, RING_SMALLEST = 128 << 10,     /* bytes of one ring */
    RINGS_TOGETHER = 64 << 20
};

/* ---- attrs ---- */

static struct pmclua_attr words_of(const struct perf_event_attr *attr)
{
    struct pmclua_attr words = { { 0 } };
    _Static_assert(sizeof *attr <= sizeof words, "an attr that pmclua_attr cannot hold");
    memcpy(&words, attr, sizeof *attr);
    return words;
}

/* What all members of a group must share. */
static void set_common(const struct probes *probes, struct pmclua_attr *attr)
{
    pmclua_attr_set(attr, "read_format", PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                         PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID);
    pmclua_attr_set(attr, "inherit", probes->path == PMCLUA_REGIONS_ALL_THREADS);
    pmclua_attr_set(attr, "use_clockid", 1);
    pmclua_attr_set(attr, "clockid", CLOCK_MONOTONIC);
    pmclua_attr_set(attr, "sample_id_all", 1);
    pmclua_attr_set(attr, "disabled", 0);
    pmclua_attr_set(attr, "enable_on_exec", 0);
}

static struct pmclua_attr leader_attr(const struct probes *probes, uint64_t ring_bytes)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1, .exclude_hv = 1,
        .sample_type = SAMPLE_BASE, .task = 1, .comm = 1, .comm_exec = 1,
        .watermark = 1, .wakeup_watermark = (uint32_t)(ring_bytes / 4),
    };
    struct pmclua_attr words = words_of(&attr);
    set_common(probes, &words);
    pmclua_attr_set(&words, "disabled", 1);
    pmclua_attr_set(&words, "enable_on_exec", (probes->options & PMCLUA_ON_EXEC) != 0);
    pmclua_attr_set(&words, "pinned", (probes->options & PMCLUA_PINNED) != 0);
    return words;
}

/* Makes an event write a sample each time it happens. */
static void set_sampling(struct pmclua_attr *attr, uint64_t sample_type)
{
    pmclua_attr_set(attr, "sample_period", 1);
    pmclua_attr_set(attr, "sample_type", sample_type);
    if (sample_type & PERF_SAMPLE_REGS_USER)
        pmclua_attr_set(attr, "sample_regs_user", 1ull << STACK_POINTER);
}

/* A number in a file of sysfs; -1. */
static long long read_number(const char *path)
{
    char text[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return -1;
    text[got] = '\0';
    return strtoll(text + strcspn(text, "0123456789"), NULL, 10);
}

/* A point as an event of its own. -ENOENT: the OS kernel has no uprobe PMU. */
static int point_attr(const struct probes *probes, const struct point *point, struct pmclua_attr *attr)
{
    *attr = point->attr;
    if (point->file < 0)
        return 0;
    long long type = read_number("/sys/bus/event_source/devices/uprobe/type");
    long long bit = read_number("/sys/bus/event_source/devices/uprobe/format/retprobe");
    if (type < 0)
        return -ENOENT;
    static char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", probes->file[point->file]);
    struct perf_event_attr event = {
        .type = (uint32_t)type, .config1 = (uintptr_t)path, .config2 = point->offset,
        .config = point->kind == PMCLUA_POINT_RETURN_PROBE ? 1ull << (bit < 0 ? 0 : bit) : 0,
    };
    *attr = words_of(&event);
    return 0;
}

/* ---- one group ---- */

/* What goes wrong while a group is opened. */
struct refusal { struct pmclua_failure *failure; const char **why; };

static int refuse(const struct refusal *refusal, const char *why, int result)
{
    *refusal->why = why;
    return result;
}

static int add_member(struct probes *probes, struct probe_group *group, const struct pmclua_attr *attr,
                      enum member_role role, int point)
{
    struct member *members = realloc(group->member, ((size_t)group->members + 1) * sizeof *members);
    if (!members)
        return -ENOMEM;
    group->member = members;
    int leader = group->members > 0 ? members[0].fd : -1;
    struct member member = { .point = point, .role = role };
    member.fd = pmclua_open(attr, probes->pid, group->cpu, leader, 0);
    if (member.fd < 0)
        return member.fd;
    uint64_t period = 0;
    pmclua_attr_get(attr, "sample_period", &period);
    if (period > 0)
        pmclua_attr_get(attr, "sample_type", &member.sample_type);
    members[group->members++] = member;
    return pmclua_ioctl(member.fd, "ID", 0, &members[group->members - 1].id);
}

/* With inherit, events of the uprobe PMU make the command's fork fail (EFAULT). */
static int is_inheritable(const struct pmclua_attr *attr)
{
    uint64_t type = 0;
    pmclua_attr_get(attr, "type", &type);
    return (long long)type != read_number("/sys/bus/event_source/devices/uprobe/type");
}

static int add_events(struct probes *probes, struct probe_group *group, const struct refusal *refusal)
{
    for (int i = 0; probes->set && i < probes->set->groups; i++) {
        for (int k = 0; k < probes->set->group[i].count; k++) {
            struct pmclua_attr attr = probes->set->group[i].attrs[k];
            const char *filter = probes->set->group[i].filters[k];
            if (probes->path == PMCLUA_REGIONS_ALL_THREADS && !is_inheritable(&attr))
                return refuse(refusal, "inherit", -EINVAL);
            set_common(probes, &attr);
            int result = add_member(probes, group, &attr, MEMBER_COUNTS, -1), is_open = result >= 0;
            if (result == -ENODEV)
                return result;
            if (is_open && filter)
                result = pmclua_ioctl(group->member[group->members - 1].fd, "SET_FILTER", 0, (void *)filter);
            if (result < 0) {
                *refusal->failure = (struct pmclua_failure){ .errnum = -result, .group = i, .index = k,
                    .pid = probes->pid, .cpu = group->cpu, .filter = is_open, .attr = attr };
                return result;
            }
        }
    }
    return 0;
}

static int add_switches(struct probes *probes, struct probe_group *group)
{
    struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES };
    struct pmclua_attr attr = words_of(&event);
    set_common(probes, &attr);
    set_sampling(&attr, SAMPLE_BASE | PERF_SAMPLE_READ);
    return add_member(probes, group, &attr, MEMBER_SWITCH, -1);
}

static int add_tracepoint(struct probes *probes, struct probe_group *group, const struct tracefs_event *event,
                          enum member_role role)
{
    if (!event->is_defined)
        return 0;
    struct perf_event_attr tracepoint = { .type = PERF_TYPE_TRACEPOINT, .config = event->id };
    struct pmclua_attr attr = words_of(&tracepoint);
    set_common(probes, &attr);
    set_sampling(&attr, SAMPLE_BASE | PERF_SAMPLE_READ | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER);
    return add_member(probes, group, &attr, role, -1);
}

static int add_point(struct probes *probes, struct probe_group *group, int index)
{
    const struct point *point = &probes->regions->point[index];
    struct pmclua_attr attr;
    int result = point_attr(probes, point, &attr);
    if (result < 0)
        return result;
    set_common(probes, &attr);
    set_sampling(&attr, SAMPLE_BASE | PERF_SAMPLE_READ | (point_has_stack(point) ? PERF_SAMPLE_REGS_USER : 0));
    return add_member(probes, group, &attr, MEMBER_POINT, index);
}

static int add_probes(struct probes *probes, struct probe_group *group)
{
    int is_all = probes->path == PMCLUA_REGIONS_ALL_THREADS;
    int result = is_all ? add_switches(probes, group) : 0;
    if (result == 0)
        result = add_tracepoint(probes, group, &probes->tracefs.plain, MEMBER_PLAIN);
    if (result == 0)
        result = add_tracepoint(probes, group, &probes->tracefs.back, MEMBER_BACK);
    for (int i = 0; result == 0 && i < probes->regions->points; i++)
        if (!is_all || probes->regions->point[i].file < 0)
            result = add_point(probes, group, i);
    return result;
}

static uint64_t ring_bytes(const struct probes *probes)
{
    if (probes->regions->ring_bytes)
        return probes->regions->ring_bytes;
    uint64_t bytes = RING_LARGEST;
    while (bytes > RING_SMALLEST && bytes * (uint64_t)probes->cpus > RINGS_TOGETHER)
        bytes /= 2;
    return bytes;
}

/* The group's members that write all write to one ring, the leader's. */
static int add_ring(struct probes *probes, struct probe_group *group)
{
    int result = ring_open(&probes->ring[probes->rings], group->member[0].fd, ring_bytes(probes));
    if (result < 0)
        return result;
    group->ring = probes->rings++;
    for (int i = 1; result == 0 && i < group->members; i++)
        if (group->member[i].sample_type)
            result = pmclua_ioctl(group->member[i].fd, "SET_OUTPUT", (uint64_t)group->member[0].fd, NULL);
    return result;
}

/* 1: this CPU is not there. */
static int open_group(struct probes *probes, int cpu, const struct refusal *refusal)
{
    struct probe_group *group = &probes->group[probes->groups++];
    *group = (struct probe_group){ .cpu = cpu };
    struct pmclua_attr leader = leader_attr(probes, ring_bytes(probes));
    int result = add_member(probes, group, &leader, MEMBER_COUNTS, -1);
    if (result == -ENODEV) {
        probes->groups--;
        free(group->member);
        return 1;
    }
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

/* ---- all groups ---- */

/* Whether samples of inherited events hold each thread's own counts (6.12). */
static int can_follow_threads(struct probes *probes)
{
    struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES };
    struct pmclua_attr attr = words_of(&event);
    set_common(probes, &attr);
    set_sampling(&attr, SAMPLE_BASE | PERF_SAMPLE_READ);
    int fd = pmclua_open(&attr, probes->pid, -1, -1, 0);
    if (fd >= 0)
        pmclua_close(fd);
    return fd >= 0;
}

static int open_files(struct probes *probes)
{
    const struct region_set *regions = probes->regions;
    probes->file = malloc(((size_t)regions->files + 1) * sizeof *probes->file);
    if (!probes->file)
        return -ENOMEM;
    for (int i = 0; i < regions->files; i++)
        probes->file[i] = -1;
    for (int i = 0; i < regions->files; i++) {
        probes->file[i] = open(regions->paths[i], O_RDONLY | O_CLOEXEC);
        if (probes->file[i] < 0)
            return -errno;
    }
    return 0;
}

static int define_probes(struct probes *probes)
{
    const struct region_set *regions = probes->regions;
    int result = 0;
    tracefs_clean();
    for (int i = 0; result == 0 && i < regions->points; i++) {
        const struct point *point = &regions->point[i];
        if (point->file >= 0)
            result = tracefs_add(&probes->tracefs, probes->file[point->file], point->offset,
                                 point->kind == PMCLUA_POINT_RETURN_PROBE, (uint32_t)i);
    }
    return result < 0 ? result : tracefs_finish(&probes->tracefs);
}

/* Many descriptors: a group of events for each CPU. */
static void raise_descriptor_limit(struct rlimit *before)
{
    if (getrlimit(RLIMIT_NOFILE, before) < 0)
        return;
    struct rlimit more = { before->rlim_max, before->rlim_max };
    setrlimit(RLIMIT_NOFILE, &more);
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

static int open_groups(struct probes *probes, const struct refusal *refusal)
{
    int is_all = probes->path == PMCLUA_REGIONS_ALL_THREADS, opened = 0;
    probes->group = calloc((size_t)probes->cpus, sizeof *probes->group);
    probes->ring = calloc((size_t)probes->cpus, sizeof *probes->ring);
    if (!probes->group || !probes->ring)
        return refuse(refusal, "memory", -ENOMEM);
    for (int cpu = 0; cpu < (is_all ? probes->cpus : 1); cpu++) {
        int result = open_group(probes, is_all ? cpu : -1, refusal);
        if (result < 0)
            return result;
        opened += result == 0;
    }
    return opened > 0 ? 0 : refuse(refusal, "CPUs", -ENODEV);
}

static int open_all(struct probes *probes, const struct refusal *refusal)
{
    int result = open_files(probes);
    if (result < 0)
        return refuse(refusal, "file", result);
    if (probes->path == PMCLUA_REGIONS_ALL_THREADS && !can_follow_threads(probes))
        probes->path = PMCLUA_REGIONS_ONE_THREAD_OLD;
    result = probes->path == PMCLUA_REGIONS_ALL_THREADS ? define_probes(probes) : 0;
    int is_closed = result == -EACCES || result == -ENOENT || result == -EROFS || result == -EPERM;
    if (result < 0 && !is_closed)
        return refuse(refusal, "definition", result);
    if (is_closed) {
        tracefs_remove(&probes->tracefs);
        probes->path = PMCLUA_REGIONS_ONE_THREAD_NO_TRACEFS;
    }
    struct rlimit before;
    raise_descriptor_limit(&before);
    result = open_groups(probes, refusal);
    setrlimit(RLIMIT_NOFILE, &before);
    if (result == 0 && (result = index_ids(probes)) < 0)
        refuse(refusal, "memory", result);
    return result;
}

int probes_open(struct probes *probes, const struct region_set *regions, const struct event_set *set, int pid,
                 uint32_t options, struct pmclua_failure *failure, const char **why)
{
    *probes = (struct probes){ .regions = regions, .set = set, .pid = pid, .options = options,
                               .cpus = (int)sysconf(_SC_NPROCESSORS_CONF),
                               .path = regions->one_thread ? PMCLUA_REGIONS_ONE_THREAD : PMCLUA_REGIONS_ALL_THREADS };
    for (int i = 0; set && i < set->groups; i++) {
        probes->events += set->group[i].count;
        probes->options |= set->group[i].options;
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

void probes_stop(struct probes *probes)
{
    for (int i = 0; i < probes->groups; i++)
        pmclua_ioctl(probes->group[i].member[0].fd, "DISABLE", 0, NULL);
}

void probes_close(struct probes *probes)
{
    for (int i = 0; probes->ring && i < probes->rings; i++)
        ring_close(&probes->ring[i]);
    for (int i = 0; probes->group && i < probes->groups; i++) {
        struct probe_group *group = &probes->group[i];
        /* Closing the leader first would set its siblings counting on their own. */
        while (group->members > 0)
            pmclua_close(group->member[--group->members].fd);
        free(group->member);
    }
    tracefs_remove(&probes->tracefs);
    for (int i = 0; probes->file && i < probes->regions->files; i++)
        if (probes->file[i] >= 0)
            close(probes->file[i]);
    free(probes->file);
    free(probes->group);
    free(probes->ring);
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

/* What read(2) gives for the format of set_common: members, enabled, running, and of each value and id. */
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

static size_t group_words(const struct probe_group *group) { return 3 + 2 * (size_t)group->members; }

int probes_read(const struct probes *probes, uint64_t *words)
{
    size_t total = probes->set ? probes->set->words : 0;
    memset(words, 0, total * sizeof *words);
    for (int i = 0; i < probes->groups; i++) {
        const struct probe_group *group = &probes->group[i];
        uint64_t read[group_words(group)], *place = words;
        int result = read_group(group, read, group_words(group));
        if (result < 0)
            return result;
        const uint64_t *value = read + 3 + 2;          /* after the leader's */
        for (int k = 0; probes->set && k < probes->set->groups; k++) {
            /* Each CPU's group says the time on all CPUs as enabled, its own as running. */
            *place = *place > read[1] ? *place : read[1];
            place[1] += read[2];
            place += 2;
            for (int m = 0; m < probes->set->group[k].count; m++, value += 2)
                *place++ += *value;
        }
    }
    return 0;
}

uint64_t probes_written(const struct probes *probes)
{
    uint64_t count = 0;
    for (int i = 0; i < probes->groups; i++) {
        const struct probe_group *group = &probes->group[i];
        uint64_t read[group_words(group)];
        if (read_group(group, read, group_words(group)) < 0)
            continue;
        for (int k = 0; k < group->members; k++)
            if (group->member[k].sample_type)
                count += read[3 + 2 * k];
    }
    return count;
}
