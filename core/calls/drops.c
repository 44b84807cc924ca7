/*
 * drops.c: facts about the programs that are executed: whose events Linux ended at the start; which are launchers, whose
 * work others do; which have marks (pmclua_mark.h) and cannot reach their table.
 *
 * A program that its user may not read, or that gains rights by executing (setuid, setgid, capabilities), is not
 * to be watched: exec ends all events of the process, inherited ones too, and says nothing. An event that records
 * exec, mappings and ends shows it: an ordinary exec is followed by the mapping of the program, one that drops
 * the events by the record of an end, and by nothing more of that process.
 *
 * A launcher asks a daemon or another machine to run a program, which is then no child of it and is not counted. It is
 * known by its name; one that executes another program in its place has asked no daemon.
 *
 * The rings are to be read while the programs run: pmclua_drops_fd says when one is half full. Each belongs to an
 * event of our own that records nothing, so that it stays when what is watched has ended: mapping one anew for each
 * command took 60 us a CPU.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "counters/attr.h"
#include "host/lists.h"
#include "order.h"
#include "samples.h"

/* All rings together; each no larger than RING_MAX and no smaller than RING_LEAST. */
enum { RINGS_BYTES = 16 << 20, RING_MAX = 256 * 1024, RING_LEAST = 16 * 1024 };
enum { CPUS_MAX = 1024, RECORD_MAX = 8192 };

/* An executed program whose process has done nothing else yet. */
struct executed {
    uint32_t pid;
    char name[16];
};

struct pmclua_drops {
    int cpus, ready;                          /* ready: an epoll descriptor of all rings */
    size_t ring_bytes;
    int count, is_short;                      /* since it was opened; is_short: some records were lost, or memory was */
    struct pmclua_drop first, launcher;       /* pid 0: none */
    struct executed *open;
    size_t opened;
    uint32_t unreached;                       /* the last errno that a program reported */
    struct pmclua_mapped *file;               /* files whose mapping is noted */
    int32_t files, only;                      /* only: the process that matters; 0: all */
    struct watched {
        int owner, fd;                        /* the event whose ring it is, and the one that writes to it; -1: none */
        struct ring ring;
    } cpu[];
};

static struct pmclua_attr attr_of_watcher(void)
{
    return attr_of(&(struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .inherit = 1,
        .exclude_kernel = 1, .exclude_hv = 1, .task = 1, .comm = 1, .comm_exec = 1, .mmap = 1, .mmap2 = 1,
        .sample_id_all = 1, .sample_type = PERF_SAMPLE_TIME, .use_clockid = 1, .clockid = CLOCK_MONOTONIC });
}

