/*
 * left.h: processes that a command leaves behind.
 */
#pragma once

#include "pmclua.h"

/* Before a command. */
void left_begin(void);
/* After it: result->left, first_left. */
void left_take(struct pmclua_result *result);
