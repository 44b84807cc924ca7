/*
 * left.h: processes that a command leaves behind.
 */
#ifndef PMCLUA_RUNNER_LEFT_H
#define PMCLUA_RUNNER_LEFT_H

#include "pmclua.h"

/* Before a command. */
void left_begin(void);
/* After it: result->left, first_left. */
void left_take(struct pmclua_result *result);

#endif
