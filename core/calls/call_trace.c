/*
 * call_trace.c: the system calls of a command, its threads and children: how many, and how long each was off CPU.
 *
 * The tracepoints at which system calls are entered and left are sampled on each CPU, each time, and so is every
 * switch. A thread of ours reads the rings in the order of time while the command runs, and keeps sums, no records.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "call_trace.h"
#include "counters/attr.h"
#include "counters/registers.h"
#include "order.h"

enum { RING_BYTES = 4 << 20, RING_LEAST = 64 << 10, RINGS_BYTES = 64 << 20, LOOK_MS = 20 };

struct cpu_trace { int enter, leave; struct ring ring; };

struct call_trace {
    struct call_times *times;
    uint64_t lost;
    int stop, has_thread, errnum;
    pthread_t thread;
    int cpus;
    struct cpu_trace cpu[];
};

/* ---- opening ---- */

/* Both write TID and TIME; what enters the user's instruction, what leaves the call's number in its raw data. */
static struct pmclua_attr attr_of_point(uint64_t id, int leaves)
{
    uint64_t own = leaves ? PERF_SAMPLE_RAW : PERF_SAMPLE_REGS_USER;
    return attr_of(&(struct perf_event_attr){
        .type = PERF_TYPE_TRACEPOINT, .config = id, .sample_period = 1, .inherit = 1, .disabled = 1,
        .enable_on_exec = 1, .sample_id_all = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | own,
        .sample_regs_user = leaves ? 0 : 1ull << INSTRUCTION_POINTER, .context_switch = !leaves,
        .watermark = 1, .wakeup_watermark = RING_BYTES / 4 });
}

static int open_cpu(struct call_trace *trace, const struct call_points *points, int cpu, size_t bytes)
{
    struct pmclua_attr enters = attr_of_point(points->enter, 0);
    struct pmclua_attr leaves = attr_of_point(points->leave, 1);
    int fd = pmclua_open(&enters, points->pid, cpu, -1, 0);
    if (fd == -ENODEV)                     /* it is offline */
        return 0;
    if (fd < 0)
        return fd;
    struct cpu_trace *mine = &trace->cpu[trace->cpus++];
    *mine = (struct cpu_trace){ .enter = fd, .leave = -1 };
    int result = ring_open(&mine->ring, fd, bytes);
    if (result < 0)
        return result;
    mine->leave = pmclua_open(&leaves, points->pid, cpu, -1, 0);
    return mine->leave < 0 ? mine->leave : pmclua_ioctl(mine->leave, PMCLUA_IOC_SET_OUTPUT, (uint64_t)fd, NULL);
}

/* ---- records ---- */

/* Samples: header, pid, tid, time; of those that enter u64 ABI and the user's instruction (no more than the ABI where it
 * is 0), of those that leave, which are longer, u32 size and the tracepoint's fields: 8 bytes that all have, then the
 * number. Other records end with pid, tid, time. */
enum { BASE_BYTES = 16, TID_AT = 4, TIME_AT = 8, IP_AT = 24, ENTERS_BYTES = 32, NUMBER_AT = 28, LEAVES_BYTES = 36 };
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

static int take_step(struct call_trace *trace, const struct perf_event_header *record)
{
    struct call_record taken = { 0 };
    time_of(record, &taken.time_ns);
    memcpy(&taken.tid, base_of(record) + TID_AT, sizeof taken.tid);
    if (record->type == PERF_RECORD_SWITCH)
        taken.step = step_of_switch(record);
    else
        take_sample(&taken, record);
    return call_times_take(trace->times, &taken);
}

static int take_record(void *owner, int ring, const struct perf_event_header *record)
{
    struct call_trace *trace = owner;
    uint64_t lost = 0;
    (void)ring;
    if (record->type == PERF_RECORD_SAMPLE || record->type == PERF_RECORD_SWITCH)
        return take_step(trace, record);
    if (record->type == PERF_RECORD_LOST)
        memcpy(&lost, (const uint8_t *)(record + 1) + sizeof(uint64_t), sizeof lost);
    trace->lost += lost;
    return 0;
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
        if (trace->cpu[i].leave >= 0)
            pmclua_close(trace->cpu[i].leave);
        pmclua_close(trace->cpu[i].enter);
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
    size_t bytes = sizeof(struct pmclua_system_calls) + rows * sizeof(struct pmclua_system_call)
        + sites * sizeof(struct pmclua_call_site);
    struct pmclua_system_calls *head = calloc(1, bytes);
    if (!head)
        return -ENOMEM;
    struct pmclua_system_call *row = (struct pmclua_system_call *)(head + 1);
    call_times_rows(trace->times, row);
    call_times_sites(trace->times, (struct pmclua_call_site *)(row + rows));
    *head = (struct pmclua_system_calls){ trace->lost, rows, sites };
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
    int result = are_held ? 0 : attr_hold(PERF_TYPE_TRACEPOINT, points->enter);
    if (!are_held && result >= 0)
        result = attr_hold(PERF_TYPE_TRACEPOINT, points->leave);
    are_held |= result >= 0;
    return result < 0 ? result : open_trace(trace, points);
}
