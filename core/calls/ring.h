/*
 * ring.h: a perf ring buffer: records that the OS kernel writes while we read.
 */
#pragma once

#include <linux/perf_event.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* One thread reads it. Zeroed is closed, and as good as empty. */
struct ring {
    struct perf_event_mmap_page *page;
    uint8_t *data, *whole;         /* `whole`: where a record that wraps around is put together */
    uint64_t bytes, place, limit;  /* `place` is where we read; `limit` where the OS kernel had written to */
    uint64_t released;             /* what was read before it has been given back */
    uint64_t most;                 /* bytes that a look found unread, at most */
};

/* Maps the ring of `fd`: `bytes`, a power of two of pages, or less where the limit on locked memory
 * (RLIMIT_MEMLOCK, perf_event_mlock_kb) does not allow as much. -errno. */
int  ring_open(struct ring *ring, int fd, size_t bytes);
/* Takes in what has been written by now. Returns where that ends. */
uint64_t ring_look(struct ring *ring);
/* The record at our place: valid until ring_step; NULL: none before the limit. *broken is set where the
 * ring holds what is no record: then nothing more can be read. */
const struct perf_event_header *ring_record(struct ring *ring, int *broken);
/* Goes on to the next one. From time to time what was read is given back, so that the OS kernel may write there. */
void ring_step(struct ring *ring, const struct perf_event_header *record);
/* Bytes that were ever written to it. May be asked by another thread. */
uint64_t ring_written(const struct ring *ring);
/* Gives all that was read back to the OS kernel. */
void ring_release(struct ring *ring);
/* Gives everything back, unread. */
void ring_skip(struct ring *ring);
void ring_close(struct ring *ring);
/* How large each of `count` rings is to be: `largest`, halved until they take no more than `together`, but not below
 * `least`. */
size_t ring_bytes_each(size_t largest, size_t least, size_t together, size_t count);
/* Starts a thread of ours that reads rings and takes no signals: 0; -errno. */
int  ring_reader_start(pthread_t *thread, void *(*read)(void *), void *owner);
