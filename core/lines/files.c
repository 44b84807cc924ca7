/*
 * files.c: files of lines, which are whole at any moment but for the last one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/written.h"
#include "pmclua.h"

/* Cuts what follows the last newline: a line that was being written when its writer was killed. */
static int cut_partial_line(int fd)
{
    char block[4096];
    off_t end = lseek(fd, 0, SEEK_END);
    while (end > 0) {
        size_t want = end < (off_t)sizeof block ? (size_t)end : sizeof block;
        off_t start = end - (off_t)want;
        int64_t got = pmclua_read_at(fd, (uint64_t)start, block, want);
        if (got != (int64_t)want)          /* of a part the last newline would be an earlier one */
            return got < 0 ? (int)got : -EIO;
        const char *newline = memrchr(block, '\n', want);
        if (newline)
            return pmclua_resize(fd, (uint64_t)(start + (newline - block) + 1));
        end = start;
    }
    return end < 0 ? -errno : -ENODATA;
}

/* One writer at a time, and of plain files only. */
static int check_file(int fd)
{
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EINVAL;
    return TEMP_FAILURE_RETRY(flock(fd, LOCK_EX | LOCK_NB)) < 0 ? -errno : 0;
}

int32_t pmclua_lines_open(const char *path, int32_t how)
{
    const int resume = how == PMCLUA_LINES_RESUME;
    const mode_t mode = how == PMCLUA_LINES_SHARED ? 0666 : 0600;
    const int flags = resume ? O_RDWR | O_NOFOLLOW : O_WRONLY | O_CREAT | O_EXCL;
    int fd = written_open(path, flags | O_APPEND, mode);
    if (fd < 0)
        return fd;
    int error = check_file(fd);
    if (!error && resume)
        error = cut_partial_line(fd);
    if (!error)
        return fd;
    close(fd);
    return error;
}

/* Removes the part of a line that a short write left: the bytes of the whole lines. */
static size_t keep_whole_lines(int fd, const char *lines, size_t written)
{
    const char *newline = written ? memrchr(lines, '\n', written) : NULL;
    size_t whole = newline ? (size_t)(newline - lines) + 1 : 0;
    off_t end = lseek(fd, 0, SEEK_END);
    /* If that fails, readers and pmclua_lines_open cut it. */
    if (end >= 0 && written > whole)
        pmclua_resize(fd, (uint64_t)end - (written - whole));
    return whole;
}

int32_t pmclua_lines_append(int32_t fd, const char *lines, size_t bytes, size_t *kept)
{
    size_t written = 0;
    while (written < bytes) {
        ssize_t got = TEMP_FAILURE_RETRY(write(fd, lines + written, bytes - written));
        if (got <= 0) {
            int error = got < 0 ? -errno : -EIO;
            *kept = keep_whole_lines(fd, lines, written);
            return error;
        }
        written += (size_t)got;
    }
    *kept = written;
    return 0;
}
