/*
 * follower.c: follows calls while the command runs: a thread reads the rings and hands the samples
 * over in order (calls/order.c). It never calls Lua, blocks every signal, and allocates only what calls.c does.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "calls/order.h"
#include "calls/samples.h"
#include "host/proc.h"
#include "follower.h"
#include "probe_attrs.h"

enum { POLL_MS = 100 };            /* a ring that is a quarter full wakes us earlier */

struct follower {
    struct probes *probes;         /* those of this time */
    struct pmclua_calls *calls;
    pthread_t thread;
    int stop, errnum;              /* stop: an eventfd; errnum: what ended the reading early */
    uint64_t taken;                /* samples, in all */
    uint64_t before, lost;         /* taken before this time; records of this time that found no room */
    uint64_t threads, rings, ring_bytes;   /* threads: that were started */
    enum pmclua_region_path path;
    uint64_t *values;
    struct pollfd *ready;          /* rings, then `stop` */
};

/* ---- one record ---- */

static int put_values(struct follower *follower, const struct probe_group *group, const struct sample *sample)
{
    int events = follower->probes->events;
    if (sample->members != (uint64_t)group->members)
        return -EPROTO;
    follower->values[0] = sample->enabled_ns;
    follower->values[1] = sample->running_ns;
    for (int i = 0; i < events; i++) {
        uint64_t place = (uint64_t)follower->probes->first_event + (uint64_t)i, id = group->member[place].id;
        /* By id, not by position: the OS kernel promises no order. */
        for (uint64_t k = 0; sample->member[2 * place + 1] != id; k++, place = (place + 1) % sample->members)
            if (k == sample->members)
                return -EPROTO;
        follower->values[2 + i] = sample->member[2 * place];
    }
    return 0;
}

/* The point that a sample is of; NULL: none (a context switch), or its raw data make no sense. */
static const struct point *point_of(const struct probes *probes, const struct member *member,
                                    const struct sample *sample)
{
    uint32_t number = (uint32_t)member->point;
    if (member->role == MEMBER_TRACEPOINT) {
        const struct tracefs_event *event = &probes->regions->tracefs.event[member->point];
        if (!sample->raw || sample->raw_bytes < event->field + sizeof number)
            return NULL;
        memcpy(&number, sample->raw + event->field, sizeof number);
    }
    return number < (uint32_t)probes->regions->points ? &probes->regions->point[number] : NULL;
}

/* The event that wrote a sample, whose rest is filled in; NULL: none of ours. Where several programs sample one
 * software event of a thread, Linux gives all their samples the id of the first: then the group's reading tells whose
 * it is. */
static const struct member *writer_of(const struct probes *probes, const struct perf_event_header *record,
                                      struct sample *sample, const struct probe_group **group)
{
    const struct member *member = probes_find(probes, sample->id, group);
    if (member)
        return sample_rest(record, member->sample_type, sample) < 0 ? NULL : member;
    if (sample_rest(record, SWITCH_SAMPLE, sample) < 0 || sample->members == 0 ||
        !probes_find(probes, sample->member[1], group))
        return NULL;
    for (int i = 0; i < (*group)->members; i++)
        if ((*group)->member[i].role == MEMBER_SWITCH)
            return &(*group)->member[i];
    return NULL;
}

static int take_sample(struct follower *follower, const struct perf_event_header *record, struct sample *sample)
{
    const struct probes *probes = follower->probes;
    const struct probe_group *group;
    const struct member *member = writer_of(probes, record, sample, &group);
    if (!member)
        return -EPROTO;
    int result = put_values(follower, group, sample);
    if (result < 0)
        return result;
    follower->taken++;
    struct pmclua_calls_sample call = {
        .time_ns = sample->time_ns, .stack_pointer = sample->stack_pointer, .pid = sample->pid,
        .tid = sample->tid, .cpu = group->cpu < 0 ? 0 : (uint32_t)group->cpu,
        .source = (uint32_t)group->source, .values = follower->values };
    if (member->role == MEMBER_SWITCH)
        return pmclua_calls_switch(follower->calls, &call);
    const struct point *point = point_of(probes, member, sample);
    if (!point)
        return -EPROTO;
    call.region = point->region;
    call.kind = (uint32_t)point->kind;
    return pmclua_calls_point(follower->calls, &call);
}

