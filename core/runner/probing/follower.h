/*
 * follower.h: a thread that reads the rings of probes while their target runs.
 */
#pragma once

#include "probes.h"

struct follower;

/* A follower of these regions' calls. Freed by follower_free. */
int  follower_new(struct follower **follower, const struct region_set *regions, const struct event_set *set);
/* Starts following what `probes` are on, by a thread that reads the rings. */
int  follower_start(struct follower *follower, struct probes *probes);
/* While it is not started: a thread that runs already, with the name that /proc has. */
void follower_name(struct follower *follower, int pid, int tid);
/* Ends the thread, after it has read all that is left. Calls that are open are unfinished. It may be
 * started again. */
int  follower_stop(struct follower *follower);
/* Gives the block of pmclua_calls_finish. */
int  follower_finish(struct follower *follower, uint64_t **block, uint32_t *count);
void follower_free(struct follower *follower);
