/*
 * shim.c: makes one call of one program fail (LD_PRELOAD), and counts the calls of all.
 *
 * PMCLUA_FAULTS_PLAN names a file that is mapped: struct plan. The `occurrence`-th call of `call` in the program
 * `program` (counted from 1, over its lifetime) meets `action`; all others go through. Where `occurrence` is
 * 0 calls are only counted. Programs of other names are left alone.
 *
 * What libc is not asked for is met all the same: readings of counters, which are raw system calls, in the table
 * `pmclua_system`; what a held child does, which may run no code of libc, by a filter that it is given (seccomp).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pmclua.h"

#define CALLS(X) X(perf_event_open) X(perf_read) X(pidfd_open) X(ioctl) X(read) X(pread) X(write) X(open) X(close) \
    X(lseek) X(ftruncate) X(flock) X(fstat) X(stat) X(lstat) X(access) X(rename) X(remove) X(mkdir) \
    X(mkostemp) X(mkdtemp) X(openat) X(unlinkat) X(statvfs) X(mkfifo) \
    X(realpath) X(opendir) X(readdir) X(fopen) X(freopen) X(fread) X(fgets) X(fwrite) \
    X(fflush) X(fseeko) X(fclose) X(dlopen) \
    X(mmap) X(munmap) X(mprotect) X(madvise) X(malloc) X(calloc) X(realloc) \
    X(pipe2) X(fcntl) X(eventfd) X(socketpair) X(send) X(recv) X(shutdown) X(poll) X(ppoll) \
    X(epoll_create1) X(epoll_ctl) X(epoll_wait) \
    X(posix_spawn) X(clone) X(waitid) X(wait4) X(waitpid) X(kill) X(pthread_create) \
    X(child_execve) X(child_dup3) X(child_setpgid) X(child_chdir) X(child_sched_setaffinity) X(child_personality) \
    X(sched_setaffinity) X(sched_getaffinity) X(personality) X(getrlimit) X(setrlimit) X(setitimer) X(prctl) \
    X(sigaction) X(getrusage)

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
    uint32_t counts[96];                   /* calls so far, of the program */
};

static struct plan *plan;
static __thread int inside;                /* our own calls, and those of libc from within one, are not met */

static void meet_readings(void);

