/*
 * proc.h: what /proc and sysfs say of processes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Reads a small file in one go, cut to `bytes` with the NUL: how many it has read; -errno, and the text is empty. */
long read_text(const char *path, char *text, size_t bytes);
/* The number in the line of /proc/PID/status that begins with `name` ("Tgid:"), or `otherwise`. `pid` 0: our own. */
uint64_t proc_number(int pid, const char *name, int base, uint64_t otherwise);
/* A mapping of /proc/PID/maps. `path` is valid while it is taken. */
struct proc_map { uint64_t from, to, offset, device, inode; const char *path; int is_code; };
/* Hands each mapping that has a name to `take`, until that returns -errno: that; 1; 0: nothing is mapped, as of a process
 * that has ended or may not be looked into. `pid` 0: ours. */
int proc_maps(int pid, int (*take)(void *owner, struct proc_map *map), void *owner);
/* When a process began, in clock ticks since boot; 0: not known. `pid` 0: our own. */
uint64_t proc_start_ticks(int pid);
/* The same, by CLOCK_MONOTONIC, to some 10 ms; 0: not known. */
uint64_t proc_start_ns(int pid);
/* A thread's name as ps shows it: its length; 0 and "": it has ended. */
size_t proc_name(int pid, int tid, char name[16]);
/* The children that a thread has started and that live: how many, with a list of them, freed by the caller. 0 too where the
 * OS kernel does not list them (CONFIG_PROC_CHILDREN). */
int proc_children(int pid, int tid, int32_t **pids);
/* How many threads a process has at this moment; 0: it has ended. `pid` 0: ours. Where `tids` is not NULL it gets a
 * list of them, freed by the caller; what there is no memory for is left out. */
int proc_tasks(int pid, int32_t **tids);
