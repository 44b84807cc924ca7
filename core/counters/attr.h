/*
 * attr.h: a perf_event_attr of the installed header as pmclua has it, and the other way round.
 */
#pragma once

#include <linux/perf_event.h>
#include <string.h>

#include "pmclua.h"

static inline struct pmclua_attr attr_of(const struct perf_event_attr *native)
{
    struct pmclua_attr attr = { { 0 } };
    _Static_assert(sizeof *native <= sizeof attr, "an attr that pmclua_attr cannot hold");
    memcpy(&attr, native, sizeof *native);
    return attr;
}

/* Fields that the installed header does not know are left out. */
static inline struct perf_event_attr native_of(const struct pmclua_attr *attr)
{
    struct perf_event_attr native;
    memcpy(&native, attr, sizeof native);
    return native;
}

/* Opens an event on this thread that never counts. As long as it is open, others of its kind open and close quickly:
 * Linux registers a tracepoint, or patches its own code, for the first of them and the last. -errno. */
static inline int attr_hold(uint32_t type, uint64_t config)
{
    struct pmclua_attr attr = attr_of(&(struct perf_event_attr){
        .type = type, .config = config, .disabled = 1, .exclude_kernel = 1 });    /* what any user may open */
    return pmclua_open(&attr, 0, -1, -1, 0);
}
