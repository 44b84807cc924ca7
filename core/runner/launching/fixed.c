/*
 * fixed.c: what a program draws from, the same in every run: getrandom(2), /dev/urandom, AT_RANDOM, the time of day.
 *
 * The OS kernel asks us at the system calls that give these (seccomp's notifications), and we answer in its place. So
 * it does not matter how the program is linked, and whether it asks by a library or by itself. All that is drawn in a
 * run is one sequence: no two draws are alike, as programs expect that look for a name that is free. Time begins on a
 * day of its own and goes on by a millisecond with each look: who waits for it to pass does not wait for ever.
 *
 * Not fixed: clocks since boot and of CPU time, with which programs wait; process ids; RDRAND and RDTSC, which are no
 * system calls; programs of another word size. AT_RANDOM is written where a new program opens its first file: under
 * Valgrind that is before the simulated program gets its copy.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/auxvec.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fixed.h"
#include "questions.h"
#include "stand_in.h"

/* ---- which calls are asked about ---- */

static const unsigned ASKED[] = {
    SYS_getrandom, SYS_gettimeofday, SYS_openat, SYS_openat2,
#ifdef SYS_open
    SYS_open, SYS_time,
#endif
};
/* The clocks of the time of day. */
static const unsigned CLOCKS[] = { CLOCK_REALTIME, CLOCK_REALTIME_COARSE, CLOCK_TAI };
enum { ASKED_COUNT = sizeof ASKED / sizeof *ASKED, CLOCKS_COUNT = sizeof CLOCKS / sizeof *CLOCKS,
       STEPS = 7 + ASKED_COUNT + CLOCKS_COUNT };

static struct sock_fprog put_filter(struct sock_filter code[STEPS])
{
    unsigned short at = 0, last = STEPS - 1;               /* which asks; the one before it lets the call go on */
    code[at++] = filter_load(offsetof(struct seccomp_data, arch));
    code[at++] = filter_jump(BPF_JEQ, QUESTIONS_MACHINE, 0, STEPS - 4);
    code[at++] = filter_load(offsetof(struct seccomp_data, nr));
    for (int i = 0; i < ASKED_COUNT; i++, at++)
        code[at] = filter_jump(BPF_JEQ, ASKED[i], (unsigned char)(last - at - 1), 0);
    code[at] = filter_jump(BPF_JEQ, SYS_clock_gettime, 0, (unsigned char)(last - at - 2));
    code[++at] = filter_load(filter_argument(0));
    for (int i = 0; i < CLOCKS_COUNT; i++) {
        at++;
        code[at] = filter_jump(BPF_JEQ, CLOCKS[i], (unsigned char)(last - at - 1), 0);
    }
    code[++at] = filter_answer(SECCOMP_RET_ALLOW);
    code[++at] = filter_answer(SECCOMP_RET_USER_NOTIF);
    return (struct sock_fprog){ STEPS, code };
}

/* ---- what is drawn ---- */

enum { DEVICE_BYTES = 4 << 20, DEVICE_STARTS = 512, DEVICE_STEP = 4096, KEPT = 64 };

enum source { GETRANDOM, URANDOM, RANDOM, TIME, GETTIMEOFDAY, CLOCK_GETTIME, SOURCES };
static const char *const NAMES[SOURCES] = { "getrandom", "/dev/urandom", "/dev/random", "time", "gettimeofday",
                                            "clock_gettime" };

struct fixed {
    struct questions questions;
    FILE *list;
    int is_first;                    /* no question has come yet */
    char *launcher;                  /* Valgrind's, which draws for itself; NULL: not known */
    int is_listed[SOURCES];
    struct { uint64_t bytes, looks, devices; } drawn;
    int device;                      /* a file with the devices' bytes; -1: not yet made */
    unsigned opened;
    int kept[KEPT];                  /* how far the first of these were read shows here, too */
};

/* splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014), its i-th number. */
static uint64_t number(uint64_t seed, uint64_t i)
{
    uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

enum { CALL_SEED = 1, DEVICE_SEED, AUXILIARY_SEED };

static void fill(uint8_t *bytes, size_t count, uint64_t seed, uint64_t from)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(number(seed, (from + i) / 8) >> (from + i) % 8 * 8);
}

/* ---- the other process ---- */

static long copy(int pid, int writes, uint64_t there, void *here, size_t bytes)
{
    struct iovec ours = { here, bytes }, theirs = { (void *)there, bytes };
    return syscall(writes ? SYS_process_vm_writev : SYS_process_vm_readv, pid, &ours, 1L, &theirs, 1L, 0L)
                   == (long)bytes ? 0 : -errno;
}

