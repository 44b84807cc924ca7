/*
 * heap.h: the log of allocations that shim.c writes in the programs that are run, and core/data/blocks.c reads. A file that all
 * of them map; its head is made by pmclua, the rest is zero.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum { HEAP_FRAMES = 16, HEAP_SITES = 1 << 15, HEAP_EVENTS = 1 << 22 };    /* in all 132 MB at most, as far as used */

/* Values of `bytes` for other events. FORK: `address` is the parent; START: a program begins, and has no blocks. */
#define HEAP_FREE  UINT64_MAX
#define HEAP_FORK  (UINT64_MAX - 1)
#define HEAP_START (UINT64_MAX - 2)

/* time_ns: CLOCK_MONOTONIC, of a block after it was given, of its end before it is given back; 0: never written. */
struct heap_event { uint64_t address, bytes, time_ns; uint32_t site, pid; };

/* Return addresses, innermost first. state 2: it is written. */
struct heap_site { _Atomic uint32_t state; uint32_t frames; uint64_t hash, frame[HEAP_FRAMES]; };

struct heap_log {
    _Atomic uint64_t events;       /* asked for, also beyond HEAP_EVENTS */
    _Atomic uint64_t processes;    /* that were recorded */
    _Atomic uint64_t sites_lost;   /* blocks whose site found no room */
    _Atomic uint64_t elsewhere;    /* programs not recorded: their numbers belong to another PID namespace */
    uint64_t pid_namespace, proc_device;     /* of who made it: where numbers of processes are the samples' */
    struct heap_site site[HEAP_SITES];    /* by their number; 0 is none */
    struct heap_event event[HEAP_EVENTS];
};
