#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "clocks.h"
#include "lists.h"
#include "pmclua.h"
#include "proc.h"

long read_text(const char *path, char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, bytes - 1);
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got < 0 ? -errnum : got;
}

static void name_file(char path[64], int pid, const char *file)
{
    if (pid)
        snprintf(path, 64, "/proc/%d/%s", pid, file);
    else
        snprintf(path, 64, "/proc/self/%s", file);
}

uint64_t proc_number(int pid, const char *name, int base, uint64_t otherwise)
{
    char path[64], line[256];
    size_t length = strlen(name);
    uint64_t value = otherwise;
    name_file(path, pid, "status");
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, name, length) == 0) {
            value = strtoull(line + length, NULL, base);
            break;
        }
    if (status)
        fclose(status);
    return value;
}

int proc_map(char *line, struct proc_map *map)
{
    unsigned long long from, to, offset, inode;
    unsigned major, minor;
    char rights[8];
    int path = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &from, &to, rights, &offset, &major, &minor, &inode, &path) < 7
        || path == 0)
        return 0;
    *map = (struct proc_map){ from, to, offset, makedev(major, minor), inode, line + path, rights[2] == 'x' };
    return 1;
}

/* The device and inode that our own mapping at an address has. */
static int own_mapping(uint64_t address, uint64_t *device, uint64_t *inode)
{
    struct proc_map map = { 0 };
    char *line = NULL;
    size_t room = 0;
    int result = -ENOENT;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && result < 0 && getline(&line, &room, maps) > 0)
        if (proc_map(line, &map) && map.from == address)
            result = 0;
    *device = map.device;
    *inode = map.inode;
    free(line);
    if (maps)
        fclose(maps);
    return result;
}

int pmclua_mapped_as(const char *path, uint64_t *device, uint64_t *inode)
{
    uint32_t uid;
    uint64_t bytes;
    int fd = pmclua_open_plain(path, 0, &uid, &bytes);
    if (fd < 0)
        return fd;
    void *at = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
    int result = at == MAP_FAILED ? -errno : own_mapping((uint64_t)(uintptr_t)at, device, inode);
    if (at != MAP_FAILED)
        munmap(at, 1);
    close(fd);
    return result;
}

uint64_t proc_start_ns(int pid)
{
    char path[64], text[1024];
    unsigned long long ticks = 0;
    name_file(path, pid, "stat");
    read_text(path, text, sizeof text);
    const char *rest = strrchr(text, ')');         /* the name may contain anything */
    if (!rest || sscanf(rest, ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks) < 1)
        return 0;
    uint64_t ago_ns = clock_ns(CLOCK_BOOTTIME) - ticks * (uint64_t)(NS_PER_S / sysconf(_SC_CLK_TCK));
    return clock_ns(CLOCK_MONOTONIC) - ago_ns;
}

size_t proc_name(int pid, int tid, char name[16])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", pid, tid);
    long length = read_text(path, name, 16);
    /* The newline at its end is the file's; others are the name's, which may have any character. */
    if (length > 0 && name[length - 1] == '\n')
        name[length - 1] = '\0';
    return strlen(name);
}

int proc_tasks(int pid, int32_t **tids)
{
    char path[64];
    int count = 0;
    name_file(path, pid, "task");
    if (tids)
        *tids = NULL;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!isdigit((unsigned char)entry->d_name[0])
            || (tids && list_extend(tids, (size_t)count, sizeof **tids) < 0))
            continue;
        if (tids)
            (*tids)[count] = atoi(entry->d_name);
        count++;
    }
    if (folder)
        closedir(folder);
    return count;
}
