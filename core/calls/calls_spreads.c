/*
 * calls_spreads.c: the distribution of a region's calls: sums, smallest and largest, histograms, sums of each thread,
 * and the first calls one by one.
 *
 * Invariant: memory is bounded: histograms have fixed buckets, rows and kept calls a limit. What is
 * beyond a limit is still in the sums.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "host/lists.h"

/* ---- buckets ---- */

/* HdrHistogram's buckets: equal steps within an octave, so that the relative error is bounded. */
static uint32_t bucket_of(uint64_t value)
{
    if (value < 128)
        return (uint32_t)value;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(value);
    return 128 + (octave - 7) * 64 + (uint32_t)((value >> (octave - 6)) & 63);
}

uint64_t pmclua_bucket_low(uint64_t bucket)
{
    if (bucket < 128)
        return bucket;
    if (bucket >= BUCKETS)
        return UINT64_MAX;
    return (64 + (bucket - 128) % 64) << ((bucket - 128) / 64 + 1);
}

static int add_value(struct spread *spread, uint64_t value)
{
    if (!spread->buckets && !(spread->buckets = calloc(BUCKETS, sizeof *spread->buckets)))
        return -ENOMEM;
    struct pmclua_spread *facts = &spread->facts;
    if (facts->n == 0 || value < facts->min)
        facts->min = value;
    if (value > facts->max)
        facts->max = value;
    facts->sum += value;
    facts->n++;
    spread->buckets[bucket_of(value)]++;
    return 0;
}

/* ---- rows of threads ---- */

static struct row *find_row(struct pmclua_calls *calls, uint32_t region, uint32_t tid)
{
    for (uint32_t i = 0; i < calls->row_count; i++)
        if (calls->rows[i].region == region && calls->rows[i].tid == tid)
            return &calls->rows[i];
    return NULL;
}

void spreads_rename_row(struct pmclua_calls *calls, uint32_t index, const char *name)
{
    struct row *row = &calls->rows[index];
    if (row->tid != 0)
        strncpy(row->name, name, sizeof row->name - 1);
}

void spreads_mark_rows(struct pmclua_calls *calls, uint32_t pid)
{
    /* Row 0 of pid 0 is shared by the threads of many processes. */
    for (uint32_t i = 0; i < calls->row_count; i++)
        if (calls->rows[i].pid == pid || calls->rows[i].pid == 0)
            calls->rows[i].is_switching = 1;
}

int32_t spreads_row(struct pmclua_calls *calls, uint32_t region, uint32_t pid, uint32_t tid, const char *name)
{
    struct row *known = find_row(calls, region, tid);
    if (known && known->pid == pid)
        return (int32_t)(known - calls->rows);
    /* Beyond the limit all threads share a row of tid 0. */
    int is_shared = calls->row_count >= ROWS_MAX;
    struct row *shared = is_shared ? find_row(calls, region, 0) : NULL;
    if (shared)
        return (int32_t)(shared - calls->rows);
    struct row row = { .region = region, .pid = is_shared ? 0 : pid, .tid = is_shared ? 0 : tid };
    if (!is_shared)
        strncpy(row.name, name, sizeof row.name - 1);
    row.sums = calloc(2 * (size_t)call_u64s(calls), sizeof *row.sums);
    if (row.sums && LIST_ADD(calls->rows, calls->row_count, row) == 0)
        return (int32_t)calls->row_count - 1;
    free(row.sums);
    return -ENOMEM;
}

/* ---- calls one by one ---- */

size_t kept_u64s(const struct pmclua_calls *calls)
{
    return sizeof(struct pmclua_region_call) / sizeof(uint64_t) + 2 * (size_t)call_u64s(calls);
}

uint64_t *kept_place(const struct pmclua_calls *calls, uint64_t index)
{
    return calls->kept[index / KEPT_CHUNK] + index % KEPT_CHUNK * kept_u64s(calls);
}

static uint64_t kept_chunks(const struct pmclua_calls *calls)
{
    return (calls->keep + KEPT_CHUNK - 1) / KEPT_CHUNK;
}

/* In chunks that never move: one that grew would be copied while the rings fill up. */
static int keep_call(struct pmclua_calls *calls, const struct call_end *end)
{
    if (calls->kept_count >= calls->keep)
        return 0;
    uint64_t **chunk = &calls->kept[calls->kept_count / KEPT_CHUNK];
    if (!*chunk && !(*chunk = malloc(KEPT_CHUNK * kept_u64s(calls) * sizeof **chunk)))
        return -ENOMEM;
    struct pmclua_region_call call = { end->region, end->tid, end->start_ns, end->level };
    uint64_t *place = kept_place(calls, calls->kept_count++), *values = place + sizeof call / sizeof *place;
    memcpy(place, &call, sizeof call);
    memcpy(values, end->total, call_u64s(calls) * sizeof *values);
    memcpy(values + call_u64s(calls), end->self, call_u64s(calls) * sizeof *values);
    return 0;
}

/* ---- a call ---- */

