/*
 * maps.h: which file's code is where, in each process. Private to the core.
 */
#pragma once

#include <stdint.h>

/* Code that a process has mapped, until something newer takes its place. Shared by forked processes, so it never
 * changes. `number`: its own. */
struct mapping {
    struct mapping *older;
    uint64_t start, bytes, offset, number;     /* offset: of `start` in the file */
    uint32_t file, refs;
};

/* A process, until the last of its `threads` ends. */
struct space {
    struct space *chain;
    struct mapping *newest;
    uint64_t began_ns;             /* when it was forked, or was first seen to execute; 0: before it was sampled */
    uint32_t pid, threads;
    int has_executed;              /* and mapped nothing since */
    char name[16];                 /* of the program that it executed then */
};

enum { SPACE_SLOTS = 1024, FOUND_SLOTS = 4096 };

struct maps {
    struct space *spaces[SPACE_SLOTS];
    struct found { uint64_t newest, page; const struct mapping *mapping; } *found;   /* FOUND_SLOTS: a cache */
    uint64_t mappings;             /* that there ever were */
};

int  maps_new(struct maps *maps);
void maps_free(struct maps *maps);
/* The process, made when first seen; NULL: no memory. */
struct space *maps_space(struct maps *maps, uint32_t pid);
/* -ENOMEM. */
int  maps_add(struct maps *maps, struct space *space, uint64_t start, uint64_t bytes, uint64_t offset, uint32_t file);
/* A process begins with the mappings that another has now. */
void maps_fork(struct space *child, const struct space *parent);
/* A program that is executed takes the place of all mappings. */
void maps_exec(struct space *space);
/* The process has ended: its pid may be another's. */
void maps_end(struct maps *maps, struct space *space);
/* The code at an address; NULL: none is known. */
const struct mapping *maps_find(struct maps *maps, uint32_t pid, uint64_t address);
