/*
 * memory.h: memory as a factor, and how much a command took.
 */
#pragma once

#include <sys/resource.h>

#include "run.h"

/* Where memory comes from, for as long as a run takes. */
int  memory_policy_set(const struct run *run);
void memory_policy_reset(const struct run *run);
/* Walks through `bytes` of unmeasured memory, so that caches hold nothing else. -ENOMEM. */
int  memory_cool(uint64_t bytes);
/* Draws the physical pages that this process gets next: takes `bytes` and gives half of them back in random order, so
 * that the OS kernel's free pages are not those of the process before, in its order. The other half stays taken.
 * Without memory for that nothing is drawn. */
void memory_scatter(uint64_t bytes);
/* The peak memory in bytes of a child that has ended; 0: unknown, as it is not above ours. */
uint64_t memory_peak(const struct rusage *usage);
