/*
 * regions.h: a command's regions for as long as it runs.
 */
#pragma once

#include "runner/session/answer.h"
#include "follower.h"

/* Probes on a command, and the follower of its calls. */
struct followed_regions {
    struct probes probes;
    struct follower *follower;
    int pid;
};

/* Probes on the held child `pid` and a follower. On failure nothing is open and `answer` says why. */
int  regions_open(struct followed_regions *followed, struct region_set *regions, const struct event_set *set,
                  int pid, struct answer *answer);
/* Says what kept regions from being followed (PMCLUA_STAGE_NONE: an event of the set, in the answer's failure). */
void regions_refuse(struct answer *answer, int errnum, enum pmclua_stage stage);
/* Adds what the events counted to the answer's readings. */
int  regions_totals(const struct probes *probes, struct answer *answer);
/* Moves a follower's calls to the answer, or refuses it. `result`: an earlier failure, or 0. */
int  regions_answer(struct follower *follower, int result, struct answer *answer);
/* Puts counts and calls into the answer if the command was started, and closes all. are_seen: the loaded files were
 * noted. */
void regions_close(struct followed_regions *followed, int are_seen, struct answer *answer);
