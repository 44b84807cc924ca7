/*
 * temporary.h: what signals.c has to know of temporary folders.
 */
#pragma once

/* Whether this process has any. */
int  temporary_is_there(void);
/* Removes them all with what is in them. May be called by a signal handler. */
void temporary_remove_all(void);
