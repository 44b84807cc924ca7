/*
 * sampler_entries.c: what Linux was entered for in a sample: the user's instruction, then Linux's frames from the entry
 * inwards, as many as tell a system call and the kind of a page fault. Deeper ones would only make the tree larger.
 */
#include <errno.h>

#include "sampler.h"

enum { ENTRY_FRAMES = 12 };

static int64_t user_frame(struct pmclua_sampler *sampler, const struct sample_record *sample, uint64_t ip)
{
    const struct mapping *mapping = maps_find(&sampler->maps, sample->pid, ip);
    return mapping ? chains_frame(&sampler->chains, 0, mapping->file, ip - mapping->start + mapping->offset) : 0;
}

/* Behind the call chain: u64 ABI, and unless that is 0 (no user space) the register of the user's instruction. A caller's
 * address is the last byte of its call: another function may begin behind it. */
int sampler_take_entry(struct pmclua_sampler *sampler, const struct perf_event_header *header)
{
    struct call_words chain = sampler_call_words(header);
    const uint64_t *registers = chain.address + chain.count;
    int has_user = registers + 1 < chain.end && registers[0] != PERF_SAMPLE_REGS_ABI_NONE;
    int64_t frame = user_frame(sampler, (const void *)(header + 1), has_user ? registers[1] : 0);
    uint64_t outer = chain.count > ENTRY_FRAMES ? chain.count - ENTRY_FRAMES : 0, innermost = 0;
    while (innermost < chain.count && chain.address[innermost] >= PERF_CONTEXT_MAX)
        innermost++;
    for (uint64_t i = chain.count; frame >= 0 && i-- > outer;)
        if (chain.address[i] < PERF_CONTEXT_MAX)
            frame = chains_frame(&sampler->chains, (uint32_t)frame, LINUX_FILE, chain.address[i] - (i > innermost));
    if (frame > 0)
        sampler->chains.frame[frame - 1].count++;
    sampler->facts.chains_lost += frame == -ENOSPC;
    return frame == -ENOMEM ? -ENOMEM : 0;
}
