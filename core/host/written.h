/*
 * written.h: files that the user names to be written.
 */
#pragma once

#include <sys/types.h>

/* open(2) of a file to be written, with O_CREAT or without; nobody else decides which one it is. -ELOOP: another user's link
 * is on the way; -EPERM: another user has put something there. */
int written_open(const char *path, int flags, mode_t mode);
