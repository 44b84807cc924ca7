/*
 * attr.h: a perf_event_attr of the installed header as pmclua has it.
 */
#ifndef PMCLUA_ATTR_H
#define PMCLUA_ATTR_H

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

#endif
