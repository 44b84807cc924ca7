/*
 * answer.c: answers under construction, and the texts of messages.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

int answer_words(struct answer *answer, uint32_t words)
{
    uint64_t *room = realloc(answer->words, (words ? words : 1) * sizeof *room);
    if (!room)
        return -ENOMEM;
    answer->words = room;
    answer->result.words = words;
    return 0;
}

void answer_refuse(struct answer *answer, int errnum, const char *why)
{
    free(answer->text);
    answer->text = strdup(why);
    answer->result.outcome = PMCLUA_NOT_STARTED;
    answer->result.errnum = errnum;
    answer->result.output_bytes = answer->text ? (uint32_t)strlen(why) : 0;
    answer->result.error_bytes = answer->result.words = 0;
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

/* In one write, so that a runner that dies later has answered wholly. */
int answer_send(int fd, struct answer *answer)
{
    const struct pmclua_result *result = &answer->result;
    size_t words = result->words * sizeof *answer->words, regions = result->region_words * sizeof *answer->regions;
    size_t text = (size_t)result->output_bytes + result->error_bytes;
    size_t bytes = sizeof(struct message_header) + sizeof *result + words + regions + text;
    if (bytes > MESSAGE_MAX)
        return -EMSGSIZE;
    struct message_header header = { (uint32_t)(bytes - sizeof header), MSG_RESULT, result->sequence };
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
    place = mempcpy(place, &header, sizeof header);
    place = mempcpy(place, result, sizeof *result);
    if (words)
        place = mempcpy(place, answer->words, words);
    if (regions)
        place = mempcpy(place, answer->regions, regions);
    if (text)
        memcpy(place, answer->text, text);
    return message_send(fd, buffer, bytes);
}

void answer_free(struct answer *answer)
{
    free(answer->words);
    pmclua_calls_free_words(answer->regions);
    free(answer->text);
    *answer = (struct answer){ 0 };
}

/* ---- texts of a message ---- */

int fields_count(const struct pmclua_message *message, uint32_t kind)
{
    struct message_field field;
    uint32_t offset = 0;
    int count = 0;
    while (message_next(message, &offset, &field) > 0)
        count += field.kind == kind;
    return count;
}

char **texts_of(const struct pmclua_message *message, uint32_t kind, int *count)
{
    struct message_field field;
    uint32_t offset = 0;
    char **texts = calloc((size_t)fields_count(message, kind) + 1, sizeof *texts);
    *count = 0;
    while (texts && message_next(message, &offset, &field) > 0) {
        if (field.kind != kind)
            continue;
        const char *text = field_text(&field);
        if (!text || !(texts[*count] = strdup(text))) {
            texts_free(texts);
            return NULL;
        }
        ++*count;
    }
    return texts;
}

void texts_free(char **texts)
{
    for (char **text = texts; text && *text; text++)
        free(*text);
    free(texts);
}
