/*
 * event_probes.c: events of the uprobe and kprobe PMUs that are to be inherited, by way of tracefs.
 *
 * Invariant: no attr of an event set whose definition succeeded is both inherited and of a PMU of probes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "counters/attr.h"
#include "host/lists.h"
#include "runner/session/child.h"
#include "runner/session/event_set.h"
#include "probe_attrs.h"

/* The fields of an attr of a probe PMU. */
struct place {
    int of_kernel, is_return;
    const char *text;            /* a file, or a function of Linux; NULL: an address of Linux */
    uint64_t offset;
};

static int is_kept_text(const struct event_set *set, uint64_t pointer)
{
    for (int i = 0; i < set->text_count; i++)
        if ((uintptr_t)set->texts[i] == pointer)
            return 1;
    return 0;
}

/* 1: a probe that would be inherited, whose place is known then; 0: anything else; -EFAULT: its attr points
 * to no text of ours. */
static int place_of(const struct event_set *set, const struct pmclua_attr *attr, struct place *place)
{
    struct perf_event_attr probe = native_of(attr);
    if (!probe.inherit || probe.type < PERF_TYPE_MAX)
        return 0;
    int of_kernel = probe.type == kprobe_type();
    if (!of_kernel && probe.type != uprobe_type())
        return 0;
    *place = (struct place){ .of_kernel = of_kernel, .text = (const char *)(uintptr_t)probe.config1,
                             .is_return = (probe.config & return_probe_config(of_kernel ? "kprobe" : "uprobe")) != 0,
                             .offset = probe.config2 };
    return is_kept_text(set, probe.config1) || (of_kernel && !probe.config1) ? 1 : -EFAULT;
}

static int add_at_file(struct tracefs_probes *probes, const struct place *place)
{
    int fd = open(place->text, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int result = tracefs_add(probes, fd, place->offset, place->is_return, 0);
    close(fd);
    return result;
}

static int add_at_kernel(struct tracefs_probes *probes, const struct place *place)
{
    char word[256];
    int length = snprintf(word, sizeof word, place->text ? "%s+0x%llx" : "%s0x%llx",
                          place->text ? place->text : "", (unsigned long long)place->offset);
    if (length >= (int)sizeof word)
        return -ENAMETOOLONG;
    return tracefs_add_kernel(probes, word, place->is_return);
}

static int define_at(struct tracefs_probes *probes, const struct place *place)
{
    int result = place->of_kernel ? add_at_kernel(probes, place) : add_at_file(probes, place);
    if (result == 0)
        result = tracefs_finish(probes);
    if (result < 0)
        tracefs_remove(probes);
    return result;
}

static void to_tracepoint(struct pmclua_attr *attr, uint64_t id)
{
    pmclua_attr_set(attr, "type", PERF_TYPE_TRACEPOINT);
    pmclua_attr_set(attr, "config", id);
    pmclua_attr_set(attr, "config1", 0);
    pmclua_attr_set(attr, "config2", 0);
}

/* Room for one more probe; NULL: no memory. */
static struct tracefs_probes *room_for_probe(struct event_set *set)
{
    if (list_grow(&set->probes, (size_t)set->probe_count, sizeof *set->probes) < 0)
        return NULL;
    if (set->probe_count == 0)
        tracefs_clean();
    set->probes[set->probe_count] = (struct tracefs_probes){ 0 };
    return &set->probes[set->probe_count];
}

/* With an inherited event of the uprobe or kprobe PMU the target's fork would fail: Linux looks for the text that
 * the attr points to in the target's memory (EFAULT). So the attr becomes a tracepoint of a probe at its place.
 * A refusal is remembered, and is what opening the set comes to. */
static int replace_probe(struct event_set *set, int group, int index)
{
    struct pmclua_attr *attr = &set->group[group].attrs[index];
    struct place place;
    int result = place_of(set, attr, &place);
    if (result == 0)
        return 0;
    struct tracefs_probes *probe = room_for_probe(set);
    if (!probe)
        return -ENOMEM;
    if (result > 0)
        result = define_at(probe, &place);
    if (result < 0) {
        set->refused = (struct pmclua_failure){ .errnum = -result, .group = group, .index = index, .attr = *attr };
        return 0;
    }
    set->probe_count++;
    termination_defer(1);
    to_tracepoint(attr, probe->event[place.is_return].id);
    return 0;
}

int event_set_define_probes(struct event_set *set)
{
    int result = 0;
    for (int i = 0; i < set->groups; i++)
        for (int k = 0; result == 0 && k < set->group[i].count; k++)
            result = replace_probe(set, i, k);
    return result;
}

void event_set_remove_probes(struct event_set *set)
{
    int count = set->probe_count;
    for (int i = 0; i < count; i++)
        tracefs_remove(&set->probes[i]);
    free(set->probes);
    set->probes = NULL;
    set->probe_count = 0;
    while (count-- > 0)
        termination_defer(0);
}
