/*
 * maps.h: which file's code was where, in each process, at each time. Private to the core.
 */
#pragma once

#include <stdint.h>

enum { NO_FILE = UINT32_MAX };

/* Code that a process had mapped from `time_ns` on, until something newer took its place. Shared by forked
 * processes, so it never changes. An executed program ends all older ones: `file` is NO_FILE then. */
struct mapping {
    struct mapping *older;
    uint64_t start, bytes, offset, time_ns;    /* offset: of `start` in the file */
    uint32_t file, refs;
};

/* A process. `threads` that live; its record is kept for a while after the last has ended. */
struct space {
    struct space *chain;
    struct mapping *newest;
    uint64_t began_ns;             /* when it was forked, or was first seen to execute; 0: before it was sampled */
    uint64_t ended_ns;             /* 0: it lives */
    uint32_t pid, threads;
    int has_executed;              /* and mapped nothing since */
    char name[16];                 /* of the program that it executed then */
};

enum { SPACE_SLOTS = 1024, FOUND_SLOTS = 4096 };

struct maps {
    struct space *spaces[SPACE_SLOTS];
    struct found { const struct mapping *newest, *mapping; uint64_t page; } *found;   /* FOUND_SLOTS: a cache */
};

int  maps_new(struct maps *maps);
void maps_free(struct maps *maps);
/* The process, made when first seen; NULL: no memory. */
struct space *maps_space(struct maps *maps, uint32_t pid);
/* -ENOMEM. */
int  maps_add(struct space *space, uint64_t start, uint64_t bytes, uint64_t offset, uint64_t time_ns, uint32_t file);
/* A process begins with the mappings that another has now. */
void maps_fork(struct space *child, const struct space *parent);
/* The code at an address at a time; NULL: none is known. */
const struct mapping *maps_find(struct maps *maps, uint32_t pid, uint64_t address, uint64_t time_ns);
/* Forgets what no address before `time_ns` will be asked for. */
void maps_tidy(struct maps *maps, uint64_t time_ns);
