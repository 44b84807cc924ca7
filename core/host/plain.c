/*
 * plain.c: files to read in whose place somebody else may have put another thing: a FIFO that keeps its reader waiting, a
 * device that is set going when it is opened.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmclua.h"

static int check(int result, const struct stat *facts)
{
    if (result < 0)
        return -errno;
    return S_ISREG(facts->st_mode) ? 0 : S_ISDIR(facts->st_mode) ? -EISDIR : -ENOTSUP;
}

/* It is looked at before, as a device must not be opened, and after, as it may have been replaced in between. */
int pmclua_open_plain(const char *path, int32_t is_link_refused, uint32_t *uid, uint64_t *bytes)
{
    struct stat facts;
    int result = check(stat(path, &facts), &facts);
    if (result < 0)
        return result;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (is_link_refused ? O_NOFOLLOW : 0));
    if (fd < 0)
        return -errno;
    result = check(fstat(fd, &facts), &facts);
    if (result < 0) {
        close(fd);
        return result;
    }
    *uid = facts.st_uid;
    *bytes = (uint64_t)facts.st_size;
    return fd;
}
