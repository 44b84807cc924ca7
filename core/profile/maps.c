/*
 * maps.c: which file's code was where, in each process, at each time.
 *
 * Invariant: mappings of a process are a list from newest to oldest, and what it shares with the process that
 * forked it is there once. So 500 children cost 500 heads, and not 500 lists.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    while (space && (space->pid != pid || space->ended_ns))
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

int maps_add(struct space *space, uint64_t start, uint64_t bytes, uint64_t offset, uint64_t time_ns, uint32_t file)
{
    struct mapping *mapping = malloc(sizeof *mapping);
    if (!mapping)
        return -ENOMEM;
    *mapping = (struct mapping){ space->newest, start, bytes, offset, time_ns, file, 1 };
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

static const struct mapping *walk(const struct mapping *newest, uint64_t address, uint64_t time_ns)
{
    for (const struct mapping *mapping = newest; mapping; mapping = mapping->older)
        if (mapping->time_ns <= time_ns && address - mapping->start < mapping->bytes)
            return mapping->file == NO_FILE ? NULL : mapping;
    return NULL;
}

/* The process that had this pid then: the one that lives, or one that has ended since. */
static const struct space *space_at(const struct maps *maps, uint32_t pid, uint64_t time_ns)
{
    const struct space *best = NULL;
    for (const struct space *space = maps->spaces[pid % SPACE_SLOTS]; space; space = space->chain)
        if (space->pid == pid && (!space->ended_ns || space->ended_ns >= time_ns)
            && (!best || (space->ended_ns && (!best->ended_ns || space->ended_ns < best->ended_ns))))
            best = space;
    return best;
}

const struct mapping *maps_find(struct maps *maps, uint32_t pid, uint64_t address, uint64_t time_ns)
{
    const struct space *space = space_at(maps, pid, time_ns);
    if (!space || !space->newest)
        return NULL;
    if (time_ns < space->newest->time_ns)
        return walk(space->newest, address, time_ns);
    /* From here on the answer depends on the list and the page alone. */
    uint64_t page = address >> 12;
    struct found *found = &maps->found[(page ^ ((uintptr_t)space->newest >> 4)) % FOUND_SLOTS];
    if (found->newest != space->newest || found->page != page)
        *found = (struct found){ space->newest, walk(space->newest, address, time_ns), page };
    return found->mapping;
}

/* Drops what is older than the last executed program. Its mark may be shared: then others still need it. */
static void cut_at_exec(struct space *space, uint64_t time_ns)
{
    for (struct mapping *mapping = space->newest; mapping && mapping->refs == 1; mapping = mapping->older)
        if (mapping->file == NO_FILE && mapping->time_ns < time_ns) {
            release(mapping->older);
            mapping->older = NULL;
            return;
        }
}

void maps_tidy(struct maps *maps, uint64_t time_ns)
{
    for (size_t i = 0; i < SPACE_SLOTS; i++)
        for (struct space **place = &maps->spaces[i]; *place;) {
            struct space *space = *place;
            cut_at_exec(space, time_ns);
            if (!space->ended_ns || space->ended_ns >= time_ns) {
                place = &space->chain;
                continue;
            }
            *place = space->chain;
            release(space->newest);
            free(space);
        }
    /* A new mapping may get the address of one that was freed. */
    memset(maps->found, 0, FOUND_SLOTS * sizeof *maps->found);
}
