/*
 * attachment.h: the calls of a process that runs already.
 */
#pragma once

#include "runner/session/answer.h"
#include "runner/session/event_set.h"
#include "runner/session/run.h"

struct attachment;

int  attachment_new(struct attachment **attachment, const struct pmclua_message *message);
void attachment_run(struct attachment *attachment, const struct event_set *set, const struct run *run,
                    struct answer *answer);
void attachment_free(struct attachment *attachment);
