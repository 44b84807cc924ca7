/*
 * sampled.h: event sets whose one event is sampled.
 */
#pragma once

#include "answer.h"
#include "event_set.h"

/* Opens the set's event on a held child (`pid`), or on all threads that this process has by now (0). -errno, and
 * `failure` filled. */
int  sampled_open(struct pmclua_sampler **sampler, const struct event_set *set, int pid, uint32_t options,
                  struct pmclua_failure *failure);
/* Ends it and moves its block to the answer. */
void sampled_take(struct pmclua_sampler *sampler, struct answer *answer);
