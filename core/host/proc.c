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

static int parse_map(char *line, struct proc_map *map)
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

int proc_maps(int pid, int (*take)(void *owner, struct proc_map *map), void *owner)
{
    struct proc_map map;
    char path[64], *line = NULL;
    size_t room = 0;
    int result = 0, has_any = 0;
    name_file(path, pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && result == 0 && getline(&line, &room, maps) > 0) {
        has_any = 1;
        result = parse_map(line, &map) ? take(owner, &map) : 0;
    }
    free(line);
    if (maps)
        fclose(maps);
    return result < 0 ? result : has_any;
}

static int take_own(void *owner, struct proc_map *map)
{
    struct proc_map *wanted = owner;
    if (map->from == wanted->from)
        *wanted = *map;
    return 0;
}

int pmclua_mapped_as(const char *path, uint64_t *device, uint64_t *inode)
{
    int fd = pmclua_open_plain(path, 0, NULL, NULL);
    if (fd < 0)
        return fd;
    void *at = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
    int result = at == MAP_FAILED ? -errno : -ENOENT;
    struct proc_map own = { .from = (uint64_t)(uintptr_t)at };
    if (at != MAP_FAILED) {
        proc_maps(0, take_own, &own);
        munmap(at, 1);
    }
    close(fd);
    if (own.to == 0)
        return result;
    *device = own.device;
    *inode = own.inode;
    return 0;
}

uint64_t proc_start_ticks(int pid)
{
    char path[64], text[1024];
    unsigned long long ticks = 0;
    name_file(path, pid, "stat");
    read_text(path, text, sizeof text);
    const char *rest = strrchr(text, ')');         /* the name may contain anything */
    if (rest)
        sscanf(rest, ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks);
    return ticks;
}

uint64_t proc_start_ns(int pid)
{
    uint64_t ticks = proc_start_ticks(pid);
    if (ticks == 0)
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

int proc_children(int pid, int tid, int32_t **pids)
{
    char path[64];
    int count = 0, child, result = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, tid);
    *pids = NULL;
    FILE *list = fopen(path, "re");
    while (list && result == 0 && fscanf(list, "%d", &child) == 1)
        result = LIST_ADD(*pids, count, child);
    if (list)
        fclose(list);
    return count;
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
            || (tids && list_grow(tids, (size_t)count, sizeof **tids) < 0))
            continue;
        if (tids)
            (*tids)[count] = atoi(entry->d_name);
        count++;
    }
    if (folder)
        closedir(folder);
    return count;
}
