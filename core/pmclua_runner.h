/*
 * pmclua_runner.h: what pmclua and its runner say to each other, and the client side of their connection.
 * Part of pmclua.h, which includes it.
 */
#pragma once

#include "pmclua.h"

/* FFI-BEGIN */

/* ---- messages: what pmclua and its runner say to each other ----------------------------------- */

/* A message is a header and fields of {kind, bytes}; core/README.md has the protocol. */
enum pmclua_message_kind {
    PMCLUA_MSG_WORKLOAD = 1,   /* define workload `id` */
    PMCLUA_MSG_EVENTS   = 2,   /* define event set `id`: groups of attrs */
    PMCLUA_MSG_RUN      = 3,   /* run a workload, counted by an event set: one or more results follow */
    PMCLUA_MSG_FORGET   = 4,   /* drop workload `id`: its kernel is torn down */
    PMCLUA_MSG_PREPARE  = 6,   /* commands will be run: have ready what each needs */
    PMCLUA_MSG_STOP     = 5,   /* no more repetitions of the run: one empty result, of sequence `id`, follows */
    PMCLUA_MSG_TASK     = 7    /* of the plan of launch `id`: what its tasks tell and are given. Of a task's file: its
                                * facts, and behind its results, without fields: the file is whole */
};

enum pmclua_field {
    /* WORKLOAD: a command … */
    PMCLUA_F_ARGUMENT = 1,     /* text, one for each of argv */
    PMCLUA_F_ENVIRONMENT,      /* text "NAME=VALUE", the whole environment if any is given */
    PMCLUA_F_DIRECTORY,        /* text: working directory */
    PMCLUA_F_STDIN,            /* text: file; absent: /dev/null */
    PMCLUA_F_INHERIT_STDIN,    /* u64 1: the caller's standard input */
    PMCLUA_F_OUTPUT,           /* u64, enum pmclua_output: standard output */
    PMCLUA_F_ERRORS,           /* u64, enum pmclua_output: standard error */
    PMCLUA_F_FOREGROUND,       /* u64 1: stay in the terminal's process group */
    PMCLUA_F_STANDARD,         /* u64 1: every signal as it is by default, and no core file */
    PMCLUA_F_GRACE,            /* u64 ns: at its time limit it gets SIGTERM, and SIGKILL this much later */
    PMCLUA_F_WATCHED,          /* u64 1: the programs that it executes are watched, also where it is not counted */
    /* … or a kernel */
    PMCLUA_F_LIBRARY,          /* text: path of a shared object; "": the runner's own kernel, which is empty */
    PMCLUA_F_SYMBOL,           /* text */
    PMCLUA_F_PARAMETER,        /* text "NAME=VALUE", one each */
    PMCLUA_F_THREADS,          /* u64: 0 or absent: the runner's own thread alone */
    /* both */
    PMCLUA_F_CPUS,             /* text "0,2-3": pin the command; or thread i to the i-th CPU, in turn */
    /* a command's regions; each begins with its name, and what follows belongs to it */
    PMCLUA_F_REGION,           /* text: a region begins: its name */
    PMCLUA_F_REGION_FLAGS,     /* u64 of enum pmclua_region_flag */
    PMCLUA_F_REGION_COSTS,     /* i64 list: what probing it costs, as pmclua_calls_setup has it for these events */
    PMCLUA_F_FILE,             /* text: the file that the points after it are in */
    PMCLUA_F_POINT,            /* struct pmclua_point: a place of that file */
    PMCLUA_F_POINT_EVENT,      /* u64, enum pmclua_point_kind: the ATTR after it is a point */
    PMCLUA_F_ONE_THREAD,       /* u64 1: only the command's first thread */
    PMCLUA_F_KEEP_CALLS,       /* u64: calls that are kept one by one; absent: 100,000 */
    PMCLUA_F_RING_BYTES,       /* u64 of each CPU's ring, a power of two; absent: by the number of CPUs */
    /* … or of a process that runs already, in place of a command. RUN's time limit ends it, or a message */
    PMCLUA_F_PID,              /* u64 */
    PMCLUA_F_DUTY,             /* u64 parts per million of the time that following may cost; absent: no bound */
    PMCLUA_F_HIT_NS,           /* u64 ns that one sample costs the target, as it was measured */
    /* EVENTS */
    PMCLUA_F_GROUP,            /* empty: a new group begins; the attrs after it are its members */
    PMCLUA_F_ATTR,             /* struct pmclua_attr */
    PMCLUA_F_ATTR_TEXT,        /* text that config1 of the attr before it shall point to (uprobe_path …) */
    PMCLUA_F_FILTER,           /* text: what the OS kernel filters the attr before it by */
    PMCLUA_F_OPTIONS,          /* u64: PMCLUA_PINNED, PMCLUA_READ_*, for the group begun last */
    PMCLUA_F_PERIOD,           /* u64: the set is one event, which is sampled: what came of it follows the result */
    PMCLUA_F_CHAINS,           /* u64 1: with call chains */
    PMCLUA_F_ENTRIES,          /* u64 1: with what Linux was entered for (PMCLUA_ENTRIES) */
    PMCLUA_F_DATA,             /* u64 1: with each sample by itself (PMCLUA_DATA) */
    PMCLUA_F_SAMPLES_BYTES,    /* u64 of each CPU's ring of samples, a power of two; absent: by the number of CPUs */
    /* RUN */
    PMCLUA_F_WORKLOAD,         /* u64: id */
    PMCLUA_F_EVENTS,           /* u64: id; absent: nothing is counted */
    PMCLUA_F_ITERATIONS,       /* u64: for kernels */
    PMCLUA_F_REPETITIONS,      /* u64: that many results, back to back; absent: 1; 0: a kernel is only set
                                * up, and one result says so */
    PMCLUA_F_TIMEOUT,          /* u64 ns: a command is killed after it (a kernel by whom it answers) */
    PMCLUA_F_CAPTURE_LIMIT,    /* u64 bytes of captured output kept (default 16 MiB) */
    PMCLUA_F_PADDING,          /* u64 bytes added to a command's environment */
    PMCLUA_F_FIXED_ADDRESSES,  /* u64 1: a command without address space randomisation */
    PMCLUA_F_STACK_OFFSET,     /* u64 bytes by which a kernel's stack is moved */
    PMCLUA_F_RUN_CPUS,         /* text: pin this run, whatever the workload says */
    PMCLUA_F_COLD_BYTES,       /* u64 bytes that are walked through before each measured call */
    PMCLUA_F_NO_HUGE_PAGES,    /* u64 1 */
    PMCLUA_F_SCATTER_BYTES,    /* u64 bytes that a kernel's process takes before setup, to give half back, page by page */
    PMCLUA_F_START_CPU,        /* u64: a kernel's run begins on this CPU if it may; Linux may move it from there */
    PMCLUA_F_NODE,             /* u64: memory from this NUMA node alone */
    PMCLUA_F_STOP_AT_FAILURE,  /* u64 1: a repetition that does not end well is the last */
    PMCLUA_F_INHERIT,          /* u64 1: a kernel starts threads: nothing that they would be missed in */
    PMCLUA_F_TAKE,             /* u64 of PMCLUA_TAKE_*: what is to be read from Linux's accounts */
    PMCLUA_F_SIMULATED,        /* u64 1: callgrind, which runs the runner, counts the kernel; -ECHILD: it has started a
                                * process, which callgrind does not count here; -EBUSY: threads beside those of
                                * THREADS; -ENOSYS: no callgrind */
    PMCLUA_F_ENTER_POINT,      /* u64 id of the tracepoint raw_syscalls:sys_enter: a command's system calls are traced, … */
    PMCLUA_F_WAKE_POINT,       /* u64 id of sched:sched_waking; absent: whom waits are for is not known */
    PMCLUA_F_LEAVE_POINT,      /* … and u64 id of raw_syscalls:sys_exit */
    /* TASK: of a plan … */
    PMCLUA_F_BUILD,            /* text: pmclua_build() of both */
    PMCLUA_F_TELL_VARIABLE,    /* text: a variable of the environment that is a fact */
    PMCLUA_F_TELL_FILE,        /* text: the path of a file whose beginning is a fact */
    PMCLUA_F_CHANGE,           /* text "NAME=VALUE", or "NAME" to remove it: of the task's environment */
    PMCLUA_F_TABLE,            /* bytes: the beginning of its table of marks */
    PMCLUA_F_TABLE_BYTES,      /* u64: how long that is */
    /* … and of a task's file */
    PMCLUA_F_FACT,             /* text "NAME=VALUE", or "PATH=TEXT" */
    PMCLUA_F_LAST              /* one past the last */
};

