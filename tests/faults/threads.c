/*
 * threads.c: the team of threads and the reader of a ring, at work for TSan: no kernels, no counters.
 *
 * exit: 0 when every step was done by every thread and every record was read once, in order.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls/ring.h"
#include "runner/kernels/team.h"

enum { THREADS = 4, STEPS = 5000, RECORDS = 200000, RING_BYTES = 1 << 13 };

/* ---- the team ---- */

static uint64_t met[THREADS];

static void step(struct team_thread *thread, void *argument)
{
    uint64_t *expected = argument;
    team_barrier(thread);
    if (met[thread->index] == *expected)
        met[thread->index]++;
}

static int team_works(void)
{
    struct team *team = team_new(THREADS, NULL, 0);
    if (!team)
        return 0;
    for (uint64_t i = 0; i < STEPS; i++)
        team_do(team, step, &i);
    team_free(team);
    for (int i = 0; i < THREADS; i++)
        if (met[i] != STEPS)
            return 0;
    return 1;
}

/* ---- the ring ---- */

struct record { struct perf_event_header header; uint64_t number; uint64_t more[2]; };

static struct perf_event_mmap_page page;
static uint8_t data[RING_BYTES];

/* What the OS kernel does: a record is whole before the head moves past it, none overwrites an unread one. */
static void *write_records(void *unused)
{
    (void)unused;
    uint64_t head = 0;
    for (uint64_t i = 0; i < RECORDS; i++) {
        struct record record = { { PERF_RECORD_SAMPLE, 0, (uint16_t)(16 + 8 * (i % 3)) }, i, { 0, 0 } };
        while (head + record.header.size - __atomic_load_n(&page.data_tail, __ATOMIC_ACQUIRE) > RING_BYTES)
            sched_yield();
        for (size_t at = 0; at < record.header.size; at++)
            data[(head + at) % RING_BYTES] = ((uint8_t *)&record)[at];
        head += record.header.size;
        __atomic_store_n(&page.data_head, head, __ATOMIC_RELEASE);
    }
    return NULL;
}

static int ring_works(void)
{
    struct ring ring = { .page = &page, .data = data, .whole = malloc(UINT16_MAX + 1), .bytes = RING_BYTES };
    pthread_t writer;
    uint64_t read = 0;
    int broken = !ring.whole || pthread_create(&writer, NULL, write_records, NULL) != 0;
    if (broken)
        return 0;
    while (read < RECORDS && !broken) {
        const struct perf_event_header *record;
        ring_look(&ring);
        while ((record = ring_record(&ring, &broken))) {
            uint64_t number;
            memcpy(&number, (const char *)record + sizeof *record, sizeof number);
            broken |= number != read++;
            ring_step(&ring, record);
        }
        ring_release(&ring);
        sched_yield();
    }
    pthread_join(writer, NULL);
    free(ring.whole);
    return !broken;
}

int main(void)
{
    int team = team_works(), ring = ring_works();
    printf("team %s, ring %s\n", team ? "works" : "FAILS", ring ? "works" : "FAILS");
    return team && ring ? 0 : 1;
}
