/*
 * host.c: small facts about this process and its machine, and the few file calls that Lua lacks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clocks.h"
#include "cpulist.h"
#include "pmclua.h"

#ifndef PMCLUA_VERSION
#define PMCLUA_VERSION "0"
#endif

const char *pmclua_version(void) { return PMCLUA_VERSION; }

const char *pmclua_build(void)
{
    static char text[64];
    snprintf(text, sizeof text, "%s %zu %zu %d", PMCLUA_VERSION, sizeof(struct pmclua_result),
             sizeof(struct pmclua_attr), PMCLUA_F_LAST);
    return text;
}

size_t pmclua_size_of(const char *name)
{
    return strcmp(name, "attr") == 0 ? sizeof(struct pmclua_attr)
         : strcmp(name, "failure") == 0 ? sizeof(struct pmclua_failure)
         : strcmp(name, "message") == 0 ? sizeof(struct pmclua_message)
         : strcmp(name, "result") == 0 ? sizeof(struct pmclua_result) : 0;
}

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

int pmclua_memory_file(const void *bytes, size_t count, char *path, size_t path_bytes)
{
    int fd = memfd_create("pmclua-code", MFD_CLOEXEC | MFD_EXEC);
    if (fd < 0 && errno == EINVAL)                 /* before Linux 6.3 */
        fd = memfd_create("pmclua-code", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int result = pmclua_write(fd, bytes, count);
    if (result < 0)
        close(fd);
    else
        snprintf(path, path_bytes, "/proc/%d/fd/%d", (int)getpid(), fd);
    return result < 0 ? result : fd;
}

void pmclua_free_block(uint64_t *block) { free(block); }

uint64_t pmclua_now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

int pmclua_folder(char *folder, size_t bytes)
{
    Dl_info here, program;
    char path[PATH_MAX];
    if (!dladdr((void *)(uintptr_t)pmclua_folder, &here) || !here.dli_fname)
        return -ENOENT;
    /* The executable's own name is what it was called by, which may be anything; /proc knows better, and without it
     * what was executed, if only until our working directory changes. */
    int is_program = dladdr((void *)getauxval(AT_PHDR), &program) && program.dli_fbase == here.dli_fbase;
    if (!realpath(is_program ? "/proc/self/exe" : here.dli_fname, path)
        && !(is_program && realpath((const char *)getauxval(AT_EXECFN), path)))
        return -errno;
    *strrchr(path, '/') = '\0';
    if (strlen(path) >= bytes)
        return -ENAMETOOLONG;
    strcpy(folder, path);
    return 0;
}

int pmclua_parse_u64(const char *text, uint64_t *value)
{
    int hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    /* strtoull would take blanks and signs. */
    if (!*digits || strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") != strlen(digits))
        return -EINVAL;
    errno = 0;
    unsigned long long parsed = strtoull(digits, NULL, hex ? 16 : 10);
    if (errno)
        return -errno;
    *value = parsed;
    return 0;
}

int32_t pmclua_pid(void) { return getpid(); }
uint32_t pmclua_uid(void) { return geteuid(); }

const char *pmclua_errno_name(int32_t errnum) { return strerrorname_np(errnum); }
const char *pmclua_errno_text(int32_t errnum) { return strerrordesc_np(errnum); }

const char *pmclua_signal_name(int32_t signal)
{
    static char name[32];
    const char *abbreviation = sigabbrev_np(signal);
    if (!abbreviation)
        return NULL;
    snprintf(name, sizeof name, "SIG%s", abbreviation);
    return name;
}

int pmclua_is_terminal(int32_t fd) { return isatty(fd); }

int pmclua_columns(int32_t fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) < 0)
        return -errno;
    return size.ws_col ? size.ws_col : -ENOTTY;
}

/* ---- CPUs and rights ---- */

int pmclua_pin(const char *cpus)
{
    cpu_set_t set;
    int result = cpulist_parse(cpus, &set);
    if (result < 0)
        return result;
    if (sched_setaffinity(0, sizeof set, &set) < 0)
        return errno == EINVAL ? -ENODEV : -errno;
    return 0;
}

int pmclua_check_cpus(const char *cpus, int32_t *cpu)
{
    int16_t order[CPU_SETSIZE];
    cpu_set_t before;
    int count = cpulist_order(cpus, order), result = count < 0 ? count : 0;
    if (result == 0 && sched_getaffinity(0, sizeof before, &before) < 0)
        result = -errno;
    if (result < 0)
        return result;
    /* One at a time: of a list the OS kernel takes what is there and ignores the rest. */
    for (int i = 0; result == 0 && i < count; i++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(order[i], &one);
        if (sched_setaffinity(0, sizeof one, &one) < 0) {
            *cpu = order[i];
            result = errno == EINVAL ? -ENODEV : -errno;
        }
    }
    sched_setaffinity(0, sizeof before, &before);
    return result;
}

/* FNV-1a, 128 bits (Fowler, Noll, Vo). */
void pmclua_hash(const void *bytes, size_t count, char hex[33])
{
    unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
    unsigned __int128 hash = (unsigned __int128)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * prime;
    snprintf(hex, 33, "%016llx%016llx", (unsigned long long)(hash >> 64), (unsigned long long)hash);
}
