/*
 * probe_group.h: the events of one thread on one CPU, whose samples follow its calls.
 */
#ifndef PMCLUA_RUNNER_PROBE_GROUP_H
#define PMCLUA_RUNNER_PROBE_GROUP_H

#include "probes.h"

/* What goes wrong while a group is opened. */
struct refusal { struct pmclua_failure *failure; enum pmclua_stage *stage; };

int refuse_probes(const struct refusal *refusal, enum pmclua_stage stage, int result);

enum { NO_CPU = 1, NO_THREAD };         /* why a group is left out */

/* Opens the next of probes->group. NO_CPU, NO_THREAD: there is none; -errno. */
int  probe_group_open(struct probes *probes, int source, int cpu, const struct refusal *refusal);
void probe_group_close(struct probe_group *group);

#endif
