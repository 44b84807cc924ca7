/*
 * pmclua.h: the C API of pmclua, with the headers that it includes, and the text of its FFI declaration.
 *
 * Nothing here is mirrored in Lua: the build hands these very texts to ffi.cdef (the lines between
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
/* Version and message layout: pmclua and its runner must agree on it. */
const char *pmclua_build(void);
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
/* The index of the first field from this one on that is not 0. -ENOENT: all are. */
int32_t pmclua_attr_next(const struct pmclua_attr *attr, int32_t from);
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

/* A failure as facts; lua/pmclua/explain/ turns it into sentences. */
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
/* Sets a filter of member `index` (tracepoints; the OS kernel's language). Before the group is first started. -errno,
 * and `failure` filled. */
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

/* Raises our soft limit on descriptors to `wanted`, or as far as the hard one allows, to take `count` of them.
 * -errno. It is restored when all that were taken are given back. */
int pmclua_descriptors_take(uint64_t count, uint64_t wanted);
void pmclua_descriptors_give_back(uint64_t count);

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
/* The last of these signals; 0: none. */
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
/* Opens a regular file to read it, without waiting for anybody: a descriptor, and the file's owner and size (NULL: not asked). -ENOTSUP where
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
/* Bytes that can be read now; 0: none; -errno. */
int64_t pmclua_read_some(int fd, char *bytes, uint64_t size);
/* Writes all of it at the descriptor's place: 0; -errno. */
int pmclua_write(int fd, const char *bytes, uint64_t count);
/* Sets a file's length: 0; -errno. */
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
    uint64_t changed_ns;           /* its ctime; its mtime where it was unlinked, which is a change, too */
};
/* The identity of the file that `path` leads to: 0; -errno. */
int pmclua_identity(const char *path, struct pmclua_identity *identity);
/* Owner, mode and kind: 0; -errno. */
int pmclua_stat(const char *path, uint32_t *uid, uint32_t *mode, uint64_t *bytes, uint64_t *mtime_ns);
enum { PMCLUA_SIGNATURE_BYTES = 96 };
/* Change signature (dev.ino.size.mtime.ctime) of the file that `path` leads to, as text without spaces: 0; -errno. */
int pmclua_signature(const char *path, char signature[PMCLUA_SIGNATURE_BYTES], uint32_t *mode, uint64_t *mtime_ns);
enum { PMCLUA_PATH_BYTES = 4096 };    /* PATH_MAX */
/* Writes `path` without links, "." and ".." into real[PMCLUA_PATH_BYTES]: 0; -errno. */
int pmclua_real_path(const char *path, char *real);
uint32_t pmclua_uid(void);
/* 128-bit hash of `bytes` for caches by content: 32 hex digits and NUL. Not for secrets. */
void pmclua_hash(const void *bytes, size_t count, char hex[33]);

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

/* Whether a text is ASCII without controls but newlines and tabs. */
int32_t pmclua_is_plain(const char *text, size_t bytes);

/* FFI-END */

#include "pmclua_calls.h"
#include "pmclua_runner.h"
#include "pmclua_symbols.h"

#endif
