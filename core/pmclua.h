/*
 * pmclua.h: the whole C API of pmclua, and the text of its FFI declaration.
 *
 * Nothing here is mirrored in Lua: the build hands this very text to ffi.cdef (the lines between
 * FFI-BEGIN and FFI-END; a part with a name when that is first needed), so it holds only enums, structs and
 * prototypes, and no macros.
 *
 * Conventions, unless a function says otherwise:
 *   - a function returns 0 or a count, and -errno on failure; on failure its outputs are unchanged
 *   - nothing prints, nothing exits, nothing installs a signal handler unasked
 *   - times are nanoseconds of CLOCK_MONOTONIC, sizes are bytes
 *   - what a function allocates is freed by the one function that its comment names
 *   - nothing is thread-safe but where it says so; one thread owns one object
 */
#ifndef PMCLUA_H
#define PMCLUA_H

#include <stddef.h>
#include <stdint.h>

/* FFI-BEGIN */

const char *pmclua_version(void);
/* sizeof "attr", "failure", "message" or "result" as C sees it, for the binding to compare; 0: unknown. */
size_t pmclua_size_of(const char *name);

/* ---- attr ---------------------------------------------------------------------------------- */

enum { PMCLUA_ATTR_WORDS = 18 };    /* 144 bytes: perf_event_attr up to config4 (VER9) */

/* A perf_event_attr as the OS kernel lays it out. Zeroed is valid; `size` is filled in when opened. */
struct pmclua_attr { uint64_t words[PMCLUA_ATTR_WORDS]; };

/* Sets the field that the ABI calls `name` (bit fields included).
 * -ENOENT: no such field. -ERANGE: `value` is wider than the field. */
int pmclua_attr_set(struct pmclua_attr *attr, const char *name, uint64_t value);
/* Reads a field. -ENOENT: no such field. */
int pmclua_attr_get(const struct pmclua_attr *attr, const char *name, uint64_t *value);
/* The name of field `index`, counted from 0 in ABI order; NULL past the last. */
const char *pmclua_attr_name(int32_t index);

/* ---- system calls -------------------------------------------------------------------------- */

/* The calls that perf needs, each returning a result or -errno. Tests replace members to play an OS
 * kernel that refuses; everything in core/ that touches a perf descriptor goes through here. */
struct pmclua_system {
    int  (*perf_event_open)(const struct pmclua_attr *attr, int32_t pid, int32_t cpu, int32_t group_fd, uint32_t flags);
    int  (*ioctl)(int32_t fd, uint32_t request, uint64_t argument);
    long (*read)(int32_t fd, void *buffer, size_t bytes);
    int  (*close)(int32_t fd);
};
extern struct pmclua_system pmclua_system;

/* ---- single events ------------------------------------------------------------------------- */

/* perf_event_open as it is (EINTR retried, FD_CLOEXEC added): a descriptor that the caller closes. */
int pmclua_open(const struct pmclua_attr *attr, int32_t pid, int32_t cpu, int32_t group_fd, uint32_t flags);
/* The ioctls: each is PERF_EVENT_IOC_* of the ABI. */
enum pmclua_ioc {
    PMCLUA_IOC_ENABLE, PMCLUA_IOC_DISABLE, PMCLUA_IOC_REFRESH, PMCLUA_IOC_RESET, PMCLUA_IOC_PERIOD,
    PMCLUA_IOC_SET_OUTPUT, PMCLUA_IOC_SET_FILTER, PMCLUA_IOC_ID, PMCLUA_IOC_SET_BPF, PMCLUA_IOC_PAUSE_OUTPUT,
    PMCLUA_IOC_QUERY_BPF, PMCLUA_IOC_MODIFY_ATTRIBUTES
};
/* `memory` is what the request reads from or writes to, where it takes a pointer (PERIOD, ID, SET_FILTER, QUERY_BPF,
 * MODIFY_ATTRIBUTES); where it is NULL, `value` is the argument. */
int pmclua_ioctl(int32_t fd, enum pmclua_ioc request, uint64_t value, void *memory);
long pmclua_read(int32_t fd, void *buffer, size_t bytes);
int pmclua_close(int32_t fd);

/* ---- groups -------------------------------------------------------------------------------- */

/* What went wrong, as facts: lua/pmclua/explain.lua makes sentences of it. */
struct pmclua_failure {
    int32_t errnum;            /* positive errno */
    int32_t group;             /* index of the group, where there are several */
    int32_t index;             /* which event of the group, from 0; -1: none in particular */
    int32_t pid, cpu;          /* as passed */
    int32_t filter;            /* 1: it was opened, and its filter was refused; 2: and its ring of samples was */
    struct pmclua_attr attr;   /* as passed */
};

/* A perf event group: either every member is open or none is. Members are in the order asked for;
 * the first is the leader. Membership never changes after opening. */
struct pmclua_group;

enum {
    PMCLUA_ON_EXEC     = 1,    /* counting starts when the target executes a program */
    PMCLUA_PINNED      = 2,    /* the leader is pinned: on the PMU, or lost */
    PMCLUA_READ_USER   = 4,    /* read in user space where the OS kernel allows it: this thread's own group */
    PMCLUA_READ_TOGGLE = 8,    /* pmclua_groups_measure starts and stops it: it counts in regions alone */
    PMCLUA_CGROUP      = 16,   /* `pid` is the descriptor of a cgroup's folder: its tasks on one CPU */
    PMCLUA_LEADS       = 256   /* of events of regions: others open behind the first alone (slots, topdown-…) */
};

