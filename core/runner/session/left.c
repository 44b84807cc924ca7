/*
 * left.c: processes that a command leaves behind, as a daemon does.
 *
 * The runner is the reaper of its descendants: what outlives its parent becomes a child of the runner. What was
 * there before the command was another's.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/proc.h"
#include "child.h"
#include "left.h"

enum { PIDS_MAX = 256 };

/* Our children that live, some at least; how many. */
static int list_children(int *pids)
{
    char path[64];
    int count = 0;
    child_reap_orphans();
    siginfo_t info;
    if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
        return 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    while (file && count < PIDS_MAX && fscanf(file, "%d", &pids[count]) == 1)
        count++;
    if (file)
        fclose(file);
    return count;
}

static int before[PIDS_MAX], before_count;

void left_begin(void) { before_count = list_children(before); }

static int was_there(int pid)
{
    for (int i = 0; i < before_count; i++)
        if (before[i] == pid)
            return 1;
    return 0;
}

void left_take(struct pmclua_result *result)
{
    int pids[PIDS_MAX], count = list_children(pids);
    for (int i = 0; i < count; i++) {
        if (was_there(pids[i]))
            continue;
        if (result->left++ == 0) {
            result->first_left.pid = pids[i];
            proc_name(pids[i], pids[i], result->first_left.name);
        }
    }
}
