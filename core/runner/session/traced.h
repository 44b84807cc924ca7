/*
 * traced.h: runs whose system calls are traced.
 */
#pragma once

#include "calls/call_trace.h"
#include "answer.h"
#include "run.h"

/* Traces the system calls of a held command where the run asks for it. NULL: it does not, or the answer says why not. */
struct call_trace *traced_open(const struct run *run, int pid, struct answer *answer);
/* Puts what came of it into the answer, and closes it. NULL is allowed. */
void traced_take(struct call_trace *trace, struct answer *answer);