/* Edge-triggered: one whose events have ended would be ready for ever. */
static int listen_to(const struct pmclua_drops *drops, int fd)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    return epoll_ctl(drops->ready, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* 0 as well where the CPU is offline. */
static int open_ring(struct pmclua_drops *drops, int cpu)
{
    struct pmclua_attr attr = attr_of(&(struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .disabled = 1,
        .exclude_kernel = 1, .exclude_hv = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
        .watermark = 1 });                    /* of 0 bytes: half of the ring, however large it is */
    struct watched *watched = &drops->cpu[cpu];
    watched->owner = pmclua_open(&attr, 0, cpu, -1, 0);
    if (watched->owner < 0)
        return watched->owner == -ENODEV ? 0 : watched->owner;
    int result = ring_open(&watched->ring, watched->owner, drops->ring_bytes);
    return result < 0 ? result : listen_to(drops, watched->owner);
}

/* 0 as well where the CPU is offline. */
static int watch_cpu(struct pmclua_drops *drops, int pid, int cpu)
{
    struct watched *watched = &drops->cpu[cpu];
    struct pmclua_attr attr = attr_of_watcher();
    int result = watched->ring.page ? 0 : open_ring(drops, cpu);
    if (result < 0 || !watched->ring.page)
        return result;
    ring_skip(&watched->ring);
    watched->fd = pmclua_open(&attr, pid, cpu, -1, 0);
    if (watched->fd < 0)
        return watched->fd == -ENODEV ? 0 : watched->fd;
    return pmclua_ioctl(watched->fd, PMCLUA_IOC_SET_OUTPUT, (uint64_t)watched->owner, NULL);
}

/* libc reads a file of sysfs for it; the number stays what it was at the start. */
static long cpus_that_may_be(void)
{
    static long count;
    if (count == 0)
        count = sysconf(_SC_NPROCESSORS_CONF);
    return count;
}

int pmclua_drops_watch(struct pmclua_drops *drops, int32_t pid)
{
    pmclua_drops_stop(drops);
    drops->count = drops->is_short = 0;
    drops->opened = 0;
    drops->unreached = 0;
    drops->launcher.pid = 0;
    drops->files = 0;
    int result = 0;
    for (int cpu = 0; result == 0 && cpu < drops->cpus; cpu++)
        result = watch_cpu(drops, pid, cpu);
    return result;
}

void pmclua_drops_stop(struct pmclua_drops *drops)
{
    for (int i = 0; i < drops->cpus; i++) {
        if (drops->cpu[i].fd >= 0)
            pmclua_close(drops->cpu[i].fd);
        drops->cpu[i].fd = -1;
    }
}

static struct pmclua_drops *new_drops(int cpus, uint32_t threads)
{
    struct pmclua_drops *drops = calloc(1, sizeof *drops + (size_t)cpus * sizeof *drops->cpu);
    if (!drops)
        return NULL;
    drops->cpus = cpus;
    drops->ring_bytes = ring_bytes_each(RING_MAX, RING_LEAST, RINGS_BYTES, (size_t)cpus * threads);
    for (int i = 0; i < cpus; i++)
        drops->cpu[i].owner = drops->cpu[i].fd = -1;
    drops->ready = epoll_create1(EPOLL_CLOEXEC);
    return drops;
}

int pmclua_drops_new(struct pmclua_drops **out, uint32_t threads)
{
    long cpus = cpus_that_may_be();
    if (cpus < 1 || cpus > CPUS_MAX)
        return -E2BIG;                        /* each is inherited by each child: that costs the target */
    struct pmclua_drops *drops = new_drops((int)cpus, threads);
    if (!drops)
        return -ENOMEM;
    int result = drops->ready < 0 ? -errno : 0;
    for (int cpu = 0; result == 0 && cpu < drops->cpus; cpu++)
        result = open_ring(drops, cpu);
    if (result < 0)
        pmclua_drops_close(drops);
    else
        *out = drops;
    return result;
}

int pmclua_drops_open(struct pmclua_drops **out, int32_t pid, uint32_t threads)
{
    struct pmclua_drops *drops;
    int result = pmclua_drops_new(&drops, threads);
    if (result < 0)
        return result;
    result = pmclua_drops_watch(drops, pid);
    if (result < 0)
        pmclua_drops_close(drops);
    else
        *out = drops;
    return result;
}

int pmclua_drops_fd(const struct pmclua_drops *drops) { return drops->ready; }

void pmclua_drops_close(struct pmclua_drops *drops)
{
    if (!drops)
        return;
    pmclua_drops_stop(drops);
    for (int i = 0; i < drops->cpus; i++) {
        ring_close(&drops->cpu[i].ring);
        if (drops->cpu[i].owner >= 0)
            pmclua_close(drops->cpu[i].owner);
    }
    if (drops->ready >= 0)
        close(drops->ready);
    free(drops->open);
    free(drops);
}

/* ---- reading ---- */

/* A program whose marks have no table takes this name for a moment, and the errno or PMCLUA_MARK_NOT_TOLD
 * (pmclua_mark.h). */
static const char UNREACHED[] = "pmclua lost ";

static void note_name(struct pmclua_drops *drops, const char *name)
{
    if (strncmp(name, UNREACHED, sizeof UNREACHED - 1) == 0)
        drops->unreached = (uint32_t)strtoul(name + sizeof UNREACHED - 1, NULL, 10);
}

/* The body of a PERF_RECORD_MMAP2. */
struct mapping {
    uint32_t pid, tid;
    uint64_t address, bytes, offset;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
    char path[];
};

void pmclua_drops_note(struct pmclua_drops *drops, struct pmclua_mapped *files, int32_t count, int32_t pid)
{
    drops->file = files;
    drops->files = count;
    drops->only = pid;
}

static int is_same(const struct pmclua_mapped *file, const struct mapping *mapping)
{
    return (file->inode == mapping->inode && file->major == mapping->major && file->minor == mapping->minor)
        || (file->path && strcmp(file->path, mapping->path) == 0);
}

static void note_mapping(const struct pmclua_drops *drops, const struct mapping *mapping)
{
    int matters = !drops->only || (uint32_t)drops->only == mapping->pid;
    for (int32_t i = 0; matters && i < drops->files; i++)
        drops->file[i].is_mapped |= is_same(&drops->file[i], mapping);
}

/* Names as ps shows them: 15 letters at most. */
static const char *const launchers[] = {
    "aprun", "at", "blaunch", "bsub", "condor_submit", "crictl", "ctr", "dbclient", "docker", "flux-run.py",
    "flux-submit.py", "incus", "jsrun", "kubectl", "lsrun", "lxc", "machinectl", "nerdctl", "oarsub", "oc", "pbsdsh",
    "podman-remote", "prun", "qrsh", "qsub", "rsh", "run0", "sbatch", "srun", "ssh", "systemd-run",
};

int pmclua_is_launcher(const char *name)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(launchers[i], name) == 0)
            return 1;
    return 0;
}

