/*
 * region_set.c: regions as a message defines them: names, and the points where each begins and ends.
 *
 * Their files are opened and their probes defined by the first run that needs them, and stay until the
 * regions are freed: unregistering a tracepoint takes the OS kernel some 70 ms.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "counters/attr.h"
#include "host/lists.h"
#include "runner/session/child.h"
#include "region_set.h"

enum { KEEP_DEFAULT = 100000 };

static int add_text(char ***texts, int *count, const struct message_field *field)
{
    char *text;
    int result = field_copy(field, &text);
    if (result == 0)
        result = LIST_ADD(*texts, *count, text);
    if (result < 0)
        free(text);
    return result;
}

static int add_region(struct region_set *set, const struct message_field *name)
{
    size_t count = (size_t)set->regions;
    if (list_grow(&set->flags, count, sizeof *set->flags) < 0
        || list_grow(&set->costs, count, sizeof *set->costs) < 0)
        return -ENOMEM;
    set->flags[count] = 0;
    set->costs[count] = (struct message_field){ 0 };
    return add_text(&set->names, &set->regions, name);
}

static int add_point(struct region_set *set, uint64_t kind, int file, uint64_t offset)
{
    struct point point = { .region = (uint32_t)set->regions - 1, .kind = kind, .file = file, .offset = offset };
    return set->regions > 0 ? LIST_ADD(set->point, set->points, point) : -EPROTO;
}

static int add_place(struct region_set *set, const struct message_field *field)
{
    struct pmclua_point place;
    if (field->bytes != sizeof place || set->files == 0)
        return -EPROTO;
    memcpy(&place, field->data, sizeof place);
    return add_point(set, place.kind, set->files - 1, place.offset);
}

static int add_event(struct region_set *set, const struct message_field *field)
{
    uint64_t kind;
    return field_u64(field, &kind) < 0 ? -EPROTO : add_point(set, kind, -1, 0);
}

static int set_attr(struct region_set *set, const struct message_field *field)
{
    struct point *last = set->points ? &set->point[set->points - 1] : NULL;
    if (!last || last->file >= 0 || field->bytes != sizeof last->attr)
        return -EPROTO;
    memcpy(&last->attr, field->data, sizeof last->attr);
    return 0;
}

static int set_flags(struct region_set *set, const struct message_field *field)
{
    return set->regions > 0 ? field_u64(field, &set->flags[set->regions - 1]) : -EPROTO;
}

static int set_costs(struct region_set *set, const struct message_field *field)
{
    struct message_field *costs = set->regions > 0 ? &set->costs[set->regions - 1] : NULL;
    if (!costs || costs->data || field->bytes == 0 || field->bytes % sizeof(int64_t) != 0)
        return -EPROTO;
    uint8_t *copy = malloc(field->bytes);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, field->data, field->bytes);
    costs->bytes = field->bytes;
    costs->data = copy;
    return 0;
}

/* Points that follow each other share their file. */
static int add_file(struct region_set *set, const struct message_field *field)
{
    const char *path = field_text(field);
    if (path && set->files > 0 && strcmp(set->paths[set->files - 1], path) == 0)
        return 0;
    return add_text(&set->paths, &set->files, field);
}

static int take(struct region_set *set, const struct message_field *field)
{
    switch (field->kind) {
    case PMCLUA_F_REGION:       return add_region(set, field);
    case PMCLUA_F_REGION_FLAGS: return set_flags(set, field);
    case PMCLUA_F_REGION_COSTS: return set_costs(set, field);
    case PMCLUA_F_FILE:         return add_file(set, field);
    case PMCLUA_F_POINT:        return add_place(set, field);
    case PMCLUA_F_POINT_EVENT:  return add_event(set, field);
    case PMCLUA_F_ATTR:         return set_attr(set, field);
    case PMCLUA_F_ONE_THREAD:   return field_u64(field, &set->one_thread);
    case PMCLUA_F_KEEP_CALLS:   return field_u64(field, &set->calls_kept);
    default:                    return field_u64(field, &set->ring_bytes);
    }
}

int region_set_take(struct region_set **out, const struct message_field *field)
{
    int is_ours = field->kind == PMCLUA_F_ATTR ||
                  (field->kind >= PMCLUA_F_REGION && field->kind <= PMCLUA_F_RING_BYTES);
    if (!is_ours)
        return -EPROTO;
    struct region_set *set = *out ? *out : calloc(1, sizeof *set);
    if (!set)
        return -ENOMEM;
    if (!*out) {
        set->calls_kept = KEEP_DEFAULT;
        set->held[0] = set->held[1] = -1;
    }
    *out = set;
    return take(set, field);
}

/* ---- files and definitions ---- */

