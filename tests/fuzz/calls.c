/*
 * calls.c: calls put together (core/calls) from samples in any order, of any threads, CPUs and values.
 *
 * What holds: an entry is in one of a region's sums at most; the block of results is as long as it says.
 */
#include <string.h>

#include "fuzz.h"
#include "pmclua.h"

enum { VALUES_MAX = 6, REGIONS_MAX = 4 };

static struct pmclua_calls *make(struct input *input, struct pmclua_calls_setup *setup)
{
    static const char *const names[REGIONS_MAX] = { "a", "b", "a.part", "" };
    static uint64_t flags[REGIONS_MAX];
    struct pmclua_calls *calls = NULL;
    for (int i = 0; i < REGIONS_MAX; i++)
        flags[i] = take_number(input, 1) & 3;
    *setup = (struct pmclua_calls_setup){
        .regions = 1 + take_number(input, 1) % REGIONS_MAX, .cpus = 1 + take_number(input, 1) % 3,
        .values = 2 + take_number(input, 1) % (VALUES_MAX - 1), .keep = take_number(input, 1) % 8,
        .link_register = take_number(input, 1) & 1, .return_bytes = take_number(input, 1) & 8,
        .flags = flags, .names = names };
    HOLD(pmclua_calls_new(&calls, setup) == 0);
    return calls;
}

static void step(struct pmclua_calls *calls, struct input *input)
{
    uint64_t values[VALUES_MAX];
    uint64_t what = take_number(input, 1);
    struct pmclua_calls_sample sample = {
        .tid = take_number(input, 1) % 4, .cpu = take_number(input, 1) % 4, .region = take_number(input, 1) % 5,
        .kind = take_number(input, 1) % 8, .stack_pointer = take_number(input, 1), .time_ns = take_number(input, 2),
        .source = take_number(input, 1) % 3, .values = values };
    sample.pid = sample.tid / 2;
    int width = what & 0x80 ? 8 : 2;
    for (int i = 0; i < VALUES_MAX; i++)
        values[i] = take_number(input, width);
    switch (what % 16) {
    case 0: pmclua_calls_name(calls, sample.pid, sample.tid, "worker", sample.kind & 1); break;
    case 1: pmclua_calls_end(calls, sample.tid); break;
    case 2: pmclua_calls_pause(calls); break;
    case 3: pmclua_calls_lost(calls, sample.cpu, 1 + sample.source); break;
    case 4: case 5: pmclua_calls_switch(calls, &sample); break;
    default: pmclua_calls_point(calls, &sample);
    }
}

static void check(const struct pmclua_calls_setup *setup, const uint64_t *words, uint32_t count)
{
    struct pmclua_regions header;
    memcpy(&header, words, sizeof header);
    uint64_t spreads = 2 * (setup->values + 1);
    uint64_t stride = (sizeof(struct pmclua_region) + spreads * sizeof(struct pmclua_spread)) / 8
                      + 3 * (setup->values + 1);
    HOLD(header.regions == setup->regions && header.kept <= setup->keep);
    HOLD(count >= sizeof header / 8 + stride * header.regions);
    for (uint64_t i = 0; i < header.regions; i++) {
        struct pmclua_region region;
        memcpy(&region, words + sizeof header / 8 + i * stride, sizeof region);
        HOLD(region.nested <= region.calls && region.partial <= region.calls);
        HOLD(region.switching <= region.calls);
        HOLD(region.calls + region.unwound + region.unfinished <= region.entries);
    }
}

int fuzz_one(const uint8_t *bytes, size_t count)
{
    struct input input = { bytes, bytes + count };
    struct pmclua_calls_setup setup;
    struct pmclua_calls *calls = make(&input, &setup);
    uint64_t *words = NULL;
    uint32_t length = 0;
    while (input.at < input.end)
        step(calls, &input);
    HOLD(pmclua_calls_finish(calls, &words, &length) == 0);
    check(&setup, words, length);
    pmclua_free_block(words);
    pmclua_calls_free(calls);
    return 0;
}
