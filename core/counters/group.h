/*
 * group.h: what group.c, region.c and user_read.c share: the group itself.
 */
#pragma once

#include "pmclua.h"

/* The layout of read(2) for PERF_FORMAT_GROUP | both times | ID. */
struct group_read {
    uint64_t nr, enabled, running;
    struct { uint64_t value, id; } member[];
};

struct pmclua_group {
    int32_t count;
    uint32_t options;             /* as opened: enum pmclua_group_option */
    int is_pinned;                /* its leader */
    unsigned fork_generation;     /* of the process that opened it */
    int32_t *fds;
    uint64_t *ids;
    struct group_read *buffer;
    size_t buffer_bytes;
    struct perf_event_mmap_page **pages;   /* one a member, where it is read in user space; else NULL */
    int32_t witness;              /* witness.c's descriptor; -1: none */
};

/* Grows in every forked child. */
extern unsigned group_fork_generation;

/* Maps the members' pages, so that userread may be tried. -errno, and group->pages is NULL. What a page
 * allows is only written there when its event has run. */
int  userread_map(struct pmclua_group *group);
void userread_unmap(struct pmclua_group *group);
/* Makes a reading lost. */
void reading_lose(uint64_t *reading, int32_t words);

/* Opens the witness of a group of another's whose leader is `attr`, if it needs one: 0 or -errno. */
int  witness_open(struct pmclua_group *group, const struct pmclua_attr *attr, int32_t pid, int32_t cpu);
void witness_close(struct pmclua_group *group);
int  witness_switch(const struct pmclua_group *group, enum pmclua_ioc request);
/* For how long the group must have been enabled if it is not lost; 0: not known. */
uint64_t witness_ns(const struct pmclua_group *group);

/* Like pmclua_group_read, but without a system call. 1: only read(2) can tell; `out` is then undefined. */
int  userread(const struct pmclua_group *group, uint64_t *out);
