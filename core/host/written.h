/*
 * written.h: files that other users may have a hand in.
 */
#pragma once

#include <sys/types.h>

/* Whether what belongs to a user is as good as ours: it is this user, or root. */
int user_is_trusted(uid_t uid);
/* open(2) of a file to be written, with O_CREAT or without; nobody else decides which one it is. -ELOOP: another user's link
 * is on the way; -EPERM: another user has put something there. */
int written_open(const char *path, int flags, mode_t mode);
