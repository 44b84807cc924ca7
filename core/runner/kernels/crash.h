/*
 * crash.h: where a kernel crashed, told before the runner dies of it.
 */
#pragma once

#include <stdint.h>

/* From now on a crash of this process is told on `fd`. */
void crash_watch(int fd);
/* Gives the thread a stack for that: its own may be what ran out. */
void crash_take_stack(void);
/* What a crash answers from now on: a RUN's id; 0: nothing, for nobody waits or an answer is being written. */
void crash_answers(uint64_t sequence);
