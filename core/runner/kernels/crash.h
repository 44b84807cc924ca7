/*
 * crash.h: where a kernel crashed, told before the runner dies of it.
 */
#pragma once

#include <stdint.h>

/* From now on a crash of this process is told on `fd`. */
void crash_watch(int fd);
/* Gives the thread a stack for that: its own may be what ran out. */
void crash_take_stack(void);
/* Sets the RUN id that a crash answers; 0: none, as no answer is awaited or one is being written. */
void crash_answers(uint64_t sequence);
