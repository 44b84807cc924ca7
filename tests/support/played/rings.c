/*
 * rings.c: rings whose samples hold the counts of a played PMU. Who maps the ring of a played group gets a copy.
 *
 * Invariant: the copy has whole records alone, each with the counts that the played PMU had at that instant. It grows
 * when a group is stopped: all that a command has written is there at its end. Rings are larger than that.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "played.h"

enum { MOST_RINGS = 64, SAMPLE_BASE_WORDS = 4, MOST_WORDS = 8192 };    /* a record's size is 16 bits wide */

struct copied {
    struct perf_event_mmap_page *real, *shown;
    size_t bytes, page;
    uint64_t place;
};

static struct copied copied[MOST_RINGS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define LIBC(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static uint64_t *word_at(const struct copied *ring, struct perf_event_mmap_page *of, uint64_t place)
{
    return (uint64_t *)((char *)of + ring->page + (place & (ring->bytes - ring->page - 1)));
}

/* A sample that holds a group's reading, as runner/probing/probe_attrs.c asks for it: header, id, task, time, members, both
 * times, and value and id of each. */
static void play_sample(uint64_t *words, uint64_t count)
{
    uint64_t first = SAMPLE_BASE_WORDS + 3;
    if (count > first && words[SAMPLE_BASE_WORDS] <= (count - first) / 2)
        play_values(words + first, words[SAMPLE_BASE_WORDS]);
}

static void copy_record(struct copied *ring)
{
    uint64_t words[MOST_WORDS];
    struct perf_event_header header;
    memcpy(&header, word_at(ring, ring->real, ring->place), sizeof header);
    uint64_t count = header.size / sizeof *words;
    for (uint64_t i = 0; i < count; i++)
        words[i] = *word_at(ring, ring->real, ring->place + i * sizeof *words);
    if (header.type == PERF_RECORD_SAMPLE)
        play_sample(words, count);
    for (uint64_t i = 0; i < count; i++)
        *word_at(ring, ring->shown, ring->place + i * sizeof *words) = words[i];
    ring->place += header.size;
}

void rings_play(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_RINGS; i++) {
        struct copied *ring = &copied[i];
        if (!ring->real)
            continue;
        uint64_t head = __atomic_load_n(&ring->real->data_head, __ATOMIC_ACQUIRE);
        while (ring->place < head)
            copy_record(ring);
        __atomic_store_n(&ring->shown->data_head, head, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

static void *copy_of(void *real, size_t bytes)
{
    void *shown = LIBC(mmap)(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; shown != MAP_FAILED && i < MOST_RINGS; i++) {
        if (copied[i].real)
            continue;
        memcpy(shown, real, page);
        copied[i] = (struct copied){ .real = real, .shown = shown, .bytes = bytes, .page = page };
        return shown;
    }
    return MAP_FAILED;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *real = LIBC(mmap)(address, bytes, protection, flags, fd, offset);
    if (real == MAP_FAILED || fd < 0 || !group_is_played(fd))
        return real;
    pthread_mutex_lock(&lock);
    void *shown = copy_of(real, bytes);
    pthread_mutex_unlock(&lock);
    return shown;
}

int munmap(void *address, size_t bytes)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_RINGS; i++) {
        if (!copied[i].real || copied[i].shown != address)
            continue;
        LIBC(munmap)(copied[i].real, copied[i].bytes);
        copied[i].real = NULL;
    }
    pthread_mutex_unlock(&lock);
    return LIBC(munmap)(address, bytes);
}
