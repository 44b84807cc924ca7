/*
 * runner_regions.c: a command's regions for as long as it runs: probes on it, and a follower of its calls.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "runner_regions.h"

struct following {
    struct probes probes;
    struct follower *follower;
};

/* An event asked for was refused: `failure` is filled. Else `why` says what was being done. */
static void refuse(struct answer *answer, int errnum, const char *why)
{
    if (!why) {
        answer->result.outcome = PMCLUA_NOT_COUNTED;
        return;
    }
    char text[64];
    snprintf(text, sizeof text, "regions: %s", why);
    answer_refuse(answer, errnum, text);
}

int regions_open(struct following **out, const struct region_set *regions, const struct event_set *set, int pid,
                 uint32_t options, struct answer *answer)
{
    struct following *following = calloc(1, sizeof *following);
    const char *why = "memory";
    int result = following ? probes_open(&following->probes, regions, set, pid, options, &answer->result.failure,
                                         &why) : -ENOMEM;
    if (result == 0) {
        why = "thread";
        result = follower_start(&following->follower, &following->probes);
        if (result < 0)
            probes_close(&following->probes);
    }
    if (result < 0) {
        refuse(answer, -result, why);
        free(following);
        return result;
    }
    answer->result.region_path = following->probes.path;
    *out = following;
    return 0;
}

/* The counts of the whole command. */
static int read_totals(const struct following *following, struct answer *answer)
{
    const struct event_set *set = following->probes.set;
    int result = answer_words(answer, set ? set->words : 0);
    return result < 0 ? result : probes_read(&following->probes, answer->words);
}

void regions_close(struct following *following, struct answer *answer)
{
    probes_stop(&following->probes);
    int has_ended = answer->result.outcome != PMCLUA_NOT_STARTED;
    int result = has_ended ? read_totals(following, answer) : 0;
    uint64_t *words = NULL;
    uint32_t count = 0;
    int finished = follower_finish(following->follower, &words, &count);
    if (result == 0)
        result = finished;
    probes_close(&following->probes);
    free(following);
    if (result < 0 && has_ended)
        answer_refuse(answer, -result, "regions: reading");
    if (result < 0 || !has_ended) {
        pmclua_calls_free_words(words);
        return;
    }
    answer->regions = words;
    answer->result.region_words = count;
}

/* Found by its name, in lua/pmclua/experiment/regions.lua. */
__attribute__((noinline, noclone)) void pmclua_empty_call(void)
{
    __asm__ volatile("nop" ::: "memory");
}

int empty_calls(unsigned long count)
{
    while (count-- > 0)
        pmclua_empty_call();
    return 0;
}