/* A file as the OS kernel's records of mappings tell of it. */
static int identify(int fd, struct pmclua_mapped *mapped)
{
    struct stat facts;
    char link[64], path[PATH_MAX];
    if (fstat(fd, &facts) < 0)
        return -errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    *mapped = (struct pmclua_mapped){ .inode = facts.st_ino, .major = major(facts.st_dev), .minor = minor(facts.st_dev),
                                      .path = length > 0 ? strndup(path, (size_t)length) : NULL };
    return 0;
}

static int open_file(const char *path, int *fd, struct pmclua_mapped *mapped)
{
    *fd = pmclua_open_plain(path, 0, NULL, NULL);
    return *fd < 0 ? *fd : identify(*fd, mapped);
}

static void close_files(struct region_set *set)
{
    for (int i = 0; i < set->files; i++) {
        if (set->file)
            pmclua_close(set->file[i]);
        if (set->mapped)
            free(set->mapped[i].path);
    }
    free(set->file);
    free(set->mapped);
    set->file = NULL;
    set->mapped = NULL;
}

int region_set_open_files(struct region_set *set)
{
    if (set->file)
        return 0;
    size_t count = (size_t)set->files + 1;
    set->file = malloc(count * sizeof *set->file);
    set->mapped = calloc(count, sizeof *set->mapped);
    int result = set->file && set->mapped ? 0 : -ENOMEM;
    for (int i = 0; set->file && i < set->files; i++)
        set->file[i] = -1;
    for (int i = 0; result == 0 && i < set->files; i++)
        result = open_file(set->paths[i], &set->file[i], &set->mapped[i]);
    if (result < 0)
        close_files(set);
    return result;
}

/* ---- whether they are loaded ---- */

void region_set_note(struct region_set *set, struct pmclua_drops *drops, int pid)
{
    for (int i = 0; i < set->files; i++)
        set->mapped[i].is_mapped = 0;
    pmclua_drops_note(drops, set->mapped, set->files, pid);
}

/* Whether code was mapped in which calls of a region begin. A region that begins with an event needs none. */
static uint64_t loading_of(const struct region_set *set, uint32_t region)
{
    for (int i = 0; i < set->points; i++) {
        const struct point *point = &set->point[i];
        int begins = point->kind == PMCLUA_POINT_ENTRY || point->kind == PMCLUA_POINT_WHOLE
                  || point->kind == PMCLUA_POINT_FROM;
        if (point->region == region && begins && (point->file < 0 || set->mapped[point->file].is_mapped))
            return PMCLUA_LOADED;
    }
    return PMCLUA_NEVER_LOADED;
}

void region_set_put(const struct region_set *set, uint64_t *block)
{
    const struct pmclua_regions *header = (const struct pmclua_regions *)block;
    size_t width = header->values + 1, spreads = 2 * width * sizeof(struct pmclua_spread) / sizeof *block;
    uint64_t *place = block + sizeof *header / sizeof *block;
    for (uint32_t i = 0; i < header->regions; i++) {
        ((struct pmclua_region *)place)->loading = loading_of(set, i);
        place += sizeof(struct pmclua_region) / sizeof *block + spreads + 3 * width;
    }
}

static void remove_probes(struct region_set *set)
{
    for (int i = 0; i < 2; i++)
        if (set->held[i] >= 0)
            pmclua_close(set->held[i]);
    set->held[0] = set->held[1] = -1;
    tracefs_remove(&set->tracefs);
}

/* -1: it cannot be held, and runs only take longer. */
static int hold(const struct tracefs_event *event)
{
    return event->is_defined ? attr_hold(PERF_TYPE_TRACEPOINT, event->id) : -1;
}

static int define_all(struct region_set *set)
{
    int result = 0;
    tracefs_clean();
    for (int i = 0; result == 0 && i < set->points; i++) {
        const struct point *point = &set->point[i];
        int is_return = point->kind == PMCLUA_POINT_RETURN_PROBE;
        if (point->file >= 0)
            result = tracefs_add(&set->tracefs, set->file[point->file], point->offset, is_return, (uint32_t)i);
    }
    return result < 0 ? result : tracefs_finish(&set->tracefs);
}

int region_set_define(struct region_set *set)
{
    if (set->is_defined)
        return 0;
    termination_defer(1);
    int result = define_all(set);
    if (result < 0) {
        remove_probes(set);
        termination_defer(0);
        return result;
    }
    for (int i = 0; i < 2; i++)
        set->held[i] = hold(&set->tracefs.event[i]);
    set->is_defined = 1;
    return 0;
}

void region_set_free(struct region_set *set)
{
    if (!set)
        return;
    int was_defined = set->is_defined;
    remove_probes(set);
    for (int i = 0; i < set->regions; i++) {
        free(set->names[i]);
        free((void *)set->costs[i].data);
    }
    close_files(set);
    for (int i = 0; i < set->files; i++)
        free(set->paths[i]);
    free(set->names);
    free(set->paths);
    free(set->flags);
    free(set->costs);
    free(set->point);
    free(set);
    if (was_defined)
        termination_defer(0);
}
