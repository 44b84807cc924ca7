/*
 * reads.c: runs a program and lists the files that it and its children looked for, found or not.
 *
 * A filter has the OS kernel ask us at each system call that names a file (seccomp's notifications); we read the name
 * and let the call go on. What a compiler, an assembler and a linker read, and where they looked first, is known in no
 * other way. Lines of the list: "r PATH" looked for, "d PATH" listed as a folder, "w PATH" made; "?": something was
 * missed.
 *
 * A question costs two thirds of what a stop by ptrace does: most of either is changing to us and back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/release.h"
#include "pmclua.h"
#include "reads.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#if defined __x86_64__
enum { MACHINE = AUDIT_ARCH_X86_64 };
#elif defined __aarch64__
enum { MACHINE = AUDIT_ARCH_AARCH64 };
#else
#error "how does seccomp call this machine, and which of its system calls name a file?"
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

static struct sock_filter load(size_t offset)
{
    return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset);
}

static struct sock_filter unless(unsigned kind, unsigned operand, unsigned char is_so, unsigned char is_not)
{
    return (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | kind | BPF_K), operand, is_so, is_not);
}

static struct sock_filter answer(unsigned what) { return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what); }

/* The low half of an argument, on machines whose low half comes first: all of ours. */
static size_t argument(int index) { return offsetof(struct seccomp_data, args) + (size_t)index * sizeof(uint64_t); }

/* What glibc's fstat is: AT_EMPTY_PATH alone, and a descriptor. Each file that is read has one, and it names nothing: a
 * name beside these, which would be missed, is nobody's way to ask for one. */
enum { FSTAT_STEPS = 7, IS_NEGATIVE = INT32_MIN };

static unsigned short put_fstat(struct sock_filter *code)
{
    unsigned short at = 0;
    code[at++] = unless(BPF_JEQ, SYS_newfstatat, 0, FSTAT_STEPS - 1);
    code[at++] = load(argument(3));
    code[at++] = unless(BPF_JEQ, AT_EMPTY_PATH, 0, 3);
    code[at++] = load(argument(0));
    code[at++] = unless(BPF_JSET, (unsigned)IS_NEGATIVE, 1, 0);
    code[at++] = answer(SECCOMP_RET_ALLOW);
    code[at++] = answer(SECCOMP_RET_USER_NOTIF);
    return at;
}

/* Calls of x32, whose numbers begin here; and what opens files by none: both are asked about, and not understood. */
enum { X32 = 0x40000000, STEPS = 7 + FSTAT_STEPS + NAMED_COUNT };

/* The descriptor where the questions come; -1: there can be none. Linux 5.5 lets a call go on that was asked about, and
 * 5.9 says when nobody is left who could ask. */
