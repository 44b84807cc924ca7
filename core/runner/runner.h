/*
 * runner.h: the pieces of the runner, the small program without Lua in which workloads are run and
 * counted. core/README.md has the protocol.
 */
#ifndef PMCLUA_RUNNER_H
#define PMCLUA_RUNNER_H

#include <sched.h>
#include <sys/resource.h>

#include "message/message.h"
#include "tracefs.h"

/* ---- event sets (runner_events.c) ---- */

/* As defined by a message: groups of attrs, not open. */
struct event_set {
    uint64_t id;
    int groups;
    struct set_group {
        struct pmclua_attr *attrs;
        const char **filters;          /* of each attr; NULL: none */
        int count;
        uint32_t options;
    } *group;
    char **texts;                      /* filters, and what attrs point to; owned */
    int text_count;
    struct tracefs_probes *probes;     /* defined for attrs of this set, for as long as it lives */
    int probe_count;
    int *held, held_count;             /* descriptors of events that keep tracepoints registered */
    struct pmclua_failure refused;     /* of a probe that could not be defined; errnum 0: none */
    uint32_t words;                    /* of one reading of all groups: sum of 2 + count */
};

/* Tells whether the thread that opened it has started threads or processes (runner_births.c). */
struct births {
    const struct perf_event_mmap_page *page;   /* NULL: closed */
    int fd;
    uint64_t id, head;
    uint64_t enabled_ns, cpu_ns;               /* at guard_begin */
    int broken, is_guarding;                   /* broken: -errno then */
};

int  births_open(struct births *births);
/* Whether there were any since the last call, or since it was opened. */
int  births_seen(struct births *births);
void births_close(struct births *births);
/* From guard_begin on (until crew_end_guard, beginning again goes on), for how many ns of the thread's CPU time its counters
 * were disabled; -EUCLEAN where they were reset or are gone. The guard's time surrounds the CPU time, so that it
 * is 0 where nobody touched them, but for each switch of the thread: there it may be some microseconds. */
void guard_begin(struct births *births);
int64_t guard_look(const struct births *births);

/* An event set opened on one target: all groups or none. */
struct counters {
    const struct event_set *set;       /* NULL: nothing open */
    struct pmclua_group **group;
    uint64_t *before, *after;          /* set->words each */
    struct births births;
    int alone;                         /* some group is not inherited, though it was to be */
    int has_lost;                      /* a difference: for good (pmclua.h) */
};

/* Probes that threads and children are to inherit are defined through tracefs here. */
int  events_define(struct event_set *set, const struct pmclua_message *message);
void events_free(struct event_set *set);
/* Its inherited attrs of the uprobe and kprobe PMUs become tracepoints of probes that are defined for them
 * (runner_event_probes.c). 0, also where Linux refuses a probe: set->refused has the refusal then. */
int  events_replace_probes(struct event_set *set);
/* Takes those definitions away. */
void events_remove_probes(struct event_set *set);
/* Opens `set` (NULL: nothing, successfully). On failure `failure` is filled and nothing is open. With
 * PMCLUA_READ_USER among `options`, groups that ask for it and allow it are read in user space, are not
 * inherited, and run already. */
int  counters_open(struct counters *counters, const struct event_set *set, int pid, uint32_t options,
                   struct pmclua_failure *failure);
int  counters_start(struct counters *counters);
/* Reads every group, in order, into `words`. */
int  counters_read(struct counters *counters, uint64_t *words);
/* Makes opening and closing the set's events quick from now on (runner_keep.c). */
void events_keep_quick(const struct event_set *set);
/* One of PMCLUA_BY_*: how its groups are read where they all are read alike; else by system calls. */
int  counters_method(const struct counters *counters);
/* out = after - before. */
void counters_difference(struct counters *counters, uint64_t *out);
void counters_close(struct counters *counters);

/* ---- answers ---- */

/* An answer under construction: the result, then its words and text, in one buffer. */
struct answer {
    struct pmclua_result result;
    uint64_t *words;                   /* owned; result.words of them */
    uint64_t *regions;                 /* owned by pmclua_calls_free_words; result.region_words of them */
    char *text;                        /* owned; output_bytes + error_bytes */
};

