/*
 * sampler_entries.c: what Linux was entered for in a sample: the user's instruction, then Linux's frames from the entry
 * inwards, as many as tell a system call and the kind of a page fault. Deeper ones would only make the tree larger.
 */
#include <errno.h>

#include "sampler.h"

enum { ENTRY_FRAMES = 12 };

/* The frames of a sample in Linux, innermost first, and where user space goes on; 0: nowhere. */
struct entry { const uint64_t *frame; uint64_t frames, user_ip; };

/* u64 count, the frames; u64 ABI, and unless that is 0 (no user space) the register. */
static struct entry entry_of(const struct perf_event_header *header)
{
    const uint64_t *word = (const void *)((const struct sample_record *)(const void *)(header + 1) + 1);
    const uint64_t *end = (const void *)((const uint8_t *)header + header->size);
    if (word >= end || *word > (uint64_t)(end - word - 1))
        return (struct entry){ 0 };
    struct entry entry = { word + 1, *word, 0 };
    const uint64_t *registers = entry.frame + entry.frames;
    if (registers + 1 < end && registers[0] != PERF_SAMPLE_REGS_ABI_NONE)
        entry.user_ip = registers[1];
    return entry;
}

static int64_t user_frame(struct pmclua_sampler *sampler, const struct sample_record *sample, uint64_t ip)
{
    const struct mapping *mapping = maps_find(&sampler->maps, sample->pid, ip);
    return mapping ? chains_frame(&sampler->chains, 0, mapping->file, ip - mapping->start + mapping->offset) : 0;
}

/* A caller's address is the last byte of its call: another function may begin behind it. */
int sampler_take_entry(struct pmclua_sampler *sampler, const struct perf_event_header *header)
{
    struct entry entry = entry_of(header);
    int64_t frame = user_frame(sampler, (const void *)(header + 1), entry.user_ip);
    uint64_t outer = entry.frames > ENTRY_FRAMES ? entry.frames - ENTRY_FRAMES : 0, innermost = 0;
    while (innermost < entry.frames && entry.frame[innermost] >= PERF_CONTEXT_MAX)
        innermost++;
    for (uint64_t i = entry.frames; frame >= 0 && i-- > outer;)
        if (entry.frame[i] < PERF_CONTEXT_MAX)
            frame = chains_frame(&sampler->chains, (uint32_t)frame, LINUX_FILE, entry.frame[i] - (i > innermost));
    if (frame > 0)
        sampler->chains.frame[frame - 1].count++;
    sampler->facts.chains_lost += frame == -ENOSPC;
    return frame == -ENOMEM ? -ENOMEM : 0;
}
