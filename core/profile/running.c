/*
 * running.c: what processes that run already have mapped, by /proc.
 *
 * It is read after the events are open, whose news come later in time: a mapping that is in both is the same one.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/proc.h"
#include "sampler.h"

/* One line of /proc/PID/maps: of code alone. */
static int take_line(struct pmclua_sampler *sampler, uint32_t pid, char *line)
{
    unsigned long long from, to, offset, inode;
    char rights[8];
    int path = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%llx-%llx %7s %llx %*s %llu %n", &from, &to, rights, &offset, &inode, &path) < 5
        || path == 0 || rights[2] != 'x' || strcmp(line + path, "[vsyscall]") == 0)
        return 0;
    return sampler_map(sampler, pid, (uint64_t[]){ from, to, offset }, inode, line + path);
}

/* A process that has ended, or may not be looked into, has none. */
static int take_process(struct pmclua_sampler *sampler, uint32_t pid)
{
    char path[64], *line = NULL;
    size_t room = 0;
    int result = 0;
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    struct space *space = maps_space(&sampler->maps, pid);
    if (!space)
        result = -ENOMEM;
    else
        space->threads = (uint32_t)proc_tasks((int)pid, NULL);     /* it has ended when they have */
    while (result == 0 && getline(&line, &room, file) > 0)
        result = take_line(sampler, pid, line);
    free(line);
    fclose(file);
    return result;
}

static int take_all(struct pmclua_sampler *sampler)
{
    DIR *folder = opendir("/proc");
    int result = folder ? 0 : -errno;
    for (struct dirent *entry; result == 0 && folder && (entry = readdir(folder));)
        if (isdigit((unsigned char)entry->d_name[0]))
            result = take_process(sampler, (uint32_t)strtoul(entry->d_name, NULL, 10));
    if (folder)
        closedir(folder);
    return result;
}

int sampler_take_running(struct pmclua_sampler *sampler)
{
    const struct pmclua_sampling *asked = &sampler->asked;
    int result = 0;
    if (asked->task_count == 0)
        return take_all(sampler);
    uint32_t last = 0;
    for (int32_t i = 0; result == 0 && i < asked->task_count; i++) {
        uint32_t pid = (uint32_t)proc_number(asked->tasks[i], "Tgid:", 10, 0);
        if (pid != 0 && pid != last)       /* it has not ended; threads of a process follow each other */
            result = take_process(sampler, pid);
        last = pid;
    }
    return result;
}

/* What a thread of ours returns to, a thread of a program with the same C library returns to as well. */
int sampler_find_thread_start(struct pmclua_sampler *sampler)
{
    char *line = NULL;
    size_t room = 0;
    int64_t number = -1;
    FILE *file = fopen("/proc/self/maps", "re");
    while (file && number == -1 && getline(&line, &room, file) > 0) {
        unsigned long long from, to, offset, inode;
        int path = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%llx-%llx %*s %llx %*s %llu %n", &from, &to, &offset, &inode, &path) < 4 || path == 0
            || sampler->thread_return - from >= to - from)
            continue;
        number = hits_file(&sampler->hits, &(struct hit_file){ .path = line + path, .inode = inode });
        sampler->facts.thread_file = (uint64_t)number + 1;
        sampler->facts.thread_offset = sampler->thread_return - 1 - from + offset;
    }
    free(line);
    if (file)
        fclose(file);
    return number == -ENOMEM ? -ENOMEM : 0;
}
