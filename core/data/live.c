/*
 * live.c: blocks of the heap that a program has at this moment, by the log that it is still writing (core/heap).
 *
 * The log is read as it is: an entry of this very moment may be there in part. So whoever uses a block asks again afterwards
 * whether it is still the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "blocks.h"
#include "heap/heap.h"
#include "host/lists.h"

/* The events that a process's blocks come from: its own since it began, and its parent's until then. */
struct stretch { uint32_t pid; uint64_t from_ns, to_ns; };

enum { GENERATIONS = 16 };

struct lineage { struct stretch of[GENERATIONS]; int count; };

/* The last event before `to_ns` by which a process began; NULL: none is known. */
static const struct heap_event *beginning(const struct heap_event *event, uint64_t events, uint32_t pid, uint64_t to_ns)
{
    const struct heap_event *last = NULL;
    for (uint64_t i = 0; i < events; i++)
        if (event[i].pid == pid && event[i].time_ns && event[i].time_ns <= to_ns
            && (event[i].bytes == HEAP_START || event[i].bytes == HEAP_FORK) && (!last || event[i].time_ns > last->time_ns))
            last = &event[i];
    return last;
}

static void find_lineage(struct lineage *lineage, const struct heap_event *event, uint64_t events, uint32_t pid)
{
    uint64_t to_ns = UINT64_MAX;
    lineage->count = 0;
    for (int is_forked = 1; is_forked && lineage->count < GENERATIONS;) {
        const struct heap_event *first = beginning(event, events, pid, to_ns);
        lineage->of[lineage->count++] = (struct stretch){ pid, first ? first->time_ns : 0, to_ns };
        is_forked = first && first->bytes == HEAP_FORK;
        if (is_forked) {
            pid = (uint32_t)first->address;
            to_ns = first->time_ns;
        }
    }
}

static int is_of(const struct lineage *lineage, const struct heap_event *event)
{
    for (int i = 0; i < lineage->count; i++)
        if (event->pid == lineage->of[i].pid && event->time_ns >= lineage->of[i].from_ns
            && event->time_ns <= lineage->of[i].to_ns)
            return event->time_ns != 0;
    return 0;
}

/* Blocks of the sites that were asked for, by address and age. */
struct found { struct pmclua_block *list; size_t count; };

static int by_age(const void *a, const void *b)
{
    const struct pmclua_block *one = a, *other = b;
    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    return one->time_ns < other->time_ns ? -1 : one->time_ns > other->time_ns;
}

static int add_blocks(struct found *found, const struct lineage *lineage, const struct heap_event *event, uint64_t events,
                      const uint8_t *is_wanted)
{
    for (uint64_t i = 0; i < events; i++) {
        if (event[i].bytes >= HEAP_START || event[i].site >= HEAP_SITES || !is_wanted[event[i].site]
            || !is_of(lineage, &event[i]))
            continue;
        struct pmclua_block block = { event[i].address, event[i].bytes, event[i].time_ns };
        if (LIST_ADD(found->list, found->count, block) < 0)
            return -ENOMEM;
    }
    if (found->count)
        qsort(found->list, found->count, sizeof *found->list, by_age);
    return 0;
}

/* Ends the blocks of an address that were there before another one, or a free, came: a block of no bytes has ended. */
static void end_before(struct found *found, const struct heap_event *event)
{
    size_t at = list_up_to(found->list, found->count, sizeof *found->list, event->address);
    for (; at > 0 && found->list[at - 1].address == event->address; at--)
        if (found->list[at - 1].time_ns < event->time_ns)
            found->list[at - 1].bytes = 0;
}

struct pmclua_live { struct blocks *blocks; };

int pmclua_live_open(struct pmclua_live **out, const char *path)
{
    struct pmclua_heap facts;
    struct pmclua_live *live = malloc(sizeof *live);
    int result = live ? blocks_open(&live->blocks, path, &facts) : -ENOMEM;
    if (result < 0)
        free(live);
    else
        *out = live;
    return result;
}

void pmclua_live_close(struct pmclua_live *live)
{
    if (live)
        blocks_close(live->blocks);
    free(live);
}

uint32_t pmclua_live_site(const struct pmclua_live *live, uint32_t number, uint64_t *frame)
{
    return number < HEAP_SITES ? blocks_site(live->blocks, number, frame) : 0;
}

int64_t pmclua_live_blocks(const struct pmclua_live *live, uint32_t pid, const uint32_t *site, size_t sites,
                           struct pmclua_block *block, size_t room)
{
    uint64_t events;
    const struct heap_event *event = blocks_events(live->blocks, &events);
    uint8_t *is_wanted = calloc(HEAP_SITES, 1);
    struct found found = { .list = NULL };
    struct lineage lineage;
    if (!is_wanted)
        return -ENOMEM;
    for (size_t i = 0; i < sites; i++)
        is_wanted[site[i] % HEAP_SITES] = 1;
    find_lineage(&lineage, event, events, pid);
    int64_t result = add_blocks(&found, &lineage, event, events, is_wanted);
    for (uint64_t i = 0; result == 0 && found.count && i < events; i++)
        if ((event[i].bytes < HEAP_START || event[i].bytes == HEAP_FREE) && is_of(&lineage, &event[i]))
            end_before(&found, &event[i]);
    for (size_t i = 0; result >= 0 && i < found.count && (size_t)result < room; i++)
        if (found.list[i].bytes)
            block[result++] = found.list[i];
    free(found.list);
    free(is_wanted);
    return result;
}
