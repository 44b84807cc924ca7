/*
 * written.c: files that the user names to be written.
 *
 * Invariant: nobody but this user and root decides which file that is. Their links are followed, wherever they are, and
 * those of others nowhere; what another user has put where others may write is not written to. Linux itself refuses
 * this in sticky folders, where fs.protected_symlinks and its like are set.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pmclua.h"
#include "written.h"

enum { LINKS_MAX = 40 };

/* How far a path has been gone. */
struct way {
    int folder;                    /* the folder that `rest` is in; O_PATH */
    int links;                     /* that were followed */
    char rest[PATH_MAX];
};

int user_is_trusted(uid_t uid)
{
    struct stat root;              /* its owner is root here, also in a user namespace */
    return uid == geteuid() || (stat("/", &root) == 0 && uid == root.st_uid);
}

static int is_trusted(const struct stat *facts) { return user_is_trusted(facts->st_uid); }

/* Goes into a folder that was opened. */
static int enter(struct way *way, int folder)
{
    int result = folder < 0 ? -errno : 0;
    if (way->folder >= 0)
        close(way->folder);
    way->folder = folder;
    return result;
}

static int start_at(struct way *way, const char *path)
{
    return enter(way, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Takes the next name off the path: *beyond is what follows it, "" behind the last one. */
static int take_name(const struct way *way, char name[PATH_MAX], const char **beyond)
{
    const char *from = way->rest + strspn(way->rest, "/");
    size_t length = strcspn(from, "/");
    memcpy(name, from, length);
    name[length] = '\0';
    *beyond = from + length + strspn(from + length, "/");
    return length == 0 || (!**beyond && from[length]) ? -EISDIR : 0;
}

/* Puts what a link reads in the place of its name. */
static int follow(struct way *way, int link, const char *beyond)
{
    char path[PATH_MAX];
    ssize_t length = readlinkat(link, "", path, sizeof path);
    if (length < 0 || ++way->links > LINKS_MAX)
        return length < 0 ? -errno : -ELOOP;
    if ((size_t)length + 1 + strlen(beyond) >= sizeof path)
        return -ENAMETOOLONG;
    snprintf(path + length, sizeof path - (size_t)length, "%s%s", *beyond ? "/" : "", beyond);
    strcpy(way->rest, path);
    return *path == '/' ? start_at(way, path) : 0;
}

/* Links of /proc lead to what is open, not to what they read like. */
static int is_of_proc(int folder)
{
    struct statfs facts;
    return fstatfs(folder, &facts) == 0 && facts.f_type == PROC_SUPER_MAGIC;
}

/* Goes through the next name of the path, where it is a folder's or a link: 1; 0: it is the file's own; -errno. */
static int go(struct way *way, const char *name, const char *beyond, int flags)
{
    struct stat facts = { 0 };
    int part = openat(way->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int result = part < 0 || fstat(part, &facts) < 0 ? -errno : 0;
    int is_link = result == 0 && S_ISLNK(facts.st_mode);
    if (is_link && is_of_proc(way->folder)) {
        close(part);
        part = *beyond ? openat(way->folder, name, O_PATH | O_CLOEXEC) : -1;
    } else if (is_link) {
        result = !*beyond && (flags & (O_EXCL | O_NOFOLLOW)) ? (flags & O_EXCL ? -EEXIST : -ELOOP)
               : is_trusted(&facts) ? follow(way, part, beyond) : -ELOOP;
        close(part);
        return result < 0 ? result : 1;
    }
    if (!*beyond) {
        if (part >= 0)
            close(part);
        return result == -ENOENT ? 0 : result;
    }
    memmove(way->rest, beyond, strlen(beyond) + 1);
    result = enter(way, part);
    return result < 0 ? result : 1;
}

/* Whether what was opened is neither another user's nor a link of his to somebody's file. */
static int check(int fd, int folder)
{
    struct stat facts, place;
    if (fstat(fd, &facts) < 0 || fstat(folder, &place) < 0)
        return -errno;
    int is_open = (place.st_mode & S_IWOTH) != 0;
    if (!is_trusted(&facts))
        return is_open || !S_ISREG(facts.st_mode) || facts.st_nlink > 1 ? -EPERM : 0;
    int may_be_linked = is_open || !is_trusted(&place);
    return may_be_linked && S_ISREG(facts.st_mode) && facts.st_nlink > 1 ? -EPERM : 0;
}

/* Opens the file itself, which another user may have put there or replaced meanwhile; a FIFO of his may never have a reader. */
static int open_last(const struct way *way, const char *name, int flags, mode_t mode)
{
    struct stat facts;
    if (is_of_proc(way->folder))
        return openat(way->folder, name, flags, mode);
    int may_wait = fstatat(way->folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && is_trusted(&facts);
    int more = O_NOFOLLOW | O_NOCTTY | (may_wait ? 0 : O_NONBLOCK);
    int fd = (int)TEMP_FAILURE_RETRY(openat(way->folder, name, (flags & ~O_TRUNC) | more, mode));
    if (fd < 0)
        return errno == ENXIO ? -EPERM : -errno;
    int result = check(fd, way->folder);
    if (result == 0 && TEMP_FAILURE_RETRY(fcntl(fd, F_SETFL, flags & O_APPEND)) < 0)
        result = -errno;
    if (result == 0 && (flags & O_TRUNC) && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode))
        result = pmclua_resize(fd, 0);
    if (result == 0)
        return fd;
    close(fd);
    return result;
}

int written_open(const char *path, int flags, mode_t mode)
{
    struct way way = { .folder = -1 };
    char name[PATH_MAX];
    const char *beyond;
    if (strlen(path) >= sizeof way.rest)
        return -ENAMETOOLONG;
    strcpy(way.rest, path);
    int result = start_at(&way, path);
    if (result == 0)
        do {
            result = take_name(&way, name, &beyond);
            if (result == 0)
                result = go(&way, name, beyond, flags);
        } while (result > 0);
    if (result == 0)
        result = open_last(&way, name, flags | O_CLOEXEC, mode);
    if (way.folder >= 0)
        close(way.folder);
    return result;
}

int pmclua_open_written(const char *path, int32_t appends)
{
    return written_open(path, O_WRONLY | O_CREAT | (appends ? O_APPEND : O_TRUNC), 0666);
}