/* Makes room for `words`; -ENOMEM. */
int answer_words(struct answer *answer, uint32_t words);
/* Takes a copy of a reason; the outcome becomes PMCLUA_NOT_STARTED. */
void answer_refuse(struct answer *answer, int errnum, const char *why);
/* What was used between two readings; of peak memory the difference is not known. */
void answer_usage(struct answer *answer, const struct rusage *before, const struct rusage *after);
int answer_send(int fd, struct answer *answer);
void answer_free(struct answer *answer);

/* What a RUN message asks; pmclua.h explains the fields. */
struct run {
    uint64_t id, workload, events, iterations, repetitions, timeout_ns, capture_limit;
    uint64_t padding, fixed_addresses, stack_offset, cold_bytes, no_huge_pages, inherit;
    uint64_t stop_at_failure;
    uint64_t node;                     /* + 1; 0: any */
    int pinned;
    cpu_set_t cpus;
};

/* Where memory comes from, for as long as a run takes (runner_memory.c). */
int  memory_policy_set(const struct run *run);
void memory_policy_reset(const struct run *run);
/* Walks through `bytes` of memory that nobody measures, so that caches hold nothing else. -ENOMEM. */
int  memory_cool(uint64_t bytes);
/* The peak memory in bytes of a child that has ended; 0: not known, for it is not above ours. */
uint64_t memory_peak(const struct rusage *usage);

/* ---- workloads ---- */

struct command;
struct kernel;

/* A new workload from its message; -errno. The message is copied, nothing is run yet. */
int  command_new(struct command **command, const struct pmclua_message *message);
void command_run(struct command *command, const struct event_set *set, const struct run *run, struct answer *answer);
void command_free(struct command *command);

int  kernel_new(struct kernel **kernel, const struct pmclua_message *message);
/* Runs run->repetitions times and sends an answer for each. -EPIPE: nobody listens. */
int  kernel_run(struct kernel *kernel, const struct event_set *set, const struct run *run, int fd);
void kernel_free(struct kernel *kernel);
/* Closes the counters that threads of kernels keep open between repetitions. */
void kernel_close_counters(void);

/* ---- the child that may have to be killed (runner_signals.c) ---- */

/* Whether a message has come, or whom we answer has gone: the repetitions that are left are not wanted. */
int  runner_is_asked(void);
/* No message is awaited any more, and what runs is not repeated. May be called by a signal's handler. */
void runner_hear_no_more(void);
/* From now on the time limit and SIGTERM kill `pid` (negative: the process group); 0: nobody. */
void runner_watch(int pid);
/* Arms a time limit (0: none) for the watched child; runner_limit_hit says whether it struck. */
void runner_limit(uint64_t timeout_ns);
void runner_disarm(void);
int  runner_limit_hit(void);
/* Reaps what commands left behind, as far as it has ended: the runner is its parent now. */
void runner_reap_orphans(void);
/* Kills and reaps all descendants, orphans too. */
void runner_end_descendants(void);
void runner_catch_signals(void);
/* While it is `on`, as often as it was set so, SIGTERM kills the watched child and nothing more: there is
 * something to take away first. Afterwards the runner ends if one came. */
void runner_defer_termination(int on);
/* Whether a SIGTERM waits. */
int  runner_is_terminated(void);
/* Descriptors that pmclua itself inherited, close-on-exec here; how many. */
int  runner_inherited(const int **list);
/* Standard descriptors as pmclua gave them, kept close-on-exec (0, 1, 2). */
int  runner_standard(int fd);
/* Closes those, and the inherited ones: for a runner that runs a kernel and no commands. */
void runner_close_others(void);
/* Runs argv and writes a list of the files that it looked for to `path` (runner_reads.c): its exit status; 1 where it
 * was not executed, 125 where the list is not whole. */
int  list_reads(const char *path, char **argv);
/* How many fields of one kind a message has. */
int fields_count(const struct pmclua_message *message, uint32_t kind);
/* A copy of every text field of one kind, NULL-terminated; freed by texts_free. NULL: no memory or not
 * text. *count gets how many. */
char **texts_of(const struct pmclua_message *message, uint32_t field, int *count);
void texts_free(char **texts);

/* ---- processes that a command leaves behind (runner_left.c) ---- */

/* Before a command. */
void left_begin(void);
/* After it: result->left, first_left. */
void left_take(struct pmclua_result *result);

#endif
