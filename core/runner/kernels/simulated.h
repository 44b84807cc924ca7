/*
 * simulated.h: calls of kernels that callgrind counts, where it runs the runner.
 */
#pragma once

#include "runner/session/run.h"
#include "team.h"

/* Whether callgrind can count a run by this team: 0; -ENOSYS: no Valgrind runs us, or its requests are not known for
 * this CPU; -EBUSY: the kernel starts threads beside those of the team. */
int  simulated_can(const struct team *team, const struct run *run);
/* An empty kernel: one instruction, a return. */
void simulated_nothing(void *state, uint64_t iterations);
/* Calls a kernel with the counting of this thread on, or where run->inherit is set that of the process. 0; -ECHILD:
 * it has started a process, which callgrind does not count here. */
int  simulated_call(const struct run *run, void (*fn)(void *, uint64_t), void *state);
/* Empties the simulated caches. */
void simulated_cool(void);
/* All counts become 0; and go to the next of callgrind's files, as those of run->id. */
void simulated_begin(void);
void simulated_end(const struct run *run);
/* Whether threads that are not the team's run here, or have run. */
int  simulated_has_threads(const struct team *team);