static int filter_calls(void)
{
    struct sock_filter code[STEPS];
    unsigned short at = 0;
    code[at++] = load(offsetof(struct seccomp_data, arch));
    code[at++] = unless(BPF_JEQ, MACHINE, 0, STEPS - 3);
    code[at++] = load(offsetof(struct seccomp_data, nr));
    code[at++] = unless(BPF_JGE, X32, STEPS - 5, 0);
    code[at++] = unless(BPF_JEQ, SYS_io_uring_setup, STEPS - 6, 0);
    at = (unsigned short)(at + put_fstat(code + at));
    for (int i = 0; i < NAMED_COUNT; i++)
        code[at++] = unless(BPF_JEQ, (unsigned)NAMED[i].number, (unsigned char)(NAMED_COUNT - i), 0);
    code[at++] = answer(SECCOMP_RET_ALLOW);
    code[at++] = answer(SECCOMP_RET_USER_NOTIF);
    struct sock_fprog program = { at, code };
    if (!release_is_from(5, 9) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* Ends with 1 where it could not be watched: then nothing has been executed. It shares our descriptors until it
 * executes. */
static void become(const struct launch *launch, int tell, int parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)                 /* it was killed before: nobody would answer */
        _exit(1);
    int listener = filter_calls();
    if (write(tell, &listener, sizeof listener) != sizeof listener || listener < 0)
        _exit(1);
    syscall(SYS_execve, launch->path, launch->argv, launch->envp);
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
    if (copy_text(pid, call->args[named->path], path, sizeof path) < 0) {
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
    for (int i = 0; call->arch == MACHINE && i < NAMED_COUNT; i++)
        if (call->nr == NAMED[i].number) {
            list_name(list, pid, &NAMED[i], call);
            return;
        }
    fputs("?\n", list);
}

/* ---- following ---- */

/* Linux 6.6 and later: whoever asks wakes us on its own CPU, and the other way round. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
enum { SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP = 1 };
#endif

/* Who asks waits for us, and cannot go on without: a filter stays for good. So what the OS kernel refuses is tried
 * again before the program is given up; meanwhile nothing is lost. */
enum { TRIES = 8 };

/* Like ioctl(2); 1 where who asked has ended, or was interrupted and asks again. */
static int ask_listener(int listener, unsigned long request, void *argument)
{
    int result = -1;
    for (int i = 0; i < TRIES && result < 0; i++)
        result = ioctl(listener, request, argument) == 0 ? 0 : errno == ENOENT ? 1 : -1;
    return result;
}

/* Like poll(2), which without a limit never ends with 0. */
static int wait_for(struct pollfd waits[2], int limit_ms)
{
    int ready = -1;
    for (int i = 0; i < TRIES && (ready < 0 || (ready == 0 && limit_ms < 0)); i++)
        ready = poll(waits, 2, limit_ms);
    return ready;
}

/* Takes in one question and lets the call go on: 0, or -1 where it cannot. */
static int take_question(FILE *list, int listener)
{
    struct seccomp_notif question = { 0 };
    int result = ask_listener(listener, SECCOMP_IOCTL_NOTIF_RECV, &question);
    if (result != 0)
        return result < 0 ? -1 : 0;
    list_call(list, (int)question.pid, &question.data);
    struct seccomp_notif_resp go_on = { .id = question.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
    return ask_listener(listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on) < 0 ? -1 : 0;
}

/* So long after the program has ended its children that live on are not waited for. They have lost their files then;
 * the runner ends them when it ends. */
enum { AFTER_MS = 10000 };

static int left_ms(uint64_t deadline_ns)
{
    uint64_t now = pmclua_now_ns();
    return now < deadline_ns ? (int)((deadline_ns - now) / 1000000) : 0;
}

/* Exit statuses of ours. */
enum { NOT_EXECUTED = 1, NOT_KNOWN = 125 };

static int reap(int pid)
{
    int status = 0;
    if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) < 0)
        return NOT_KNOWN;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What cannot be killed by us ends when we do. By its pidfd: it may have been reaped before. */
static void end_program(int pid, int ended)
{
    if (syscall(SYS_pidfd_send_signal, ended, SIGKILL, NULL, 0) == 0)
        reap(pid);
}

/* Follows a program to its end, and its children to theirs: its exit status, or -1. `ended`: its pidfd. */
static int follow(FILE *list, int listener, int first, int ended)
{
    struct pollfd waits[2] = { { listener, POLLIN, 0 }, { ended, POLLIN, 0 } };
    int result = -1;
    uint64_t deadline_ns = 0;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, (unsigned long)SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    for (;;) {
        if (wait_for(waits, result < 0 ? -1 : left_ms(deadline_ns)) <= 0)
            break;
        if (waits[0].revents & POLLIN) {
            if (take_question(list, listener) < 0)
                return -1;
        } else if (waits[0].revents)           /* nobody is left who could ask */
            return result < 0 ? reap(first) : result;
        else {
            result = reap(first);
            waits[1].fd = -1;
            deadline_ns = pmclua_now_ns() + AFTER_MS * 1000000ull;
        }
    }
    fputs("?\n", list);
    return result;
}

/* Starts the program: its pid, its pidfd, and the descriptor where its questions come (-1: it cannot be watched). */
static int start(const struct launch *launch, int *ended, int *listener)
{
    int tell[2];
    if (pipe2(tell, O_CLOEXEC) < 0)
        return -1;
    /* One table of descriptors, so that the child's is ours. */
    int parent = getpid();
    int pid = (int)syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD | SIGCHLD, 0L, ended, 0L, 0L);
    if (pid == 0)
        become(launch, tell[1], parent);
    struct pollfd waits[2] = { { tell[0], POLLIN, 0 }, { *ended, POLLIN, 0 } };
    int is_told = pid > 0 && wait_for(waits, -1) > 0 && (waits[0].revents & POLLIN)
                  && TEMP_FAILURE_RETRY(read(tell[0], listener, sizeof *listener)) == sizeof *listener;
    if (!is_told)
        *listener = -1;
    close(tell[0]);
    close(tell[1]);
    return pid;
}

int list_reads(const struct launch *launch)
{
    int ended = -1, listener = -1;
    /* We execute nothing, so nothing of the runner's was closed, and the limit on descriptors is the command's own,
     * which may be below those. Linux has this call from 5.9 on: before, nothing can be watched. */
    syscall(SYS_close_range, 3U, ~0U, 0U);
    FILE *list = fopen(launch->list, "we");
    int pid = list ? start(launch, &ended, &listener) : -1;
    int result = pid > 0 && listener >= 0 ? follow(list, listener, pid, ended) : -1;
    if (result < 0 && pid > 0)
        end_program(pid, ended);
    if (pid > 0 && listener < 0)             /* it waits for an answer, or has ended: nothing was executed */
        return NOT_EXECUTED;
    int is_whole = list && fflush(list) == 0 && !ferror(list) && fclose(list) == 0;
    return result < 0 || !is_whole ? NOT_KNOWN : result;
}
