/*
 * padding.h: an environment made larger: where a program's stack begins depends on it.
 */
#pragma once

#include <stdint.h>

/* A copy of `envp` with one more variable, PMCLUA_PADDING, so that it takes `bytes` more (at least the
 * variable's own name). Only the array and that variable are new; free it with padding_free. NULL: no
 * memory. */
char **padding_add(char *const *envp, uint32_t bytes);
void padding_free(char **envp);
