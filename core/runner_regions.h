/*
 * runner_regions.h: regions of a command: where they are entered and left, and the probes there.
 */
#ifndef PMCLUA_RUNNER_REGIONS_H
#define PMCLUA_RUNNER_REGIONS_H

#include <pthread.h>

#include "ring.h"
#include "runner.h"
#include "runner_tracefs.h"

/* ---- definition (runner_points.c) ---- */

/* A place of a file, or an event. */
struct point {
    uint32_t region;
    uint64_t kind;                 /* enum pmclua_point_kind */
    int file;                      /* index into the set's files; -1: an event, `attr` */
    uint64_t offset;
    struct pmclua_attr attr;
};

/* Regions as defined by a message. */
struct region_set {
    int regions, points, files;
    char **names, **paths;
    uint64_t *flags;
    struct point *point;
    uint64_t one_thread, keep, ring_bytes;
};

/* Whether a field is of regions: takes it into *set, which is made when first needed. 1: taken; 0: it is
 * another's; -errno. */
int  region_set_take(struct region_set **set, const struct message_field *field);
void region_set_free(struct region_set *set);
/* Whether a point's event samples the stack pointer. */
int  point_has_stack(const struct point *point);

/* ---- probes (runner_probes.c) ---- */

enum member_role { MEMBER_COUNTS, MEMBER_SWITCH, MEMBER_PLAIN, MEMBER_BACK, MEMBER_POINT };

/* One event of a group. */
struct member {
    int fd, point;                 /* point: of MEMBER_POINT */
    enum member_role role;
    uint64_t id, sample_type;      /* sample_type 0: it writes no samples */
};

/* The events of one target on one CPU (-1: on any). */
struct probe_group {
    int cpu, members, ring;        /* ring: index of the one it writes to */
    struct member *member;
};

/* All of them: everything is open, or nothing is. */
struct probes {
    const struct region_set *regions;
    const struct event_set *set;   /* NULL: only durations */
    int pid, events;               /* events: of the set */
    enum pmclua_region_path path;
    uint32_t options;
    int *file;                     /* descriptors of the set's files */
    struct tracefs_probes tracefs;
    struct probe_group *group;
    int groups, cpus;
    struct ring *ring;
    int rings;
    struct id_slot { uint64_t id; int group, member; } *ids;
    uint32_t id_mask;
};

/* Opens probes and counting events on `pid`, to be enabled when it executes. On failure nothing is open,
 * and either `failure` is filled (its event was refused) or *why says what was being done. */
int  probes_open(struct probes *probes, const struct region_set *regions, const struct event_set *set, int pid,
                 uint32_t options, struct pmclua_failure *failure, const char **why);
/* Which event wrote a record; NULL: none of ours. */
const struct member *probes_find(const struct probes *probes, uint64_t id, const struct probe_group **group);
/* The set's counts so far, all groups and threads together, as counters_read lays them out. */
int  probes_read(const struct probes *probes, uint64_t *words);
/* How many samples the members that write some were to write. */
uint64_t probes_written(const struct probes *probes);
/* Stops counting and sampling. */
void probes_stop(struct probes *probes);
void probes_close(struct probes *probes);

/* ---- following the calls (runner_follower.c) ---- */

struct follower;

/* Starts following the calls of what `probes` are on, by a thread that reads the rings. */
int  follower_start(struct follower **follower, struct probes *probes);
/* Reads what is left, and writes the block of words. Ends and frees the follower. */
int  follower_finish(struct follower *follower, uint64_t **words, uint32_t *count);

/* ---- all together (runner_regions.c) ---- */

struct following;

/* Probes on `pid` and a follower. On failure nothing is open and `answer` says why. */
int  regions_open(struct following **following, const struct region_set *regions, const struct event_set *set,
                  int pid, uint32_t options, struct answer *answer);
/* Puts counts and calls into the answer, unless it has another outcome than an end, and closes all. */
void regions_close(struct following *following, struct answer *answer);
/* The runner as a program of its own, whose only work is to call an empty function: what probing it reads
 * is the cost of probing. */
int  empty_calls(unsigned long count);

#endif
