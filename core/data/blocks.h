/*
 * blocks.h: blocks of the heap by address and time. Private to the core.
 */
#pragma once

#include <stddef.h>

#include "pmclua.h"

struct blocks;
struct heap_event;

/* Opens a log of allocations, freed by blocks_close. -EINVAL: it is no log; -ENOMEM; as of opening a file. */
int  blocks_open(struct blocks **blocks, const char *path, struct pmclua_heap *facts);
void blocks_close(struct blocks *blocks);
/* The log's events as they are now, and how many. */
const struct heap_event *blocks_events(const struct blocks *blocks, uint64_t *events);
/* Keeps what the addresses of samples need, and sorts these. Once, before blocks_find. -ENOMEM. */
int  blocks_choose(struct blocks *blocks, uint64_t *address, size_t count);
/* Fills in the block that has the address of an access; in the order of time. -ENOMEM. */
int  blocks_find(struct blocks *blocks, uint64_t time_ns, struct pmclua_access *access);
/* Return addresses of a site, innermost first, PMCLUA_SITE_FRAMES at most: how many. */
uint32_t blocks_site(const struct blocks *blocks, uint32_t number, uint64_t *frame);
