/*
 * pmclua_calls.h: what was called and sampled: system calls, regions, profiles.
 * Part of pmclua.h, which includes it.
 */
#pragma once

#include "pmclua.h"

/* FFI-BEGIN */

/* ---- system calls: how many, and how long each was off CPU --------------------------------------------------------- */

/* A block of them, freed by pmclua_free_block: this, `rows` struct pmclua_system_call, `sites` struct
 * pmclua_call_site, `chains` struct pmclua_call_chain. */
struct pmclua_system_calls {
    uint64_t lost;                 /* records that found no room: of calls that are missing */
    uint64_t rows, sites, chains;
};
enum { PMCLUA_CALL_OPEN = 65534, PMCLUA_CALL_NONE = 65535 };
struct pmclua_system_call {
    uint64_t number;               /* as Linux numbers them; OPEN: that did not return; NONE: off CPU in no call */
    uint64_t is_first;             /* 1: of the first thread; 0: of all others */
    uint64_t count;
    uint64_t blocked_ns, waited_ns;    /* in it off CPU: because it had to wait; because others had the CPU */
};
/* How often call `number` was made from an instruction at `place`: its address modulo the size of a page, which is the
 * same wherever its file is mapped. */
struct pmclua_call_site { uint64_t number, place, count; };

/* How long the first thread waited in call `number` because another one was at work (place PMCLUA_CHAIN_WORK), waited for
 * a CPU (READY), or itself waited in a call that it made at `place`. is_end: until that one, or who waited for it, had
 * ended. Threads are numbered from 1, the first, in the order in which they start. */
enum { PMCLUA_CHAIN_WORK = 65536, PMCLUA_CHAIN_READY = 65537 };
struct pmclua_call_chain { uint64_t number, thread, place, ns, is_process, is_end; };

/* "getppid"; NULL: unknown. */
const char *pmclua_system_call_name(uint64_t number);

/* FFI-BEGIN regions */

/* ---- regions: calls of functions of unmodified programs, counted by probes ----------------------- */

/* Where a region is entered or left. */
enum pmclua_point_kind {
    PMCLUA_POINT_ENTRY = 0,        /* the first instruction of a function */
    PMCLUA_POINT_RETURN,           /* a return instruction */
    PMCLUA_POINT_TAIL,             /* a tail call: a jump to another function */
    PMCLUA_POINT_WHOLE,            /* an only instruction, at which a function is entered and left */
    PMCLUA_POINT_RETURN_PROBE,     /* a return probe on a function's entry: changes the program's stack */
    PMCLUA_POINT_FROM,             /* any place or event at which a region begins … */
    PMCLUA_POINT_TO                /* … and at which it ends; such regions do not nest in themselves */
};
struct pmclua_point { uint64_t kind; uint64_t offset; };     /* offset: in the file */

enum pmclua_region_flag {
    PMCLUA_REGION_LOOPS = 1,       /* its code jumps to its own entry: such an entry is no call */
    PMCLUA_REGION_SWITCHES = 2     /* its program's stacks are known not to be its threads' (Go) */
};

/* How calls were followed. */
enum pmclua_region_path {
    PMCLUA_REGIONS_ALL_THREADS = 0,    /* threads and children, across CPUs */
    PMCLUA_REGIONS_ONE_THREAD,         /* the first thread alone: as asked, … */
    PMCLUA_REGIONS_ONE_THREAD_OLD,     /* … because the OS kernel is older than 6.12 … */
    PMCLUA_REGIONS_ONE_THREAD_NO_TRACEFS   /* … or because tracefs may not be written to */
};

/* Calls put together from samples at points. Pure: no I/O, no clock.
 *
 * Invariants: a return is matched to the entry with the same stack pointer in its process, on whichever thread, so a
 * call's cost lies between its own two samples, or it is not counted as a call; a thread's counts are the sum of its last
 * ones on each CPU; calls around lost samples are cut, never guessed. Values are in order: enabled ns,
 * running ns, counts of events; of a call, its duration in ns comes before them. */
struct pmclua_calls;

