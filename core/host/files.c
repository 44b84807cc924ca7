/*
 * files.c: the file calls that Lua lacks: files by their descriptors, and files in whose place somebody else may have put
 * another thing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clocks.h"
#include "pmclua.h"

int pmclua_mkdir(const char *path, uint32_t mode) { return mkdir(path, mode) < 0 ? -errno : 0; }
int pmclua_rename(const char *from, const char *to) { return rename(from, to) < 0 ? -errno : 0; }

int pmclua_make_temporary(char *template_path)
{
    int fd = mkostemp(template_path, O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int pmclua_make_fifo(const char *path)
{
    int fd = mkfifo(path, 0600) < 0 ? -1 : open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int64_t pmclua_read_some(int fd, char *bytes, uint64_t size)
{
    ssize_t got = TEMP_FAILURE_RETRY(read(fd, bytes, size));
    return got >= 0 ? got : errno == EAGAIN ? 0 : -errno;
}

int pmclua_real_path(const char *path, char *real)
{
    _Static_assert(PMCLUA_PATH_BYTES >= PATH_MAX, "realpath(3) writes up to PATH_MAX bytes");
    return realpath(path, real) ? 0 : -errno;
}

int pmclua_stat(const char *path, uint32_t *uid, uint32_t *mode, uint64_t *bytes, uint64_t *mtime_ns)
{
    struct stat facts;
    if (lstat(path, &facts) < 0)
        return -errno;
    *uid = facts.st_uid;
    *mode = facts.st_mode;
    *bytes = (uint64_t)facts.st_size;
    *mtime_ns = ns_of(facts.st_mtim);
    return 0;
}

int pmclua_signature(const char *path, char signature[PMCLUA_SIGNATURE_BYTES], uint32_t *mode, uint64_t *mtime_ns)
{
    struct stat facts;
    if (stat(path, &facts) < 0)
        return -errno;
    *mode = facts.st_mode;
    *mtime_ns = ns_of(facts.st_mtim);
    snprintf(signature, PMCLUA_SIGNATURE_BYTES, "%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%" PRIx64,
             (uint64_t)facts.st_dev, (uint64_t)facts.st_ino, (uint64_t)facts.st_size, *mtime_ns,
             ns_of(facts.st_ctim));
    return 0;
}

/* By CLOCK_MONOTONIC; 0: before that began. */
static uint64_t monotonic_ns(struct timespec time)
{
    uint64_t began_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
    return ns_of(time) > began_ns ? ns_of(time) - began_ns : 0;
}

int pmclua_identity(const char *path, struct pmclua_identity *identity)
{
    struct stat facts;
    if (stat(path, &facts) < 0)
        return -errno;
    *identity = (struct pmclua_identity){ facts.st_dev, facts.st_ino, monotonic_ns(facts.st_mtim),
                                          monotonic_ns(facts.st_nlink > 0 ? facts.st_ctim : facts.st_mtim) };
    return 0;
}

int pmclua_write(int fd, const char *bytes, uint64_t count)
{
    while (count > 0) {
        ssize_t written = TEMP_FAILURE_RETRY(write(fd, bytes, count));
        if (written <= 0)
            return written < 0 ? -errno : -ENOSPC;
        bytes += written;
        count -= (uint64_t)written;
    }
    return 0;
}

int pmclua_resize(int fd, uint64_t bytes) { return TEMP_FAILURE_RETRY(ftruncate(fd, (off_t)bytes)) < 0 ? -errno : 0; }

int64_t pmclua_read_at(int fd, uint64_t offset, char *bytes, uint64_t count)
{
    uint64_t done = 0;
    while (done < count) {
        ssize_t got = TEMP_FAILURE_RETRY(pread(fd, bytes + done, count - done, (off_t)(offset + done)));
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        done += (uint64_t)got;
    }
    return (int64_t)done;
}

/* ---- files that others may have replaced ---- */

static int check(int result, const struct stat *facts)
{
    if (result < 0)
        return -errno;
    return S_ISREG(facts->st_mode) ? 0 : S_ISDIR(facts->st_mode) ? -EISDIR : -ENOTSUP;
}

/* Checked before, as a device must not be opened, and after, as it may have been replaced in between. */
int pmclua_open_plain(const char *path, int32_t is_link_refused, uint32_t *uid, uint64_t *bytes)
{
    struct stat facts;
    int result = check(stat(path, &facts), &facts);
    if (result < 0)
        return result;
    int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (is_link_refused ? O_NOFOLLOW : 0);
    int fd = TEMP_FAILURE_RETRY(open(path, flags));
    if (fd < 0)
        return -errno;
    result = check(fstat(fd, &facts), &facts);
    if (result < 0) {
        close(fd);
        return result;
    }
    if (uid)
        *uid = facts.st_uid;
    if (bytes)
        *bytes = (uint64_t)facts.st_size;
    return fd;
}

static int allows(const struct stat *facts, uint32_t uid, mode_t what)
{
    return facts->st_uid == uid ? (facts->st_mode & (what << 6)) != 0 : (facts->st_mode & what) != 0;
}

/* By its descriptor: what stands under its name may be another by now. */
int pmclua_is_open_to(int fd, uint32_t uid)
{
    char link[64], path[PATH_MAX];
    struct stat facts;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0 || fstat(fd, &facts) < 0)
        return -errno;
    path[length] = '\0';
    int is_open = allows(&facts, uid, S_IROTH);
    for (char *end = strrchr(path, '/'); is_open && end && end > path; end = strrchr(path, '/')) {
        *end = '\0';
        is_open = lstat(path, &facts) == 0 && allows(&facts, uid, S_IXOTH);
    }
    return is_open;
}