static int is_launcher(const struct fixed *fixed, int pid)
{
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    ssize_t length = fixed->launcher ? readlink(link, path, sizeof path - 1) : -1;
    path[length > 0 ? length : 0] = '\0';
    return length > 0 && strcmp(path, fixed->launcher) == 0;
}

static void add_line(const struct fixed *fixed, const char *mark, const char *name)
{
    fprintf(fixed->list, "%s%s\n", mark, name);
    fflush(fixed->list);
}

/* Lists a source when it is first asked for. */
static void note(struct fixed *fixed, enum source source, int pid)
{
    if (fixed->is_listed[source] || is_launcher(fixed, pid))
        return;
    fixed->is_listed[source] = 1;
    add_line(fixed, "", NAMES[source]);
}

/* Lists a call that is left to Linux, unless the program gave it a wrong address. */
static void give_up(const struct fixed *fixed, enum source source, int result)
{
    if (result != -EFAULT)
        add_line(fixed, "! ", NAMES[source]);
}

static void give(struct seccomp_notif_resp *answer, int64_t value)
{
    answer->flags = 0;
    answer->val = value;
}

/* The 16 bytes that a new program has from the OS kernel (AT_RANDOM). */
static void fix_auxiliary(int pid)
{
    char path[32];
    uint64_t entries[128];
    uint8_t now[16], wanted[16];
    snprintf(path, sizeof path, "/proc/%d/auxv", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd >= 0 ? read(fd, entries, sizeof entries) : 0;
    close(fd);
    fill(wanted, sizeof wanted, AUXILIARY_SEED, 0);
    for (ssize_t i = 0; i + 1 < bytes / 8; i += 2)
        if (entries[i] == AT_RANDOM && copy(pid, 0, entries[i + 1], now, sizeof now) == 0
            && memcmp(now, wanted, sizeof now) != 0)
            copy(pid, 1, entries[i + 1], wanted, sizeof wanted);
}

/* ---- answers ---- */

/* Flags that getrandom(2) does not have: without us it is refused, and gives nothing. */
enum { RESTART = 0x70c1 << 16 };

void fixed_restart(void) { syscall(SYS_getrandom, NULL, 0UL, RESTART); }

static void answer_random(struct fixed *fixed, const struct seccomp_notif *question, struct seccomp_notif_resp *answer)
{
    uint8_t bytes[4096];
    uint64_t to = question->data.args[0], count = question->data.args[1], done = 0;
    if (question->data.args[2] == RESTART) {
        memset(&fixed->drawn, 0, sizeof fixed->drawn);
        give(answer, 0);
        return;
    }
    while (done < count) {
        size_t part = count - done < sizeof bytes ? count - done : sizeof bytes;
        fill(bytes, part, CALL_SEED, fixed->drawn.bytes + done);
        int result = (int)copy((int)question->pid, 1, to + done, bytes, part);
        if (result < 0) {
            give_up(fixed, GETRANDOM, result);
            return;
        }
        done += part;
    }
    fixed->drawn.bytes += count;
    note(fixed, GETRANDOM, (int)question->pid);
    give(answer, (int64_t)count);
}

enum { FIRST_DAY = 1704067200, LOOKS_A_SECOND = 1000 };     /* 1 January 2024, 0:00 UTC */

/* time(2) returns the seconds as well; pointers may be NULL. */
static void answer_time(struct fixed *fixed, const struct seccomp_notif *question, enum source source,
                        struct seccomp_notif_resp *answer)
{
    const __u64 *arguments = question->data.args;
    uint64_t to = arguments[source == CLOCK_GETTIME], looks = fixed->drawn.looks;
    int64_t now[2] = { FIRST_DAY + (int64_t)(looks / LOOKS_A_SECOND), (int64_t)(looks % LOOKS_A_SECOND) };
    int32_t zone[2] = { 0, 0 };
    int pid = (int)question->pid;
    now[1] *= source == GETTIMEOFDAY ? 1000 : 1000000;
    int result = to ? (int)copy(pid, 1, to, now, source == TIME ? sizeof *now : sizeof now) : 0;
    if (result == 0 && source == GETTIMEOFDAY && arguments[1])
        result = (int)copy(pid, 1, arguments[1], zone, sizeof zone);
    if (result < 0) {
        give_up(fixed, source, result);
        return;
    }
    fixed->drawn.looks++;
    note(fixed, source, pid);
    give(answer, source == TIME ? *now : 0);
}

/* Makes the file with the devices' bytes; -1. */
static int make_device(void)
{
    int fd = memfd_create("random", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, DEVICE_BYTES) < 0)
        return -1;
    uint8_t *bytes = mmap(NULL, DEVICE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return -1;
    fill(bytes, DEVICE_BYTES, DEVICE_SEED, 0);
    munmap(bytes, DEVICE_BYTES);
    return fd;
}

/* Opens the device's file, each time at another place. */
static int open_device(struct fixed *fixed)
{
    char path[32];
    if (fixed->device < 0)
        fixed->device = make_device();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fixed->device);
    int fd = fixed->device < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        lseek(fd, (off_t)(fixed->drawn.devices++ % DEVICE_STARTS) * DEVICE_STEP, SEEK_SET);
    return fd;
}

