#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hits.h"
#include "host/lists.h"

enum { FIRST_SLOTS = 4096 };

int hits_new(struct hits *hits)
{
    *hits = (struct hits){ .slots = FIRST_SLOTS, .table = calloc(FIRST_SLOTS, sizeof *hits->table) };
    if (!hits->table)
        return -ENOMEM;
    char name[] = "[linux]";
    return hits_file(hits, &(struct hit_file){ .path = name, .held = -1 }) < 0 ? -ENOMEM : 0;
}

void hits_free(struct hits *hits)
{
    for (uint32_t i = 0; i < hits->files; i++) {
        free(hits->file[i].path);
        if (hits->file[i].held >= 0)
            close(hits->file[i].held);
    }
    free(hits->file);
    free(hits->table);
    *hits = (struct hits){ 0 };
}

/* ---- files ---- */

/* Linux's own page of code in a process of 32 bits is another one than in one of 64. */
static int is_low(const struct hit_file *file) { return file->inode == 0 && file->from <= UINT32_MAX; }

static int is_same(const struct hit_file *one, const struct hit_file *other)
{
    return is_low(one) == is_low(other) && one->pid == other->pid && one->id_bytes == other->id_bytes && one->inode == other->inode
        && one->device == other->device && memcmp(one->build_id, other->build_id, sizeof one->build_id) == 0 && strcmp(one->path, other->path) == 0;
}

int64_t hits_file(struct hits *hits, const struct hit_file *file)
{
    /* The last ones first: a program that starts maps what its forerunner did. */
    for (uint32_t i = hits->files; i-- > 0;)
        if (is_same(&hits->file[i], file)) {
            hits->file[i].task = file->task;
            hits->file[i].from = file->from;
            hits->file[i].to = file->to;
            return i;
        }
    struct hit_file added = *file;
    added.path = strdup(file->path);
    if (added.path && LIST_ADD(hits->file, hits->files, added) == 0)
        return hits->files - 1;
    free(added.path);
    return -ENOMEM;
}

/* ---- counts ---- */

static struct hit *slot_of(struct hit *table, uint64_t slots, uint32_t file, uint64_t offset, uint32_t thread)
{
    uint64_t hash = (offset ^ ((uint64_t)file << 48) ^ ((uint64_t)thread << 40)) * 0x9e3779b97f4a7c15u;
    uint64_t at = (hash ^ hash >> 32) & (slots - 1);
    while (table[at].is_used
           && (table[at].offset != offset || table[at].file != file || table[at].thread != thread))
        at = (at + 1) & (slots - 1);
    return &table[at];
}

static int grow(struct hits *hits)
{
    uint64_t slots = 2 * hits->slots;
    struct hit *table = calloc(slots, sizeof *table);
    if (!table)
        return -ENOMEM;
    for (uint64_t i = 0; i < hits->slots; i++) {
        const struct hit *hit = &hits->table[i];
        if (hit->is_used)
            *slot_of(table, slots, hit->file, hit->offset, hit->thread) = *hit;
    }
    free(hits->table);
    hits->table = table;
    hits->slots = slots;
    return 0;
}

int hits_add(struct hits *hits, uint32_t file, uint64_t offset, uint32_t thread)
{
    struct hit *hit = slot_of(hits->table, hits->slots, file, offset, thread);
    if (!hit->is_used) {
        if (2 * hits->used >= hits->slots) {
            if (grow(hits) < 0)
                return -ENOMEM;
            hit = slot_of(hits->table, hits->slots, file, offset, thread);
        }
        *hit = (struct hit){ .offset = offset, .file = file, .thread = (uint16_t)thread, .is_used = 1 };
        hits->used++;
    }
    hit->count++;
    return 0;
}
