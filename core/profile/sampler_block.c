/*
 * sampler_block.c: a sampler's profile as one block of u64 for another process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler.h"

static uint64_t *put_file(uint64_t *place, const struct hit_file *file)
{
    struct pmclua_profile_file *out = (struct pmclua_profile_file *)place;
    *out = (struct pmclua_profile_file){ .pid = file->pid, .device = file->device, .inode = file->inode,
                                         .since_ns = file->since_ns, .from = file->from, .to = file->to,
                                         .task = file->task, .held = (uint64_t)(file->held + 1),
                                         .id_bytes = file->id_bytes, .path_bytes = strlen(file->path) };
    memcpy(out->build_id, file->build_id, sizeof file->build_id);
    memcpy(out + 1, file->path, out->path_bytes);
    return (uint64_t *)(out + 1) + out->path_bytes / 8 + 1;
}

static size_t u64s_of(const struct pmclua_sampler *sampler)
{
    const struct hits *hits = &sampler->hits;
    const struct records *records = &sampler->records;
    size_t count = sizeof(struct pmclua_profile) / 8 + hits->used * sizeof(struct pmclua_profile_hit) / 8
        + sampler->chains.used * sizeof(struct pmclua_profile_frame) / 8
        + records->maps * sizeof(struct pmclua_profile_map) / 8 + records->count * records->size;
    for (uint32_t i = 0; i < hits->files; i++)
        count += sizeof(struct pmclua_profile_file) / 8 + strlen(hits->file[i].path) / 8 + 1;
    return count;
}

/* Behind the last frame. */
static void *put_frames(struct pmclua_profile_frame *out, const struct chains *chains)
{
    for (uint32_t i = 0; i < chains->used; i++) {
        const struct chain_frame *frame = &chains->frame[i];
        out[i] = (struct pmclua_profile_frame){ frame->parent, frame->file & ~CHAIN_GUESS, frame->offset, frame->count,
                                                (frame->file & CHAIN_GUESS) != 0 };
    }
    return out + chains->used;
}

static void put_records(struct pmclua_profile_map *out, const struct records *records)
{
    if (records->maps)
        memcpy(out, records->map, records->maps * sizeof *out);
    if (records->count)
        memcpy(out + records->maps, records->word, records->count * records->size * sizeof *records->word);
}

int pmclua_sampler_block(const struct pmclua_sampler *sampler, uint64_t **block, uint32_t *count)
{
    const struct hits *hits = &sampler->hits;
    size_t u64s = u64s_of(sampler);
    uint64_t *out = u64s < UINT32_MAX ? calloc(u64s, sizeof *out) : NULL, *place = out;
    if (!out)
        return -ENOMEM;
    struct pmclua_profile *facts = (struct pmclua_profile *)place;
    *facts = sampler->facts;
    facts->period = sampler->asked.period;
    facts->ring_bytes = sampler->rings ? sampler->ring[0].samples.bytes : 0;
    facts->places = sampler->asked.task_count > 0 ? sampler->rings : 1;
    facts->knows_lost = (sampler->read_format & PERF_FORMAT_LOST) != 0;
    facts->files = hits->files;
    facts->hits = hits->used;
    facts->frames = sampler->chains.used;
    facts->frames_max = CHAIN_FRAMES_MAX;
    facts->maps = sampler->records.maps;
    facts->records = sampler->records.count;
    facts->record_u64s = sampler->records.size;
    place = (uint64_t *)(facts + 1);
    for (uint32_t i = 0; i < hits->files; i++)
        place = put_file(place, &hits->file[i]);
    struct pmclua_profile_hit *hit = (struct pmclua_profile_hit *)place;
    for (const struct hit *in = hits->table; in < hits->table + hits->slots; in++)
        if (in->is_used)
            *hit++ = (struct pmclua_profile_hit){ in->file, in->offset, in->count, in->thread };
    put_records(put_frames((struct pmclua_profile_frame *)hit, &sampler->chains), &sampler->records);
    *block = out;
    *count = (uint32_t)u64s;
    return 0;
}
