/*
 * drops.c: executed programs whose events Linux ended at the start.
 *
 * A program that its user may not read, or that gains rights by executing (setuid, setgid, capabilities), is not
 * to be watched: exec ends all events of the process, inherited ones too, and says nothing. An event that records
 * exec, mappings and ends shows it: an ordinary exec is followed by the mapping of the program, one that drops
 * the events by the record of an end, and by nothing more of that process.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmclua.h"
#include "ring.h"

enum { RING_BYTES = 256 * 1024, CPUS_MAX = 64, RECORD_MAX = 8192 };

enum kind { EXECUTES, MAPS, ENDS };

struct step {
    uint64_t time;
    uint32_t pid, kind;
    char name[16];
};

struct steps {
    struct step *step;
    size_t count, room;
    int is_short;                             /* some were lost, or memory was */
};

/* Between readings `steps` has the execs of whose processes nothing more is known yet. */
struct pmclua_drops {
    int cpus;
    int fd[CPUS_MAX];
    struct ring ring[CPUS_MAX];
    struct steps steps;
};

static struct pmclua_attr attr_of_watcher(void)
{
    struct perf_event_attr event = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .inherit = 1,
        .exclude_kernel = 1, .exclude_hv = 1, .task = 1, .comm = 1, .comm_exec = 1, .mmap = 1,
        .sample_id_all = 1, .sample_type = PERF_SAMPLE_TIME, .watermark = 1, .wakeup_watermark = RING_BYTES,
    };
    struct pmclua_attr words = { { 0 } };
    memcpy(&words, &event, sizeof event);
    return words;
}

static int open_cpu(struct pmclua_drops *drops, int pid, int cpu)
{
    struct pmclua_attr attr = attr_of_watcher();
    int fd = pmclua_open(&attr, pid, cpu, -1, 0);
    if (fd == -ENODEV)                        /* it is offline */
        return 0;
    if (fd < 0)
        return fd;
    int result = ring_open(&drops->ring[drops->cpus], fd, RING_BYTES);
    if (result < 0) {
        pmclua_close(fd);
        return result;
    }
    drops->fd[drops->cpus++] = fd;
    return 0;
}

/* libc reads a file of sysfs for it; the number stays what it was at the start. */
static long cpus_that_may_be(void)
{
    static long count;
    if (count == 0)
        count = sysconf(_SC_NPROCESSORS_CONF);
    return count;
}

int pmclua_drops_open(struct pmclua_drops **out, int32_t pid)
{
    long cpus = cpus_that_may_be();
    if (cpus < 1 || cpus > CPUS_MAX)
        return -E2BIG;                        /* each is inherited by each child: that costs the target */
    struct pmclua_drops *drops = calloc(1, sizeof *drops);
    if (!drops)
        return -ENOMEM;
    int result = 0;
    for (int cpu = 0; result == 0 && cpu < cpus; cpu++)
        result = open_cpu(drops, pid, cpu);
    if (result < 0) {
        pmclua_drops_close(drops);
        return result;
    }
    *out = drops;
    return 0;
}

void pmclua_drops_close(struct pmclua_drops *drops)
{
    for (int i = 0; drops && i < drops->cpus; i++) {
        ring_close(&drops->ring[i]);
        pmclua_close(drops->fd[i]);
    }
    if (drops)
        free(drops->steps.step);
    free(drops);
}

/* ---- reading ---- */

static void add_step(struct steps *steps, const struct step *step)
{
    if (steps->count == steps->room) {
        size_t room = steps->room ? 2 * steps->room : 256;
        struct step *more = realloc(steps->step, room * sizeof *more);
        if (!more) {
            steps->is_short = 1;
            return;
        }
        steps->step = more;
        steps->room = room;
    }
    steps->step[steps->count++] = *step;
}

/* A record's pid is its first word, a COMM's name its third; the time is the last of all. */
static void take_record(struct steps *steps, const struct perf_event_header *header)
{
    const uint8_t *body = (const uint8_t *)(header + 1), *end = (const uint8_t *)header + header->size;
    struct step step = { 0 };
    switch (header->type) {
    case PERF_RECORD_COMM:
        if (!(header->misc & PERF_RECORD_MISC_COMM_EXEC))
            return;
        step.kind = EXECUTES;
        strncpy(step.name, (const char *)body + 8, sizeof step.name - 1);
        break;
    case PERF_RECORD_MMAP: step.kind = MAPS; break;
    case PERF_RECORD_EXIT: step.kind = ENDS; break;
    case PERF_RECORD_LOST: steps->is_short = 1; return;
    default: return;
    }
    memcpy(&step.pid, body, sizeof step.pid);
    memcpy(&step.time, end - sizeof step.time, sizeof step.time);
    add_step(steps, &step);
}

static void read_ring(struct steps *steps, struct ring *ring)
{
    const struct perf_event_header *header;
    int broken = 0;
    ring_look(ring);
    /* What was lost is told by the next record that finds room: a ring this full may have lost the last ones. */
    steps->is_short |= ring->limit - ring->place > ring->bytes - RECORD_MAX;
    while ((header = ring_record(ring, &broken))) {
        take_record(steps, header);
        ring_step(ring, header);
    }
    steps->is_short |= broken;
    ring_release(ring);
}

/* Of one moment, what comes last in a process's life is last. */
static int by_time(const void *a, const void *b)
{
    const struct step *one = a, *other = b;
    if (one->time != other->time)
        return one->time < other->time ? -1 : 1;
    return (int)one->kind - (int)other->kind;
}

/* What the process of an exec does next; NULL: nothing yet. */
static const struct step *next_of(const struct steps *steps, size_t at)
{
    for (size_t i = at + 1; i < steps->count; i++)
        if (steps->step[i].pid == steps->step[at].pid)
            return &steps->step[i];
    return NULL;
}

/* Counts the drops, and leaves the execs that are still to be judged. */
static int judge(struct steps *steps, struct pmclua_drop *first)
{
    size_t left = 0;
    int count = 0;
    for (size_t i = 0; i < steps->count; i++) {
        const struct step *next = steps->step[i].kind == EXECUTES ? next_of(steps, i) : NULL;
        if (next && next->kind == ENDS && count++ == 0) {
            first->pid = (int32_t)steps->step[i].pid;
            memcpy(first->name, steps->step[i].name, sizeof first->name);
        }
        if (steps->step[i].kind == EXECUTES && !next)
            steps->step[left++] = steps->step[i];
    }
    steps->count = left;
    return count;
}

int pmclua_drops_read(struct pmclua_drops *drops, struct pmclua_drop *first)
{
    struct steps *steps = &drops->steps;
    steps->is_short = 0;
    for (int i = 0; i < drops->cpus; i++)
        read_ring(steps, &drops->ring[i]);
    if (steps->count)
        qsort(steps->step, steps->count, sizeof *steps->step, by_time);
    int count = judge(steps, first);
    return count > 0 ? count : steps->is_short ? -ENOSPC : 0;
}
