/*
 * calls_block.c: all calls as one block of u64s (struct pmclua_regions and what follows it).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

/* Writes, or only counts where `u64s` is NULL. */
struct block { uint64_t *u64s; size_t used; };

static void put(struct block *block, const void *bytes, size_t count)
{
    if (block->u64s && count > 0)
        memcpy(block->u64s + block->used, bytes, count);
    block->used += count / sizeof(uint64_t);
}

/* Calls of processes whose stacks are not their threads'. */
static uint64_t count_switching(const struct pmclua_calls *calls, uint32_t region)
{
    if (calls->region[region].flags & PMCLUA_REGION_SWITCHES)
        return calls->region[region].facts.calls;
    uint64_t count = 0;
    for (uint32_t i = 0; i < calls->row_count; i++)
        if (calls->rows[i].region == region && calls->rows[i].is_switching)
            count += calls->rows[i].calls;
    return count;
}

/* Their nesting is unknown. */
static void mark_switching(struct pmclua_calls *calls, uint32_t region)
{
    struct pmclua_region *facts = &calls->region[region].facts;
    facts->switching = count_switching(calls, region);
    if (facts->switching > 0)
        facts->nested = facts->unsure = 0;
}

static void put_region(struct block *block, const struct pmclua_calls *calls, const struct region *region)
{
    uint32_t width = call_u64s(calls);
    put(block, &region->facts, sizeof region->facts);
    for (uint32_t i = 0; i < 2 * width; i++)
        put(block, &spread_of(calls, region, i)->facts, sizeof(struct pmclua_spread));
    put(block, region->outermost, 3 * (size_t)width * sizeof *region->outermost);
}

static void put_row(struct block *block, const struct pmclua_calls *calls, const struct row *row)
{
    struct pmclua_region_thread facts = { row->region, row->pid, row->tid, row->calls, { 0 } };
    memcpy(facts.name, row->name, sizeof facts.name);
    put(block, &facts, sizeof facts);
    put(block, row->sums, 2 * (size_t)call_u64s(calls) * sizeof *row->sums);
}

/* Returns how many buckets have something in them. */
static uint64_t put_buckets(struct block *block, const struct pmclua_calls *calls)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < calls->regions; i++) {
        for (uint32_t value = 0; value < 2 * call_u64s(calls); value++) {
            const uint64_t *buckets = spread_of(calls, &calls->region[i], value)->buckets;
            for (uint32_t k = 0; buckets && k < BUCKETS; k++) {
                if (buckets[k] == 0)
                    continue;
                struct pmclua_region_bucket bucket = { i, value, k, buckets[k] };
                put(block, &bucket, sizeof bucket);
                count++;
            }
        }
    }
    return count;
}

/* The names as one text, filled up to whole u64s; NULL: no memory. */
static char *join_names(const struct pmclua_calls *calls, size_t *bytes)
{
    *bytes = 0;
    for (uint32_t i = 0; i < calls->regions; i++)
        *bytes += strlen(calls->region[i].name) + 1;
    *bytes = (*bytes + 7) & ~(size_t)7;
    char *names = calloc(1, *bytes + 1), *place = names;
    for (uint32_t i = 0; names && i < calls->regions; i++)
        place = stpcpy(place, calls->region[i].name) + 1;
    return names;
}

static void put_all(struct block *block, const struct pmclua_calls *calls, struct pmclua_regions *header,
                    const char *names)
{
    block->used = 0;
    put(block, header, sizeof *header);
    for (uint32_t i = 0; i < calls->regions; i++)
        put_region(block, calls, &calls->region[i]);
    for (uint32_t i = 0; i < calls->row_count; i++)
        put_row(block, calls, &calls->rows[i]);
    for (uint64_t i = 0; i < calls->kept_count; i++)
        put(block, kept_place(calls, i), kept_u64s(calls) * sizeof(uint64_t));
    header->histogram = put_buckets(block, calls);
    put(block, names, header->name_bytes);
}

int pmclua_calls_finish(struct pmclua_calls *calls, uint64_t **out, uint32_t *count)
{
    pmclua_calls_pause(calls);
    for (uint32_t i = 0; i < calls->regions; i++)
        mark_switching(calls, i);
    size_t name_bytes;
    char *names = join_names(calls, &name_bytes);
    struct pmclua_regions header = {
        .regions = calls->regions, .values = calls->counted, .has_costs = calls->costs != NULL,
        .threads = calls->row_count,
        .kept = calls->kept_count, .samples = calls->samples, .lost = calls->lost,
        .threads_seen = calls->threads_seen, .name_bytes = name_bytes };
    struct block block = { 0 };
    if (names)
        put_all(&block, calls, &header, names);
    if (names)
        block.u64s = malloc(block.used * sizeof *block.u64s);
    if (block.u64s)
        put_all(&block, calls, &header, names);
    free(names);
    if (!block.u64s)
        return -ENOMEM;
    *out = block.u64s;
    *count = (uint32_t)block.used;
    return 0;
}
