/*
 * left.c: processes that a command leaves behind, as a daemon does.
 *
 * The runner is the reaper of its descendants: orphans become its children. Those that were there before belong to an
 * earlier command.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/proc.h"
#include "child.h"
#include "left.h"

/* Our living children: how many. */
static int list_children(int32_t **pids)
{
    siginfo_t info;
    *pids = NULL;
    child_reap_orphans();
    if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
        return 0;
    return proc_children(getpid(), getpid(), pids);
}

static int32_t *before;
static int before_count;

void left_begin(void)
{
    free(before);
    before_count = list_children(&before);
}

static int was_there(int pid)
{
    for (int i = 0; i < before_count; i++)
        if (before[i] == pid)
            return 1;
    return 0;
}

void left_take(struct pmclua_result *result)
{
    int32_t *pids;
    int count = list_children(&pids);
    for (int i = 0; i < count; i++) {
        if (was_there(pids[i]))
            continue;
        if (result->left++ == 0) {
            result->first_left.pid = pids[i];
            proc_name(pids[i], pids[i], result->first_left.name);
        }
    }
    free(pids);
}
