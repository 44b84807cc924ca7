/*
 * regions.c: a command's regions for as long as it runs: probes on it, and a follower of its calls.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "regions.h"

struct following {
    struct probes probes;
    struct follower *follower;
    int pid;
};

void regions_refuse(struct answer *answer, int errnum, const char *why)
{
    if (!why) {
        answer->result.outcome = PMCLUA_NOT_COUNTED;
        return;
    }
    char text[64];
    snprintf(text, sizeof text, "regions: %s", why);
    answer_refuse(answer, errnum, text);
}

static int open_both(struct following *following, struct region_set *regions, const struct event_set *set,
                     struct pmclua_failure *failure, const char **why)
{
    struct probe_target target = { &following->pid, 1, PMCLUA_ON_EXEC };
    *why = "memory";
    int result = follower_new(&following->follower, regions, set);
    if (result < 0)
        return result;
    result = probes_open(&following->probes, regions, set, &target, failure, why);
    if (result == 0) {
        *why = "thread";
        result = follower_start(following->follower, &following->probes);
        if (result < 0)
            probes_close(&following->probes);
    }
    if (result < 0)
        follower_free(following->follower);
    return result;
}

int regions_open(struct following **out, struct region_set *regions, const struct event_set *set, int pid,
                 struct answer *answer)
{
    const char *why = "memory";
    struct following *following = calloc(1, sizeof *following);
    int result = -ENOMEM;
    if (following) {
        following->pid = pid;
        result = open_both(following, regions, set, &answer->result.failure, &why);
    }
    if (result < 0) {
        regions_refuse(answer, -result, why);
        free(following);
        return result;
    }
    answer->result.region_path = following->probes.path;
    *out = following;
    return 0;
}

int regions_totals(const struct probes *probes, struct answer *answer)
{
    uint32_t words = probes->set ? probes->set->words : 0;
    int result = 0;
    if (!answer->words) {
        result = answer_words(answer, words);
        if (result == 0)
            memset(answer->words, 0, words * sizeof *answer->words);
    }
    return result < 0 ? result : probes_read(probes, answer->words);
}

int regions_answer(struct follower *follower, int result, struct answer *answer)
{
    uint64_t *words = NULL;
    uint32_t count = 0;
    if (result == 0)
        result = follower_finish(follower, &words, &count);
    if (result < 0) {
        answer_refuse(answer, -result, "regions: reading");
        return result;
    }
    answer->regions = words;
    answer->result.region_words = count;
    return 0;
}

void regions_close(struct following *following, struct answer *answer)
{
    int has_ended = answer->result.outcome != PMCLUA_NOT_STARTED;
    probes_switch(&following->probes, 0);
    int result = has_ended ? regions_totals(&following->probes, answer) : 0;
    int stopped = follower_stop(following->follower);
    if (has_ended)
        regions_answer(following->follower, result < 0 ? result : stopped, answer);
    probes_close(&following->probes);
    follower_free(following->follower);
    free(following);
}

/* Found by its name, in lua/pmclua/experiment/regions.lua. */
__attribute__((noinline)) void pmclua_empty_call(void)
{
    __asm__ volatile("nop" ::: "memory");
}

int empty_calls(unsigned long count)
{
    while (count-- > 0)
        pmclua_empty_call();
    return 0;
}