enum pmclua_output {
    PMCLUA_TO_NULL = 0,
    PMCLUA_TO_INHERIT,         /* where pmclua's own goes, untouched */
    PMCLUA_TO_CAPTURE          /* kept and sent back with the result */
};

/* Owned by the caller; zeroed is empty; pmclua_message_free frees the bytes. */
struct pmclua_message { uint8_t *bytes; uint32_t used, size; };

/* Empties `message` and gives it a header. */
int pmclua_message_begin(struct pmclua_message *message, uint32_t kind, uint64_t id);
int pmclua_message_add(struct pmclua_message *message, uint32_t field, const void *bytes, uint32_t count);
void pmclua_message_free(struct pmclua_message *message);

/* How a repetition ended. */
enum pmclua_outcome {
    PMCLUA_DONE = 0,           /* a kernel returned, or a command ended by itself (see exit_code) */
    PMCLUA_SIGNALLED,          /* ended by `signal` */
    PMCLUA_TIMED_OUT,          /* killed at its time limit */
    PMCLUA_NOT_STARTED,        /* could not be executed or set up: errnum, and text for a kernel */
    PMCLUA_NOT_COUNTED,        /* its events could not be opened: failure */
    PMCLUA_QUIT,               /* a kernel ended the runner by exit (see exit_code) */
    PMCLUA_MISSED,             /* threads of a kernel would be missed: ask another runner, with INHERIT */
    PMCLUA_CRASHED             /* a kernel's instruction raised `signal`, of which the runner dies as soon as the
                                * connection is closed: fault_*, and as text the file that the instruction is in */
};

