/*
 * calls_measure.c: what a call took, and regions between any two points, which are no calls of functions.
 *
 * Invariant: the counts of a call come from one thread, between two of its own samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

void call_settle(struct pmclua_calls *calls, const struct thread *thread, uint32_t region, struct frame *outer,
                 const uint64_t *took, uint32_t count)
{
    if (outer) {
        outer->inner += count;
        u64s_add(calls, inner_of(calls, outer), took);
    } else if (count > 0) {
        u64s_add(calls, calls->region[region].outermost, took);
        u64s_add(calls, calls->rows[thread->region[region].row].sums, took);
    }
}

void call_measure(struct pmclua_calls *calls, const struct thread *thread, uint64_t duration_ns,
                  const uint64_t *before, const uint64_t *callees)
{
    uint32_t width = call_u64s(calls);
    uint64_t *total = calls->scratch, *self = total + width;
    total[0] = duration_ns;
    for (uint32_t i = 1; i < width; i++)
        total[i] = thread->counts[i - 1] - before[i - 1];
    for (uint32_t i = 0; i < width; i++)
        self[i] = callees ? total[i] - callees[i] : total[i];
    /* Times of CPUs whose clocks differ by a little. Costs may well be negative. */
    for (uint32_t i = 0; i < own_u64s(calls); i++)
        if (self[i] > total[i])
            self[i] = 0;
}

void call_measure_probes(struct pmclua_calls *calls, uint32_t region)
{
    uint32_t width = call_u64s(calls), own = own_u64s(calls);
    const int64_t *inside = calls->region[region].cost ? calls->region[region].cost + 2 * (size_t)own : NULL;
    for (uint32_t i = 0; inside && i < own; i++) {
        calls->scratch[own + i] += (uint64_t)inside[i];
        calls->scratch[width + own + i] += (uint64_t)inside[i];
    }
}

int call_add(struct pmclua_calls *calls, struct thread *thread, uint32_t region, uint64_t start_ns,
             uint64_t level, const uint64_t *unsure)
{
    int32_t *row = &thread->region[region].row;
    if (*row < 0)
        *row = spreads_row(calls, region, thread->pid, thread->tid, thread->name);
    if (*row < 0)
        return *row;
    struct call_end end = { region, thread->tid, (uint32_t)*row, start_ns, level, calls->scratch,
                            calls->scratch + call_u64s(calls), unsure };
    return spreads_add(calls, &end);
}

/* ---- regions between any two points ---- */

int pair_from(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    struct region *region = &calls->region[sample->region];
    struct pair **place = &thread->region[sample->region].pair;
    if (!*place && !(*place = calloc(1, sizeof **place + calls->counted * sizeof(uint64_t))))
        return -ENOMEM;
    struct pair *pair = *place;
    region->facts.entries++;
    if (pair->is_open)
        ++*(pair->cuts == thread->cuts ? &region->facts.unwound : &region->facts.cut);
    pair->is_open = 1;
    pair->cuts = thread->cuts;
    pair->start_ns = sample->time_ns;
    memcpy(pair->counts, thread->counts, calls->counted * sizeof *pair->counts);
    return 0;
}

int pair_to(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    struct region *region = &calls->region[sample->region];
    struct pair *pair = thread->region[sample->region].pair;
    if (!pair || !pair->is_open) {
        region->facts.orphans++;
        return 0;
    }
    pair->is_open = 0;
    if (pair->cuts != thread->cuts) {
        region->facts.cut++;
        return 0;
    }
    call_measure(calls, thread, sample->time_ns - pair->start_ns, pair->counts, NULL);
    call_measure_probes(calls, sample->region);
    int result = call_add(calls, thread, sample->region, pair->start_ns, 0, NULL);
    if (result < 0)
        return result;
    call_settle(calls, thread, sample->region, NULL, calls->scratch, 1);
    return 0;
}
