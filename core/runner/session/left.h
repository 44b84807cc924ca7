/*
 * left.h: processes that a command leaves behind.
 */
#pragma once

#include "pmclua.h"

/* Called before a command. */
void left_begin(void);
/* Called after it: fills in result->left and first_left. */
void left_take(struct pmclua_result *result);