struct pmclua_calls_setup {
    uint32_t regions, cpus;
    uint32_t values;               /* of a sample: 2 and the number of events */
    uint32_t keep;                 /* calls that are kept one by one */
    uint32_t link_register;        /* 1: a call does not move the stack pointer (arm64, riscv) */
    uint32_t return_bytes;         /* by which a return probe sees the stack pointer past the entry's */
    const uint64_t *flags;         /* of each region, enum pmclua_region_flag; copied */
    const char *const *names;      /* of each region; copied */
    /* The cost of probing, of each region 3 * (values + 1), or NULL; copied: a probe of its entry; one of its
     * return; the part of both between a call's two samples. Duration, then values. */
    const int64_t *costs;
};

struct pmclua_calls_sample {
    uint64_t time_ns, stack_pointer;
    uint32_t pid, tid, cpu, region, kind;
    uint32_t source;               /* of the events: of two that count one thread the first seen holds */
    const uint64_t *values;        /* this thread's on this CPU, since it was first counted there */
};

/* Freed by pmclua_calls_free. */
int pmclua_calls_new(struct pmclua_calls **calls, const struct pmclua_calls_setup *setup);
void pmclua_calls_free(struct pmclua_calls *calls);
/* A thread was at a point. Samples come in the order of time, of each thread at least. */
int pmclua_calls_point(struct pmclua_calls *calls, const struct pmclua_calls_sample *sample);
/* A thread left a CPU: `region` and `kind` are not looked at. */
int pmclua_calls_switch(struct pmclua_calls *calls, const struct pmclua_calls_sample *sample);
int pmclua_calls_name(struct pmclua_calls *calls, uint32_t pid, uint32_t tid, const char *name, int32_t executed);
/* A thread was started: it is called as its parent is, until it is named. */
int pmclua_calls_fork(struct pmclua_calls *calls, uint32_t pid, uint32_t tid, uint32_t parent_tid);
int pmclua_calls_end(struct pmclua_calls *calls, uint32_t tid);
/* Ends all threads: later samples come from other events. */
void pmclua_calls_pause(struct pmclua_calls *calls);
/* Records were lost on a CPU: calls that are open are cut, and counts on that CPU are not yet known. */
void pmclua_calls_lost(struct pmclua_calls *calls, uint32_t cpu, uint64_t records);
/* Gives all calls as a block of u64, freed by the caller with pmclua_free_block. Open calls are reported as
 * unfinished. */
int pmclua_calls_finish(struct pmclua_calls *calls, uint64_t **block, uint32_t *count);

/* The block: this; for each region a struct pmclua_region, 2 * (values + 1) struct pmclua_spread (with
 * callees, then itself alone) and 3 * (values + 1) sums (of outermost calls with callees; what of calls by
 * themselves may be a callee's: see `unsure`; what all probes of the region cost); then threads, kept calls,
 * histograms, and the regions' names. */
struct pmclua_regions {
    /* values + 1 of each call: its duration comes first. Where costs are known the second half of them is
     * what of the first half is the cost of probing (i64), and in a spread the first half without it. */
    uint64_t regions, values;
    uint64_t has_costs;
    uint64_t threads;              /* struct pmclua_region_thread, each with 2 * (values + 1) sums */
    uint64_t kept;                 /* struct pmclua_region_call, each with 2 * (values + 1) values */
    uint64_t histogram;            /* struct pmclua_region_bucket */
    uint64_t samples, lost;        /* records that were read; records that found no room in a ring */
    uint64_t threads_seen, threads_followed;
    uint64_t ring_bytes, rings;
    uint64_t observed_ns;          /* of a process that ran already: how long probes were on */
    uint64_t target_ended;         /* 1: it ended meanwhile */
    uint64_t name_bytes;           /* texts, each with its NUL, filled up to whole words */
};

