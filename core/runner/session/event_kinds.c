/*
 * event_kinds.c: software events kept open so that others of their kind open and close quickly.
 *
 * The OS kernel patches its own code when the first software event of a kind is opened and when the last one
 * is closed (24 µs together on two CPUs, measured). A set that is opened anew for each repetition would pay
 * each time: so one stopped event of each of its kinds stays open, which counts nothing. Tracepoints are their
 * set's to hold (event_set.c): an open event of a probe keeps its definition from being removed.
 */
#include "counters/attr.h"
#include "event_set.h"

enum { MOST = 64 };                /* kinds: descriptors are few */

static uint64_t kept[MOST];
static int count;

static int is_kept(uint64_t config)
{
    for (int i = 0; i < count; i++)
        if (kept[i] == config)
            return 1;
    return 0;
}

/* Open as long as the runner is. If it cannot be opened, repetitions only take longer. */
static void keep(uint64_t config)
{
    kept[count++] = config;
    attr_hold(PERF_TYPE_SOFTWARE, config);
}

void event_set_keep_kinds_open(const struct event_set *set)
{
    for (int i = 0; set && i < set->groups; i++)
        for (int k = 0; k < set->group[i].count; k++) {
            struct perf_event_attr event = native_of(&set->group[i].attrs[k]);
            if (event.type == PERF_TYPE_SOFTWARE && count < MOST && !is_kept(event.config))
                keep(event.config);
        }
}