/* The exit status of a runner whose connection is gone (a kernel may have closed or replaced it), of one that has no
 * memory for a message, and of one that has no descriptor for itself. */
enum { PMCLUA_CUT_OFF = 113, PMCLUA_OUT_OF_MEMORY = 114, PMCLUA_NO_DESCRIPTOR = 115 };

/* The step at which a repetition could not be started. */
enum pmclua_stage {
    PMCLUA_STAGE_NONE = 0,
    PMCLUA_STAGE_DEFINITION,   /* taking the definition of its workload or event set */
    PMCLUA_STAGE_NODE,         /* binding memory to a NUMA node */
    PMCLUA_STAGE_KERNEL,       /* loading or setting up a kernel; the text says what went wrong */
    /* Stages of a command; the text is its program, its folder or its input. */
    PMCLUA_STAGE_START, PMCLUA_STAGE_PIN, PMCLUA_STAGE_ENTER, PMCLUA_STAGE_READ, PMCLUA_STAGE_EXECUTE,
    PMCLUA_STAGE_WAIT,
    /* Stages of following regions: a file of theirs, their probes in tracefs, threads of the target, its CPUs, the
     * number of groups, a group's leader, inheriting its events, its probes, its ring, the clock of a thread, the
     * reader of the rings, what it read; or the runner was ended. */
    PMCLUA_STAGE_REGION_MEMORY, PMCLUA_STAGE_REGION_FILE, PMCLUA_STAGE_REGION_DEFINITION, PMCLUA_STAGE_REGION_TARGET,
    PMCLUA_STAGE_REGION_CPU, PMCLUA_STAGE_REGION_GROUPS, PMCLUA_STAGE_REGION_LEADER, PMCLUA_STAGE_REGION_INHERIT,
    PMCLUA_STAGE_REGION_PROBE, PMCLUA_STAGE_REGION_RING, PMCLUA_STAGE_REGION_CLOCK, PMCLUA_STAGE_REGION_THREAD,
    PMCLUA_STAGE_REGION_READING, PMCLUA_STAGE_REGION_TERMINATION
};