/* How a group is read. */
enum { PMCLUA_BY_SYSCALL = 0, PMCLUA_BY_USER, PMCLUA_BY_TOGGLE };

/* Opens `count` events on `pid` (0: this thread) and `cpu` (-1: any), stopped, freed by
 * pmclua_group_close. Fields that make a group (disabled, read_format, enable_on_exec, pinned of the
 * leader, size) are set here; all else is as the caller made it. -errno, and `failure` filled. */
int pmclua_group_open(struct pmclua_group **group, const struct pmclua_attr *attrs, int32_t count,
                      int32_t pid, int32_t cpu, uint32_t options, struct pmclua_failure *failure);
/* Has member `index` count only where `filter` holds (tracepoints; the OS kernel's language). Before the
 * group is first started. -errno, and `failure` filled. */
int pmclua_group_filter(struct pmclua_group *group, int32_t index, const char *filter, struct pmclua_failure *failure);
/* Start and stop all members, by the leader alone (the OS kernel's group flag miscounts groups of
 * several PMUs). -EOWNERDEAD in a forked child, whose ioctl would reach the parent's events. */
int pmclua_group_start(struct pmclua_group *group);
int pmclua_group_stop(struct pmclua_group *group);
/* One read of all members: out[0] enabled ns, out[1] running ns, out[2…] the values in the order asked
 * for; 2 + count in all. Never reset: take two and subtract. 1: its CPU went offline, and took the group apart;
 * what it had counted by then.
 *
 * A reading is lost where the group is pinned and did not get, or did not keep, its place on the PMU: then it
 * is enabled for 1 ns and never running, and so is whatever is made of it. Such a group stays lost. */
int pmclua_group_read(struct pmclua_group *group, uint64_t *out);
int pmclua_reading_is_lost(const uint64_t *reading);
/* Readings have `count` u64s: out = later - earlier, and sum = sum + reading. */
void pmclua_reading_delta(const uint64_t *earlier, const uint64_t *later, uint64_t *out, int32_t count);
void pmclua_reading_add(uint64_t *sum, const uint64_t *reading, int32_t count);
int32_t pmclua_group_count(const struct pmclua_group *group);
/* One of PMCLUA_BY_*; settled when the group is first started. A group that is read in user space is read by
 * read(2) all the same whenever its pages say so. */
int32_t pmclua_group_method(const struct pmclua_group *group);
/* The descriptor of member `index`, still owned by the group; -ERANGE. */
int32_t pmclua_group_fd(const struct pmclua_group *group, int32_t index);
/* Closes siblings first, the leader last, and frees. NULL is allowed. */
void pmclua_group_close(struct pmclua_group *group);
/* Calls fn(state, iterations) between a read of each group, in order, into `before` and one of each, in
 * reverse order, into `after`: the readings of all groups, one after the other. The groups must be started;
 * those to be toggled must not. */
int pmclua_groups_measure(struct pmclua_group *const *groups, int32_t count, void (*fn)(void *, uint64_t),
                          void *state, uint64_t iterations, uint64_t *before, uint64_t *after);

/* FFI-BEGIN pfm */

/* ---- libpfm4, loaded when first needed ------------------------------------------------------- */

struct pmclua_pfm_pmu   { const char *name, *description; int32_t pmu, present, events; };
struct pmclua_pfm_event { const char *name, *description; int32_t index; };

/* Encodes `name` ("PMU::EVENT:UMASK:attr=val"): attr gets what libpfm4 fills in, `full` the fully
 * qualified name (cut to `bytes`), `code` libpfm4's own error code (PFM_ERR_*) or 0.
 * -ELIBACC: libpfm4 is not installed; -ENOENT: no such event; -EINVAL: attribute refused. */
int pmclua_pfm_encode(const char *name, struct pmclua_attr *attr, char *full, size_t bytes, int32_t *code);
/* Enumerate: 0 and *pmu or *event filled (strings owned by libpfm4), -ENOENT past the last, -ENOMEM.
 * `position` counts from 0 over the PMUs, or over the events of the PMU numbered `pmu`. */
int pmclua_pfm_pmu(int32_t position, struct pmclua_pfm_pmu *pmu);
int pmclua_pfm_event(int32_t pmu, int32_t position, struct pmclua_pfm_event *event);
/* The `position`-th attribute (umask or modifier) of an event: name, description; is_umask. */
int pmclua_pfm_attribute(int32_t event, int32_t position, const char **name, const char **description, int32_t *is_umask);

/* FFI-BEGIN */

/* ---- descriptors ---- */

/* Raises our soft limit on descriptors to `wanted`, or as far as the hard one allows, for somebody who needs `count` of
 * them. -errno. It is as it was when all who took have given back. */
int pmclua_descriptors_take(uint64_t count, uint64_t wanted);
void pmclua_descriptors_give_back(uint64_t count);

/* ---- messages: what pmclua and its runner say to each other ----------------------------------- */

