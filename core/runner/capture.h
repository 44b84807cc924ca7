/*
 * capture.h: what a command writes, kept up to a limit while it runs.
 */
#ifndef PMCLUA_RUNNER_CAPTURE_H
#define PMCLUA_RUNNER_CAPTURE_H

#include <stdint.h>

#include "pmclua.h"

/* One captured stream: the command writes to `theirs`, a pipe; what is read is kept up to a limit, and
 * thrown away beyond it. fd -1: not captured. */
struct capture { int ours, theirs; char *text; uint32_t used, size; uint64_t limit; };

/* Opens the pipe: 0, -errno. */
int  capture_open(struct capture *capture, uint64_t limit);
/* Reads from both until `pid` has ended, then what is left; not what others write later. Meanwhile `drops` (NULL:
 * none) are read, too, so that their rings do not overflow. */
void capture_follow(struct capture captures[2], int pid, struct pmclua_drops *drops);
void capture_close(struct capture *capture);

#endif
