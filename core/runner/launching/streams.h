/*
 * streams.h: a command's standard descriptors: where they lead, opened for one repetition.
 */
#pragma once

#include "runner/session/answer.h"

/* One captured stream (capture.c): the command writes to `theirs`, a pipe; what is read is kept up to a limit, and
 * thrown away beyond it. fd -1: not captured. */
struct capture { int ours, theirs; char *text; uint32_t used, size; uint64_t limit; };

/* Opens the pipe: 0, -errno. */
int  capture_open(struct capture *capture, uint64_t limit);
/* Reads from both until `pid` has ended, then what is left; not what others write later. Meanwhile `drops` (NULL:
 * none) are read, too, so that their rings do not overflow. */
void capture_follow(struct capture captures[2], int pid, struct pmclua_drops *drops);
void capture_close(struct capture *capture);

/* Where the standard descriptors of a command lead, by its definition. */
struct stream_choice {
    char *input;                   /* path; NULL: /dev/null */
    uint64_t inherit_input;
    uint64_t output[2];            /* enum pmclua_output for 1 and 2 */
};

/* Descriptors for the child's 0, 1 and 2; `input` is that of a file, or -1; captures of 1 and 2. */
struct streams { int fd[3], input; struct capture capture[2]; };

/* All of them, or -errno and none. `capture_limit` in bytes for each captured stream; 0: 16 MiB. */
int  streams_open(struct streams *streams, const struct stream_choice *choice, uint64_t capture_limit);
/* Reads what is captured, and `drops` (NULL: none), until `pid` has ended. */
void streams_follow(struct streams *streams, int pid, struct pmclua_drops *drops);
/* Moves what was captured to the answer. */
void streams_take(const struct streams *streams, struct answer *answer);
void streams_close(struct streams *streams);
