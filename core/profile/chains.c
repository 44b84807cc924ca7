/*
 * chains.c: how many samples had each call chain.
 *
 * Memory grows with distinct chains, never with samples, and up to a bound.
 */
#include <errno.h>
#include <stdlib.h>

#include "chains.h"

enum { FIRST_ROOM = 1024 };

void chains_free(struct chains *chains)
{
    free(chains->frame);
    free(chains->slot);
    *chains = (struct chains){ 0 };
}

static uint32_t *slot_of(const struct chains *chains, uint32_t parent, uint32_t file, uint64_t offset)
{
    uint64_t hash = (offset ^ ((uint64_t)file << 48) ^ ((uint64_t)parent << 20)) * 0x9e3779b97f4a7c15u;
    uint32_t slots = 2 * chains->room, at = (uint32_t)(hash ^ hash >> 32) & (slots - 1);
    for (; chains->slot[at]; at = (at + 1) & (slots - 1)) {
        const struct chain_frame *frame = &chains->frame[chains->slot[at] - 1];
        if (frame->offset == offset && frame->file == file && frame->parent == parent)
            break;
    }
    return &chains->slot[at];
}

static int grow(struct chains *chains)
{
    uint32_t room = chains->room ? 2 * chains->room : FIRST_ROOM;
    if (room > CHAIN_FRAMES_MAX)
        return -ENOSPC;
    uint32_t *slot = calloc(2 * (size_t)room, sizeof *slot);
    struct chain_frame *frame = slot ? realloc(chains->frame, room * sizeof *frame) : NULL;
    if (!frame) {
        free(slot);
        return -ENOMEM;
    }
    uint32_t *before = chains->slot;
    chains->frame = frame;
    chains->slot = slot;
    chains->room = room;
    free(before);
    for (uint32_t i = 0; i < chains->used; i++)
        *slot_of(chains, frame[i].parent, frame[i].file, frame[i].offset) = i + 1;
    return 0;
}

int64_t chains_frame(struct chains *chains, uint32_t parent, uint32_t file, uint64_t offset)
{
    uint32_t known = chains->room ? *slot_of(chains, parent, file, offset) : 0;
    if (known)
        return known;
    int result = chains->used == chains->room ? grow(chains) : 0;
    if (result < 0)
        return result;
    chains->frame[chains->used++] = (struct chain_frame){ .offset = offset, .file = file, .parent = parent };
    *slot_of(chains, parent, file, offset) = chains->used;
    return chains->used;
}
