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
/* A mapping as a line of /proc/PID/maps has it; `path` is in the line. */
struct proc_map { uint64_t from, to, offset, device, inode; const char *path; int is_code; };
/* Reads a line of maps, whose newline it cuts; 0: what is mapped there has no name. */
int proc_map(char *line, struct proc_map *map);
/* When a process began, by CLOCK_MONOTONIC, to some 10 ms; 0: not known. */
uint64_t proc_start_ns(int pid);
/* A thread's name as ps shows it: its length; 0 and "": it has ended. */
size_t proc_name(int pid, int tid, char name[16]);
/* How many threads a process has at this moment; 0: it has ended. `pid` 0: ours. Where `tids` is not NULL it gets a
 * list of them, freed by the caller; what there is no memory for is left out. */
int proc_tasks(int pid, int32_t **tids);
