/*
 * probes.h: the events that follow calls: groups of counting events and probes, and their rings.
 */
#pragma once

#include "calls/ring.h"
#include "runner/session/event_set.h"
#include "region_set.h"

enum member_role { MEMBER_COUNTS, MEMBER_SWITCH, MEMBER_TRACEPOINT, MEMBER_POINT };

/* One event of a group. */
struct member {
    int fd, point;                 /* point: of MEMBER_POINT; of MEMBER_TRACEPOINT which of tracefs.h's two it is */
    enum member_role role;
    uint64_t id, sample_type;      /* sample_type 0: it writes no samples */
};

/* The events of one thread on one CPU (-1: on any). */
struct probe_group {
    int source, cpu, members, ring;    /* source: index of the thread; ring: of the one it writes to */
    struct member *member;
};

/* Threads whose calls are followed, and with them those that they start. */
struct probe_target {
    const int *tids;
    int count;
    uint32_t options;              /* PMCLUA_ON_EXEC */
};

/* The ring of a CPU (-1: of a thread), and the event that owns it. */
struct probe_ring { struct ring ring; int cpu, fd; };

/* All of them: everything is open, or nothing is. */
struct probes {
    struct region_set *regions;
    const struct event_set *set;   /* NULL: only durations */
    struct probe_target target;
    int events, first_event;       /* of the set; where the first is in each group: after our own leader, or as leader */
    int *clock;                    /* by source: probe_counts.c; NULL where one thread is followed */
    enum pmclua_region_path path;
    int by_tracefs;                /* the places of files are tracepoints, and no events of the uprobe PMU */
    struct probe_group *group;
    int groups, cpus;
    struct probe_ring *ring;
    int rings;
    struct id_slot { uint64_t id; int group, member; } *ids;    /* sorted */
    size_t id_count;
};

/* Whether threads and children are followed, too. */
static inline int probes_are_inherited(const struct probes *probes)
{
    return probes->path == PMCLUA_REGIONS_ALL_THREADS;
}

/* How many rings there will be: one a CPU, or one a thread. */
static inline int probes_ring_count(const struct probes *probes)
{
    return probes_are_inherited(probes) ? probes->cpus : probes->target.count;
}

/* Opens probes and counting events, stopped. On failure nothing is open, and either `failure` is filled
 * (its event was refused) or *stage says what was being done. Threads that end meanwhile are left out. */
int  probes_open(struct probes *probes, struct region_set *regions, const struct event_set *set,
                 const struct probe_target *target, struct pmclua_failure *failure, enum pmclua_stage *stage);
/* The event that wrote a record; NULL: none of ours. */
const struct member *probes_find(const struct probes *probes, uint64_t id, const struct probe_group **group);
/* Starts or stops counting and sampling. */
void probes_switch(struct probes *probes, int on);
void probes_close(struct probes *probes);

/* ---- probe_group.c: the events of one thread on one CPU ---- */

/* Why a group could not be opened. */
struct refusal { struct pmclua_failure *failure; enum pmclua_stage *stage; };

int refuse_probes(const struct refusal *refusal, enum pmclua_stage stage, int result);

enum { NO_CPU = 1, NO_THREAD };         /* why a group is left out */

/* Opens the next of probes->group. NO_CPU, NO_THREAD: there is none; -errno. */
int  probe_group_open(struct probes *probes, int source, int cpu, const struct refusal *refusal);
void probe_group_close(struct probe_group *group);

/* ---- probe_counts.c: what the events have counted in all, apart from their samples ---- */

/* Events that know the CPU time of all threads. On failure probe_clocks_close has to close some. */
int  probe_clocks_open(struct probes *probes);
void probe_clocks_switch(const struct probes *probes, int on);
void probe_clocks_close(struct probes *probes);
/* Adds the set's counts so far, of all groups and threads, as counters_read lays them out. Enabled is the CPU
 * time of all threads, running the part of it in which the groups were on the PMU. */
int  probes_read(const struct probes *probes, uint64_t *reading);
/* How many samples the members that write some were to write. */
uint64_t probes_written(const struct probes *probes);
