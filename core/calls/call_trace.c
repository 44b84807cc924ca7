/*
 * call_trace.c: the system calls of a command, its threads and children: how many, and how long each was off CPU.
 *
 * The tracepoints at which system calls are entered and left are sampled on each CPU, each time, and so is every
 * switch. A thread of ours reads the rings in the order of time while the command runs, and keeps sums, no records.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "call_trace.h"
#include "counters/attr.h"
#include "counters/registers.h"
#include "order.h"
#include "samples.h"

enum { RING_BYTES = 4 << 20, RING_LEAST = 64 << 10, RINGS_BYTES = 64 << 20, LOOK_MS = 20 };

enum { ENTER, LEAVE, WAKE, WAKE_FIRST, EVENTS };

struct cpu_trace { int fd[EVENTS]; struct ring ring; };

struct call_trace {
    struct call_times *times;
    uint64_t lost, wake_id;
    int stop, has_thread, errnum;
    pthread_t thread;
    int cpus;
    struct cpu_trace cpu[];
};

/* ---- opening ---- */

/* All write TID and TIME; what enters the user's instruction, the others raw data: the call's number, whom they wake. */
static struct pmclua_attr attr_of_point(uint64_t id, int enters)
{
    uint64_t own = enters ? PERF_SAMPLE_REGS_USER : PERF_SAMPLE_RAW;
    return attr_of(&(struct perf_event_attr){
        .type = PERF_TYPE_TRACEPOINT, .config = id, .sample_period = 1, .inherit = 1, .disabled = 1,
        .enable_on_exec = 1, .sample_id_all = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | own,
        .sample_regs_user = enters ? 1ull << INSTRUCTION_POINTER : 0, .context_switch = enters, .task = enters,
        .watermark = 1, .wakeup_watermark = RING_BYTES / 4 });
}

/* A thread that ends wakes others when its own events are gone already: so whoever wakes the first thread is seen by
 * events of the CPUs. */
static struct pmclua_attr attr_of_first(uint64_t id)
{
    return attr_of(&(struct perf_event_attr){
        .type = PERF_TYPE_TRACEPOINT, .config = id, .sample_period = 1, .sample_id_all = 1, .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC, .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW, .disabled = 1,
        .watermark = 1, .wakeup_watermark = RING_BYTES / 4 });
}

/* Opens an event that writes into the ring of the first one. 0; -errno. */
static int open_beside(struct cpu_trace *mine, int number, const struct pmclua_attr *attr, int pid, int cpu)
{
    int fd = pmclua_open(attr, pid, cpu, -1, 0);
    if (fd < 0)
        return fd;
    mine->fd[number] = fd;
    return pmclua_ioctl(fd, PMCLUA_IOC_SET_OUTPUT, (uint64_t)mine->fd[ENTER], NULL);
}

static int open_wakes(struct cpu_trace *mine, const struct call_points *points, int cpu)
{
    struct pmclua_attr wakes = attr_of_point(points->wake, 0), first = attr_of_first(points->wake);
    char filter[32];
    if (!points->wake)
        return 0;
    snprintf(filter, sizeof filter, "pid == %d", points->pid);
    int result = open_beside(mine, WAKE, &wakes, points->pid, cpu);
    if (result == 0)
        result = open_beside(mine, WAKE_FIRST, &first, -1, cpu);
    if (result == 0)
        result = pmclua_ioctl(mine->fd[WAKE_FIRST], PMCLUA_IOC_SET_FILTER, 0, filter);
    return result < 0 ? result : pmclua_ioctl(mine->fd[WAKE_FIRST], PMCLUA_IOC_ENABLE, 0, NULL);
}

static int open_cpu(struct call_trace *trace, const struct call_points *points, int cpu, size_t bytes)
{
    struct pmclua_attr enters = attr_of_point(points->enter, 1), leaves = attr_of_point(points->leave, 0);
    int fd = pmclua_open(&enters, points->pid, cpu, -1, 0);
    if (fd == -ENODEV)                     /* it is offline */
        return 0;
    if (fd < 0)
        return fd;
    struct cpu_trace *mine = &trace->cpu[trace->cpus++];
    *mine = (struct cpu_trace){ .fd = { fd, -1, -1, -1 } };
    int result = ring_open(&mine->ring, fd, bytes);
    if (result < 0)
        return result;
    result = open_beside(mine, LEAVE, &leaves, points->pid, cpu);
    return result < 0 ? result : open_wakes(mine, points, cpu);
}

