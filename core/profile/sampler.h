/*
 * sampler.h: what sampler_open.c, sampler.c (reading the rings), sampler_take.c (records), sampler_entries.c (what Linux
 * was entered for), sampler_records.c (samples by themselves) and sampler_block.c (the profile) share. Private to the core.
 */
#pragma once

#include <pthread.h>

#include "calls/ring.h"
#include "chains.h"
#include "hits.h"
#include "maps.h"
#include "pmclua.h"

/* The rings of one CPU, and the events that write into them; the first of each owns its ring. */
struct cpu_rings {
    int cpu, samples_fd, news_fd;  /* -1: it cannot be opened there */
    struct ring samples, news;     /* closed then; news: what was executed, mapped, started and ended */
};

/* A task that was started meanwhile, and lives. */
struct living { uint32_t tid; uint64_t since_ns; };

/* A sample after its header; what PMCLUA_CHAINS and PMCLUA_ENTRIES add follows. */
struct sample_record { uint64_t ip; uint32_t pid, tid; uint64_t time; };

/* Samples by themselves, and what changed in the memory of processes before them. */
struct records {
    struct pmclua_profile_map *map;
    uint64_t *word;                /* of `count` samples, `size` each */
    size_t maps, count, size;
};

struct event_fd { int fd; uint32_t ring; int is_sampling; };

struct pmclua_sampler {
    struct pmclua_sampling asked;
    uint64_t read_format;
    struct cpu_rings *ring;
    uint32_t rings;
    struct event_fd *event;
    uint32_t events;
    pthread_t thread;
    int word, errnum;              /* word: an eventfd by which the thread is told to begin and end; errnum: of what ended it early */
    int has_thread, is_over;
    int has_no_ring;               /* what failed was mapping a ring */
    struct pollfd *ready;

    struct maps maps;
    struct hits hits;
    struct chains chains;
    struct records records;        /* by PMCLUA_DATA */
    uint64_t thread_return;        /* where our own thread returns to: its start, in the C library */
    struct living *living;
    uint32_t living_count;
    uint32_t told[PMCLUA_THREADS_TOLD], told_count;    /* by PMCLUA_ENTRIES: the first threads, from the program's own on */
    struct pmclua_profile facts;
};

/* Whether threads and children to come are sampled, each by events of its own. */
int sampler_inherits(const struct pmclua_sampling *asked);
/* Makes one pair of rings, closed, for each CPU that is asked for. -ENOMEM. */
int sampler_find_cpus(struct pmclua_sampler *sampler);
/* Opens what is asked on all CPUs, stopped; -errno, and `failure` filled. */
int sampler_open_all(struct pmclua_sampler *sampler, struct pmclua_failure *failure);
/* Upper bound of what a task of this age has counted since its last sample. */
uint64_t sampler_begun_most(const struct pmclua_sampler *sampler, uint64_t lived_ns);
/* Takes in all that the rings have now; `is_last`: nothing writes to them any more. -ENOMEM. */
int sampler_take(struct pmclua_sampler *sampler, int is_last);
/* The call chain of a sample: `count` addresses, behind which other words follow up to `end`. */
struct call_words { const uint64_t *address, *end; uint64_t count; };
struct call_words sampler_call_words(const struct perf_event_header *header);
/* Takes in what Linux was entered for in a sample. -ENOMEM. */
int sampler_take_entry(struct pmclua_sampler *sampler, const struct perf_event_header *header);
/* Takes in code that a process has mapped: `file` says what, from where and to where; `offset`: in it. -ENOMEM. */
int sampler_map(struct pmclua_sampler *sampler, uint32_t pid, struct hit_file *file, uint64_t offset);
/* Whether samples are kept by themselves. */
int sampler_keeps_records(const struct pmclua_sampler *sampler);
/* Sets what an event's samples must record. */
void sampler_ask_for_records(struct perf_event_attr *native, const struct pmclua_sampler *sampler);
/* Keeps a sample by itself, which was taken at a place of a file. -ENOMEM. */
int sampler_take_record(struct pmclua_sampler *sampler, const struct perf_event_header *header, uint32_t file,
                        uint64_t offset);
/* Notes a change in the memory of a process. -ENOMEM. */
int sampler_note_map(struct pmclua_sampler *sampler, const struct pmclua_profile_map *map);
/* The same for a mapping: `file` as for sampler_map. */
int sampler_note_mapping(struct pmclua_sampler *sampler, uint32_t pid, const struct hit_file *file, uint64_t offset);
/* Takes in what the processes that are sampled have mapped by now. */
int sampler_take_running(struct pmclua_sampler *sampler);
/* Notes which place of which file threads start from. -ENOMEM. */
int sampler_find_thread_start(struct pmclua_sampler *sampler);