static void take_lost(struct follower *follower, const void *body, int ring)
{
    const struct lost_record *lost = body;
    int cpu = follower->probes->ring[ring].cpu;
    follower->lost += lost->lost;
    pmclua_calls_lost(follower->calls, cpu < 0 ? 0 : (uint32_t)cpu, lost->lost);
}

static int take_record(void *owner, int ring, const struct perf_event_header *record)
{
    struct follower *follower = owner;
    struct sample sample;
    const void *body = record + 1;
    if (sample_base(record, &sample) < 0)
        return -EPROTO;
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        return take_sample(follower, record, &sample);
    case PERF_RECORD_LOST:
        take_lost(follower, body, ring);
        return 0;
    case PERF_RECORD_FORK: {
        const struct task_record *task = body;
        follower->threads++;
        return pmclua_calls_fork(follower->calls, task->pid, task->tid, task->ptid);
    }
    case PERF_RECORD_EXIT:
        return pmclua_calls_end(follower->calls, ((const struct task_record *)body)->tid);
    case PERF_RECORD_COMM: {
        const struct comm_record *comm = body;
        return pmclua_calls_name(follower->calls, comm->pid, comm->tid, comm->name,
                                 (record->misc & PERF_RECORD_MISC_COMM_EXEC) != 0);
    }
    default:
        return 0;
    }
}

/* ---- all rings ---- */

static int time_of(const struct perf_event_header *record, uint64_t *time_ns)
{
    struct sample sample;
    int result = sample_base(record, &sample);
    if (result == 0)
        *time_ns = sample.time_ns;
    return result;
}

static struct ring *ring_of(void *owner, int number)
{
    return &((struct follower *)owner)->probes->ring[number].ring;
}

static void read_rings(struct follower *follower)
{
    struct ring_order order = { follower->probes->rings, ring_of, time_of, take_record, follower };
    follower->errnum = -rings_take(&order, 0);
}

/* ---- the thread ---- */

static void *follow(void *argument)
{
    struct follower *follower = argument;
    int rings = follower->probes->rings;
    while (follower->errnum == 0 && !(follower->ready[rings].revents & POLLIN)) {
        poll(follower->ready, (nfds_t)rings + 1, POLL_MS);
        read_rings(follower);
        /* After its target's end a ring is ready all the time. */
        for (int i = 0; i < rings; i++)
            if (follower->ready[i].revents & POLLHUP)
                follower->ready[i].fd = -1;
    }
    return NULL;
}

static int make_room(struct follower *follower)
{
    size_t rings = (size_t)follower->probes->rings;
    free(follower->ready);
    follower->ready = calloc(rings + 1, sizeof *follower->ready);
    if (!follower->ready)
        return -ENOMEM;
    for (size_t i = 0; i < rings; i++)
        follower->ready[i] = (struct pollfd){ follower->probes->ring[i].fd, POLLIN, 0 };
    follower->ready[rings] = (struct pollfd){ follower->stop, POLLIN, 0 };
    return 0;
}

int follower_start(struct follower *follower, struct probes *probes)
{
    follower->probes = probes;
    follower->path = probes->path;
    follower->rings = (uint64_t)probes->rings;
    follower->ring_bytes = probes->ring[0].ring.bytes;
    follower->before = follower->taken;
    follower->lost = 0;
    int result = make_room(follower);
    return result < 0 ? result : ring_reader_start(&follower->thread, follow, follower);
}

int follower_stop(struct follower *follower)
{
    eventfd_t said;
    eventfd_write(follower->stop, 1);
    pthread_join(follower->thread, NULL);
    eventfd_read(follower->stop, &said);
    /* Before the last reading, which must find what is counted here. */
    uint64_t wanted = probes_written(follower->probes);
    if (follower->errnum == 0)
        read_rings(follower);
    /* The last records that found no room are in no ring: only the events themselves know of them. */
    uint64_t known = follower->taken - follower->before + follower->lost;
    if (wanted > known)
        pmclua_calls_lost(follower->calls, 0, wanted - known);
    pmclua_calls_pause(follower->calls);
    return -follower->errnum;
}

