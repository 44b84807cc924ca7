/*
 * events.c: event sets: groups of attrs by definition, and opened on a target.
 *
 * Invariants: of struct counters all groups of its set are open, or `set` is NULL and none is; a probe that
 * a set defined through tracefs is taken away with the set, also when SIGTERM ends the runner.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner.h"

static struct set_group *add_group(struct event_set *set)
{
    struct set_group *groups = realloc(set->group, (size_t)(set->groups + 1) * sizeof *groups);
    if (!groups)
        return NULL;
    set->group = groups;
    set->words += 2;
    groups[set->groups] = (struct set_group){ 0 };
    return &groups[set->groups++];
}

static int add_attr(struct event_set *set, const struct message_field *field)
{
    if (set->groups == 0 || field->bytes != sizeof(struct pmclua_attr))
        return -EPROTO;
    struct set_group *group = &set->group[set->groups - 1];
    struct pmclua_attr *attrs = realloc(group->attrs, (size_t)(group->count + 1) * sizeof *attrs);
    if (!attrs)
        return -ENOMEM;
    group->attrs = attrs;
    const char **filters = realloc(group->filters, (size_t)(group->count + 1) * sizeof *filters);
    if (!filters)
        return -ENOMEM;
    group->filters = filters;
    filters[group->count] = NULL;
    memcpy(&attrs[group->count++], field->data, sizeof *attrs);
    set->words++;
    return 0;
}

/* A copy of a text, kept for as long as the set; NULL: no memory. */
static const char *keep_text(struct event_set *set, const char *text)
{
    char **texts = realloc(set->texts, (size_t)(set->text_count + 1) * sizeof *texts);
    if (!texts)
        return NULL;
    set->texts = texts;
    texts[set->text_count] = strdup(text);
    return texts[set->text_count] ? texts[set->text_count++] : NULL;
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

static int add_field(struct event_set *set, const struct message_field *field)
{
    switch (field->kind) {
    case PMCLUA_F_GROUP:   return add_group(set) ? 0 : -ENOMEM;
    case PMCLUA_F_ATTR:    return add_attr(set, field);
    case PMCLUA_F_ATTR_TEXT:
    case PMCLUA_F_FILTER:  return add_text(set, field);
    case PMCLUA_F_OPTIONS: return add_options(set, field);
    default:               return -EPROTO;
    }
}

/* ---- tracepoints between repetitions ---- */

/* Closing the last event of a tracepoint takes the OS kernel some 30 ms: it waits until nobody is in the
 * tracepoint. An event that is never enabled keeps it registered for as long as the set lives. */
static int hold_tracepoint(struct event_set *set, const struct pmclua_attr *counted)
{
    uint64_t type, config;
    pmclua_attr_get(counted, "type", &type);
    pmclua_attr_get(counted, "config", &config);
    if (type != PERF_TYPE_TRACEPOINT)
        return 0;
    int *held = realloc(set->held, (size_t)(set->held_count + 1) * sizeof *held);
    if (!held)
        return -ENOMEM;
    set->held = held;
    struct pmclua_attr attr = { { 0 } };
    pmclua_attr_set(&attr, "type", type);
    pmclua_attr_set(&attr, "config", config);
    pmclua_attr_set(&attr, "disabled", 1);
    pmclua_attr_set(&attr, "exclude_kernel", 1);      /* what an ordinary user may open */
    int fd = pmclua_open(&attr, 0, -1, -1, 0);
    if (fd >= 0)
        held[set->held_count++] = fd;
    return 0;               /* without it counting is as right, and slower */
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

int events_define(struct event_set *set, const struct pmclua_message *message)
{
    *set = (struct event_set){ .id = message_header(message)->id };
    struct message_field field;
    uint32_t offset = 0;
    int result;
    while ((result = message_next(message, &offset, &field)) > 0) {
        result = add_field(set, &field);
        if (result < 0)
            break;
    }
    if (result == 0)
        result = events_replace_probes(set);
    if (result == 0)
        result = hold_tracepoints(set);
    if (result < 0)
        events_free(set);
    return result;
}

void events_free(struct event_set *set)
{
    release_tracepoints(set);
    events_remove_probes(set);
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

/* The group of this thread alone, running and read in user space; else -errno and nothing is open. */
static int open_readable(struct pmclua_group **out, const struct set_group *group)
{
    struct pmclua_attr attrs[group->count];
    struct pmclua_failure ignored;
    memcpy(attrs, group->attrs, sizeof attrs);
    for (int i = 0; i < group->count; i++)
        pmclua_attr_set(&attrs[i], "inherit", 0);
    int result = pmclua_group_open(out, attrs, group->count, 0, -1, group->options, &ignored);
    if (result < 0)
        return result;
    result = pmclua_group_start(*out);
    if (result == 0 && pmclua_group_method(*out) == PMCLUA_BY_USER)
        return 0;
    pmclua_group_close(*out);
    *out = NULL;
    return -EOPNOTSUPP;
}

/* Opens a group and sets its filters; both, or neither and *out (NULL before) stays NULL. */
static int open_group(struct pmclua_group **out, const struct set_group *group, int pid, uint32_t options,
                      struct pmclua_failure *failure)
{
    uint32_t never = pid == 0 ? PMCLUA_READ_USER : PMCLUA_READ_USER | PMCLUA_READ_TOGGLE;
    int result = pmclua_group_open(out, group->attrs, group->count, pid, -1, (group->options | options) & ~never,
                                   failure);
    for (int i = 0; result == 0 && i < group->count; i++)
        if (group->filters[i])
            result = pmclua_group_filter(*out, i, group->filters[i], failure);
    if (result < 0 && *out) {
        pmclua_group_close(*out);
        *out = NULL;
    }
    return result;
}

int counters_open(struct counters *counters, const struct event_set *set, int pid, uint32_t options,
                  struct pmclua_failure *failure)
{
    *counters = (struct counters){ 0 };
    if (pid == 0)
        births_open(&counters->births);       /* where it cannot be opened, all are inherited */
    if (!set || set->groups == 0)
        return 0;
    if (set->refused.errnum) {
        *failure = set->refused;
        return -failure->errnum;
    }
    counters->group = calloc((size_t)set->groups, sizeof *counters->group);
    counters->before = calloc(set->words, 2 * sizeof *counters->before);
    counters->set = set;
    if (!counters->group || !counters->before) {
        counters_close(counters);
        *failure = (struct pmclua_failure){ .errnum = ENOMEM, .index = -1 };
        return -ENOMEM;
    }
    counters->after = counters->before + set->words;
    for (int i = 0; i < set->groups; i++) {
        const struct set_group *group = &set->group[i];
        if (counters->births.page && (group->options & options & PMCLUA_READ_USER)
            && open_readable(&counters->group[i], group) == 0) {
            counters->alone = 1;
            continue;
        }
        int result = open_group(&counters->group[i], group, pid, options, failure);
        if (result < 0) {
            failure->group = i;
            counters_close(counters);
            return result;
        }
    }
    return 0;
}

void counters_close(struct counters *counters)
{
    if (counters->set)
        for (int i = 0; counters->group && i < counters->set->groups; i++)
            pmclua_group_close(counters->group[i]);
    births_close(&counters->births);
    free(counters->group);
    free(counters->before);
    *counters = (struct counters){ 0 };
}

int counters_start(struct counters *counters)
{
    for (int i = 0; counters->set && i < counters->set->groups; i++) {
        int in_regions_alone = pmclua_group_method(counters->group[i]) == PMCLUA_BY_TOGGLE;
        int result = in_regions_alone ? 0 : pmclua_group_start(counters->group[i]);
        if (result < 0)
            return result;
    }
    return 0;
}

int counters_read(struct counters *counters, uint64_t *words)
{
    for (int i = 0; counters->set && i < counters->set->groups; i++) {
        int result = pmclua_group_read(counters->group[i], words);
        if (result < 0)
            return result;
        words += 2 + pmclua_group_count(counters->group[i]);
    }
    return 0;
}

int counters_method(const struct counters *counters)
{
    int method = PMCLUA_BY_SYSCALL;
    for (int i = 0; counters->set && i < counters->set->groups; i++) {
        int its = pmclua_group_method(counters->group[i]);
        if (i > 0 && its != method)
            return PMCLUA_BY_SYSCALL;
        method = its;
    }
    return method;
}

void counters_difference(struct counters *counters, uint64_t *out)
{
    const uint64_t *before = counters->before, *after = counters->after;
    for (int group = 0; counters->set && group < counters->set->groups; group++) {
        int count = 2 + counters->set->group[group].count;
        pmclua_reading_delta(before, after, out, count);
        counters->has_lost |= pmclua_reading_is_lost(out);
        before += count;
        after += count;
        out += count;
    }
}