struct pmclua_region {
    uint64_t entries;
    uint64_t calls;                /* entered and returned */
    uint64_t nested;               /* of these: within another call of the same region */
    uint64_t tails;                /* ended by a jump to another function */
    uint64_t unwound;              /* left without return: exception, longjmp, jump of another kind */
    uint64_t unfinished;           /* not left when the thread or the counting ended */
    uint64_t orphans;              /* returns whose entry was not seen */
    uint64_t cut;                  /* entries and returns that lost records made useless */
    uint64_t partial;              /* of the calls: events were not on the PMU throughout; in no spread */
    uint64_t unsure;               /* of the calls: a callee left without return, at a time that is not known; what
                                    * they took themselves is in no spread, and in a thread's sum at its most */
    uint64_t moved;                /* returns that may be another call's: stacks were copied meanwhile */
    /* Calls in processes in which a call ended on another thread than it began on, or after it seemed
     * to have been left: stacks take turns on threads. Their durations are true, nothing else is. */
    uint64_t switching;
    uint64_t loading;              /* enum pmclua_loading: of its files in the programs that were followed */
};

enum pmclua_loading { PMCLUA_LOADING_UNKNOWN, PMCLUA_LOADED, PMCLUA_NEVER_LOADED };

/* Calls that are not partial. min and max have no meaning where n is 0. */
struct pmclua_spread { uint64_t sum, min, max, n; };

struct pmclua_region_thread { uint64_t region, pid, tid, calls; char name[16]; };
struct pmclua_region_call { uint64_t region, thread, start_ns, level; };    /* thread: its tid */
/* `count` calls of a region had value `value` (from 0; + values + 1: itself alone) in this bucket. */
struct pmclua_region_bucket { uint64_t region, value, bucket, count; };

/* Buckets are 64 to an octave, exact below 128: the smallest value that falls into one. */
uint64_t pmclua_bucket_low(uint64_t bucket);

/* FFI-BEGIN profile */

/* ---- profiles: where an event was counted, by samples ------------------------------------------- */

/* Beside the options of groups: threads and children to come are left out; what is sampled runs already, so what it
 * has mapped is taken from /proc; call chains of user space are taken with each sample, by frame pointer; or of each
 * sample in Linux, in place of these, the user's instruction and Linux's frames from the entry inwards; or each sample is
 * kept by itself, with its registers, and all that is mapped, data as well. */
enum { PMCLUA_ALONE = 32, PMCLUA_RUNNING = 64, PMCLUA_CHAINS = 128, PMCLUA_ENTRIES = 256, PMCLUA_DATA = 512 };

/* The event and its targets: tasks, by one event for each of them and each CPU; without tasks, all of each CPU
 * (`pid` -1), or a cgroup there (PMCLUA_CGROUP: `pid` is the descriptor of its folder). */
struct pmclua_sampling {
    struct pmclua_attr attr;        /* the event; what makes it a sampled one is set here */
    const char *filter;             /* of a tracepoint; NULL: none */
    uint64_t period;
    uint64_t ring_bytes;            /* of each CPU, a power of two; 0: by the number of CPUs and by who asks */
    const int32_t *cpus, *tasks;    /* needed while it is opened, only */
    int32_t cpu_count, task_count;
    int32_t pid;                    /* where there are no tasks */
    uint32_t options;               /* PMCLUA_ON_EXEC, PMCLUA_CGROUP, PMCLUA_ALONE, PMCLUA_RUNNING; PMCLUA_CHAINS,
                                     * PMCLUA_ENTRIES or PMCLUA_DATA */
};

struct pmclua_sampler;

/* Opens it, stopped, and starts a thread that reads its rings. Freed by pmclua_sampler_close. -errno, and `failure`
 * filled. */
int pmclua_sampler_open(struct pmclua_sampler **sampler, const struct pmclua_sampling *asked,
                        struct pmclua_failure *failure);
int pmclua_sampler_start(struct pmclua_sampler *sampler);
int pmclua_sampler_stop(struct pmclua_sampler *sampler);
/* Reads what is left, and the counts. Once. */
int pmclua_sampler_end(struct pmclua_sampler *sampler);
/* Gives its profile as a block, after the end: freed by the caller with pmclua_free_block. */
int pmclua_sampler_block(const struct pmclua_sampler *sampler, uint64_t **block, uint32_t *count);
void pmclua_sampler_close(struct pmclua_sampler *sampler);

/* The block: this; `files` struct pmclua_profile_file, each with its path behind it (path_bytes, at least one NUL, and
 * filled up to whole words); `hits` struct pmclua_profile_hit; `frames` struct pmclua_profile_frame; `maps` struct
 * pmclua_profile_map; `records` struct pmclua_profile_sample, each with registers and stack behind it. */
