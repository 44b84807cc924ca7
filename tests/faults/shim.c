/*
 * shim.c: makes one call of one program fail (LD_PRELOAD), and counts the calls of all.
 *
 * FAULTS_PLAN names a file that is mapped: struct plan. The `occurrence`-th call of `call` in the program
 * `program` (counted from 1, over its lifetime) meets `action`; all others go through. Where `occurrence` is
 * 0 calls are only counted. Programs of other names are left alone.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS(X) X(perf_event_open) X(pidfd_open) X(ioctl) X(read) X(pread) X(write) X(open) X(fopen) X(fread) \
    X(fwrite) X(fclose) X(fflush) X(close) X(pipe2) X(mmap) X(clone) X(socketpair) X(posix_spawn) X(waitid) X(wait4) \
    X(waitpid) X(send) X(recv) X(ppoll) X(poll) X(lseek) X(ftruncate) X(flock) X(fstat) X(rename) X(mkdir) \
    X(mkostemp) X(dlopen) X(malloc) X(calloc) X(realloc) X(pthread_create) X(sched_setaffinity) X(fcntl) X(dup) \
    X(setitimer) X(prctl) X(eventfd) X(fork) X(dup2) X(lstat) X(opendir) X(sigaction) X(getrusage)

enum call {
#define X(name) CALL_##name,
    CALLS(X)
#undef X
    CALL_COUNT
};

/* Beside errnos, which are positive. */
enum action { ZERO = -1, SHORT = -2, LATE = -3 };

struct plan {
    char program[32];
    uint32_t call, occurrence;
    int32_t action;
    uint32_t met;                          /* how often the fault was met */
    uint32_t counts[64];                   /* calls so far, of the program */
};

static struct plan *plan;
static __thread int inside;                /* our own calls, and those of libc from within one, are not met */

const char *faults_calls(int index)
{
    static const char *const names[] = {
#define X(name) #name,
        CALLS(X)
#undef X
    };
    return index < CALL_COUNT ? names[index] : NULL;
}

__attribute__((constructor)) static void take_plan(void)
{
    const char *path = getenv("FAULTS_PLAN");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    long memory = syscall(SYS_mmap, NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    struct plan *mapped = memory == -1 ? NULL : (struct plan *)memory;
    if (mapped && strcmp(mapped->program, program_invocation_short_name) == 0)
        plan = mapped;
}

/* What this call meets: 0: nothing. */
static int meet(enum call call)
{
    if (!plan || inside)
        return 0;
    uint32_t count = __atomic_add_fetch(&plan->counts[call], 1, __ATOMIC_RELAXED);
    if (call != plan->call || count != plan->occurrence)
        return 0;
    __atomic_add_fetch(&plan->met, 1, __ATOMIC_RELAXED);
    if (plan->action == LATE)
        syscall(SYS_nanosleep, &(struct timespec){ 0, 30000000 }, NULL);
    else if (plan->action > 0)
        errno = plan->action;
    return plan->action == LATE ? 0 : plan->action;
}

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name)
{
    inside++;
    void *function = dlsym(RTLD_NEXT, name);
    inside--;
    return function;
}

