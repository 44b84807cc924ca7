/*
 * order.c: the records of several rings, in the order of time.
 *
 * Each ring is in order, but what belongs together may be in several: a thread migrates, a child starts on another CPU
 * than its parent, code is mapped on one CPU and sampled on another. The proof that no record is handed over before one
 * that precedes it:
 *
 * 1. Record P precedes record R if the OS kernel published P before R could be written. A CPU publishes what it has
 *    written before the task leaves it, before a child runs, and before the call that mapped code returns. Clocks agree
 *    with that order: the time of P is not later than that of R.
 * 2. The ends of all rings are looked at, and then once more. What precedes a record of the first look was published by
 *    then, wherever it is: the second look shows it.
 * 3. Records are handed over by time, up to the earliest one that only the second look shows. So one that is handed over
 *    was there at the first look, by 2 all that precede it are there by the second, and by 1 and 3 they come before it.
 *
 * Nothing is assumed about how long publishing takes. At the end nothing is written any more, and all are handed over.
 *
 * Records of one moment keep their ring's order, and where a CPU takes a thread on comes last: the thread may have left
 * another CPU just then.
 */
#include <errno.h>
#include <string.h>

#include "order.h"

/* The record of a ring that is next; NULL: none. */
struct next { struct ring *ring; const struct perf_event_header *record; uint64_t time_ns; };

static int look_next(struct next *next, const struct ring_order *order)
{
    int broken = 0;
    next->record = ring_record(next->ring, &broken);
    return broken || (next->record && order->time_of(next->record, &next->time_ns) < 0) ? -EPROTO : 0;
}

/* Lowers *safe_ns to the time of the record at `place`. */
static int limit_to(struct ring *ring, uint64_t place, const struct ring_order *order, uint64_t *safe_ns)
{
    struct next next = { .ring = ring };
    uint64_t before = ring->place;
    ring->place = place;
    int result = look_next(&next, order);
    ring->place = before;
    if (next.record && next.time_ns < *safe_ns)
        *safe_ns = next.time_ns;
    return result;
}

/* Looks at all rings twice, and sets *safe_ns to the time before which every record is in order. */
static int look_twice(const struct next *next, const struct ring_order *order, uint64_t *safe_ns)
{
    uint64_t first[order->count];
    int result = 0;
    *safe_ns = UINT64_MAX;
    for (int i = 0; i < order->count; i++)
        first[i] = ring_look(next[i].ring);
    for (int i = 0; i < order->count; i++)
        if (ring_look(next[i].ring) != first[i] && result == 0)
            result = limit_to(next[i].ring, first[i], order, safe_ns);
    return result;
}

static int takes_on(const struct perf_event_header *record)
{
    return record->type == PERF_RECORD_SWITCH && !(record->misc & PERF_RECORD_MISC_SWITCH_OUT);
}

static int is_earlier(const struct next *one, const struct next *other)
{
    if (one->time_ns != other->time_ns)
        return one->time_ns < other->time_ns;
    return !takes_on(one->record) && takes_on(other->record);
}

/* The ring whose next record is the earliest, NULL: none is left; and when the first of the others' is. */
static struct next *earliest(struct next *next, int count, uint64_t *others_ns)
{
    struct next *found = NULL;
    *others_ns = UINT64_MAX;
    for (struct next *one = next; one < next + count; one++) {
        if (!one->record)
            continue;
        struct next *later = found && !is_earlier(one, found) ? one : found;
        found = later == one ? found : one;
        if (later && later->time_ns < *others_ns)
            *others_ns = later->time_ns;
    }
    return found;
}

int rings_take(const struct ring_order *order, int is_last)
{
    struct next next[order->count], *from;
    uint64_t safe_ns, others_ns;
    for (int i = 0; i < order->count; i++)
        next[i] = (struct next){ .ring = order->ring(order->owner, i) };
    int result = look_twice(next, order, &safe_ns);
    if (is_last)
        safe_ns = UINT64_MAX;
    for (int i = 0; i < order->count && result == 0; i++)
        result = look_next(&next[i], order);
    while (result == 0 && (from = earliest(next, order->count, &others_ns)) && from->time_ns < safe_ns) {
        uint64_t until_ns = others_ns < safe_ns ? others_ns : safe_ns;
        do {
            result = order->take(order->owner, (int)(from - next), from->record);
            ring_step(from->ring, from->record);
            if (result == 0)
                result = look_next(from, order);
        } while (result == 0 && from->record && from->time_ns < until_ns);
    }
    for (int i = 0; i < order->count; i++)
        ring_release(next[i].ring);
    return result;
}

int record_time(const struct perf_event_header *record, size_t place, uint64_t *time_ns)
{
    if (record->type != PERF_RECORD_SAMPLE)
        place = record->size - sizeof *time_ns;
    if (place < sizeof *record || place + sizeof *time_ns > record->size)
        return -EPROTO;
    memcpy(time_ns, (const uint8_t *)record + place, sizeof *time_ns);
    return 0;
}