/* ---- records ---- */

/* Samples: header, pid, tid, time; of those that enter u64 ABI and the user's instruction (no more than the ABI where it
 * is 0), of the others, which are longer, u32 size and the tracepoint's fields: u16 its id, u8 flags, up to 8 bytes; then
 * the number; or the name and id of who is woken. Other records end with pid, tid, time. */
enum { BASE_BYTES = 16, TID_AT = 4, TIME_AT = 8, IP_AT = 24, ENTERS_BYTES = 32 };
enum { ID_AT = 20, FLAGS_AT = 22, NUMBER_AT = 28, LEAVES_BYTES = 36, WOKEN_AT = 44, WAKES_BYTES = 48 };
enum { IN_INTERRUPT = 0x08, IN_SOFT_INTERRUPT = 0x10 };       /* TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ */
enum { PAGE_BYTES = 4096 };

static const uint8_t *base_of(const struct perf_event_header *record)
{
    const uint8_t *body = (const uint8_t *)(record + 1);
    return record->type == PERF_RECORD_SAMPLE ? body : (const uint8_t *)record + record->size - BASE_BYTES;
}

static int time_of(const struct perf_event_header *record, uint64_t *time_ns)
{
    return record_time(record, sizeof *record + TIME_AT, time_ns);
}

static enum call_step step_of_switch(const struct perf_event_header *record)
{
    int is_out = (record->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
    int could_go_on = (record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
    return !is_out ? CALL_GOES_ON : could_go_on ? CALL_YIELDS : CALL_STOPS;
}

static void take_sample(struct call_record *taken, const struct perf_event_header *record)
{
    uint64_t word = UINT64_MAX;
    size_t bytes = record->size - sizeof *record;
    taken->step = bytes >= LEAVES_BYTES ? CALL_LEAVES : CALL_ENTERS;
    if (bytes >= ENTERS_BYTES)
        memcpy(&word, base_of(record) + (taken->step == CALL_LEAVES ? NUMBER_AT : IP_AT), sizeof word);
    if (taken->step == CALL_ENTERS && bytes >= ENTERS_BYTES)
        word %= PAGE_BYTES;
    taken->number = word < UINT16_MAX ? (uint16_t)word : UINT16_MAX;
}

static int is_wake(const struct call_trace *trace, const struct perf_event_header *record)
{
    uint16_t id;
    if (!trace->wake_id || record->size < sizeof *record + WAKES_BYTES)
        return 0;
    memcpy(&id, base_of(record) + ID_AT, sizeof id);
    return id == trace->wake_id;
}

static void take_wake(struct call_record *taken, const struct perf_event_header *record)
{
    uint8_t flags = base_of(record)[FLAGS_AT];
    taken->step = CALL_WAKES;
    taken->other = flags & IN_INTERRUPT ? 0 : taken->tid;
    taken->number = (flags & IN_SOFT_INTERRUPT) != 0;
    memcpy(&taken->tid, base_of(record) + WOKEN_AT, sizeof taken->tid);
}

static void take_task(struct call_record *taken, const struct perf_event_header *record)
{
    const struct task_record *task = (const void *)(record + 1);
    taken->step = record->type == PERF_RECORD_FORK ? CALL_STARTS : CALL_ENDS;
    taken->tid = (int32_t)task->tid;
    taken->number = task->pid != task->ppid;
}

static int take_step(struct call_trace *trace, const struct perf_event_header *record)
{
    struct call_record taken = { 0 };
    time_of(record, &taken.time_ns);
    memcpy(&taken.tid, base_of(record) + TID_AT, sizeof taken.tid);
    if (record->type == PERF_RECORD_SWITCH)
        taken.step = step_of_switch(record);
    else if (record->type != PERF_RECORD_SAMPLE)
        take_task(&taken, record);
    else if (is_wake(trace, record))
        take_wake(&taken, record);
    else
        take_sample(&taken, record);
    return call_times_take(trace->times, &taken);
}

static int take_record(void *owner, int ring, const struct perf_event_header *record)
{
    struct call_trace *trace = owner;
    uint64_t lost = 0;
    (void)ring;
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        return take_step(trace, record);
    case PERF_RECORD_LOST:
        memcpy(&lost, (const uint8_t *)(record + 1) + sizeof(uint64_t), sizeof lost);
        trace->lost += lost;
        return 0;
    default:
        return 0;
    }
}

static struct ring *ring_of(void *owner, int number) { return &((struct call_trace *)owner)->cpu[number].ring; }

static void look(struct call_trace *trace, int is_last)
{
    struct ring_order order = { trace->cpus, ring_of, time_of, take_record, trace };
    trace->errnum = -rings_take(&order, is_last);
}

/* ---- the thread ---- */

static void *read_rings(void *argument)
{
    struct call_trace *trace = argument;
    struct pollfd stop = { trace->stop, POLLIN, 0 };
    while (trace->errnum == 0 && poll(&stop, 1, LOOK_MS) <= 0)
        look(trace, 0);
    return NULL;
}

static int start_thread(struct call_trace *trace)
{
    trace->stop = eventfd(0, EFD_CLOEXEC);
    if (trace->stop < 0)
        return -errno;
    int result = ring_reader_start(&trace->thread, read_rings, trace);
    trace->has_thread = result == 0;
    return result;
}

static void end_thread(struct call_trace *trace)
{
    if (!trace->has_thread)
        return;
    eventfd_write(trace->stop, 1);
    pthread_join(trace->thread, NULL);
    trace->has_thread = 0;
}

/* ---- the whole ---- */

static void close_trace(struct call_trace *trace)
{
    end_thread(trace);
    for (int i = 0; i < trace->cpus; i++) {
        ring_close(&trace->cpu[i].ring);
        for (int k = EVENTS; k-- > 0;)
            if (trace->cpu[i].fd[k] >= 0)
                pmclua_close(trace->cpu[i].fd[k]);
    }
    if (trace->stop >= 0)
        close(trace->stop);
    call_times_free(trace->times);
    free(trace);
}

static int open_trace(struct call_trace **out, const struct call_points *points)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    struct call_trace *trace = calloc(1, sizeof *trace + (size_t)cpus * sizeof *trace->cpu);
    if (!trace)
        return -ENOMEM;
    trace->stop = -1;
    trace->wake_id = points->wake;
    trace->times = call_times_new(points->pid);
    int result = trace->times ? 0 : -ENOMEM;
    size_t bytes = ring_bytes_each(RING_BYTES, RING_LEAST, RINGS_BYTES, (size_t)cpus);
    for (int cpu = 0; result == 0 && cpu < cpus; cpu++)
        result = open_cpu(trace, points, cpu, bytes);
    if (result == 0)
        result = start_thread(trace);
    if (result < 0) {
        close_trace(trace);
        return result;
    }
    *out = trace;
    return 0;
}

