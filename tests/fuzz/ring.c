/*
 * ring.c: ring buffers (core/calls/ring.c, core/calls/samples.c) that hold anything.
 *
 * The input: where the reader is, how much is said to be written, which parts a sample has, then the ring.
 * What holds: no byte outside the ring and the record is read; reading ends; what is given back was read.
 */
#include <string.h>

#include "fuzz.h"
#include "calls/ring.h"
#include "calls/samples.h"

enum { RING_BYTES = 4096 };

static volatile uint64_t sink;

static void touch(const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sink += ((const uint8_t *)bytes)[i];
}

/* A record in memory of its own size, so that a read past it is seen. */
static void look_at(const struct perf_event_header *record, uint64_t sample_type)
{
    struct perf_event_header *own = malloc(record->size);
    struct sample sample = { 0 };
    memcpy(own, record, record->size);
    if (sample_base(own, &sample) == 0 && sample_rest(own, sample_type, &sample) == 0) {
        touch(sample.member, sample.members * 16);
        touch(sample.raw, sample.raw_bytes);
    }
    free(own);
}

int fuzz_one(const uint8_t *bytes, size_t count)
{
    struct input input = { bytes, bytes + count };
    struct perf_event_mmap_page page = { 0 };
    uint8_t *data = calloc(1, RING_BYTES);
    struct ring ring = { .page = &page, .data = data, .whole = malloc(UINT16_MAX + 1), .bytes = RING_BYTES };
    ring.place = take_number(&input, 8) & ~UINT64_C(7);
    page.data_head = ring.place + take_number(&input, 2);
    uint64_t sample_type = SAMPLE_BASE | take_number(&input, 4);
    size_t length = (size_t)(input.end - input.at);
    memcpy(data, input.at, length < RING_BYTES ? length : RING_BYTES);

    int broken = 0;
    const struct perf_event_header *record;
    uint64_t start = ring_look(&ring);
    while ((record = ring_record(&ring, &broken))) {
        HOLD(record->size >= sizeof *record && record->size <= RING_BYTES);
        look_at(record, sample_type);
        ring_step(&ring, record);
    }
    ring_release(&ring);
    HOLD(broken || ring.place == start);
    HOLD(page.data_tail == ring.place);
    free(ring.whole);
    free(data);
    return 0;
}
