/*
 * ring.c: perf ring buffers (perf_event_open(2), "MMAP layout").
 *
 * Invariant: no byte is read that the OS kernel has not published, and none is given back that may still
 * be read. The OS kernel never writes over what was not given back: it counts lost records instead.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring.h"

enum { RELEASE_PARTS = 16 };       /* this part of a ring is given back at once */

int ring_open(struct ring *ring, int fd, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = MAP_FAILED;
    for (; bytes >= page; bytes /= 2) {
        memory = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory != MAP_FAILED || (errno != EPERM && errno != ENOMEM))
            break;
    }
    if (memory == MAP_FAILED)
        return -errno;
    uint8_t *whole = malloc(UINT16_MAX + 1);      /* a record's size is 16 bits wide */
    if (!whole) {
        munmap(memory, page + bytes);
        return -ENOMEM;
    }
    *ring = (struct ring){ .page = memory, .data = (uint8_t *)memory + page, .whole = whole, .bytes = bytes };
    return 0;
}

uint64_t ring_written(const struct ring *ring)
{
    return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

uint64_t ring_look(struct ring *ring)
{
    if (ring->page)
        ring->limit = ring_written(ring);
    if (ring->limit - ring->place > ring->most)
        ring->most = ring->limit - ring->place;
    return ring->limit;
}

/* `count` bytes at our place, in one piece. */
static const void *piece(struct ring *ring, size_t count)
{
    uint64_t start = ring->place & (ring->bytes - 1);
    if (start + count <= ring->bytes)
        return ring->data + start;
    size_t first = ring->bytes - start;
    memcpy(ring->whole, ring->data + start, first);
    memcpy(ring->whole + first, ring->data, count - first);
    return ring->whole;
}

const struct perf_event_header *ring_record(struct ring *ring, int *broken)
{
    uint64_t left = ring->limit - ring->place;
    if (left == 0)
        return NULL;
    struct perf_event_header header;
    int is_whole = left >= sizeof header && left <= ring->bytes;
    if (is_whole)
        memcpy(&header, piece(ring, sizeof header), sizeof header);
    if (!is_whole || header.size < sizeof header || header.size % 8 != 0 || header.size > left) {
        *broken = 1;
        return NULL;
    }
    return piece(ring, header.size);
}

void ring_step(struct ring *ring, const struct perf_event_header *record)
{
    ring->place += record->size;
    if (ring->place - ring->released > ring->bytes / RELEASE_PARTS)
        ring_release(ring);
}

void ring_release(struct ring *ring)
{
    if (ring->page)
        __atomic_store_n(&ring->page->data_tail, ring->place, __ATOMIC_RELEASE);
    ring->released = ring->place;
}

void ring_skip(struct ring *ring)
{
    ring->place = ring_look(ring);
    ring->most = 0;
    ring_release(ring);
}

void ring_close(struct ring *ring)
{
    if (!ring->page)
        return;
    munmap(ring->page, (size_t)(ring->data - (uint8_t *)ring->page) + ring->bytes);
    free(ring->whole);
    *ring = (struct ring){ 0 };
}

size_t ring_bytes_each(size_t largest, size_t least, size_t together, size_t count)
{
    size_t bytes = largest;
    while (bytes > least && bytes * count > together)
        bytes /= 2;
    return bytes;
}

int ring_reader_start(pthread_t *thread, void *(*read)(void *), void *owner)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = -pthread_create(thread, NULL, read, owner);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}