/* ---- from beginning to end ---- */

/* Limit of single calls: they take at most half of an answer. */
static uint32_t most_kept(uint64_t asked, uint32_t events)
{
    uint64_t values = 2 * (3 + (uint64_t)events);  /* duration, enabled, running; what of them is probing */
    uint64_t room = MESSAGE_MAX / 2 / (sizeof(struct pmclua_region_call) + 2 * values * sizeof(uint64_t));
    return (uint32_t)(asked < room ? asked : room);
}

/* The costs of all regions, 0 where unknown for these events; NULL: none is known, or *result is -ENOMEM. */
static int64_t *all_costs(const struct region_set *regions, uint32_t events, int *result)
{
    size_t words = 3 * (3 + (size_t)events), bytes = words * sizeof(int64_t);
    int known = 0;
    for (int i = 0; i < regions->regions; i++)
        known += regions->costs[i].bytes == bytes;
    int64_t *costs = known > 0 ? calloc((size_t)regions->regions, bytes) : NULL;
    *result = known > 0 && !costs ? -ENOMEM : 0;
    for (int i = 0; costs && i < regions->regions; i++)
        if (regions->costs[i].bytes == bytes)
            memcpy(costs + words * (size_t)i, regions->costs[i].data, bytes);
    return costs;
}

static int new_calls(struct follower *follower, const struct region_set *regions, uint32_t events)
{
    int result;
    int64_t *costs = all_costs(regions, events, &result);
    if (result < 0)
        return result;
    struct pmclua_calls_setup setup = {
        .regions = (uint32_t)regions->regions, .cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
        .values = 2 + events, .keep = most_kept(regions->calls_kept, events), .flags = regions->flags,
        .names = (const char *const *)regions->names, .costs = costs,
#if defined __x86_64__ || defined __i386__
        .return_bytes = sizeof(void *),
#elif defined __aarch64__ || defined __riscv
        .link_register = 1,
#else
#error "where does a call leave its return address?"
#endif
    };
    result = pmclua_calls_new(&follower->calls, &setup);
    free(costs);
    return result;
}

int follower_new(struct follower **out, const struct region_set *regions, const struct event_set *set)
{
    struct follower *follower = calloc(1, sizeof *follower);
    if (!follower)
        return -ENOMEM;
    uint32_t events = 0;
    for (int i = 0; set && i < set->groups; i++)
        events += (uint32_t)set->group[i].count;
    follower->stop = eventfd(0, EFD_CLOEXEC);
    follower->values = calloc(2 + (size_t)events, sizeof *follower->values);
    int result = follower->stop < 0 ? -errno : follower->values ? new_calls(follower, regions, events) : -ENOMEM;
    if (result < 0)
        follower_free(follower);
    else
        *out = follower;
    return result;
}

void follower_name(struct follower *follower, int pid, int tid)
{
    char name[16];
    if (proc_name(pid, tid, name))
        pmclua_calls_name(follower->calls, (uint32_t)pid, (uint32_t)tid, name, 0);
}

int follower_finish(struct follower *follower, uint64_t **block, uint32_t *count)
{
    int result = pmclua_calls_finish(follower->calls, block, count);
    if (result < 0)
        return result;
    struct pmclua_regions *header = (struct pmclua_regions *)*block;
    header->threads_seen = follower->threads;
    header->threads_followed = follower->path == PMCLUA_REGIONS_ALL_THREADS ? follower->threads : 0;
    header->rings = follower->rings;
    header->ring_bytes = follower->ring_bytes;
    return 0;
}

void follower_free(struct follower *follower)
{
    if (follower->stop >= 0)
        close(follower->stop);
    pmclua_calls_free(follower->calls);
    free(follower->values);
    free(follower->ready);
    free(follower);
}