/* Separates the spreads of calls by themselves from those with callees. */
static int split_spreads(struct pmclua_calls *calls, struct region *region)
{
    uint32_t width = call_u64s(calls);
    for (uint32_t i = 0; i < width; i++) {
        const struct spread *from = &region->spreads[i];
        struct spread *to = &region->spreads[width + i];
        to->facts = from->facts;
        if (!from->buckets)
            continue;
        to->buckets = malloc(BUCKETS * sizeof *to->buckets);
        if (!to->buckets)
            return -ENOMEM;
        memcpy(to->buckets, from->buckets, BUCKETS * sizeof *to->buckets);
    }
    region->has_callees = 1;
    return 0;
}

/* Instead of a cost, the value without it: not below 0, though the cost of one probe may be less than usual. */
static uint64_t spread_value(const struct pmclua_calls *calls, const uint64_t *values, uint32_t i)
{
    uint32_t own = own_u64s(calls);
    if (i < own)
        return values[i];
    int64_t without = (int64_t)(values[i - own] - values[i]);
    return without > 0 ? (uint64_t)without : 0;
}

static int add_values(const struct pmclua_calls *calls, struct spread *spreads, const uint64_t *values)
{
    for (uint32_t i = 0; i < call_u64s(calls); i++)
        if (add_value(&spreads[i], spread_value(calls, values, i)) < 0)
            return -ENOMEM;
    return 0;
}

const struct spread *spread_of(const struct pmclua_calls *calls, const struct region *region, uint32_t value)
{
    uint32_t width = call_u64s(calls);
    return &region->spreads[region->has_callees || value < width ? value : value - width];
}

enum { ENABLED = 1, RUNNING = 2 };     /* places in a call's u64s */

int spreads_add(struct pmclua_calls *calls, const struct call_end *end)
{
    struct region *region = &calls->region[end->region];
    struct row *row = &calls->rows[end->row];
    uint32_t width = call_u64s(calls);
    region->facts.calls++;
    row->calls++;
    region->facts.unsure += end->unsure != NULL;
    for (uint32_t i = 0; i < width; i++) {
        row->sums[width + i] += end->self[i];
        region->unsure[i] += end->unsure ? end->unsure[i] : 0;
    }
    if (end->total[RUNNING] < end->total[ENABLED]) {
        region->facts.partial++;
        return 0;
    }
    int differs = end->unsure || memcmp(end->total, end->self, width * sizeof *end->total) != 0;
    if (differs && !region->has_callees && split_spreads(calls, region) < 0)
        return -ENOMEM;
    if (add_values(calls, region->spreads, end->total) < 0 ||
        (region->has_callees && !end->unsure && add_values(calls, region->spreads + width, end->self) < 0))
        return -ENOMEM;
    return keep_call(calls, end);
}

/* ---- beginning ---- */

static int copy_costs(struct pmclua_calls *calls, const struct pmclua_calls_setup *setup)
{
    size_t bytes = 3 * (size_t)own_u64s(calls) * calls->regions * sizeof *calls->costs;
    if (!setup->costs)
        return 0;
    calls->costs = malloc(bytes);
    if (calls->costs)
        memcpy(calls->costs, setup->costs, bytes);
    return calls->costs ? 0 : -ENOMEM;
}

int spreads_new(struct pmclua_calls *calls, const struct pmclua_calls_setup *setup)
{
    uint32_t width = call_u64s(calls);
    if (copy_costs(calls, setup) < 0)
        return -ENOMEM;
    calls->kept = calloc(kept_chunks(calls) + 1, sizeof *calls->kept);
    calls->region = calls->kept ? calloc(calls->regions, sizeof *calls->region) : NULL;
    for (uint32_t i = 0; calls->region && i < calls->regions; i++) {
        struct region *region = &calls->region[i];
        region->flags = setup->flags ? setup->flags[i] : 0;
        region->name = strdup(setup->names ? setup->names[i] : "");
        region->spreads = calloc(2 * (size_t)width, sizeof *region->spreads);
        region->outermost = calloc(3 * (size_t)width, sizeof *region->outermost);
        if (!region->name || !region->spreads || !region->outermost)
            return -ENOMEM;
        region->unsure = region->outermost + width;
        region->spent = region->unsure + width;
        if (calls->costs)
            region->cost = calls->costs + 3 * (size_t)own_u64s(calls) * i;
    }
    return calls->region ? 0 : -ENOMEM;
}

void spreads_free(struct pmclua_calls *calls)
{
    for (uint32_t i = 0; calls->region && i < calls->regions; i++) {
        struct region *region = &calls->region[i];
        for (uint32_t k = 0; region->spreads && k < 2 * call_u64s(calls); k++)
            free(region->spreads[k].buckets);
        free(region->spreads);
        free(region->outermost);
        free(region->name);
    }
    for (uint32_t i = 0; i < calls->row_count; i++)
        free(calls->rows[i].sums);
    free(calls->region);
    free(calls->costs);
    free(calls->rows);
    for (uint64_t i = 0; calls->kept && i < kept_chunks(calls); i++)
        free(calls->kept[i]);
    free(calls->kept);
}