static int take_block(struct call_trace *trace, uint64_t **block, uint32_t *count)
{
    end_thread(trace);
    if (trace->errnum == 0)
        look(trace, 1);
    if (trace->errnum)
        return -trace->errnum;
    uint64_t rows = call_times_rows(trace->times, NULL), sites = call_times_sites(trace->times, NULL);
    uint64_t chains = call_times_chains(trace->times, NULL);
    size_t bytes = sizeof(struct pmclua_system_calls) + rows * sizeof(struct pmclua_system_call)
        + sites * sizeof(struct pmclua_call_site) + chains * sizeof(struct pmclua_call_chain);
    struct pmclua_system_calls *head = calloc(1, bytes);
    if (!head)
        return -ENOMEM;
    struct pmclua_system_call *row = (struct pmclua_system_call *)(head + 1);
    call_times_rows(trace->times, row);
    struct pmclua_call_site *site = (struct pmclua_call_site *)(row + rows);
    call_times_sites(trace->times, site);
    call_times_chains(trace->times, (struct pmclua_call_chain *)(site + sites));
    *head = (struct pmclua_system_calls){ trace->lost, rows, sites, chains };
    *block = (uint64_t *)head;
    *count = (uint32_t)(bytes / sizeof(uint64_t));
    return 0;
}

int call_trace_end(struct call_trace *trace, uint64_t **block, uint32_t *count)
{
    int result = take_block(trace, block, count);
    close_trace(trace);
    return result;
}

int call_trace_open(struct call_trace **trace, const struct call_points *points)
{
    static int are_held;
    uint64_t ids[] = { points->enter, points->leave, points->wake };
    int result = 0;
    for (size_t i = 0; !are_held && result >= 0 && i < sizeof ids / sizeof *ids; i++)
        result = ids[i] ? attr_hold(PERF_TYPE_TRACEPOINT, ids[i]) : 0;
    are_held |= result >= 0;
    return result < 0 ? result : open_trace(trace, points);
}
