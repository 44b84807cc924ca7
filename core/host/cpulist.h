/*
 * cpulist.h: CPU lists as people and sysfs write them ("0,2-3"). Shared by the core and the runner.
 */
#pragma once

#include <sched.h>

/* Fills `set` with the CPUs of `text`. -EINVAL: not a list, or an empty one; -ERANGE: a CPU beyond
 * CPU_SETSIZE. */
int cpulist_parse(const char *text, cpu_set_t *set);
/* The CPU at place `index` of the set, ascending and starting again at the end. -EINVAL: empty set. */
int cpulist_nth(const cpu_set_t *set, int index);
