/*
 * runner_points.c: regions as a message defines them: names, and the points where each begins and ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner_regions.h"

enum { KEEP_DEFAULT = 100000 };

static void *one_more(void *list, int count, size_t bytes)
{
    return realloc(list, ((size_t)count + 1) * bytes);
}

static int add_text(char ***texts, int *count, const char *text)
{
    char **more = text ? one_more(*texts, *count, sizeof *more) : NULL;
    if (!more)
        return text ? -ENOMEM : -EPROTO;
    *texts = more;
    if (!(more[*count] = strdup(text)))
        return -ENOMEM;
    ++*count;
    return 0;
}

static int add_region(struct region_set *set, const char *name)
{
    uint64_t *flags = one_more(set->flags, set->regions, sizeof *flags);
    if (!flags)
        return -ENOMEM;
    set->flags = flags;
    flags[set->regions] = 0;
    return add_text(&set->names, &set->regions, name);
}

static int add_point(struct region_set *set, uint64_t kind, int file, uint64_t offset)
{
    struct point *points = one_more(set->point, set->points, sizeof *points);
    if (!points)
        return -ENOMEM;
    set->point = points;
    if (set->regions == 0)
        return -EPROTO;
    points[set->points++] = (struct point){
        .region = (uint32_t)set->regions - 1, .kind = kind, .file = file, .offset = offset };
    return 0;
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

/* One file is named once for all its points, as far as they follow each other. */
static int add_file(struct region_set *set, const char *path)
{
    if (path && set->files > 0 && strcmp(set->paths[set->files - 1], path) == 0)
        return 0;
    return add_text(&set->paths, &set->files, path);
}

static int take(struct region_set *set, const struct message_field *field)
{
    switch (field->kind) {
    case PMCLUA_F_REGION:       return add_region(set, field_text(field));
    case PMCLUA_F_REGION_FLAGS: return set_flags(set, field);
    case PMCLUA_F_FILE:         return add_file(set, field_text(field));
    case PMCLUA_F_POINT:        return add_place(set, field);
    case PMCLUA_F_POINT_EVENT:  return add_event(set, field);
    case PMCLUA_F_ATTR:         return set_attr(set, field);
    case PMCLUA_F_ONE_THREAD:   return field_u64(field, &set->one_thread);
    case PMCLUA_F_KEEP_CALLS:   return field_u64(field, &set->keep);
    default:                    return field_u64(field, &set->ring_bytes);
    }
}

int region_set_take(struct region_set **out, const struct message_field *field)
{
    int is_ours = field->kind == PMCLUA_F_ATTR ||
                  (field->kind >= PMCLUA_F_REGION && field->kind <= PMCLUA_F_RING_BYTES);
    if (!is_ours)
        return 0;
    struct region_set *set = *out ? *out : calloc(1, sizeof *set);
    if (!set)
        return -ENOMEM;
    if (!*out)
        set->keep = KEEP_DEFAULT;
    *out = set;
    int result = take(set, field);
    return result < 0 ? result : 1;
}

void region_set_free(struct region_set *set)
{
    if (!set)
        return;
    for (int i = 0; i < set->regions; i++)
        free(set->names[i]);
    for (int i = 0; i < set->files; i++)
        free(set->paths[i]);
    free(set->names);
    free(set->paths);
    free(set->flags);
    free(set->point);
    free(set);
}

int point_has_stack(const struct point *point)
{
    return point->kind != PMCLUA_POINT_FROM && point->kind != PMCLUA_POINT_TO;
}
