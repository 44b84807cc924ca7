/*
 * regions.c: a command's regions for as long as it runs: probes on it, and a follower of its calls.
 */
#include <string.h>

#include "regions.h"

void regions_refuse(struct answer *answer, int errnum, enum pmclua_stage stage)
{
    if (stage == PMCLUA_STAGE_NONE)
        answer->result.outcome = PMCLUA_NOT_COUNTED;
    else
        answer_refuse(answer, errnum, stage, NULL);
}

static int open_both(struct followed_regions *followed, struct region_set *regions, const struct event_set *set,
                     struct pmclua_failure *failure, enum pmclua_stage *stage)
{
    struct probe_target target = { &followed->pid, 1, PMCLUA_ON_EXEC };
    int result = follower_new(&followed->follower, regions, set);
    if (result < 0)
        return result;
    result = probes_open(&followed->probes, regions, set, &target, failure, stage);
    if (result == 0) {
        *stage = PMCLUA_STAGE_REGION_THREAD;
        result = follower_start(followed->follower, &followed->probes);
        if (result < 0)
            probes_close(&followed->probes);
    }
    if (result < 0)
        follower_free(followed->follower);
    return result;
}

int regions_open(struct followed_regions *followed, struct region_set *regions, const struct event_set *set, int pid,
                 struct answer *answer)
{
    enum pmclua_stage stage = PMCLUA_STAGE_REGION_MEMORY;
    *followed = (struct followed_regions){ .pid = pid };
    int result = open_both(followed, regions, set, &answer->result.failure, &stage);
    if (result < 0)
        regions_refuse(answer, -result, stage);
    else
        answer->result.region_path = followed->probes.path;
    return result;
}

int regions_totals(const struct probes *probes, struct answer *answer)
{
    uint32_t count = probes->set ? probes->set->reading_u64s : 0;
    int result = 0;
    if (!answer->readings) {
        result = answer_reserve_readings(answer, count);
        if (result == 0)
            memset(answer->readings, 0, count * sizeof *answer->readings);
    }
    return result < 0 ? result : probes_read(probes, answer->readings);
}

int regions_answer(struct follower *follower, int result, struct answer *answer)
{
    uint64_t *block = NULL;
    uint32_t count = 0;
    if (result == 0)
        result = follower_finish(follower, &block, &count);
    if (result < 0) {
        answer_refuse(answer, -result, PMCLUA_STAGE_REGION_READING, NULL);
        return result;
    }
    answer->regions = block;
    answer->result.region_u64s = count;
    return 0;
}

void regions_close(struct followed_regions *followed, int are_seen, struct answer *answer)
{
    int has_ended = answer->result.outcome != PMCLUA_NOT_STARTED;
    probes_switch(&followed->probes, 0);
    int result = has_ended ? regions_totals(&followed->probes, answer) : 0;
    int stopped = follower_stop(followed->follower);
    if (has_ended)
        result = regions_answer(followed->follower, result < 0 ? result : stopped, answer);
    if (has_ended && result == 0 && are_seen)
        region_set_put(followed->probes.regions, answer->regions);
    probes_close(&followed->probes);
    follower_free(followed->follower);
}