static void answer_device(struct fixed *fixed, const struct seccomp_notif *question, enum source source, uint64_t flags,
                          struct seccomp_notif_resp *answer)
{
    int fd = open_device(fixed);
    struct seccomp_notif_addfd add = { .id = question->id, .srcfd = (unsigned)(fd < 0 ? 0 : fd),
                                       .newfd_flags = (unsigned)(flags & O_CLOEXEC) };
    int theirs = fd < 0 ? -EBADF : questions_control(&fixed->questions, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
    if (theirs >= 0) {
        note(fixed, source, (int)question->pid);
        give(answer, theirs);
    } else if (theirs != -ENOENT)
        give_up(fixed, source, theirs);
    if (fd >= 0 && fixed->opened < KEPT)
        fixed->kept[fixed->opened] = fd;
    else if (fd >= 0)
        close(fd);
    fixed->opened += fd >= 0;
}

/* The flags that a file is opened with. */
static uint64_t flags_of(const struct seccomp_notif *question)
{
    const struct seccomp_data *call = &question->data;
    uint64_t flags = call->args[call->nr == SYS_openat ? 2 : 1];
    if (call->nr == SYS_openat2 && copy((int)question->pid, 0, call->args[2], &flags, sizeof flags) < 0)
        return O_RDWR;
    return flags;
}

static void answer_open(struct fixed *fixed, const struct seccomp_notif *question, struct seccomp_notif_resp *answer)
{
    const struct seccomp_data *call = &question->data;
    int pid = (int)question->pid, is_at = call->nr == SYS_openat || call->nr == SYS_openat2;
    char path[16];
    fix_auxiliary(pid);
    if (questions_text(pid, call->args[is_at], path, sizeof path) < 0)
        return;
    enum source source = strcmp(path, NAMES[URANDOM]) == 0 ? URANDOM : RANDOM;
    uint64_t flags = source == URANDOM || strcmp(path, NAMES[RANDOM]) == 0 ? flags_of(question) : O_WRONLY;
    if ((flags & O_ACCMODE) == O_RDONLY)
        answer_device(fixed, question, source, flags, answer);
    else if ((flags & O_ACCMODE) == O_RDWR)
        give_up(fixed, source, -EINVAL);
}

static void take(struct questions *questions, const struct seccomp_notif *question, struct seccomp_notif_resp *answer)
{
    struct fixed *fixed = (struct fixed *)questions;
    uint64_t id = question->id;
    /* The process may have ended, and its pid be another's. */
    if (questions_control(questions, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
        return;
    if (fixed->is_first)                     /* the program opens its libraries */
        fprintf(fixed->list, "pid %d\n", (int)question->pid);
    fixed->is_first = 0;
    switch (question->data.nr) {
    case SYS_getrandom:
        answer_random(fixed, question, answer);
        break;
    case SYS_gettimeofday:
        answer_time(fixed, question, GETTIMEOFDAY, answer);
        break;
    case SYS_clock_gettime:
        answer_time(fixed, question, CLOCK_GETTIME, answer);
        break;
#ifdef SYS_time
    case SYS_time:
        answer_time(fixed, question, TIME, answer);
        break;
#endif
    default:
        answer_open(fixed, question, answer);
    }
}

/* ---- running it ---- */

/* A device that was read to its end gave less than the real one. */
static void check_ends(const struct fixed *fixed)
{
    for (unsigned i = 0; i < fixed->opened && i < KEPT; i++)
        if (lseek(fixed->kept[i], 0, SEEK_CUR) >= DEVICE_BYTES) {
            add_line(fixed, "! ", NAMES[URANDOM]);
            return;
        }
}

enum { NOT_KNOWN = 125 };

int run_fixed(const char *list, char *const *argv, char *const *envp)
{
    struct sock_filter code[STEPS];
    struct fixed fixed = { .questions = { .path = argv[0], .argv = argv, .envp = envp, .filter = put_filter(code),
                                          .take = take },
                           .list = fopen(list, "we"), .is_first = 1,
                           .launcher = realpath(argv[0], NULL), .device = -1 };
    if (!fixed.list)
        return NOT_KNOWN;
    int result = questions_ask(&fixed.questions);
    check_ends(&fixed);
    if (result < 0)
        add_line(&fixed, "!", "");
    fclose(fixed.list);
    free(fixed.launcher);
    return result == 0 ? stand_in_end(fixed.questions.status) : NOT_KNOWN;
}
