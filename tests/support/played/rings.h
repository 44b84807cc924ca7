/*
 * rings.h: rings whose samples hold the counts of a played PMU (pmu.c).
 */
#ifndef PLAYED_RINGS_H
#define PLAYED_RINGS_H

#include <stdint.h>

/* From pmu.c: whether events of a group are played, by any descriptor of it; and the counts of a group as the played PMU
 * has them, in place of what Linux counted: `count` pairs of value and id. */
int  group_is_played(int fd);
void play_values(uint64_t *pairs, uint64_t count);
/* From rings.c: shows what Linux has written by now, played. */
void rings_play(void);

#endif
