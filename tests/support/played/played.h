/*
 * played.h: what the parts of a played PMU have of each other.
 */
#ifndef PLAYED_H
#define PLAYED_H

#include <stddef.h>
#include <stdint.h>

#include "pmclua.h"

/* From pmu.c: whether events of a group are played, by any descriptor of it; and the counts of a group as the played PMU
 * has them, in place of what Linux counted: `count` pairs of value and id. */
int  group_is_played(int fd);
void play_values(uint64_t *pairs, uint64_t count);
/* The members of struct pmclua_system, played. */
int  play_open(const struct pmclua_attr *attr, int32_t pid, int32_t cpu, int32_t group_fd, uint32_t flags);
int  play_ioctl(int32_t fd, uint32_t request, uint64_t argument);
long play_read(int32_t fd, void *buffer, size_t bytes);
int  play_close(int32_t fd);
/* From libc.c: libc's own, and whether they are played. */
extern const struct pmclua_system libc_system;
extern int plays_libc;
/* From rings.c: shows what Linux has written by now, played. */
void rings_play(void);

#endif