/* The first, unless its process executes another program later. */
static void note_launcher(struct pmclua_drop *launcher, const struct executed *executed)
{
    if (launcher->pid == (int32_t)executed->pid)
        launcher->pid = 0;
    if (launcher->pid == 0 && pmclua_is_launcher(executed->name)) {
        launcher->pid = (int32_t)executed->pid;
        memcpy(launcher->name, executed->name, sizeof launcher->name);
    }
}

/* An exec is decided by what its process does next; if it ended, it was a drop. */
static void go_on(struct pmclua_drops *drops, uint32_t pid, int ends)
{
    for (size_t i = 0; i < drops->opened; i++) {
        struct executed *executed = &drops->open[i];
        if (executed->pid != pid)
            continue;
        if (ends && drops->count++ == 0) {
            drops->first.pid = (int32_t)pid;
            memcpy(drops->first.name, executed->name, sizeof executed->name);
        }
        *executed = drops->open[--drops->opened];
        return;
    }
}

static void take_name(struct pmclua_drops *drops, const struct comm_record *comm, int is_exec)
{
    struct executed executed = { .pid = comm->pid };
    strncpy(executed.name, (const char *)(comm + 1), sizeof executed.name - 1);
    if (!is_exec) {
        note_name(drops, executed.name);
        return;
    }
    note_launcher(&drops->launcher, &executed);
    go_on(drops, executed.pid, 0);
    drops->is_short |= LIST_ADD(drops->open, drops->opened, executed) < 0;
}

static int take_record(void *owner, int ring, const struct perf_event_header *header)
{
    struct pmclua_drops *drops = owner;
    const void *body = header + 1;
    (void)ring;
    switch (header->type) {
    case PERF_RECORD_COMM:
        take_name(drops, body, (header->misc & PERF_RECORD_MISC_COMM_EXEC) != 0);
        break;
    case PERF_RECORD_MMAP2:
        note_mapping(drops, body);
        go_on(drops, ((const struct mapping *)body)->pid, 0);
        break;
    case PERF_RECORD_EXIT: go_on(drops, ((const struct task_record *)body)->pid, 1); break;
    case PERF_RECORD_LOST: drops->is_short = 1; break;
    default: break;
    }
    return 0;
}

static struct ring *ring_of(void *owner, int number) { return &((struct pmclua_drops *)owner)->cpu[number].ring; }

/* No samples are written. */
static int time_of(const struct perf_event_header *record, uint64_t *time_ns)
{
    return record_time(record, 0, time_ns);
}

/* Losses are reported by the next record that fits: a ring this full may have lost its last ones. */
static int may_have_lost(const struct ring *ring)
{
    uint64_t largest = ring->bytes / 2 < RECORD_MAX ? ring->bytes / 2 : RECORD_MAX;
    return ring->page && ring->most > ring->bytes - largest;
}

/* Drains the epoll set, so that it fires on the next ring that gets half full. */
static void hear_all(const struct pmclua_drops *drops)
{
    struct epoll_event events[16];
    while (epoll_wait(drops->ready, events, 16, 0) == 16)
        ;
}

int pmclua_drops_read(struct pmclua_drops *drops, struct pmclua_drop *first)
{
    struct ring_order order = { drops->cpus, ring_of, time_of, take_record, drops };
    int count = drops->count;
    hear_all(drops);
    drops->is_short |= rings_take(&order, 0) < 0;
    for (int i = 0; i < drops->cpus; i++)
        drops->is_short |= may_have_lost(&drops->cpu[i].ring);
    /* A program's mapping may be among the lost: then an end proves nothing. */
    if (drops->is_short)
        drops->count = count;
    *first = drops->first;
    return drops->count > 0 ? drops->count : drops->is_short ? -ENOSPC : 0;
}

uint32_t pmclua_drops_unreached(const struct pmclua_drops *drops) { return drops->unreached; }

const struct pmclua_drop *pmclua_drops_launcher(const struct pmclua_drops *drops)
{
    return drops->launcher.pid ? &drops->launcher : NULL;
}
