/*
 * order.h: the records of several rings, in the order of time.
 */
#pragma once

#include "ring.h"

/* How the records of some rings are read. */
struct ring_order {
    int count;
    struct ring *(*ring)(void *owner, int number);
    int (*time_of)(const struct perf_event_header *record, uint64_t *time_ns);    /* 0; -EPROTO: it has none */
    /* Takes the next record, from ring number `ring`: 0; -errno ends the reading. */
    int (*take)(void *owner, int ring, const struct perf_event_header *record);
    void *owner;
};

/* Hands over what the rings have, up to what an earlier record may still be missing of; all of it where is_last is set:
 * what wrote to them has ended. What was taken is given back. 0; -errno; -EPROTO: a ring holds what is no record. */
int rings_take(const struct ring_order *order, int is_last);
/* The time of a sample, `place` bytes from its beginning, or of another record whose last word is its time: 0; -EPROTO:
 * it is too short. */
int record_time(const struct perf_event_header *record, size_t place, uint64_t *time_ns);
