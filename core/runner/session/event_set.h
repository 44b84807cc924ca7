/*
 * event_set.h: an event set as a message defines it: groups of attrs, not open.
 */
#pragma once

#include "message/message.h"
#include "tracefs.h"

struct event_set {
    uint64_t id;
    int groups;
    struct set_group {
        struct pmclua_attr *attrs;
        const char **filters;          /* of each attr; NULL: none */
        int count;
        uint32_t options;
    } *group;
    char **texts;                      /* filters, and what attrs point to; owned */
    int text_count;
    struct tracefs_probes *probes;     /* defined for attrs of this set, for as long as it lives */
    int probe_count;
    int *held, held_count;             /* descriptors of events that keep tracepoints registered */
    struct pmclua_failure refused;     /* of a probe that could not be defined; errnum 0: none */
    uint64_t period, samples_bytes;    /* of sets that are sampled (0: this is none), and each CPU's ring; 0: any */
    uint64_t keeps_records;        /* each sample is kept by itself */
    uint64_t has_chains, has_entries;  /* and call chains, or what Linux was entered for, are taken with each sample */
    uint32_t reading_u64s;             /* of one reading of all groups: sum of 2 + count */
};

/* Defines the set of a message; -errno, and it is empty. */
int  event_set_define(struct event_set *set, const struct pmclua_message *message);
void event_set_free(struct event_set *set);
/* Whether threads and children are counted in a group, too. */
int  group_is_inherited(const struct set_group *group);
/* Its inherited attrs of the uprobe and kprobe PMUs become tracepoints of probes that are defined for them
 * (event_probes.c). 0, also where Linux refuses a probe: set->refused has the refusal then. */
int  event_set_define_probes(struct event_set *set);
/* Takes those definitions away. */
void event_set_remove_probes(struct event_set *set);
/* Makes opening and closing the set's events quick from now on (event_kinds.c). */
void event_set_keep_kinds_open(const struct event_set *set);
