#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "host/cpulist.h"
#include "host/proc.h"
#include "sampled.h"

/* The CPUs that are online, as sysfs has them: how many, or -errno. */
static int online_cpus(int32_t *cpus)
{
    char text[4096];
    cpu_set_t set;
    long got = read_text("/sys/devices/system/cpu/online", text, sizeof text);
    if (got < 0)
        return (int)got;
    text[strcspn(text, "\n")] = '\0';
    if (cpulist_parse(text, &set) < 0)
        return -EPROTO;
    int count = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            cpus[count++] = cpu;
    return count;
}

static int refuse(struct pmclua_failure *failure, int result)
{
    *failure = (struct pmclua_failure){ .errnum = -result, .index = -1 };
    return result;
}

int sampled_open(struct pmclua_sampler **sampler, const struct event_set *set, int pid, uint32_t options,
                 struct pmclua_failure *failure)
{
    static int32_t cpus[CPU_SETSIZE];
    if (set->refused.errnum) {
        *failure = set->refused;
        return -failure->errnum;
    }
    if (set->groups != 1 || set->group[0].count != 1)
        return refuse(failure, -EINVAL);
    int count = online_cpus(cpus);
    if (count < 0)
        return refuse(failure, count);
    const struct set_group *group = &set->group[0];
    struct pmclua_sampling asked = {
        .attr = group->attrs[0], .filter = group->filters[0], .period = set->period, .ring_bytes = set->samples_bytes,
        .cpus = cpus, .cpu_count = count, .tasks = &pid, .task_count = 1,
        .options = options | (group_is_inherited(group) ? 0 : PMCLUA_ALONE) | (set->has_chains ? PMCLUA_CHAINS : 0)
            | (set->has_entries ? PMCLUA_ENTRIES : 0) | (set->keeps_records ? PMCLUA_DATA : 0),
    };
    if (pid != 0)
        return pmclua_sampler_open(sampler, &asked, failure);
    int32_t *tasks;
    asked.task_count = proc_tasks(0, &tasks);
    asked.tasks = tasks;
    asked.options |= PMCLUA_RUNNING;
    int result = tasks ? pmclua_sampler_open(sampler, &asked, failure) : refuse(failure, -ENOMEM);
    free(tasks);
    return result;
}

void sampled_take(struct pmclua_sampler *sampler, struct answer *answer)
{
    int result = pmclua_sampler_end(sampler);
    free(answer->profile);
    answer->profile = NULL;
    if (result == 0)
        result = pmclua_sampler_block(sampler, &answer->profile, &answer->result.profile_u64s);
    if (result < 0)
        answer_not_counted(answer, -result);
}
