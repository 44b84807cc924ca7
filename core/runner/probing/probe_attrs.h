/*
 * probe_attrs.h: the attrs of the events by which calls are followed.
 */
#pragma once

#include "calls/samples.h"
#include "region_set.h"

/* Sets the fields that all members of a group share. */
void attr_set_common(struct pmclua_attr *attr, int inherit);
/* Makes the first event of a group its leader, which switches the others and reports threads. */
void attr_set_leader(struct pmclua_attr *attr, int inherit, uint32_t options, uint64_t ring_bytes);
/* A leader that counts nothing. */
struct pmclua_attr attr_of_leader(int inherit, uint32_t options, uint64_t ring_bytes);
/* A sample at each switch from a thread, of the type SWITCH_SAMPLE. */
#define SWITCH_SAMPLE (SAMPLE_BASE | PERF_SAMPLE_READ)
struct pmclua_attr attr_of_switches(int inherit);
/* An event that counts nothing, of a thread and of what it starts: it is enabled for their CPU time. */
struct pmclua_attr attr_of_clock(uint32_t options);
struct pmclua_attr attr_of_tracepoint(const struct tracefs_event *event, int inherit);
/* A point as an event of its own. -ENOENT: the OS kernel has no uprobe PMU. */
int  attr_of_point(const struct region_set *regions, const struct point *point, int inherit,
                   struct pmclua_attr *attr);
/* The numbers of the PMUs of probes; -1: there is none. */
long long uprobe_type(void);
long long kprobe_type(void);
/* The config of a return probe of that PMU. */
uint64_t return_probe_config(const char *pmu);