/* A message is a header and fields of {kind, bytes}; core/README.md has the protocol. */
enum pmclua_message_kind {
    PMCLUA_MSG_WORKLOAD = 1,   /* define workload `id` */
    PMCLUA_MSG_EVENTS   = 2,   /* define event set `id`: groups of attrs */
    PMCLUA_MSG_RUN      = 3,   /* run a workload, counted by an event set: one or more results follow */
    PMCLUA_MSG_FORGET   = 4,   /* drop workload `id`: its kernel is torn down */
    PMCLUA_MSG_PREPARE  = 6,   /* commands will be run: have ready what each needs */
    PMCLUA_MSG_STOP     = 5    /* no more repetitions of the run: one empty result, of sequence `id`, follows */
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
    PMCLUA_F_GRACE,            /* u64 ns: at its time limit it gets SIGTERM, and SIGKILL only so much later */
    PMCLUA_F_WATCHED,          /* u64 1: the programs that it executes are watched, also where it is not counted */
    /* … or a kernel */
    PMCLUA_F_LIBRARY,          /* text: path of a shared object; "": the runner's own kernel, which is empty */
    PMCLUA_F_SYMBOL,           /* text */
    PMCLUA_F_PARAMETER,        /* text "NAME=VALUE", one each */
    PMCLUA_F_THREADS,          /* u64: 0 or absent: the runner's own thread alone */
    /* both */
    PMCLUA_F_CPUS,             /* text "0,2-3": pin the command; or thread i to the i-th CPU, in turn */
    /* a command's regions; each begins with its name, and what follows is of it */
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

/* What was being done when a repetition could not be started. */
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

/* What is read from Linux's accounts of a repetition where it is asked for. */
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
    uint32_t unseen;                       /* why it is not known whether there were such: ENOSPC: so many programs
                                            * were executed that not all were looked at; another errno: of watching */
    struct pmclua_drop launcher;           /* a program of a command that has others do its work; pid 0: none */
    uint32_t unreached;                    /* the errno of a program that could not reach the table of its marks */
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

/* Watches nothing yet: has the rings that each of `threads` such watches needs. -E2BIG: this machine has so many CPUs
 * (more than 1024) that watching would cost the target too much; -errno. */
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
/* Has it note which of these files the programs map as code from now on: those of process `pid` alone, unless it is 0.
 * `files` is the caller's. */
void pmclua_drops_note(struct pmclua_drops *drops, struct pmclua_mapped *files, int32_t count, int32_t pid);
/* Whether a program of this name has others do its work, which are not its children: srun, ssh, docker. */
int pmclua_is_launcher(const char *name);
/* By what was read: the first such program; NULL: none was seen. Valid until the next reading. */
const struct pmclua_drop *pmclua_drops_launcher(const struct pmclua_drops *drops);
/* Why a program with marks could not reach their table: an errno; 0: none said so. */
uint32_t pmclua_drops_unreached(const struct pmclua_drops *drops);
void pmclua_drops_close(struct pmclua_drops *drops);

/* ---- the runner, from the side of whom it answers --------------------------------------------- */

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
/* Has it go on before: 0, or -errno where it cannot be told to. */
int pmclua_runner_wake(struct pmclua_runner *runner);
/* Kills its descendants, while it lives. */
void pmclua_runner_end_descendants(const struct pmclua_runner *runner);
int32_t pmclua_runner_pid(const struct pmclua_runner *runner);
/* -EPIPE: the runner has ended. */
int pmclua_runner_send(struct pmclua_runner *runner, const struct pmclua_message *message);
/* Waits for a result: 1 and *result (valid until the next call), 0 when timeout_ns (-1: none) has
 * passed, -EINTR when pmclua_interrupts() grew, -EPIPE when the runner has ended, -EPROTO. */
int pmclua_runner_receive(struct pmclua_runner *runner, int64_t timeout_ns, const struct pmclua_result **result);
const uint64_t *pmclua_result_readings(const struct pmclua_result *result);
const uint64_t *pmclua_result_regions(const struct pmclua_result *result);
const uint64_t *pmclua_result_profile(const struct pmclua_result *result);
const uint64_t *pmclua_result_calls(const struct pmclua_result *result);
const char *pmclua_result_text(const struct pmclua_result *result);
/* Sleeps, so that nothing of ours runs beside what is measured. -EINTR when pmclua_interrupts() grew. */
int pmclua_pause(uint64_t ns);
/* Asks it to end (`kill` nonzero: kills it and what it runs), waits, frees. How it ended goes to
 * exit_code and signal (-1 and 0: not by exit). */
int pmclua_runner_end(struct pmclua_runner *runner, int32_t kill, int32_t *exit_code, int32_t *signal);

/* ---- this process and its machine -------------------------------------------------------------- */

uint64_t pmclua_now_ns(void);
/* The rate of x86's time stamp counter or Arm's generic timer, as the OS kernel converts it for perf; 0: unknown. */
double pmclua_clock_hz(void);
/* Whether a breakpoint of this thread counts a write: 1, or 0 where this machine's debug exceptions never arrive; -EIO
 * where one was set and cannot be read, another -errno where none can be set to try. */
int pmclua_breakpoints_fire(void);
/* Frees a block of a sampler, of calls or of system calls. */
void pmclua_free_block(uint64_t *block);
/* A file in memory that may be executed, with these bytes: its path, and a descriptor, which the caller closes with
 * pmclua_close; or -errno. */
int pmclua_memory_file(const void *bytes, size_t count, char *path, size_t path_bytes);
/* The folder of the file that this code is in: the executable, or the library. -ENAMETOOLONG. */
int pmclua_folder(char *folder, size_t bytes);
/* Unsigned number in `text` (decimal, or hex after 0x), all of it. -EINVAL, -ERANGE. */
int pmclua_parse_u64(const char *text, uint64_t *value);
int32_t pmclua_pid(void);
const char *pmclua_errno_name(int32_t errnum);      /* "EACCES"; NULL: unknown */
const char *pmclua_errno_text(int32_t errnum);      /* "Permission denied" */
const char *pmclua_signal_name(int32_t signal);     /* "SIGSEGV"; NULL: unknown */
int pmclua_is_terminal(int32_t fd);
int pmclua_columns(int32_t fd);                     /* width in columns; -errno where it has none */
/* SIGINT, SIGTERM and SIGHUP are counted, whatever they did before (on = 2: a second SIGINT does that again; 0: all do).
 * Those that are ignored stay ignored. */
int pmclua_catch_interrupts(int32_t on);
/* Whether a second one is deadly, from now on; what was so before. Nothing that was counted is lost. */
int32_t pmclua_second_kills(int32_t on);
/* How many SIGINT came since; SIGTERM and SIGHUP count twice: more than 1 asks to end at once. */
uint32_t pmclua_interrupts(void);
/* Which came last; 0: none. */
int32_t pmclua_interrupt_signal(void);
/* Pins the calling thread to `cpus` ("0,2-3"). -EINVAL: not a list; -ENODEV: a CPU is not there. */
int pmclua_pin(const char *cpus);
/* 0 when this thread may run on each of `cpus`; as pmclua_pin where not, with *cpu the first that it may
 * not. Nothing is changed. */
int pmclua_check_cpus(const char *cpus, int32_t *cpu);
int pmclua_mkdir(const char *path, uint32_t mode);
int pmclua_rename(const char *from, const char *to);
/* Makes a private file from `template` ("…XXXXXX", overwritten with its name): a descriptor. */
int pmclua_make_temporary(char *template_path);
/* 0 when files may be made in a folder: -EROFS; -ENOSPC: there is hardly room for one; -EACCES: code is to run there
 * (`for_code`) and may not. */
int pmclua_check_place(const char *folder, int32_t for_code);
/* Makes a private folder from `template_path`, where pmclua_check_place allows it. It goes with this process, also by a
 * signal, until pmclua_remove_folder. */
int pmclua_make_folder(char *template_path, int32_t for_code);
/* Removes a folder with all in it, nothing behind links. */
void pmclua_remove_folder(const char *path);
/* Makes a private FIFO: a descriptor that reads it and never waits. */
int pmclua_make_fifo(const char *path);
/* Opens a regular file to read it, without waiting for anybody: a descriptor, and the file's owner and size. -ENOTSUP where
 * it is no regular file, -ELOOP where it is a link and is_link_refused. */
int pmclua_open_plain(const char *path, int32_t is_link_refused, uint32_t *uid, uint64_t *bytes);
/* Opens a file that the user names, new or emptied unless it is appended to: a descriptor. -ELOOP: another user's link is on
 * the way; -EPERM: what another user has put where others may write. */
int pmclua_open_written(const char *path, int32_t appends);
/* Whether user `uid` could have opened this file where it is now, by modes alone and in no group: 1, 0; -errno. */
int pmclua_is_open_to(int fd, uint32_t uid);
/* Starts argv[0] with an empty input; its output, and its errors where asked, can be read of the descriptor. -errno. */
int pmclua_program_start(const char *const *argv, int32_t with_errors, int32_t *pid);
/* Waits until there is something to read, or its end: 0; -ETIMEDOUT; -EINTR: by an interrupt. */
int pmclua_program_wait(int fd, uint64_t limit_ns);
/* Waits for its end, and kills it and what it has started after that time: 0; -ETIMEDOUT; -ECHILD: this process is told
 * of no child's end. *status as of waitpid(2). */
int pmclua_program_end(int32_t pid, uint64_t limit_ns, int32_t *status);
/* What can be read now: bytes; 0: nothing; -errno. */
int64_t pmclua_read_some(int fd, char *bytes, uint64_t size);
/* Writes all of it at the descriptor's place: 0; -errno. */
int pmclua_write(int fd, const char *bytes, uint64_t count);
/* Makes a file so long: 0; -errno. */
int pmclua_resize(int fd, uint64_t bytes);
/* Up to `count` bytes from an offset on, fewer only where the file ends; -errno. */
int64_t pmclua_read_at(int fd, uint64_t offset, char *bytes, uint64_t count);
/* The device and inode that Linux shows for a file where it is mapped: those of stat(2) are others on file systems of
 * layers and volumes. 0; -errno. */
int pmclua_mapped_as(const char *path, uint64_t *device, uint64_t *inode);
/* Times are by CLOCK_MONOTONIC; 0: before that began. */
struct pmclua_identity {
    uint64_t device, inode;
    uint64_t written_ns;           /* its mtime */
    uint64_t changed_ns;           /* its ctime; its mtime where it has no name any more, as losing it is a change */
};
/* Which file `path` leads to: 0; -errno. */
int pmclua_identity(const char *path, struct pmclua_identity *identity);
/* Owner, mode and kind: 0; -errno. */
int pmclua_stat(const char *path, uint32_t *uid, uint32_t *mode, uint64_t *bytes, uint64_t *mtime_ns);
enum { PMCLUA_SIGNATURE_BYTES = 96 };
/* What changes when the file that `path` leads to is another or is written, as text without spaces: 0; -errno. */
int pmclua_signature(const char *path, char signature[PMCLUA_SIGNATURE_BYTES], uint32_t *mode, uint64_t *mtime_ns);
enum { PMCLUA_PATH_BYTES = 4096 };    /* PATH_MAX */
/* Writes `path` without links, "." and ".." into real[PMCLUA_PATH_BYTES]: 0; -errno. */
int pmclua_real_path(const char *path, char *real);
uint32_t pmclua_uid(void);
/* 128-bit hash of `bytes` for caches by content: 32 hex digits and NUL. Not for secrets. */
void pmclua_hash(const void *bytes, size_t count, char hex[33]);

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
    PMCLUA_POINT_TAIL,             /* a jump to another function, which returns in its stead */
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
 * Invariants: a return is matched to the entry with the same stack pointer in its process, on whichever
 * thread, so a call's cost is between its own two samples or it is not counted as a call; a thread's counts are the sum of what it had last
 * on each CPU; what samples were lost around is cut, never guessed. Values are in order: enabled ns,
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
    /* What probing costs, of each region 3 * (values + 1), or NULL; copied: a probe of its entry; one of its
     * return; and what of both is between a call's two samples. Duration, then values. */
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
/* All threads end, as far as is seen: the events will be others when samples come again. */
void pmclua_calls_pause(struct pmclua_calls *calls);
/* Records were lost on a CPU: calls that are open are cut, and counts on that CPU are not yet known. */
void pmclua_calls_lost(struct pmclua_calls *calls, uint32_t cpu, uint64_t records);
/* What came of it: a block of u64, freed by the caller with pmclua_free_block. Calls that are still
 * open are reported as unfinished. */
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

/* What is sampled. On tasks by one event for each of them and each CPU; without tasks, all of each CPU (`pid` -1), or
 * a cgroup there (PMCLUA_CGROUP: `pid` is the descriptor of its folder). */
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
/* What came of it, as a block, after the end: freed by the caller with pmclua_free_block. */
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
    uint64_t begun;                 /* counted since the last sample; where tasks were started, at most so much */
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
 * is the instruction that user space goes on at; it is missing where that is in no known code. */
struct pmclua_profile_frame { uint64_t parent, file, offset, count; };

/* What changed in a process's memory, in the order of time. FORK: `pid` began as a copy of `other`; EXEC: it has nothing
 * mapped any more; END: it has ended. */
enum pmclua_map_kind { PMCLUA_MAP_ADDED, PMCLUA_MAP_FORK, PMCLUA_MAP_EXEC, PMCLUA_MAP_END };
struct pmclua_profile_map { uint64_t kind, start, bytes, offset, file; uint32_t pid, other; };

/* A sample by itself: its instruction (`file` 0: in Linux), and after how many of the maps it was taken. `data_address`: as
 * the event tells it; 0: it does not Where the event does not, the user's registers follow as perf orders them, and the stack
 * from its pointer on, of which `stack_bytes` are known. */
struct pmclua_profile_sample {
    uint64_t file, offset, maps, time_ns, data_address, data_source;
    uint32_t pid, tid, has_registers, stack_bytes;
};

/* FFI-BEGIN symbols */

/* ---- symbols: the functions of ELF files, by elfutils, which is loaded when first needed --------- */

/* Functions of one file, sorted by address. */
struct pmclua_symbols;

enum pmclua_function_flag {
    PMCLUA_FUNCTION_IMPORTED = 1,  /* only named here: another file has it */
    PMCLUA_FUNCTION_INDIRECT = 2,  /* a resolver: which function is called is decided at run time */
    PMCLUA_FUNCTION_UNTYPED  = 4,  /* a label of assembly that does not say that it is a function */
    PMCLUA_FUNCTION_GUESSED  = 8,  /* states no size: taken to end where the next one begins */
    PMCLUA_FUNCTION_LOCAL    = 16,
    PMCLUA_FUNCTION_PART     = 32, /* a part that the compiler split off a function (.cold, .part.0) */
    PMCLUA_FUNCTION_VAGUE    = 64  /* others may have its full name: its type arguments are not in its symbol */
};

/* Texts live until the symbols are closed. */
struct pmclua_function {
    const char *name;              /* as the file has it: "_ZN2ns5parseEi" */
    const char *shown;             /* as the source has it: "int ns::get<int>(int) [clone .cold]" */
    const char *full;              /* what tells it from other functions: "ns::get<int>(int)" */
    const char *plain;             /* the name alone: "ns::get<int>" */
    uint64_t address;              /* before the file is loaded anywhere */
    uint64_t offset;               /* in the file, where probes are put */
    uint64_t bytes;
    uint32_t flags;
};

/* Reads a program or shared library, with its separate debug file: `debug_file` (NULL: where there is one in the
 * customary places, which are all on this machine). Freed by pmclua_symbols_close. -ELIBACC: no elfutils here; -ENOEXEC:
 * not a program or library. */
int pmclua_symbols_open(struct pmclua_symbols **symbols, const char *path, const char *debug_file);
void pmclua_symbols_close(struct pmclua_symbols *symbols);
/* The user that the file belongs to. */
uint32_t pmclua_symbols_owner(const struct pmclua_symbols *symbols);
int32_t pmclua_symbols_count(const struct pmclua_symbols *symbols);
/* Function `index`, counted from 0. -ENOENT. */
int pmclua_symbols_function(struct pmclua_symbols *symbols, int32_t index, struct pmclua_function *function);
/* Where in the file an address is (as the file has it). -ENXIO: in none of its code. */
int pmclua_symbols_offset(const struct pmclua_symbols *symbols, uint64_t address, uint64_t *offset);

struct pmclua_linked {
    int32_t is_64, machine;        /* its class, and EM_* */
    int32_t has_no_defaults;       /* the loader searches no customary folders for it */
};
/* Reads what the loader reads of a program or library: texts, each with its NUL and behind a letter of its kind, I: the
 * loader itself, N: a library that it needs, P: its RPATH, R: its RUNPATH. Their bytes; -E2BIG: there are more than
 * `bytes`; -ENOEXEC; -ELIBACC; another -errno. */
int32_t pmclua_linked_read(const char *path, struct pmclua_linked *linked, char *text, size_t bytes);
/* Whether two programs or libraries are one: the bytes of all sections that are loaded, but notes, are the same. 1; 0;
 * -ENOEXEC: one is neither; -ELIBACC; another -errno. */
int pmclua_is_same_program(const char *a, const char *b);
/* The functions that `pattern` means: the file's, the source's or the plain name; where there is none,
 * names that end in "::pattern"; where there is none, what matches one of these with its * ? [ ]. Aliases
 * of one address count once. How many there are (0: none); the first `size` go to `indices`. */
int32_t pmclua_symbols_match(struct pmclua_symbols *symbols, const char *pattern, int32_t *indices, int32_t size);

/* Copies of functions within their callers. `file` lives until the symbols are closed; NULL: unknown. */
struct pmclua_inlined { int32_t places, line; const char *file; };

/* How often functions called `name` were copied into their callers: in the compilation unit of function
 * `index`, or anywhere (-1). -ENODATA: the file has no debug information. */
int pmclua_symbols_inlined(struct pmclua_symbols *symbols, const char *name, int32_t index,
                           struct pmclua_inlined *inlined);

/* The full and the plain name of a function that somebody else spells: a symbol, "f.cold", "ns::f(int) [clone .cold]".
 * -ENAMETOOLONG: one of them has `bytes` bytes or more; -ENOMEM. */
int pmclua_spell(const char *spelling, char *full, char *plain, size_t bytes);
/* Whether `pattern` means a function of these names: 3: by its name, 2: by the end of its path, 0: it does not. */
int32_t pmclua_means(const char *full, const char *plain, const char *pattern);

/* What an instruction belongs to. Texts live until the symbols are closed. */
struct pmclua_code {
    const char *function;          /* the name alone, without clone suffix, "puts@plt" of a stub; NULL: it has none */
    const char *full;              /* its full name: pmclua_function */
    const char *source;            /* file of `line`, as the debug information has it; NULL: unknown */
    const char *declared;          /* file that the function is declared in; NULL: unknown */
    uint64_t which;                /* tells it from others of the same full name and `declared`; 0: they do */
    uint64_t address;              /* as the file has it */
    uint64_t start, bytes;         /* of the function; 0: not even where it begins is known */
    uint32_t flags;                /* enum pmclua_function_flag; LOCAL of no copy or part, which always is */
    int32_t line;                  /* 0: unknown */
    int32_t inlined;               /* functions that it was copied into with, one within the other */
};

/* A function that was copied into its caller at `line` of file `source`. */
struct pmclua_inlined_at { const char *function, *full, *source, *declared; int32_t line; };

/* What the instruction at an offset in the file belongs to; innermost first, the first `size` functions that it was
 * copied with go to `inlined`. -ENXIO: the offset is in none of the file's code. -ENOMEM. */
int pmclua_symbols_code(struct pmclua_symbols *symbols, uint64_t offset, struct pmclua_code *code,
                        struct pmclua_inlined_at *inlined, int32_t size);

/* The source lines of the function at an address, which pmclua_symbols_code has named: from where it is declared to its
 * last one, in its `declared`. -ENOENT: the debug information does not say. */
int pmclua_symbols_written(struct pmclua_symbols *symbols, uint64_t address, int32_t *first, int32_t *last);

/* Debug information that is there and could not be read, of what pmclua_symbols_code was asked. `name`: the file that it is
 * in; it lives until the symbols are closed. */
enum pmclua_unread_kind {
    PMCLUA_UNREAD_SPLIT,           /* a .dwo file, which is missing or of another build */
    PMCLUA_UNREAD_SHARED,          /* what dwz has moved to another file, which is missing */
    PMCLUA_UNREAD_COMPRESSED       /* in a way that this elfutils does not know (zstd) */
};
struct pmclua_unread { int32_t kind; const char *name; };
/* Number `index` of it, counted from 0. -ENOENT. */
int pmclua_symbols_unread(const struct pmclua_symbols *symbols, int32_t index, struct pmclua_unread *unread);

/* Whether the file has debug information here: source lines, inlined functions. */
int32_t pmclua_symbols_has_debug_information(const struct pmclua_symbols *symbols);

/* The build id of the file: how many bytes it has; 0: none. The first `size` go to `id`. */
int32_t pmclua_symbols_build_id(const struct pmclua_symbols *symbols, uint8_t *id, int32_t size);

/* Asks the servers of DEBUGINFOD_URLS for the debug file of a build, for some timeout_ms (about a second more where one does
 * not answer): its path, NUL-terminated. -ENOENT: they have none; -ENOSYS: no server is named; -ETIMEDOUT; -ELIBACC: no
 * libdebuginfod here; -ENAMETOOLONG; others as the network has them. */
int pmclua_debuginfod_find(const uint8_t *id, int32_t bytes, int32_t timeout_ms, char *path, size_t path_bytes);

/* The functions of Linux itself. */
struct pmclua_kallsyms;
enum { PMCLUA_SYMBOL_BYTES = 256 };
struct pmclua_linux_function { char name[PMCLUA_SYMBOL_BYTES], module[64]; };

/* Reads /proc/kallsyms, or a file like it. Freed by pmclua_kallsyms_close. -EACCES: Linux hides addresses from this
 * user. */
int pmclua_kallsyms_open(struct pmclua_kallsyms **out, const char *path);
void pmclua_kallsyms_close(struct pmclua_kallsyms *kallsyms);
/* The function that begins last before an address, and its module ("": none). -ENOENT. */
int pmclua_kallsyms_find(const struct pmclua_kallsyms *kallsyms, uint64_t address, struct pmclua_linux_function *out);

/* What a breakpoint can watch. */
enum pmclua_object_flag {
    PMCLUA_OBJECT_DATA = 1,        /* a variable */
    PMCLUA_OBJECT_OF_THREADS = 2,  /* each thread has its own: `address` is an offset */
    PMCLUA_OBJECT_CODE = 4,        /* a function */
    PMCLUA_OBJECT_LABEL = 8        /* of assembly, which does not say what it is */
};
struct pmclua_object { uint64_t address, bytes; uint32_t flags; char name[512]; };

/* The first variable, function or label at or after `position` (from 0) of the file's symbols: the position
 * to ask for next; 0: none is left. */
int32_t pmclua_symbols_object(struct pmclua_symbols *symbols, int32_t position, struct pmclua_object *object);
/* 1: a program that is always loaded at the addresses that the file has. */
int32_t pmclua_symbols_is_fixed(const struct pmclua_symbols *symbols);
/* The lowest address that the file has: what a loaded file's first byte is at. */
uint64_t pmclua_symbols_base(const struct pmclua_symbols *symbols);

enum pmclua_exit_kind {
    PMCLUA_EXIT_RETURN = 0,
    PMCLUA_EXIT_TAIL               /* an unconditional jump to another function, which returns in its stead */
};
struct pmclua_exit { uint64_t offset; uint64_t kind; };      /* offset: in the file */

/* What else the code of a function shows. */
struct pmclua_body {
    uint64_t unknown_at;           /* address of an instruction that was not understood; 0: none */
    uint64_t probe_at;             /* offset in the file where a probe tells its calls and costs least: the first
                                    * instruction that Linux emulates instead of stepping it, among those that every
                                    * call executes once, before any that touches memory or moves the stack pointer.
                                    * 0: none is known */
    int32_t loops_to_entry;        /* it jumps to its own first instruction: entries are not all calls */
    int32_t calls;                 /* it calls functions */
    int32_t jumps_out;             /* it has jumps, on a condition or through a pointer, that may leave it, too */
    int32_t is_stepped;            /* x86-64: there is none, and Linux steps the first one */
};

/* Where function `index` can be left, by Capstone, which is loaded when first needed: how many places;
 * the first `size` go to `exits`. Indirect and conditional jumps to other functions are not among them.
 * -ELIBACC: no Capstone here; -ENOTSUP: not for this kind of machine; -EILSEQ: body->unknown_at;
 * -ENODATA: its size is not known. */
int32_t pmclua_symbols_exits(struct pmclua_symbols *symbols, int32_t index, struct pmclua_exit *exits,
                             int32_t size, struct pmclua_body *body);

enum pmclua_instruction_flag {
    PMCLUA_INSTRUCTION_RETURN = 1,
    PMCLUA_INSTRUCTION_JUMP = 2,       /* or a call: to an address that it holds, relative to its end: `relative` */
    PMCLUA_INSTRUCTION_MEMORY = 4,     /* reads or writes at such an address: `relative` */
    PMCLUA_INSTRUCTION_UNFIT = 8       /* not to be executed with registers of no meaning: asks Linux for something,
                                        * jumps through a register, repeats */
};
/* relative, relative_bytes: where in it a relative address is; 0: it has none, or its bits are no bytes (arm64) */
struct pmclua_instruction {
    uint8_t bytes[16];
    uint32_t size, flags, relative, relative_bytes;
    char text[192];                    /* "mov eax, dword ptr [rdi]"; addresses in it are offsets in the file */
};

/* The instruction at an offset in the file. Errors as of pmclua_symbols_exits; -ENOTSUP: also where it is not of
 * the kind of machine that this is. */
int pmclua_symbols_instruction(struct pmclua_symbols *symbols, uint64_t offset, struct pmclua_instruction *out);
/* The same of the first of `count` bytes of this machine's code, which are at an offset. */
int pmclua_instruction(const uint8_t *bytes, uint64_t count, uint64_t offset, struct pmclua_instruction *instruction);

/* FFI-BEGIN data */

/* ---- data: what samples accessed ---------------------------------------------------------------- */

/* How a sample relates to data. AT: the instruction that was blocked accessed it; FED: it computes with what was loaded
 * from there; the others have no address: division or root; no memory near it; several instructions may have been blocked,
 * with different lines; the registers are lost; the code cannot be read; other registers than 64 bits'. */
enum pmclua_data_kind {
    PMCLUA_DATA_AT, PMCLUA_DATA_FED, PMCLUA_DATA_COMPUTING, PMCLUA_DATA_NO_OPERAND, PMCLUA_DATA_AMBIGUOUS, PMCLUA_DATA_LOST,
    PMCLUA_DATA_NO_CODE
};

/* How an address was found: told by the event; by the registers, undone; computed anew; it is that of the next execution;
 * where a chain goes on; the array's beginning. The last two tell the object, and not the place in it. */
enum pmclua_data_certainty {
    PMCLUA_DATA_TOLD, PMCLUA_DATA_EXACT, PMCLUA_DATA_REDONE, PMCLUA_DATA_NEXT, PMCLUA_DATA_CHAIN, PMCLUA_DATA_BASE
};

struct pmclua_access {
    uint64_t address;              /* of a thread's own variables: from its thread pointer on */
    uint64_t start, bytes;         /* of what is mapped there; 0: nothing known */
    uint64_t offset;               /* of `address` in the mapped file */
    uint64_t number;               /* tells mappings apart, in the order in which they began */
    uint64_t source;               /* as a PMU tells it (perf_mem_data_src); 0 */
    uint64_t code_offset;          /* of the sample's instruction in file `code` */
    uint32_t file, code;           /* counted from 1 as in the block; 0: nothing is mapped there that is known */
    uint32_t kind, certainty, size, is_write;
    uint32_t is_of_thread, is_stack;    /* variables of a thread; a stack */
    uint32_t pid, tid;
};

/* The samples of a block that was made with PMCLUA_DATA, which stays the caller's until the end. */
struct pmclua_data;
/* -EINVAL: the block has no such samples; -ENOMEM. Freed by pmclua_data_close. */
int pmclua_data_open(struct pmclua_data **data, const uint64_t *block);
void pmclua_data_close(struct pmclua_data *data);
/* What code of a file (counted from 1 as in the block) is read from; the symbols stay the caller's until the end. */
void pmclua_data_code(struct pmclua_data *data, uint32_t file, struct pmclua_symbols *symbols);
/* Finds what each sample accessed, in their order: as many as the block has records. -ENOMEM; -ELIBACC: no Capstone. */
int pmclua_data_find(struct pmclua_data *data, struct pmclua_access *accesses);

/* A variable of a file that may be accessed. */
struct pmclua_variable { uint64_t address, bytes, offset; const char *name; };
/* The variable that has the byte at an offset in the file: in `variable` its name, which lives until the symbols are closed,
 * and how far into it that is. What follows a file in memory counts as its zeroed variables do. -ENOENT: none; -ENOMEM. */
int pmclua_symbols_variable(struct pmclua_symbols *symbols, uint64_t offset, struct pmclua_variable *variable);
/* The same of a variable of threads, by its distance from the thread pointer: of the program alone. */
int pmclua_symbols_thread_variable(struct pmclua_symbols *symbols, int64_t distance, struct pmclua_variable *variable);

/* Where samples of an event stand on this CPU. Walks a chain of loads for some milliseconds: `behind` of `samples` stand
 * directly behind the load. -errno as of opening it; -ENOTSUP: not on this kind of machine. */
struct pmclua_skid { uint64_t samples, behind; };
int pmclua_skid_test(const struct pmclua_attr *attr, uint64_t period, uint32_t milliseconds, struct pmclua_skid *skid);

/* FFI-BEGIN lines */

/* ---- record lines (DESIGN: repetition lines are written and scanned by C) ----------------------- */

/* A record line is one JSON object. Its form is the same text with every unsigned number or null
 * outside strings as '%', and every array of nothing but those as "[%]"; its values are these numbers
 * in order, where such an array gives its length first. A null is a value whose byte of `absent` is
 * not 0. Form and values are the line, exactly: writing undoes scanning. */

enum { PMCLUA_LINE_DEPTH = 64 };    /* objects and arrays within each other: more is refused */

/* Writes the line of `form` (text and NUL) into `out`, without a NUL. The length, or -ENOSPC, or
 * -EINVAL (there are not exactly as many values as the form takes). */
int32_t pmclua_line_write(char *out, size_t bytes, const char *form,
                          const uint64_t *values, const uint8_t *absent, size_t count);
/* The reverse: `form` gets text and NUL (at most twice the line and 1), `values` and `absent` at most
 * bytes / 2 + 1 entries. How many values, or -ENOSPC, -EINVAL (not one whole JSON object), -ERANGE (an
 * integer above 2^64 - 1), -E2BIG (nested too deep). Other numbers (-1, 0.5) stay text of the form. */
int32_t pmclua_line_scan(const char *line, size_t bytes, char *form, size_t form_bytes,
                         uint64_t *values, uint8_t *absent, size_t size);

/* The same where the form is known, and has no '%' in its strings: a fifth of the work. -EINVAL: the line is
 * of another form, or none. */
int32_t pmclua_line_match(const char *line, size_t bytes, const char *form, uint64_t *values, uint8_t *absent,
                          size_t size);

/* How pmclua_lines_open opens: a new file of its user's alone (0600, -EEXIST); one as the umask has it (0666 less
 * that, -EEXIST); or one that is there, of which it cuts what follows the last newline (-ENODATA: it has none). */
enum { PMCLUA_LINES_PRIVATE, PMCLUA_LINES_SHARED, PMCLUA_LINES_RESUME };
/* Opens a file of lines, as pmclua_open_written, but that no link stands for it (-ELOOP), and one process writes at a time
 * (-EWOULDBLOCK). A descriptor for pmclua_lines_append and pmclua_close. */
int32_t pmclua_lines_open(const char *path, int32_t how);
/* Appends whole lines. 0, or -errno; either way *kept is how many bytes of whole lines are now in the
 * file, and no part of a line is. */
int32_t pmclua_lines_append(int32_t fd, const char *lines, size_t bytes, size_t *kept);

/* FFI-END */

#endif
