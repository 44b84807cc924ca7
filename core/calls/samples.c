/*
 * samples.c: records of a perf ring buffer, taken apart (perf_event_open(2), "MMAP layout").
 *
 * Invariant: nothing is read beyond the record's own size, whatever the record says.
 */
#include <errno.h>
#include <string.h>

#include "samples.h"

/* The rest of a record. */
struct rest { const uint8_t *place, *end; };

static int take(struct rest *rest, void *out, size_t bytes)
{
    if ((size_t)(rest->end - rest->place) < bytes)
        return -EPROTO;
    memcpy(out, rest->place, bytes);
    rest->place += bytes;
    return 0;
}

static struct rest rest_of(const struct perf_event_header *record)
{
    const uint8_t *place = (const uint8_t *)record;
    return (struct rest){ place + sizeof *record, place + record->size };
}

/* A sample begins with id, task and time; other records end with task, time and id. */
int sample_base(const struct perf_event_header *record, struct sample *sample)
{
    struct { uint64_t id; uint32_t pid, tid; uint64_t time_ns; } first;
    struct { uint32_t pid, tid; uint64_t time_ns, id; } last;
    struct rest rest = rest_of(record);
    if ((size_t)(rest.end - rest.place) < sizeof first)
        return -EPROTO;
    memcpy(&first, rest.place, sizeof first);
    memcpy(&last, rest.end - sizeof last, sizeof last);
    if (record->type == PERF_RECORD_SAMPLE)
        *sample = (struct sample){ .id = first.id, .time_ns = first.time_ns, .pid = first.pid, .tid = first.tid };
    else
        *sample = (struct sample){ .id = last.id, .time_ns = last.time_ns, .pid = last.pid, .tid = last.tid };
    return 0;
}

static int take_group(struct rest *rest, struct sample *sample)
{
    uint64_t head[3];              /* members, enabled, running */
    if (take(rest, head, sizeof head) < 0 || head[0] > (size_t)(rest->end - rest->place) / 16)
        return -EPROTO;
    sample->members = head[0];
    sample->enabled_ns = head[1];
    sample->running_ns = head[2];
    sample->member = (const uint64_t *)rest->place;
    rest->place += head[0] * 16;
    return 0;
}

static int take_raw(struct rest *rest, struct sample *sample)
{
    if (take(rest, &sample->raw_bytes, sizeof sample->raw_bytes) < 0 ||
        sample->raw_bytes > (size_t)(rest->end - rest->place))
        return -EPROTO;
    sample->raw = rest->place;
    rest->place += sample->raw_bytes;
    return 0;
}

static int take_stack_pointer(struct rest *rest, struct sample *sample)
{
    uint64_t abi;
    if (take(rest, &abi, sizeof abi) < 0)
        return -EPROTO;
    return abi == PERF_SAMPLE_REGS_ABI_NONE ? 0 : take(rest, &sample->stack_pointer, sizeof sample->stack_pointer);
}

int sample_rest(const struct perf_event_header *record, uint64_t sample_type, struct sample *sample)
{
    struct rest rest = rest_of(record);
    uint8_t base[24];
    int result = take(&rest, base, sizeof base);
    if (result == 0 && (sample_type & PERF_SAMPLE_READ))
        result = take_group(&rest, sample);
    if (result == 0 && (sample_type & PERF_SAMPLE_RAW))
        result = take_raw(&rest, sample);
    if (result == 0 && (sample_type & PERF_SAMPLE_REGS_USER))
        result = take_stack_pointer(&rest, sample);
    return result;
}
