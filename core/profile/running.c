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
#include <sys/stat.h>
#include <unistd.h>

#include "host/clocks.h"
#include "host/proc.h"
#include "sampler.h"

static struct hit_file file_of(const struct proc_map *map, uint32_t task)
{
    return (struct hit_file){ .path = (char *)map->path, .device = map->device, .inode = map->inode, .from = map->from,
                              .to = map->to, .since_ns = pmclua_now_ns(), .task = task, .held = -1 };
}

enum { HELD_MOST = 256 };             /* descriptors of files that are elsewhere, or nowhere, by now */

/* A descriptor of the file that is mapped there, unless its path leads to it; -1. */
static int hold(const struct pmclua_sampler *sampler, const struct hit_file *file)
{
    char link[96];
    struct stat facts;
    uint32_t held = 0;
    if (stat(file->path, &facts) == 0 && facts.st_dev == file->device && facts.st_ino == file->inode)
        return -1;
    for (uint32_t i = 0; i < sampler->hits.files; i++)
        held += sampler->hits.file[i].held >= 0;
    if (*file->path != '/' || held >= HELD_MOST)
        return -1;
    snprintf(link, sizeof link, "/proc/%u/map_files/%llx-%llx", file->task, (unsigned long long)file->from,
             (unsigned long long)file->to);
    int fd = pmclua_open_plain(link, 0, NULL, NULL);
    return fd < 0 ? -1 : fd;
}

struct thread { struct pmclua_sampler *sampler; uint32_t pid, tid; };

/* Code, and where samples are kept by themselves, data. */
static int take_map(void *owner, struct proc_map *map)
{
    const struct thread *thread = owner;
    struct pmclua_sampler *sampler = thread->sampler;
    if (strcmp(map->path, "[vsyscall]") == 0)
        return 0;
    uint32_t known = sampler->hits.files;
    struct hit_file file = file_of(map, thread->tid);
    int result = sampler_note_mapping(sampler, thread->pid, &file, map->offset);
    if (result == 0 && map->is_code)
        result = sampler_map(sampler, thread->pid, &file, map->offset);
    struct hit_file *last = &sampler->hits.file[sampler->hits.files - 1];
    if (sampler->hits.files > known && last->pid == 0)
        last->held = hold(sampler, last);
    return result;
}

/* A process that has ended, or may not be looked into, has none. */
static int take_process(struct pmclua_sampler *sampler, uint32_t pid)
{
    int32_t *tids;
    int count = proc_tasks((int)pid, &tids), result = 0;
    struct space *space = count > 0 ? maps_space(&sampler->maps, pid) : NULL;
    if (space) {
        space->threads = (uint32_t)count;          /* it has ended when they have */
        space->began_ns = proc_start_ns((int)pid);
    }
    /* Maps of the first thread that still has the process's memory: others may have ended. */
    for (int i = 0; space && result == 0 && i < count; i++)
        result = proc_maps(tids[i], take_map, &(struct thread){ sampler, pid, (uint32_t)tids[i] });
    free(tids);
    return count > 0 && !space ? -ENOMEM : result < 0 ? result : 0;
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

static int take_thread_start(void *owner, struct proc_map *map)
{
    struct pmclua_sampler *sampler = owner;
    if (sampler->facts.thread_file || sampler->thread_return - map->from >= map->to - map->from)
        return 0;
    struct hit_file file = file_of(map, (uint32_t)getpid());
    int64_t number = hits_file(&sampler->hits, &file);
    if (number < 0)
        return -ENOMEM;
    sampler->facts.thread_file = (uint64_t)number + 1;
    sampler->facts.thread_offset = sampler->thread_return - 1 - map->from + map->offset;
    return 0;
}

/* The return address of our threads' start is that of any program with the same C library. */
int sampler_find_thread_start(struct pmclua_sampler *sampler)
{
    int result = proc_maps(0, take_thread_start, sampler);
    return result < 0 ? result : 0;
}
