/*
 * event_set.c: event sets as messages define them.
 *
 * Invariant: a probe that a set defined through tracefs is taken away with the set, also when SIGTERM ends the
 * runner.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counters/attr.h"
#include "host/lists.h"
#include "event_set.h"

static int add_group(struct event_set *set)
{
    set->reading_u64s += 2;
    return LIST_ADD(set->group, set->groups, (struct set_group){ 0 });
}

static int add_attr(struct event_set *set, const struct message_field *field)
{
    if (set->groups == 0 || field->bytes != sizeof(struct pmclua_attr))
        return -EPROTO;
    struct set_group *group = &set->group[set->groups - 1];
    if (list_grow(&group->attrs, (size_t)group->count, sizeof *group->attrs) < 0
        || list_grow(&group->filters, (size_t)group->count, sizeof *group->filters) < 0)
        return -ENOMEM;
    group->filters[group->count] = NULL;
    memcpy(&group->attrs[group->count++], field->data, field->bytes);
    set->reading_u64s++;
    return 0;
}

/* A copy of a text, kept for as long as the set; NULL: no memory. */
static const char *keep_text(struct event_set *set, const char *text)
{
    char *copy = list_grow(&set->texts, (size_t)set->text_count, sizeof copy) < 0 ? NULL : strdup(text);
    return copy ? set->texts[set->text_count++] = copy : NULL;
}

/* A text of the attr before it: what it points to, or its filter. */
static int add_text(struct event_set *set, const struct message_field *field)
{
    struct set_group *group = set->groups ? &set->group[set->groups - 1] : NULL;
    const char *text = field_text(field);
    if (!text || !group || group->count == 0)
        return -EPROTO;
    const char *copy = keep_text(set, text);
    if (!copy)
        return -ENOMEM;
    if (field->kind == PMCLUA_F_ATTR_TEXT)
        return pmclua_attr_set(&group->attrs[group->count - 1], "config1", (uintptr_t)copy);
    group->filters[group->count - 1] = copy;
    return 0;
}

static int add_options(struct event_set *set, const struct message_field *field)
{
    uint64_t options;
    if (set->groups == 0 || field_u64(field, &options) < 0)
        return -EPROTO;
    set->group[set->groups - 1].options = (uint32_t)options;
    return 0;
}

static int add_field(void *owner, const struct message_field *field)
{
    struct event_set *set = owner;
    switch (field->kind) {
    case PMCLUA_F_GROUP:   return add_group(set);
    case PMCLUA_F_ATTR:    return add_attr(set, field);
    case PMCLUA_F_ATTR_TEXT:
    case PMCLUA_F_FILTER:  return add_text(set, field);
    case PMCLUA_F_OPTIONS: return add_options(set, field);
    case PMCLUA_F_PERIOD:  return field_u64(field, &set->period);
    case PMCLUA_F_CHAINS:  return field_u64(field, &set->has_chains);
    case PMCLUA_F_ENTRIES: return field_u64(field, &set->has_entries);
    case PMCLUA_F_DATA:    return field_u64(field, &set->keeps_records);
    case PMCLUA_F_SAMPLES_BYTES: return field_u64(field, &set->samples_bytes);
    default:               return -EPROTO;
    }
}

/* ---- tracepoints between repetitions ---- */

/* Closing the last event of a tracepoint takes the OS kernel some 30 ms: it waits until nobody is in the
 * tracepoint. So one is held open for as long as the set lives. */
static int hold_tracepoint(struct event_set *set, const struct pmclua_attr *counted)
{
    struct perf_event_attr event = native_of(counted);
    if (event.type != PERF_TYPE_TRACEPOINT)
        return 0;
    if (list_grow(&set->held, (size_t)set->held_count, sizeof *set->held) < 0)
        return -ENOMEM;
    int fd = attr_hold(event.type, event.config);
    if (fd >= 0)
        set->held[set->held_count++] = fd;
    return 0;               /* without it counting is only slower */
}

static int hold_tracepoints(struct event_set *set)
{
    int result = 0;
    for (int i = 0; i < set->groups; i++)
        for (int k = 0; result == 0 && k < set->group[i].count; k++)
            result = hold_tracepoint(set, &set->group[i].attrs[k]);
    return result;
}

static void release_tracepoints(struct event_set *set)
{
    while (set->held_count > 0)
        pmclua_close(set->held[--set->held_count]);
    free(set->held);
}

int event_set_define(struct event_set *set, const struct pmclua_message *message)
{
    *set = (struct event_set){ .id = message_header(message)->id };
    int result = message_take(message, add_field, set);
    if (result == 0)
        result = event_set_define_probes(set);
    if (result == 0)
        result = hold_tracepoints(set);
    if (result < 0)
        event_set_free(set);
    return result;
}

int group_is_inherited(const struct set_group *group) { return native_of(&group->attrs[0]).inherit; }

void event_set_free(struct event_set *set)
{
    release_tracepoints(set);
    event_set_remove_probes(set);
    for (int i = 0; i < set->groups; i++) {
        free(set->group[i].attrs);
        free(set->group[i].filters);
    }
    for (int i = 0; i < set->text_count; i++)
        free(set->texts[i]);
    free(set->texts);
    free(set->group);
    *set = (struct event_set){ 0 };
}
