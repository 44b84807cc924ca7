/*
 * reads.c: runs a program and lists the files that it and its children looked for, found or not.
 *
 * A filter has the OS kernel stop each system call that names a file; the tracer reads the name and goes on. What a
 * compiler, an assembler and a linker read, and where they looked first, is known in no other way. Lines of the list:
 * "r PATH" looked for, "d PATH" listed as a folder, "w PATH" made; "?": something was missed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reads.h"

#if defined __x86_64__
enum { MACHINE = AUDIT_ARCH_X86_64 };
#else
enum { MACHINE = AUDIT_ARCH_AARCH64 };
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

/* ---- the program ---- */

static int filter_calls(void)
{
    struct sock_filter code[5 + NAMED_COUNT];
    unsigned short at = 0;
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 0, NAMED_COUNT + 2);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < NAMED_COUNT; i++)
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)NAMED[i].number,
                                                  (unsigned char)(NAMED_COUNT - i), 0);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    struct sock_fprog program = { at, code };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0;
}

/* Ends with 1 where it could not be traced: then nothing has been executed. */
static void become(char **argv)
{
    if (syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) < 0 || raise(SIGSTOP) != 0 || filter_calls())
        _exit(1);
    syscall(SYS_execve, argv[0], argv, environ);
    _exit(127);
}

/* ---- what it names ---- */

/* A text of another process, in parts that do not cross a page: 0, or -1. */
static int copy_text(int pid, unsigned long from, char *text, size_t bytes)
{
    for (size_t have = 0; have < bytes;) {
        size_t part = 4096 - (from + have) % 4096;
        if (part > bytes - have)
            part = bytes - have;
        struct iovec here = { text + have, part }, there = { (void *)(from + have), part };
        if (syscall(SYS_process_vm_readv, pid, &here, 1L, &there, 1L, 0L) != (long)part)
            return -1;
        if (memchr(text + have, '\0', part))
            return 0;
        have += part;
    }
    return -1;
}

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

static char kind_of(const struct named *named, const struct __ptrace_syscall_info *call)
{
    if (named->flags == MAKES || named->flags == MAY_MAKE)
        return named->flags == MAKES ? 'w' : '?';
    unsigned long flags = named->flags < 0 ? 0 : call->seccomp.args[named->flags];
    return flags & (O_CREAT | O_TRUNC) ? 'w' : flags & O_DIRECTORY ? 'd' : 'r';
}

static void list_name(FILE *list, int pid, const struct named *named, const struct __ptrace_syscall_info *call)
{
    char path[PATH_MAX], folder[PATH_MAX] = "";
    char kind = kind_of(named, call);
    if (copy_text(pid, call->seccomp.args[named->path], path, sizeof path) < 0) {
        fputs("?\n", list);
        return;
    }
    if (*path == '\0')                       /* what a descriptor has */
        return;
    long descriptor = named->folder < 0 ? AT_FDCWD : (long)call->seccomp.args[named->folder];
    if (strchr(path, '\n') || (*path != '/' && copy_folder(pid, descriptor, folder, sizeof folder) < 0))
        kind = '?';
    fprintf(list, "%c %s%s%s\n", kind, folder, *folder ? "/" : "", kind == '?' ? "" : path);
}

static void list_call(FILE *list, int pid)
{
    struct __ptrace_syscall_info call;
    long got = syscall(SYS_ptrace, PTRACE_GET_SYSCALL_INFO, pid, sizeof call, &call);
    for (int i = 0; got > 0 && call.arch == MACHINE && i < NAMED_COUNT; i++)
        if (call.seccomp.nr == (unsigned long)NAMED[i].number) {
            list_name(list, pid, &NAMED[i], &call);
            return;
        }
    fputs("?\n", list);
}

/* ---- following ---- */

/* Goes on with a process that has stopped; what stopped it, unless it was us, reaches it. */
static void go_on(FILE *list, int pid, int status)
{
    int event = status >> 16, signal = WSTOPSIG(status);
    if (event == PTRACE_EVENT_SECCOMP)
        list_call(list, pid);
    if (event || signal == SIGSTOP)          /* a new process begins with a SIGSTOP */
        signal = 0;
    syscall(SYS_ptrace, PTRACE_CONT, pid, 0, signal);
}

static int follow(FILE *list, int first)
{
    int status, pid, result = 1;
    long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK
                 | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    if (waitpid(first, &status, 0) != first || !WIFSTOPPED(status)
        || syscall(SYS_ptrace, PTRACE_SETOPTIONS, first, 0, options) < 0)
        return -1;
    go_on(list, first, status);
    while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (pid > 0 && WIFSTOPPED(status))
            go_on(list, pid, status);
        else if (pid == first)
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return result;
}

int list_reads(const char *path, char **argv)
{
    FILE *list = fopen(path, "we");
    int pid = list ? fork() : -1;
    if (pid == 0)
        become(argv);
    int result = pid > 0 ? follow(list, pid) : -1;
    if (result < 0 && pid > 0)
        kill(pid, SIGKILL);
    int is_whole = list && fflush(list) == 0 && fclose(list) == 0;
    return result < 0 || !is_whole ? 125 : result;
}
