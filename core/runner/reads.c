/*
 * reads.c: runs a program and lists the files that it and its children looked for, found or not.
 *
 * A filter has the OS kernel ask us at each system call that names a file (seccomp's notifications); we read the name
 * and let the call go on. What a compiler, an assembler and a linker read, and where they looked first, is known in no
 * other way. Lines of the list: "r PATH" looked for, "d PATH" listed as a folder, "w PATH" made; "?": something was
 * missed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "questions.h"
#include "reads.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Which argument is the folder (-1: the working directory), the path, the flags of opening (-1: it opens nothing). */
static const struct named { int number, folder, path, flags; } NAMED[] = {
#ifdef SYS_open
    { SYS_open, -1, 0, 1 }, { SYS_creat, -1, 0, -2 }, { SYS_stat, -1, 0, -1 }, { SYS_lstat, -1, 0, -1 },
    { SYS_access, -1, 0, -1 }, { SYS_readlink, -1, 0, -1 }, { SYS_rename, -1, 1, -2 },
#endif
    { SYS_openat, 0, 1, 2 }, { SYS_openat2, 0, 1, -3 }, { SYS_newfstatat, 0, 1, -1 }, { SYS_statx, 0, 1, -1 },
    { SYS_faccessat, 0, 1, -1 }, { SYS_faccessat2, 0, 1, -1 }, { SYS_readlinkat, 0, 1, -1 },
    { SYS_execve, -1, 0, -1 }, { SYS_execveat, 0, 1, -1 }, { SYS_renameat2, 2, 3, -2 },
};
enum { NAMED_COUNT = sizeof NAMED / sizeof *NAMED, MAKES = -2, MAY_MAKE = -3 };

/* ---- which calls are asked about ---- */

/* What glibc's fstat is: AT_EMPTY_PATH alone, and a descriptor. Each file that is read has one, and it names nothing: a
 * name beside these, which would be missed, is nobody's way to ask for one. */
enum { FSTAT_STEPS = 7, IS_NEGATIVE = INT32_MIN };

static unsigned short put_fstat(struct sock_filter *code)
{
    unsigned short at = 0;
    code[at++] = filter_jump(BPF_JEQ, SYS_newfstatat, 0, FSTAT_STEPS - 1);
    code[at++] = filter_load(filter_argument(3));
    code[at++] = filter_jump(BPF_JEQ, AT_EMPTY_PATH, 0, 3);
    code[at++] = filter_load(filter_argument(0));
    code[at++] = filter_jump(BPF_JSET, (unsigned)IS_NEGATIVE, 1, 0);
    code[at++] = filter_answer(SECCOMP_RET_ALLOW);
    code[at++] = filter_answer(SECCOMP_RET_USER_NOTIF);
    return at;
}

/* Calls of x32, whose numbers begin here; and what opens files by none: both are asked about, and not understood. */
enum { X32 = 0x40000000, STEPS = 7 + FSTAT_STEPS + NAMED_COUNT };

static struct sock_fprog put_filter(struct sock_filter code[STEPS])
{
    unsigned short at = 0;
    code[at++] = filter_load(offsetof(struct seccomp_data, arch));
    code[at++] = filter_jump(BPF_JEQ, QUESTIONS_MACHINE, 0, STEPS - 3);
    code[at++] = filter_load(offsetof(struct seccomp_data, nr));
    code[at++] = filter_jump(BPF_JGE, X32, STEPS - 5, 0);
    code[at++] = filter_jump(BPF_JEQ, SYS_io_uring_setup, STEPS - 6, 0);
    at = (unsigned short)(at + put_fstat(code + at));
    for (int i = 0; i < NAMED_COUNT; i++)
        code[at++] = filter_jump(BPF_JEQ, (unsigned)NAMED[i].number, (unsigned char)(NAMED_COUNT - i), 0);
    code[at++] = filter_answer(SECCOMP_RET_ALLOW);
    code[at++] = filter_answer(SECCOMP_RET_USER_NOTIF);
    return (struct sock_fprog){ at, code };
}

/* ---- what it names ---- */

/* The path of the folder that a relative name begins at. */
static int copy_folder(int pid, long descriptor, char *path, size_t bytes)
{
    char link[64];
    if ((int)descriptor == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/%d/cwd", pid);
    else
        snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, (int)descriptor);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, bytes - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0 ? 0 : -1;
}

static char kind_of(const struct named *named, const struct seccomp_data *call)
{
    if (named->flags == MAKES || named->flags == MAY_MAKE)
        return named->flags == MAKES ? 'w' : '?';
    unsigned long flags = named->flags < 0 ? 0 : call->args[named->flags];
    return flags & (O_CREAT | O_TRUNC) ? 'w' : flags & O_DIRECTORY ? 'd' : 'r';
}

static void list_name(FILE *list, int pid, const struct named *named, const struct seccomp_data *call)
{
    char path[PATH_MAX], folder[PATH_MAX] = "";
    char kind = kind_of(named, call);
    if (questions_text(pid, call->args[named->path], path, sizeof path) < 0) {
        fputs("?\n", list);
        return;
    }
    if (*path == '\0')                       /* what a descriptor has */
        return;
    long descriptor = named->folder < 0 ? AT_FDCWD : (long)call->args[named->folder];
    if ((*path != '/' && copy_folder(pid, descriptor, folder, sizeof folder) < 0) || strchr(path, '\n')
        || strchr(folder, '\n'))
        kind = '?';
    if (kind == '?')
        fputs("?\n", list);
    else
        fprintf(list, "%c %s%s%s\n", kind, folder, *folder ? "/" : "", path);
}

static void list_call(FILE *list, int pid, const struct seccomp_data *call)
{
    for (int i = 0; call->arch == QUESTIONS_MACHINE && i < NAMED_COUNT; i++)
        if (call->nr == NAMED[i].number) {
            list_name(list, pid, &NAMED[i], call);
            return;
        }
    fputs("?\n", list);
}

/* ---- the list ---- */

struct list {
    struct questions questions;
    FILE *file;
};

static void take(struct questions *questions, const struct seccomp_notif *question, struct seccomp_notif_resp *answer)
{
    (void)answer;
    list_call(((struct list *)questions)->file, (int)question->pid, &question->data);
}

/* Exit statuses of ours; and so long after the program has ended its children that live on are not waited for. They
 * have lost their files then; the runner ends them when it ends. */
enum { NOT_EXECUTED = 1, NOT_KNOWN = 125, AFTER_MS = 10000 };

int list_reads(const struct launch *launch)
{
    /* We execute nothing, so nothing of the runner's was closed, and the limit on descriptors is the command's own,
     * which may be below those. Linux has this call from 5.9 on: before, nothing can be watched. */
    syscall(SYS_close_range, 3U, ~0U, 0U);
    struct sock_filter code[STEPS];
    struct list list = { .questions = { .path = launch->path, .argv = launch->argv, .envp = launch->envp,
                                        .filter = put_filter(code), .take = take, .after_ms = AFTER_MS },
                         .file = fopen(launch->list, "we") };
    if (!list.file)
        return NOT_KNOWN;
    enum questions_end end = questions_ask(&list.questions);
    if (end == QUESTIONS_NOT_EXECUTED)
        return NOT_EXECUTED;
    if (list.questions.is_cut_off)
        fputs("?\n", list.file);
    int status = list.questions.status;
    int is_whole = fflush(list.file) == 0 && !ferror(list.file) && fclose(list.file) == 0;
    if (end == QUESTIONS_LOST || !is_whole)
        return NOT_KNOWN;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
