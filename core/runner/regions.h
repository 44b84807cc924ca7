/*
 * regions.h: regions of a command: where they are entered and left, and the probes there.
 */
#ifndef PMCLUA_RUNNER_REGIONS_H
#define PMCLUA_RUNNER_REGIONS_H

#include <pthread.h>

#include "calls/ring.h"
#include "runner.h"
#include "tracefs.h"

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
    struct message_field *costs;   /* of each region: i64, copied; data NULL: not known */
    struct point *point;
    uint64_t one_thread, keep, ring_bytes;
    /* From the first run until it is freed: */
    int *file;                     /* descriptors of the files; NULL: not open */
    int is_defined;                /* `tracefs` has their places as tracepoints */
    struct tracefs_probes tracefs;
    int held[2];                   /* events that keep these tracepoints registered between runs; -1: none */
};

/* Whether a field is of regions: takes it into *set, which is made when first needed. 1: taken; 0: it is
 * another's; -errno. */
int  region_set_take(struct region_set **set, const struct message_field *field);
/* Takes definitions away, too. */
void region_set_free(struct region_set *set);
/* Opens the files of its points, once. */
int  region_set_open_files(struct region_set *set);
/* Defines its places through tracefs, once; on failure none is. SIGTERM is deferred until they are freed. */
int  region_set_define(struct region_set *set);

/* ---- attrs (runner_probe_attrs.c) ---- */

/* What all members of a group must share. */
void attr_set_common(struct pmclua_attr *attr, int inherit);
struct pmclua_attr attr_of_leader(int inherit, uint32_t options, uint64_t ring_bytes);
struct pmclua_attr attr_of_switches(int inherit);
/* An event that counts nothing, of a thread and of what it starts: it is enabled for their CPU time. */
struct pmclua_attr attr_of_clock(uint32_t options);
struct pmclua_attr attr_of_tracepoint(const struct tracefs_event *event, int inherit);
/* A point as an event of its own. -ENOENT: the OS kernel has no uprobe PMU. */
int  attr_of_point(const struct region_set *regions, const struct point *point, int inherit,
                   struct pmclua_attr *attr);
/* The numbers of the PMUs of probes; -1: there is none. */
long long uprobe_type(void);
long long kprobe_type(void);
/* The config of a return probe of that PMU. */
uint64_t return_probe_config(const char *pmu);

/* ---- probes (runner_probes.c) ---- */

enum member_role { MEMBER_COUNTS, MEMBER_SWITCH, MEMBER_PLAIN, MEMBER_BACK, MEMBER_POINT };

/* One event of a group. */
struct member {
    int fd, point;                 /* point: of MEMBER_POINT */
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

/* All of them: everything is open, or nothing is. */
struct probes {
    struct region_set *regions;
    const struct event_set *set;   /* NULL: only durations */
    struct probe_target target;
    int events;                    /* of the set */
    int *clock;                    /* by source: runner_probe_counts.c; NULL where one thread is followed */
    enum pmclua_region_path path;
    int by_tracefs;                /* the places of files are tracepoints, and no events of the uprobe PMU */
    struct probe_group *group;
    int groups, cpus;
    struct ring *ring;
    int rings, *ring_cpu, *ring_fd;    /* ring_fd: of the event that has it */
    struct id_slot { uint64_t id; int group, member; } *ids;
    uint32_t id_mask;
};

/* Opens probes and counting events, stopped. On failure nothing is open, and either `failure` is filled
 * (its event was refused) or *why says what was being done. Threads that end meanwhile are left out. */
int  probes_open(struct probes *probes, struct region_set *regions, const struct event_set *set,
                 const struct probe_target *target, struct pmclua_failure *failure, const char **why);
/* Which event wrote a record; NULL: none of ours. */
const struct member *probes_find(const struct probes *probes, uint64_t id, const struct probe_group **group);
/* Starts or stops counting and sampling. */
void probes_switch(struct probes *probes, int on);
void probes_close(struct probes *probes);

/* ---- what they counted (runner_probe_counts.c) ---- */

/* Events that know the CPU time of all threads. On failure probe_clocks_close has to close some. */
int  probe_clocks_open(struct probes *probes);
void probe_clocks_switch(const struct probes *probes, int on);
void probe_clocks_close(struct probes *probes);
/* Adds the set's counts so far, of all groups and threads, as counters_read lays them out. Enabled is the CPU
 * time of all threads, running what of it the groups were on the PMU. */
int  probes_read(const struct probes *probes, uint64_t *words);
/* How many samples the members that write some were to write. */
uint64_t probes_written(const struct probes *probes);

/* ---- following the calls (runner_follower.c) ---- */

struct follower;

/* A follower of these regions' calls. Freed by follower_free. */
int  follower_new(struct follower **follower, const struct region_set *regions, const struct event_set *set);
/* Starts following what `probes` are on, by a thread that reads the rings. */
int  follower_start(struct follower *follower, struct probes *probes);
/* While it is not started: a thread that runs already, with the name that /proc has. */
void follower_name(struct follower *follower, int pid, int tid);
/* Samples taken since it was made. May be asked while it follows. */
uint64_t follower_taken(const struct follower *follower);
/* Ends the thread, after it has read all that is left. Calls that are open are unfinished. It may be
 * started again. */
int  follower_stop(struct follower *follower);
/* Writes the block of words. */
int  follower_finish(struct follower *follower, uint64_t **words, uint32_t *count);
void follower_free(struct follower *follower);

/* ---- all together (runner_regions.c) ---- */

struct following;

/* Probes on the held child `pid` and a follower. On failure nothing is open and `answer` says why. */
int  regions_open(struct following **following, struct region_set *regions, const struct event_set *set,
                  int pid, struct answer *answer);
/* Says what kept regions from being followed (`why` NULL: an event of the set, in the answer's failure). */
void regions_refuse(struct answer *answer, int errnum, const char *why);
/* Adds what the events counted to the answer's words. */
int  regions_totals(const struct probes *probes, struct answer *answer);
/* Puts a follower's calls into the answer, or that they could not be read. `result`: what went wrong so far. */
int  regions_answer(struct follower *follower, int result, struct answer *answer);
/* Puts counts and calls into the answer, unless it has another outcome than an end, and closes all. */
void regions_close(struct following *following, struct answer *answer);
/* ---- a process that runs already (runner_attach.c) ---- */

struct attachment;

int  attachment_new(struct attachment **attachment, const struct pmclua_message *message);
void attachment_run(struct attachment *attachment, const struct event_set *set, const struct run *run,
                    struct answer *answer);
void attachment_free(struct attachment *attachment);

/* The runner as a program of its own, whose only work is to call an empty function: what probing it reads
 * is the cost of probing. */
int  empty_calls(unsigned long count);
/* The same for functions of a file of code (runner_probed.c): its path, its bytes of code and of data behind them,
 * rounds, calls of each function in a round, where two functions are that are called before and after these,
 * and where the functions are. */
int  probed_calls(int count, char **words);

#endif
