/*
 * libc.c: stands behind libc's functions, for programs that open events themselves (pmclua_mark.h).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "played.h"

int plays_libc;

#define LIBC(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int libc_open(const struct pmclua_attr *attr, int32_t pid, int32_t cpu, int32_t group_fd, uint32_t flags)
{
    long fd = LIBC(syscall)(SYS_perf_event_open, attr, pid, cpu, group_fd, (unsigned long)flags);
    return fd < 0 ? -errno : (int)fd;
}

static int libc_ioctl(int32_t fd, uint32_t request, uint64_t argument)
{
    return LIBC(ioctl)(fd, request, argument);
}

static long libc_read(int32_t fd, void *buffer, size_t bytes) { return LIBC(read)(fd, buffer, bytes); }
static int libc_close(int32_t fd) { return LIBC(close)(fd); }

const struct pmclua_system libc_system = { libc_open, libc_ioctl, libc_read, libc_close };

long syscall(long number, ...)
{
    long a[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    if (!plays_libc || number != SYS_perf_event_open)
        return LIBC(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    int fd = play_open((const struct pmclua_attr *)a[0], (int)a[1], (int)a[2], (int)a[3], (uint32_t)a[4]);
    errno = fd < 0 ? -fd : errno;
    return fd < 0 ? -1 : fd;
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    unsigned long argument = va_arg(rest, unsigned long);
    va_end(rest);
    return plays_libc ? play_ioctl(fd, (uint32_t)request, argument) : LIBC(ioctl)(fd, request, argument);
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
    return plays_libc ? play_read(fd, buffer, bytes) : LIBC(read)(fd, buffer, bytes);
}

int close(int fd)
{
    return plays_libc ? play_close(fd) : LIBC(close)(fd);
}
