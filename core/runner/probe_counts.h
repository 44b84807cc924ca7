/*
 * probe_counts.h: what the events of struct probes have counted in all, apart from their samples.
 */
#ifndef PMCLUA_RUNNER_PROBE_COUNTS_H
#define PMCLUA_RUNNER_PROBE_COUNTS_H

#include "probes.h"

/* Events that know the CPU time of all threads. On failure probe_clocks_close has to close some. */
int  probe_clocks_open(struct probes *probes);
void probe_clocks_switch(const struct probes *probes, int on);
void probe_clocks_close(struct probes *probes);
/* Adds the set's counts so far, of all groups and threads, as counters_read lays them out. Enabled is the CPU
 * time of all threads, running what of it the groups were on the PMU. */
int  probes_read(const struct probes *probes, uint64_t *reading);
/* How many samples the members that write some were to write. */
uint64_t probes_written(const struct probes *probes);

#endif
