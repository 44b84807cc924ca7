/*
 * descendants.c: the processes that a process has started, as /proc has them.
 *
 * What outlives its parent is no descendant any more, unless the process is a subreaper, as runners are.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>

#include "descendants.h"

enum { DEPTH_MAX = 64 };

static int signal_all(int pid, int number, int depth);

static int signal_children(int pid, const char *tid, int number, int depth)
{
    char path[320];
    int child, count = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", pid, tid);
    FILE *list = fopen(path, "re");
    while (list && fscanf(list, "%d", &child) == 1) {
        count += kill(child, number) == 0;
        count += signal_all(child, number, depth + 1);
    }
    if (list)
        fclose(list);
    return count;
}

/* Each thread has children of its own. */
static int signal_all(int pid, int number, int depth)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = depth < DEPTH_MAX ? opendir(path) : NULL;
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            count += signal_children(pid, entry->d_name, number, depth);
    if (folder)
        closedir(folder);
    return count;
}

int descendants_signal(int pid, int signal) { return signal_all(pid, signal, 0); }
