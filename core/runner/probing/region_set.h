/*
 * region_set.h: regions as a message defines them: where each is entered and left.
 */
#pragma once

#include "message/message.h"
#include "runner/session/tracefs.h"

/* A place of a file, or an event. */
struct point {
    uint32_t region;
    uint64_t kind;                 /* enum pmclua_point_kind */
    int file;                      /* index into the set's files; -1: an event, `attr` */
    uint64_t offset;
    struct pmclua_attr attr;
};

struct region_set {
    int regions, points, files;
    char **names, **paths;
    uint64_t *flags;
    struct message_field *costs;   /* of each region: i64, copied; data NULL: not known */
    struct point *point;
    uint64_t one_thread, calls_kept, ring_bytes;
    /* From the first run until it is freed: */
    int *file;                     /* descriptors of the files; NULL: not open */
    struct pmclua_mapped *mapped;  /* by file: whether the last run had it mapped */
    int is_defined;                /* `tracefs` has their places as tracepoints */
    struct tracefs_probes tracefs;
    int held[2];                   /* events that keep these tracepoints registered between runs; -1: none */
};

/* Takes a field of regions into *set, which is made when first needed: 0, or -errno. */
int  region_set_take(struct region_set **set, const struct message_field *field);
/* Removes its definitions from tracefs, too. */
void region_set_free(struct region_set *set);
/* Opens the files of its points, once. */
int  region_set_open_files(struct region_set *set);
/* Notes which of the files the process `pid` maps; 0: any process that is watched. */
void region_set_note(struct region_set *set, struct pmclua_drops *drops, int pid);
/* Puts what was noted into the regions of a block (pmclua_calls_finish). */
void region_set_put(const struct region_set *set, uint64_t *block);
/* Defines its places through tracefs, once; on failure none is. SIGTERM is deferred until they are freed. */
int  region_set_define(struct region_set *set);
