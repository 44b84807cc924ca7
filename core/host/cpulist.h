/*
 * cpulist.h: CPU lists as people and sysfs write them ("0,2-3"). Shared by the core and the runner.
 */
#pragma once

#include <sched.h>
#include <stdint.h>

/* Fills `set` with the CPUs of `text`. -EINVAL: not a list, or an empty one; -ERANGE: a CPU beyond
 * CPU_SETSIZE. */
int cpulist_parse(const char *text, cpu_set_t *set);
/* Fills `order`, which has room for CPU_SETSIZE, with them as they are written, each once, and returns how many; or
 * those errors. */
int cpulist_order(const char *text, int16_t *order);
