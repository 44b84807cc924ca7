/*
 * answer.h: an answer under construction.
 */
#pragma once

#include <sys/resource.h>

#include "message/message.h"

/* The result, and what follows it in the message. */
struct answer {
    struct pmclua_result result;
    uint64_t *readings;                /* owned; result.reading_u64s of them */
    uint64_t *regions;                 /* owned; result.region_u64s of them */
    uint64_t *profile;                 /* owned; result.profile_u64s of them */
    uint64_t *calls;                   /* owned; result.call_u64s of them */
    char *text;                        /* owned; output_bytes + error_bytes */
};

/* Allocates `count` of answer->readings; -ENOMEM. */
int answer_reserve_readings(struct answer *answer, uint32_t count);
/* It was not started: `stage` is what was being done, `subject` (NULL: none) to what. */
void answer_refuse(struct answer *answer, int errnum, enum pmclua_stage stage, const char *subject);
/* It was not counted, and no event in particular was at fault. */
void answer_not_counted(struct answer *answer, int errnum);
/* Resources used between two readings; peak memory has no difference. */
void answer_usage(struct answer *answer, const struct rusage *before, const struct rusage *after);
/* Its message, valid until the next is packed; -EMSGSIZE, -ENOMEM. */
int answer_pack(const struct answer *answer, const void **packed, size_t *count);
int answer_send(int fd, struct answer *answer);
void answer_free(struct answer *answer);