/* A process: a program whose events Linux ended when it was executed (drops.c), or that a command left running. */
struct pmclua_drop {
    int32_t pid;
    char name[16];                         /* as ps shows it */
};

/* Linux's accounts that can be read of a repetition. */
enum { PMCLUA_TAKE_TIMES = 1, PMCLUA_TAKE_IO = 2 };

/* Bytes from and to storage; bytes of all system calls that read and write, and how many such calls there were. Of a
 * command with the children that it waited for. */
struct pmclua_io {
    uint64_t read_bytes, write_bytes, read_chars, write_chars, read_calls, write_calls;
};

/* One repetition as the runner saw it. Followed in the same message by
 *   reading_u64s u64   for each thread, for each group: enabled ns, running ns, values (differences)
 *   region_u64s u64    a struct pmclua_regions and what follows it; none where no regions were asked for
 *   profile_u64s u64   a struct pmclua_profile and what follows it; none where nothing was sampled
 *   call_u64s u64      a struct pmclua_system_calls and what follows it; none where they were not traced
 *   text bytes         what was being done to what, where it was not started (`stage`); or what was captured:
 *                      output_bytes of standard output, then error_bytes of standard error */
struct pmclua_result {
    uint64_t sequence;         /* id of the RUN message */
    uint64_t start_ns;         /* CLOCK_MONOTONIC at release */
    uint64_t wall_ns;
    uint64_t iterations;
    uint64_t user_ns, system_ns;
    uint64_t max_rss_bytes;    /* 0: not known: of kernels, and of commands below the runner's own */
    uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
    uint64_t taken;            /* PMCLUA_TAKE_*: which of the following were read; the others are 0 */
    /* A command's first thread, or a kernel's threads together: on a CPU, runnable and waiting for one, neither.
     * Their sum is the wall time of the thread, or of all of them. */
    uint64_t on_cpu_ns, wait_ns, off_cpu_ns;
    struct pmclua_io io;
    int32_t  outcome, exit_code, signal, errnum;
    uint32_t stage;            /* enum pmclua_stage, where it was not started */
    uint32_t threads, reading_u64s;
    uint32_t output_bytes, error_bytes;
    uint32_t region_u64s, region_path;    /* region_path: enum pmclua_region_path */
    uint32_t profile_u64s;
    uint32_t call_u64s, untraced;         /* untraced: the errno by which system calls could not be traced */
    uint32_t method;                       /* PMCLUA_BY_*, where all groups are read alike */
    uint32_t drops;                        /* programs that a command executed and Linux does not let be counted */
    struct pmclua_drop drop;               /* the first of them */
    uint32_t unseen;                       /* why drops are unknown: ENOSPC: too many programs were executed to look
                                            * at all; another errno: of watching */
    struct pmclua_drop launcher;           /* a program of a command that has others do its work; pid 0: none */
    uint32_t unreached;                    /* the errno of a program that could not reach the table of its marks, or
                                            * PMCLUA_MARK_NOT_TOLD */
    uint32_t left;                         /* processes that a command left running */
    struct pmclua_drop first_left;
    uint32_t fault_known;                  /* of PMCLUA_CRASHED: 1: the OS kernel tells the address */
    uint64_t fault_address, fault_offset;  /* what was accessed (of SIGILL, SIGFPE the instruction); where in its file
                                            * the instruction is */
    struct pmclua_failure failure;
};

/* ---- programs that are executed ---------------------------------------------------------------- */

struct pmclua_drops;

/* A file as mappings tell of it: by its place on a device, and, where several file systems have it, by its path. */
struct pmclua_mapped {
    uint64_t inode;
    uint32_t major, minor;
    char *path;
    int32_t is_mapped;
};

/* Makes the rings of one of `threads` watches; nothing is watched yet. -E2BIG: with more than 1024 CPUs watching would
 * cost the target too much; -errno. */
