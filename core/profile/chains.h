/*
 * chains.h: how many samples had each call chain. Private to the core.
 */
#pragma once

#include <stdint.h>

/* Frame limit over all chains. */
enum { CHAIN_FRAMES_MAX = 1 << 17 };

/* In a frame's file: a guess. */
#define CHAIN_GUESS (UINT32_C(1) << 31)

/* A place in code that was called from `parent`: the number of a frame, from 1; 0: unknown. `count`
 * samples were taken there. */
struct chain_frame { uint64_t offset, count; uint32_t file, parent; };

/* A tree, so that chains share their callers. Zeroed is empty. A frame comes after its parent. */
struct chains {
    struct chain_frame *frame;
    uint32_t *slot;                /* open addressing: numbers of frames; 0: free. Twice as many as `room` */
    uint32_t used, room;
};

void chains_free(struct chains *chains);
/* The number of a frame, added when first seen; -ENOSPC: there are too many; -ENOMEM. */
int64_t chains_frame(struct chains *chains, uint32_t parent, uint32_t file, uint64_t offset);