/* A call that returns -1 and errno, or 0 where it is cut. */
#define FAILS(result, name, parameters, arguments)                   \
    result name parameters                                           \
    {                                                                \
        int met = meet(CALL_##name);                                 \
        return met > 0 ? (result)-1 : met < 0 ? 0 : REAL(name) arguments; \
    }
/* One that returns an errno. */
#define TELLS(name, parameters, arguments)                           \
    int name parameters                                              \
    {                                                                \
        int met = meet(CALL_##name);                                 \
        return met > 0 ? met : REAL(name) arguments;                 \
    }
/* One that returns a pointer. */
#define POINTS(result, name, parameters, arguments, failed)          \
    result name parameters                                           \
    {                                                                \
        return meet(CALL_##name) ? failed : REAL(name) arguments;    \
    }
/* One that moves bytes: all of them, half of them, none, or an error. */
#define MOVES(name, parameters, arguments, bytes)                    \
    ssize_t name parameters                                          \
    {                                                                \
        int met = meet(CALL_##name);                                 \
        if (met > 0 || met == ZERO)                                  \
            return met > 0 ? -1 : 0;                                 \
        if (met == SHORT)                                            \
            bytes = (bytes + 1) / 2;                                 \
        return REAL(name) arguments;                                 \
    }

MOVES(read, (int fd, void *to, size_t bytes), (fd, to, bytes), bytes)
MOVES(pread, (int fd, void *to, size_t bytes, off_t place), (fd, to, bytes, place), bytes)
MOVES(write, (int fd, const void *from, size_t bytes), (fd, from, bytes), bytes)
MOVES(send, (int fd, const void *from, size_t bytes, int flags), (fd, from, bytes, flags), bytes)
MOVES(recv, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags), bytes)

FAILS(int, close, (int fd), (fd))
FAILS(int, pipe2, (int ends[2], int flags), (ends, flags))
FAILS(int, socketpair, (int a, int b, int c, int ends[2]), (a, b, c, ends))
FAILS(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options), (type, id, info, options))
FAILS(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage))
FAILS(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
FAILS(int, ppoll, (struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask),
      (fds, count, limit, mask))
FAILS(int, poll, (struct pollfd *fds, nfds_t count, int limit), (fds, count, limit))
FAILS(off_t, lseek, (int fd, off_t place, int whence), (fd, place, whence))
FAILS(int, ftruncate, (int fd, off_t bytes), (fd, bytes))
FAILS(int, flock, (int fd, int how), (fd, how))
FAILS(int, fstat, (int fd, struct stat *facts), (fd, facts))
FAILS(int, rename, (const char *from, const char *to), (from, to))
FAILS(int, mkdir, (const char *path, mode_t mode), (path, mode))
FAILS(int, mkostemp, (char *path, int flags), (path, flags))
FAILS(int, sched_setaffinity, (pid_t pid, size_t bytes, const cpu_set_t *cpus), (pid, bytes, cpus))
FAILS(int, dup, (int fd), (fd))
FAILS(int, setitimer, (__itimer_which_t which, const struct itimerval *now, struct itimerval *old), (which, now, old))
FAILS(int, eventfd, (unsigned count, int flags), (count, flags))
FAILS(pid_t, fork, (void), ())
FAILS(int, dup2, (int from, int to), (from, to))
FAILS(int, lstat, (const char *path, struct stat *facts), (path, facts))
FAILS(int, sigaction, (int number, const struct sigaction *now, struct sigaction *old), (number, now, old))
FAILS(int, getrusage, (__rusage_who_t who, struct rusage *usage), (who, usage))
FAILS(int, fclose, (FILE *file), (file))
FAILS(int, fflush, (FILE *file), (file))

TELLS(posix_spawn, (pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                    const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]),
      (pid, path, actions, attributes, argv, envp))
TELLS(pthread_create, (pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument),
      (thread, attributes, run, argument))

POINTS(void *, mmap, (void *at, size_t bytes, int rights, int flags, int fd, off_t place),
       (at, bytes, rights, flags, fd, place), MAP_FAILED)
POINTS(DIR *, opendir, (const char *path), (path), NULL)
POINTS(void *, dlopen, (const char *path, int flags), (path, flags), NULL)

/* Opened by C and by Lua. */
static FILE *open_stream(const char *name, const char *path, const char *how)
{
    if (meet(CALL_fopen))
        return NULL;
    return ((FILE *(*)(const char *, const char *))real(name))(path, how);
}
FILE *fopen(const char *path, const char *how) { return open_stream("fopen", path, how); }
FILE *fopen64(const char *path, const char *how) { return open_stream("fopen64", path, how); }

size_t fread(void *to, size_t size, size_t count, FILE *file)
{
    int met = meet(CALL_fread);
    if (met > 0 || met == ZERO)
        return 0;
    return REAL(fread)(to, size, met == SHORT ? count / 2 : count, file);
}

size_t fwrite(const void *from, size_t size, size_t count, FILE *file)
{
    int met = meet(CALL_fwrite);
    if (met > 0 || met == ZERO)
        return 0;
    return REAL(fwrite)(from, size, met == SHORT ? count / 2 : count, file);
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return meet(CALL_open) ? -1 : REAL(open)(path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    unsigned long argument = va_arg(rest, unsigned long);
    va_end(rest);
    return meet(CALL_ioctl) ? -1 : REAL(ioctl)(fd, request, argument);
}

int fcntl(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    unsigned long argument = va_arg(rest, unsigned long);
    va_end(rest);
    return meet(CALL_fcntl) ? -1 : REAL(fcntl)(fd, command, argument);
}

int prctl(int option, ...)
{
    va_list rest;
    va_start(rest, option);
    unsigned long a = va_arg(rest, unsigned long);
    va_end(rest);
    return meet(CALL_prctl) ? -1 : ((int (*)(int, ...))real("prctl"))(option, a, 0, 0, 0);
}

int clone(int (*fn)(void *), void *stack, int flags, void *argument, ...)
{
    return meet(CALL_clone) ? -1 : ((int (*)(int (*)(void *), void *, int, void *, ...))real("clone"))(
        fn, stack, flags, argument);
}

long syscall(long number, ...)
{
    va_list rest;
    long a[6];
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    int met = number == SYS_perf_event_open ? meet(CALL_perf_event_open)
            : number == SYS_pidfd_open ? meet(CALL_pidfd_open) : 0;
    static long (*real_syscall)(long, ...);
    if (!real_syscall)
        real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return met ? -1 : real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Allocation: dlsym may allocate, so glibc's own names are used. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *malloc(size_t bytes) { return meet(CALL_malloc) ? NULL : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return meet(CALL_calloc) ? NULL : __libc_calloc(count, bytes); }
void *realloc(void *memory, size_t bytes) { return meet(CALL_realloc) ? NULL : __libc_realloc(memory, bytes); }
