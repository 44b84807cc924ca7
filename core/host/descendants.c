/*
 * descendants.c: the processes that a process has started, as /proc has them.
 *
 * An orphan is no descendant any more, unless the process is a subreaper, as runners are.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descendants.h"
#include "proc.h"

enum { DEPTH_MAX = 64 };

static int signal_all(int pid, int number, int depth);

/* Whether a child got a signal: one that has ended since may have left its pid to a stranger. */
static int signal_child(int pid, int child, int number)
{
    int fd = (int)syscall(SYS_pidfd_open, child, 0), result = -1;
    if (fd < 0)
        return errno != ESRCH && kill(child, number) == 0;
    if (proc_number(child, "PPid:", 10, 0) == (uint64_t)pid)
        result = (int)syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
    close(fd);
    return result == 0;
}

static int signal_children(int pid, int tid, int number, int depth)
{
    int32_t *pids;
    int count = 0, children = proc_children(pid, tid, &pids);
    for (int i = 0; i < children; i++) {
        count += signal_child(pid, pids[i], number);
        count += signal_all(pids[i], number, depth + 1);
    }
    free(pids);
    return count;
}

/* Each thread has children of its own. */
static int signal_all(int pid, int number, int depth)
{
    int32_t *tids = NULL;
    int count = 0, tasks = depth < DEPTH_MAX ? proc_tasks(pid, &tids) : 0;
    for (int i = 0; i < tasks; i++)
        count += signal_children(pid, tids[i], number, depth);
    free(tids);
    return count;
}

int descendants_signal(int pid, int signal) { return signal_all(pid, signal, 0); }
