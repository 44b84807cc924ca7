/*
 * temporary.c: temporary folders, which go when this process ends, by a signal too.
 *
 * Invariant: a forked child removes none of its parent's.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmclua.h"
#include "signals.h"
#include "temporary.h"

struct temporary {
    struct temporary *next;
    pid_t owner;
    char path[];
};

static struct temporary *first;

int temporary_is_there(void) { return first != NULL; }

/* ---- removing: only what a signal handler may do ---- */

enum { DEPTH_MAX = 8, LIST_BYTES = 2048, PASSES = 16 };

static int remove_at(int folder, const char *name, int depth);

/* A process that opens a FIFO to write to it waits for a reader: for ever, where that was a pmclua that was killed. */
static void let_writers_go(int folder, const char *fifo)
{
    int reader = openat(folder, fifo, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (reader >= 0)
        close(reader);
}

/* Removes what one reading lists; how many that were. */
static int remove_listed(int folder, int depth)
{
    char list[LIST_BYTES] __attribute__((aligned(8)));
    int count = 0;
    for (long bytes; (bytes = syscall(SYS_getdents64, folder, list, sizeof list)) > 0;)
        for (long at = 0; at < bytes;) {
            const struct dirent64 *entry = (const struct dirent64 *)(list + at);
            at += entry->d_reclen;
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            if (entry->d_type == DT_FIFO)
                let_writers_go(folder, entry->d_name);
            remove_at(folder, entry->d_name, depth + 1);
            count++;
        }
    return count;
}

/* A file, or a folder with all in it; nothing behind links. Removing may keep a listing from being whole. Whether it is
 * gone. */
static int remove_at(int folder, const char *name, int depth)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return 1;
    if (depth > DEPTH_MAX)
        return 0;
    int own = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (int pass = 0; own >= 0 && pass < PASSES && remove_listed(own, depth) > 0; pass++)
        lseek(own, 0, SEEK_SET);
    if (own >= 0)
        close(own);
    return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

void temporary_remove_all(void)
{
    int errnum = errno;
    for (const struct temporary *one = first; one; one = one->next)
        if (one->owner == getpid())
            remove_at(AT_FDCWD, one->path, 0);
    errno = errnum;
}

/* Removal that fails now is retried when this process ends. */
void pmclua_remove_folder(const char *path)
{
    int is_gone = remove_at(AT_FDCWD, path, 0);
    for (struct temporary **place = &first; is_gone && *place; place = &(*place)->next)
        if (strcmp((*place)->path, path) == 0) {
            struct temporary *gone = *place;
            *place = gone->next;
            free(gone);
            break;
        }
    signals_settle();
}

/* ---- making ---- */

enum { LEAST_ROOM = 1 << 20 };         /* bytes: with less, hardly a file of ours fits */

int pmclua_check_place(const char *folder, int32_t for_code)
{
    struct statvfs facts;
    if (statvfs(folder, &facts) < 0)       /* then the first file will tell */
        return 0;
    if (facts.f_flag & ST_RDONLY)
        return -EROFS;
    if (for_code && (facts.f_flag & ST_NOEXEC))
        return -EACCES;
    uint64_t blocks = geteuid() == 0 ? facts.f_bfree : facts.f_bavail;
    return facts.f_blocks > 0 && blocks * facts.f_frsize < LEAST_ROOM ? -ENOSPC : 0;
}

static int make_checked(char *template_path, int for_code)
{
    if (!mkdtemp(template_path))
        return -errno;
    int result = pmclua_check_place(template_path, for_code);
    if (result < 0)
        unlinkat(AT_FDCWD, template_path, AT_REMOVEDIR);
    return result;
}

int pmclua_make_folder(char *template_path, int32_t for_code)
{
    static int is_promised;
    struct temporary *made = malloc(sizeof *made + strlen(template_path) + 1);
    int result = made ? make_checked(template_path, for_code) : -ENOMEM;
    if (result < 0) {
        free(made);
        return result;
    }
    strcpy(made->path, template_path);
    made->owner = getpid();
    made->next = first;
    first = made;
    if (!is_promised)
        is_promised = atexit(temporary_remove_all) == 0;
    signals_settle();
    return 0;
}