struct pmclua_profile {
    uint64_t total;                 /* read(2), of all sampled events together */
    uint64_t enabled_ns, running_ns;
    uint64_t period, samples;
    uint64_t lost;                  /* records that found no room in a ring */
    uint64_t knows_lost;            /* 1: that is all of them; 0: those that a later record tells of (before Linux 6.0) */
    uint64_t unmapped;              /* of the samples: of no known file */
    uint64_t begun;                 /* counted since the last sample; an upper bound where tasks were started */
    uint64_t throttled;             /* times that Linux held the event back */
    uint64_t news_lost;             /* records of mappings that found no room */
    uint64_t tasks;                 /* threads and processes that were started meanwhile */
    uint64_t drops;                 /* programs that were executed and Linux does not let be counted */
    char     drop[16];              /* the first of them */
    uint64_t places;                /* events that a task is enabled on at once: one for each CPU; 1 of a CPU's own */
    uint64_t program;               /* the file that was executed first, counted from 1; 0: none was */
    uint64_t chains_lost;           /* samples whose call chain or entry found no room among `frames_max` frames */
    uint64_t thread_file;           /* what threads start from, counted from 1; 0: not known; or no chains */
    uint64_t thread_offset;         /* in that file: what a thread's function returns to */
    uint64_t ring_bytes, files, hits, frames, frames_max;
    uint64_t records_lost;          /* samples that found no room among those that are kept by themselves */
    uint64_t maps, records, record_u64s;    /* record_u64s: of one of them with what is behind it */
};

struct pmclua_profile_file {
    uint64_t pid;                   /* code in memory of that process: offsets are addresses; 0: a file */
    uint64_t device, inode;         /* as Linux has them where it is mapped; 0: the build id stands for them */
    uint64_t since_ns;              /* CLOCK_MONOTONIC: first mapped then; of code in memory: the process began; 0 */
    uint64_t task, from, to;        /* a task that had it mapped, and where */
    uint64_t held;                  /* a descriptor of it in the process of the sampler, plus 1; 0: none */
    uint64_t id_bytes;
    uint8_t  build_id[24];
    uint64_t path_bytes;
};

/* File 0 is Linux: offsets are addresses. With PMCLUA_ENTRIES, hits of the first PMCLUA_THREADS_TOLD threads are apart:
 * `thread` counts them and processes from 1 in the order of their start; 0: of none of these, or not told. */
enum { PMCLUA_THREADS_TOLD = 16 };
struct pmclua_profile_hit { uint64_t file, offset, count, thread; };

/* A place in code that was called from frame `parent`, an earlier one, counted from 1 (0: from nowhere known), and the
 * samples that were taken there with these callers. Of a caller it is the last byte of the call. An entry's first frame
 * is the instruction that user space goes on at; it is missing where that is in no known code. `is_guess`: what the
 * innermost function would return to if it had no frame of its own; if it has one, that word is another thing. */
struct pmclua_profile_frame { uint64_t parent, file, offset, count, is_guess; };

/* A change of a process's memory, in the order of time. FORK: `pid` began as a copy of `other`; EXEC: it has nothing
 * mapped any more; END: it has ended. */
enum pmclua_map_kind { PMCLUA_MAP_ADDED, PMCLUA_MAP_FORK, PMCLUA_MAP_EXEC, PMCLUA_MAP_END };
struct pmclua_profile_map { uint64_t kind, start, bytes, offset, file; uint32_t pid, other; };

/* A sample by itself: its instruction (`file` 0: in Linux), and after how many of the maps it was taken. `data_address`: as
 * the event tells it; 0: it does not. Then the user's registers follow as perf orders them, and the stack
 * from its pointer on, of which `stack_bytes` are known. */
struct pmclua_profile_sample {
    uint64_t file, offset, maps, time_ns, data_address, data_source;
    uint64_t stack_pointer;         /* where the event told the address; 0: it is not known */
    uint32_t pid, tid, has_registers, stack_bytes;
    uint32_t cpu, unused;           /* cpu: where the event tells the address; else 0 */
};

/* FFI-END */
