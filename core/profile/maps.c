/*
 * maps.c: which file's code is where, in each process.
 *
 * Invariant: mappings of a process are a list from newest to oldest, and what it shares with the process that
 * forked it is there once. So 500 children cost 500 heads, and not 500 lists.
 */
#include <errno.h>
#include <stdlib.h>

#include "maps.h"

int maps_new(struct maps *maps)
{
    *maps = (struct maps){ .found = calloc(FOUND_SLOTS, sizeof *maps->found) };
    return maps->found ? 0 : -ENOMEM;
}

static void release(struct mapping *mapping)
{
    while (mapping && --mapping->refs == 0) {
        struct mapping *older = mapping->older;
        free(mapping);
        mapping = older;
    }
}

void maps_free(struct maps *maps)
{
    for (size_t i = 0; i < SPACE_SLOTS; i++)
        while (maps->spaces[i]) {
            struct space *space = maps->spaces[i];
            maps->spaces[i] = space->chain;
            release(space->newest);
            free(space);
        }
    free(maps->found);
    maps->found = NULL;
}

static struct space *find_space(const struct maps *maps, uint32_t pid)
{
    struct space *space = maps->spaces[pid % SPACE_SLOTS];
    while (space && space->pid != pid)
        space = space->chain;
    return space;
}

struct space *maps_space(struct maps *maps, uint32_t pid)
{
    struct space *space = find_space(maps, pid);
    if (space || !(space = calloc(1, sizeof *space)))
        return space;
    space->pid = pid;
    space->threads = 1;
    space->chain = maps->spaces[pid % SPACE_SLOTS];
    maps->spaces[pid % SPACE_SLOTS] = space;
    return space;
}

int maps_add(struct maps *maps, struct space *space, uint64_t start, uint64_t bytes, uint64_t offset, uint32_t file)
{
    struct mapping *mapping = malloc(sizeof *mapping);
    if (!mapping)
        return -ENOMEM;
    *mapping = (struct mapping){ space->newest, start, bytes, offset, ++maps->mappings, file, 1 };
    space->newest = mapping;
    return 0;
}

void maps_fork(struct space *child, const struct space *parent)
{
    struct mapping *mine = child->newest;
    child->newest = parent->newest;
    if (child->newest)
        child->newest->refs++;
    release(mine);
}

void maps_exec(struct space *space)
{
    release(space->newest);
    space->newest = NULL;
}

void maps_end(struct maps *maps, struct space *space)
{
    struct space **place = &maps->spaces[space->pid % SPACE_SLOTS];
    while (*place != space)
        place = &(*place)->chain;
    *place = space->chain;
    release(space->newest);
    free(space);
}

static const struct mapping *walk(const struct mapping *newest, uint64_t address)
{
    for (const struct mapping *mapping = newest; mapping; mapping = mapping->older)
        if (address - mapping->start < mapping->bytes)
            return mapping;
    return NULL;
}

const struct mapping *maps_find(struct maps *maps, uint32_t pid, uint64_t address)
{
    const struct space *space = find_space(maps, pid);
    if (!space || !space->newest)
        return NULL;
    /* The answer depends on the list and the page alone. */
    uint64_t page = address >> 12, newest = space->newest->number;
    struct found *found = &maps->found[(page ^ newest) % FOUND_SLOTS];
    if (found->newest != newest || found->page != page)
        *found = (struct found){ newest, page, walk(space->newest, address) };
    return found->mapping;
}