__attribute__((constructor)) static void take_plan(void)
{
    const char *path = getenv("PMCLUA_FAULTS_PLAN");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    long memory = syscall(SYS_mmap, NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    struct plan *mapped = memory == -1 ? NULL : (struct plan *)memory;
    if (mapped && strcmp(mapped->program, program_invocation_short_name) == 0)
        plan = mapped;
    if (plan)
        meet_readings();
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
#define FAILS(result, name, parameters, arguments) FAILS_AS(name, result, name, parameters, arguments)
/* The same under another name that libc has for it. */
#define FAILS_AS(call, result, name, parameters, arguments)                   \
    result name parameters                                                    \
    {                                                                         \
        int met = meet(CALL_##call);                                          \
        return met > 0 ? (result)-1 : met < 0 ? 0 : REAL(name) arguments;     \
    }
/* One that returns an errno. */
#define TELLS(name, parameters, arguments)                                    \
    int name parameters                                                       \
    {                                                                         \
        int met = meet(CALL_##name);                                          \
        return met > 0 ? met : REAL(name) arguments;                          \
    }
/* One that returns a pointer. */
#define POINTS(result, name, parameters, arguments, failed) POINTS_AS(name, result, name, parameters, arguments, failed)
#define POINTS_AS(call, result, name, parameters, arguments, failed)          \
    result name parameters                                                    \
    {                                                                         \
        return meet(CALL_##call) ? failed : REAL(name) arguments;             \
    }
/* One that moves bytes: all of them, half of them, none, or an error. */
#define MOVES(name, parameters, arguments, bytes)                             \
    ssize_t name parameters                                                   \
    {                                                                         \
        int met = meet(CALL_##name);                                          \
        if (met > 0 || met == ZERO)                                           \
            return met > 0 ? -1 : 0;                                          \
        if (met == SHORT)                                                     \
            bytes = (bytes + 1) / 2;                                          \
        return REAL(name) arguments;                                          \
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
FAILS(int, epoll_create1, (int flags), (flags))
FAILS(int, epoll_ctl, (int fd, int operation, int other, struct epoll_event *event), (fd, operation, other, event))
FAILS(int, epoll_wait, (int fd, struct epoll_event *events, int most, int limit), (fd, events, most, limit))
FAILS(off_t, lseek, (int fd, off_t place, int whence), (fd, place, whence))
FAILS(int, ftruncate, (int fd, off_t bytes), (fd, bytes))
FAILS(int, flock, (int fd, int how), (fd, how))
FAILS(int, fstat, (int fd, struct stat *facts), (fd, facts))
FAILS(int, rename, (const char *from, const char *to), (from, to))
FAILS(int, mkdir, (const char *path, mode_t mode), (path, mode))
FAILS(int, mkfifo, (const char *path, mode_t mode), (path, mode))
FAILS(int, unlinkat, (int folder, const char *name, int flags), (folder, name, flags))
FAILS(int, statvfs, (const char *path, struct statvfs *facts), (path, facts))
FAILS(int, mkostemp, (char *path, int flags), (path, flags))
FAILS(int, sched_setaffinity, (pid_t pid, size_t bytes, const cpu_set_t *cpus), (pid, bytes, cpus))
FAILS(int, setitimer, (__itimer_which_t which, const struct itimerval *now, struct itimerval *old), (which, now, old))
FAILS(int, eventfd, (unsigned count, int flags), (count, flags))
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

FAILS(int, stat, (const char *path, struct stat *facts), (path, facts))
FAILS_AS(stat, int, stat64, (const char *path, struct stat64 *facts), (path, facts))
FAILS_AS(lstat, int, lstat64, (const char *path, struct stat64 *facts), (path, facts))
FAILS(int, access, (const char *path, int how), (path, how))
FAILS(int, remove, (const char *path), (path))
FAILS(int, munmap, (void *at, size_t bytes), (at, bytes))
FAILS(int, mprotect, (void *at, size_t bytes, int rights), (at, bytes, rights))
FAILS(int, madvise, (void *at, size_t bytes, int advice), (at, bytes, advice))
FAILS(int, shutdown, (int fd, int how), (fd, how))
FAILS(int, kill, (pid_t pid, int number), (pid, number))
FAILS(int, sched_getaffinity, (pid_t pid, size_t bytes, cpu_set_t *cpus), (pid, bytes, cpus))
FAILS(int, personality, (unsigned long persona), (persona))
FAILS(int, getrlimit, (__rlimit_resource_t resource, struct rlimit *limit), (resource, limit))
FAILS(int, setrlimit, (__rlimit_resource_t resource, const struct rlimit *limit), (resource, limit))
FAILS_AS(fseeko, int, fseeko64, (FILE *file, off64_t place, int whence), (file, place, whence))

POINTS(void *, mmap, (void *at, size_t bytes, int rights, int flags, int fd, off_t place),
       (at, bytes, rights, flags, fd, place), MAP_FAILED)
POINTS(DIR *, opendir, (const char *path), (path), NULL)
POINTS(struct dirent *, readdir, (DIR *folder), (folder), NULL)
POINTS_AS(readdir, struct dirent64 *, readdir64, (DIR *folder), (folder), NULL)
POINTS(char *, mkdtemp, (char *path), (path), NULL)
POINTS(char *, realpath, (const char *path, char *to), (path, to), NULL)
POINTS(void *, dlopen, (const char *path, int flags), (path, flags), NULL)
POINTS(FILE *, fopen, (const char *path, const char *how), (path, how), NULL)
POINTS_AS(fopen, FILE *, fopen64, (const char *path, const char *how), (path, how), NULL)
POINTS(FILE *, freopen, (const char *path, const char *how, FILE *file), (path, how, file), NULL)

/* ---- streams: what is asked for later sees that it failed, as ferror(3) has it ---- */

static void mark_stream(FILE *file) { file->_flags |= _IO_ERR_SEEN; }

size_t fread(void *to, size_t size, size_t count, FILE *file)
{
    int met = meet(CALL_fread);
    if (met)
        mark_stream(file);
    return met ? 0 : REAL(fread)(to, size, count, file);
}

size_t fwrite(const void *from, size_t size, size_t count, FILE *file)
{
    int met = meet(CALL_fwrite);
    size_t put = met > 0 || met == ZERO ? 0 : REAL(fwrite)(from, size, met == SHORT ? count / 2 : count, file);
    if (met)
        mark_stream(file);
    return put;
}

char *fgets(char *to, int bytes, FILE *file)
{
    int met = meet(CALL_fgets);
    if (met)
        mark_stream(file);
    return met ? NULL : REAL(fgets)(to, bytes, file);
}

/* ---- those with a varying number of arguments ---- */

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return meet(CALL_open) ? -1 : REAL(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return meet(CALL_openat) ? -1 : REAL(openat)(folder, path, flags, mode);
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

/* ---- a held child ---- */

/* On the child's own stack, above what it uses. */
struct child {
    int (*fn)(void *);
    void *argument;
    unsigned number;                       /* of the system call that fails in it; */
    int errnum;                            /* 0: none does */
};

static int begin_child(void *place)
{
    struct child *child = place;
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, child->number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)child->errnum),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof steps / sizeof *steps, steps };
    if (child->errnum) {
        syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    }
    return child->fn(child->argument);
}

/* Which of the calls of a child that is begun now fails, if any. */
static void meet_in_child(struct child *child)
{
    static const struct { enum call call; unsigned number; } calls[] = {
        { CALL_child_execve, SYS_execve }, { CALL_child_dup3, SYS_dup3 }, { CALL_child_setpgid, SYS_setpgid },
        { CALL_child_chdir, SYS_chdir }, { CALL_child_sched_setaffinity, SYS_sched_setaffinity },
        { CALL_child_personality, SYS_personality },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int met = meet(calls[i].call);
        if (met > 0) {
            child->number = calls[i].number;
            child->errnum = met;
        }
    }
}

int clone(int (*fn)(void *), void *stack, int flags, void *argument, ...)
{
    if (meet(CALL_clone))
        return -1;
    struct child *child = (struct child *)(((uintptr_t)stack - sizeof *child) & ~(uintptr_t)15);
    *child = (struct child){ fn, argument, 0, 0 };
    meet_in_child(child);
    return ((int (*)(int (*)(void *), void *, int, void *, ...))real("clone"))(begin_child, child, flags, child);
}

/* ---- readings of counters ---- */

static long (*real_reading)(int32_t fd, void *buffer, size_t bytes);

static long reading(int32_t fd, void *buffer, size_t bytes)
{
    int met = meet(CALL_perf_read);
    return met > 0 ? -met : met < 0 ? 0 : real_reading(fd, buffer, bytes);
}

static void meet_readings(void)
{
    struct pmclua_system *table = dlsym(RTLD_DEFAULT, "pmclua_system");
    if (!table)
        return;
    real_reading = table->read;
    table->read = reading;
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
            : number == SYS_pidfd_open ? meet(CALL_pidfd_open)
            : number == SYS_pidfd_send_signal ? meet(CALL_kill) : 0;
    static long (*real_syscall)(long, ...);
    if (!real_syscall)
        real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return met ? -1 : real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Allocation: dlsym may allocate, so glibc's own names are used. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

static int is_of(const char *library, const void *caller)
{
    Dl_info place;
    return dladdr(caller, &place) && place.dli_fname && strstr(place.dli_fname, library);
}

/* libgcc, which LuaJIT tells of the code that it compiles, writes to what malloc gives it unseen; so does Capstone,
 * with its tables, to what calloc gives. */
void *malloc(size_t bytes)
{
    return meet(CALL_malloc) && !is_of("libgcc_s", __builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
    return meet(CALL_calloc) && !is_of("libcapstone", __builtin_return_address(0)) ? NULL
                                                                                   : __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes) { return meet(CALL_realloc) ? NULL : __libc_realloc(memory, bytes); }
