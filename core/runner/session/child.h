/*
 * child.h: the command that may have to be killed, at its time limit or with the runner; signals; reaping.
 */
#pragma once

#include <stdint.h>

/* From now on the time limit and SIGTERM kill `pid` (negative: the process group); 0: no process. */
void child_watch(int pid);
/* Arms a time limit (0: none) for the watched child; child_hit_limit says whether it struck. It gets SIGTERM then, and
 * SIGKILL after the grace; without any, SIGKILL at once. */
void child_limit(uint64_t timeout_ns, uint64_t grace_ns);
void child_disarm(void);
int  child_hit_limit(void);
/* Reaps ended processes that commands left behind: the runner is their parent now. */
void child_reap_orphans(void);
/* Kills and reaps all descendants, orphans too. */
void child_end_descendants(void);

/* Handlers of SIGINT, SIGTERM and SIGALRM. */
void signals_catch(void);
/* The same for a task, which leaves signals to its program: the launcher sends them to both. SIGTERM may come to this
 * process alone, and is passed on. */
void signals_leave(void);
/* While it is `on`, as often as it was set so, SIGTERM kills the watched child and nothing more: there is
 * something to take away first. Afterwards the runner ends if one came. */
void termination_defer(int on);
/* Dies of a signal itself, whatever was set for it: an exit status would be taken for the kernel's. */
void child_die_of(int number);
/* Whether a SIGTERM waits. */
int  termination_waits(void);