int pmclua_drops_new(struct pmclua_drops **drops, uint32_t threads);
/* Watches the programs that a thread and its children to come execute; `threads` are watched in all. As above. */
int pmclua_drops_open(struct pmclua_drops **drops, int32_t pid, uint32_t threads);
/* Forgets what it has seen and watches this thread instead: 0, or -errno and nothing is watched for certain. */
int pmclua_drops_watch(struct pmclua_drops *drops, int32_t pid);
/* Watches nothing from now on; its rings stay. */
void pmclua_drops_stop(struct pmclua_drops *drops);
/* A descriptor that poll finds ready when it is time to read, so that no record is lost. */
int pmclua_drops_fd(const struct pmclua_drops *drops);
/* How many programs had their events ended since it was opened, and the first of them; -ENOSPC: none was seen, and
 * not all were. */
int pmclua_drops_read(struct pmclua_drops *drops, struct pmclua_drop *first);
/* Notes from now on which of these files the programs map as code: those of process `pid` alone, unless it is 0. `files`
 * is the caller's. */
void pmclua_drops_note(struct pmclua_drops *drops, struct pmclua_mapped *files, int32_t count, int32_t pid);
/* Whether a program of this name has others do its work, which are not its children: srun, ssh, docker. */
int pmclua_is_launcher(const char *name);
/* By what was read: the first such program; NULL: none was seen. Valid until the next reading. */
const struct pmclua_drop *pmclua_drops_launcher(const struct pmclua_drops *drops);
/* Why a program with marks could not reach their table, as `unreached` of a result; 0: none reported it. */
uint32_t pmclua_drops_unreached(const struct pmclua_drops *drops);
void pmclua_drops_close(struct pmclua_drops *drops);

/* ---- the client side of the connection --------------------------------------------- */

struct pmclua_runner;

/* How a runner is started: the program at `path`, its environment ours and `padding` bytes more, `fixed_addresses`:
 * without address space randomisation. `under`: NULL, or what it is started by, as "/usr/bin/gdb" "--args" NULL. */
struct pmclua_start {
    const char *path;
    const char *const *under;
    uint32_t padding;
    int32_t fixed_addresses;
};

/* It is ended and freed by pmclua_runner_end. From the first to the last of several, SIGCHLD is noticed where it is
 * ignored, and the soft limit on descriptors may be raised. */
int pmclua_runner_start(struct pmclua_runner **runner, const struct pmclua_start *start);
/* Stops it and all its descendants where they are, until something is sent to it or it is to end. */
void pmclua_runner_pause(struct pmclua_runner *runner);
/* Resumes a paused runner: 0, or -errno where it cannot be told to. */
int pmclua_runner_wake(struct pmclua_runner *runner);
/* Kills its descendants, while it lives. */
void pmclua_runner_end_descendants(const struct pmclua_runner *runner);
int32_t pmclua_runner_pid(const struct pmclua_runner *runner);
/* -EPIPE: the runner has ended. */
int pmclua_runner_send(struct pmclua_runner *runner, const struct pmclua_message *message);
/* Waits for a result: 1 and *result (valid until the next call), 0 when timeout_ns (-1: none) has
 * passed, -EINTR when pmclua_interrupts() grew, -EPIPE when the runner has ended, -EPROTO. */
int pmclua_runner_receive(struct pmclua_runner *runner, int64_t timeout_ns, const struct pmclua_result **result);
/* The result in a task's file that begins at `bytes`, of `count` that follow; NULL: no whole one. */
const struct pmclua_result *pmclua_result_within(const void *bytes, uint64_t count);
const uint64_t *pmclua_result_readings(const struct pmclua_result *result);
const uint64_t *pmclua_result_regions(const struct pmclua_result *result);
const uint64_t *pmclua_result_profile(const struct pmclua_result *result);
const uint64_t *pmclua_result_calls(const struct pmclua_result *result);
const char *pmclua_result_text(const struct pmclua_result *result);
/* Sleeps, so that nothing of ours runs beside what is measured. -EINTR when pmclua_interrupts() grew. */
int pmclua_pause(uint64_t ns);
/* Asks it to end (`kill` nonzero: kills it and what it runs; 2: that has its grace), waits, frees. How it ended goes to
 * exit_code and signal (-1 and 0: not by exit). */
int pmclua_runner_end(struct pmclua_runner *runner, int32_t kill, int32_t *exit_code, int32_t *signal);

/* FFI-END */
