#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"

int answer_reserve_readings(struct answer *answer, uint32_t count)
{
    uint64_t *readings = realloc(answer->readings, (count ? count : 1) * sizeof *readings);
    if (!readings)
        return -ENOMEM;
    answer->readings = readings;
    answer->result.reading_u64s = count;
    return 0;
}

void answer_refuse(struct answer *answer, int errnum, enum pmclua_stage stage, const char *subject)
{
    free(answer->text);
    answer->text = subject ? strdup(subject) : NULL;
    answer->result.outcome = PMCLUA_NOT_STARTED;
    answer->result.errnum = errnum;
    answer->result.stage = stage;
    answer->result.output_bytes = answer->text ? (uint32_t)strlen(subject) : 0;
    answer->result.error_bytes = answer->result.reading_u64s = 0;
}

void answer_not_counted(struct answer *answer, int errnum)
{
    answer->result.outcome = PMCLUA_NOT_COUNTED;
    answer->result.reading_u64s = 0;
    answer->result.failure = (struct pmclua_failure){ .errnum = errnum, .index = -1 };
}

static uint64_t nanoseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

void answer_usage(struct answer *answer, const struct rusage *before, const struct rusage *after)
{
    struct pmclua_result *result = &answer->result;
    result->user_ns = nanoseconds(after->ru_utime) - nanoseconds(before->ru_utime);
    result->system_ns = nanoseconds(after->ru_stime) - nanoseconds(before->ru_stime);
    result->minor_faults = (uint64_t)(after->ru_minflt - before->ru_minflt);
    result->major_faults = (uint64_t)(after->ru_majflt - before->ru_majflt);
    result->voluntary_switches = (uint64_t)(after->ru_nvcsw - before->ru_nvcsw);
    result->involuntary_switches = (uint64_t)(after->ru_nivcsw - before->ru_nivcsw);
}

int answer_pack(const struct answer *answer, const void **packed, size_t *count)
{
    const struct pmclua_result *result = &answer->result;
    struct message_header header = { 0, MSG_RESULT, result->sequence };
    const struct { const void *bytes; size_t count; } parts[] = {
        { &header, sizeof header }, { result, sizeof *result },
        { answer->readings, result->reading_u64s * sizeof *answer->readings },
        { answer->regions, result->region_u64s * sizeof *answer->regions },
        { answer->profile, result->profile_u64s * sizeof *answer->profile },
        { answer->calls, result->call_u64s * sizeof *answer->calls },
        { answer->text, (size_t)result->output_bytes + result->error_bytes },
    };
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        bytes += parts[i].count;
    if (bytes > MESSAGE_MAX)
        return -EMSGSIZE;
    header.bytes = (uint32_t)(bytes - sizeof header);
    static char *buffer;
    static size_t size;
    if (!buffer || bytes > size) {
        char *larger = realloc(buffer, bytes);
        if (!larger)
            return -ENOMEM;
        buffer = larger;
        size = bytes;
    }
    char *place = buffer;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count)
            place = mempcpy(place, parts[i].bytes, parts[i].count);
    *packed = buffer;
    *count = bytes;
    return 0;
}

/* In one write, so that a runner that dies later has answered wholly. */
int answer_send(int fd, struct answer *answer)
{
    const void *bytes;
    size_t count;
    int result = answer_pack(answer, &bytes, &count);
    return result < 0 ? result : message_send(fd, bytes, count);
}

void answer_free(struct answer *answer)
{
    free(answer->readings);
    free(answer->regions);
    free(answer->profile);
    free(answer->calls);
    free(answer->text);
    *answer = (struct answer){ 0 };
}
