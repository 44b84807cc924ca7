/*
 * attachment.c: the calls of a process that runs already, with a bound on what following them costs it.
 *
 * Where there is a bound, probes are on in windows: a window ends when its samples have cost what may be
 * spent at once, and the next begins when the cost so far is within the bound again, taken over all the time
 * since the beginning. Off means closed: a probe that is only disabled still stops its target. The cost of a
 * sample was measured beforehand on an empty function.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/proc.h"
#include "runner/session/channel.h"
#include "runner/session/child.h"
#include "attachment.h"
#include "regions.h"

enum {
    MILLION = 1000000,             /* the bound is in parts of it */
    AT_ONCE_NS = 250000000,        /* a window may cost the bound's share of this time */
    LOOK_MS = 2,                   /* how often a bounded window is checked; its cost may overshoot by this time */
    WAIT_MS = 100,
    HIT_NS = 5000,                 /* default cost of a sample */
    WATCHED_MAX = 64               /* threads whose programs are watched: each takes an event and a ring on each CPU */
};

struct attachment {
    struct region_set *regions;
    uint64_t pid, duty, hit_ns;    /* duty: parts per million; 0: no bound */
};

/* One run. */
struct attached {
    const struct attachment *attachment;
    const struct event_set *set;
    struct follower *follower;
    int ended;                     /* a pidfd; -1: this OS kernel has none */
    int is_over;                   /* the target has ended, or we are asked to stop */
    int target_ended;
    uint64_t start_ns, limit_ns, on_ns, cost_ns;     /* limit_ns: when to end; UINT64_MAX: never */
    struct pmclua_drops *drops[WATCHED_MAX];         /* of the threads that were there at the beginning */
    int drops_count;
    struct pmclua_result *result;
};

/* ---- definition ---- */

void attachment_free(struct attachment *attachment)
{
    region_set_free(attachment->regions);
    free(attachment);
}

static int take_field(void *owner, const struct message_field *field)
{
    struct attachment *attachment = owner;
    switch (field->kind) {
    case PMCLUA_F_PID:    return field_u64(field, &attachment->pid);
    case PMCLUA_F_DUTY:   return field_u64(field, &attachment->duty);
    case PMCLUA_F_HIT_NS: return field_u64(field, &attachment->hit_ns);
    default:              return region_set_take(&attachment->regions, field);
    }
}

int attachment_new(struct attachment **out, const struct pmclua_message *message)
{
    struct attachment *attachment = calloc(1, sizeof *attachment);
    if (!attachment)
        return -ENOMEM;
    attachment->hit_ns = HIT_NS;
    int result = message_take(message, take_field, attachment);
    if (result == 0 && !attachment->regions)
        result = -EPROTO;
    if (result < 0)
        attachment_free(attachment);
    else
        *out = attachment;
    return result;
}

/* ---- the target ---- */

/* Threads and children that start later inherit it. */
static void watch_programs(struct attached *attached)
{
    int *tids, count = proc_tasks((int)attached->attachment->pid, &tids);
    if (attached->attachment->regions->one_thread)
        count = count > 0;                 /* the first, which /proc lists first */
    int failed = count > WATCHED_MAX ? -E2BIG : 0;
    for (int i = 0; failed == 0 && i < count; i++) {
        int opened = pmclua_drops_open(&attached->drops[attached->drops_count], tids[i], (uint32_t)count);
        attached->drops_count += opened == 0;
        failed = opened == -ESRCH ? 0 : opened;
    }
    attached->result->unseen = (uint32_t)-failed;
    free(tids);
}

/* Reads which programs Linux does not let us follow, before the rings overflow. */
static void look_at_programs(struct attached *attached)
{
    struct pmclua_result *result = attached->result;
    result->drops = 0;
    for (int i = 0; i < attached->drops_count; i++) {
        struct pmclua_drop first;
        int count = pmclua_drops_read(attached->drops[i], &first);
        if (count > 0 && attached->attachment->regions->one_thread && first.pid != (int)attached->attachment->pid)
            continue;                      /* it is not followed */
        if (count > 0 && result->drops == 0)
            result->drop = first;
        if (count > 0)
            result->drops += (uint32_t)count;
        if (count < 0)
            result->unseen = (uint32_t)-count;
    }
}

static void forget_programs(struct attached *attached)
{
    look_at_programs(attached);
    while (attached->drops_count > 0)
        pmclua_drops_close(attached->drops[--attached->drops_count]);
}

static void look_at_target(struct attached *attached, int timeout_ms)
{
    struct pollfd ready = { .fd = attached->ended, .events = POLLIN };
    poll(&ready, 1, timeout_ms);
    look_at_programs(attached);
    int is_gone = attached->ended >= 0 ? (ready.revents & POLLIN) != 0
                                       : kill((int)attached->attachment->pid, 0) < 0 && errno == ESRCH;
    attached->target_ended |= is_gone;
    attached->is_over |= is_gone || channel_has_message() || termination_waits() ||
                         pmclua_now_ns() >= attached->limit_ns;
}

/* ---- cost ---- */

/* At most as many samples as bytes were written to the rings. */
static uint64_t samples_written(const struct probes *probes)
{
    uint64_t bytes = 0, least = 8 + 24 + 24 + 16 * (uint64_t)probes->group[0].members;
    for (int i = 0; i < probes->rings; i++)
        bytes += ring_written(&probes->ring[i].ring);
    return bytes / least;
}

static uint64_t share_of(const struct attached *attached, uint64_t ns)
{
    return (uint64_t)((__uint128_t)ns * attached->attachment->duty / MILLION);
}

/* How long to stay off until the cost so far is within the bound. */
static uint64_t pause_ns(const struct attached *attached)
{
    uint64_t elapsed = pmclua_now_ns() - attached->start_ns;
    uint64_t needed = (uint64_t)((__uint128_t)attached->cost_ns * MILLION / attached->attachment->duty);
    return needed > elapsed ? needed - elapsed : 0;
}

/* ---- windows ---- */

static void wait_while_on(struct attached *attached, const struct probes *probes)
{
    uint64_t hit_ns = attached->attachment->hit_ns, most_ns = share_of(attached, AT_ONCE_NS);
    int is_bounded = attached->attachment->duty > 0;
    while (!attached->is_over) {
        look_at_target(attached, is_bounded ? LOOK_MS : WAIT_MS);
        if (is_bounded && samples_written(probes) * hit_ns > most_ns &&
            attached->cost_ns + samples_written(probes) * hit_ns >
            share_of(attached, pmclua_now_ns() - attached->start_ns))
            return;
    }
}

static void wait_while_off(struct attached *attached)
{
    uint64_t left_ns;
    while (attached->attachment->duty > 0 && !attached->is_over && (left_ns = pause_ns(attached)) > 0) {
        uint64_t left_ms = left_ns / 1000000 + 1;
        look_at_target(attached, left_ms < WAIT_MS ? (int)left_ms : WAIT_MS);
    }
}

static int follow_open(struct attached *attached, struct probes *probes, struct answer *answer)
{
    int result = follower_start(attached->follower, probes);
    if (result < 0)
        return result;
    uint64_t on_ns = pmclua_now_ns();
    probes_switch(probes, 1);
    wait_while_on(attached, probes);
    probes_switch(probes, 0);
    attached->on_ns += pmclua_now_ns() - on_ns;
    attached->cost_ns += samples_written(probes) * attached->attachment->hit_ns;
    result = regions_totals(probes, answer);
    int stopped = follower_stop(attached->follower);
    return result < 0 ? result : stopped;
}

/* Probes on, until something ends it. */
static int window(struct attached *attached, struct answer *answer, enum pmclua_stage *stage)
{
    int *tids, first = (int)attached->attachment->pid, count = proc_tasks(first, &tids);
    struct probe_target target = { tids, count, 0 };
    if (count > 0 && attached->attachment->regions->one_thread)
        target = (struct probe_target){ &first, 1, 0 };
    struct probes probes;
    *stage = PMCLUA_STAGE_REGION_TARGET;
    int result = -ESRCH;
    if (count > 0)
        result = probes_open(&probes, attached->attachment->regions, attached->set, &target,
                             &answer->result.failure, stage);
    if (result == 0) {
        answer->result.region_path = probes.path;
        *stage = PMCLUA_STAGE_REGION_THREAD;
        for (int i = 0; i < count; i++)
            follower_name(attached->follower, first, tids[i]);
        result = follow_open(attached, &probes, answer);
        probes_close(&probes);
    }
    free(tids);
    return result;
}

static int follow_all(struct attached *attached, struct answer *answer)
{
    enum pmclua_stage stage = PMCLUA_STAGE_NONE;
    int result = 0, windows = 0;
    while (!attached->is_over && result == 0) {
        result = window(attached, answer, &stage);
        /* The target ended between two windows. */
        if (result == -ESRCH && windows > 0) {
            attached->target_ended = attached->is_over = 1;
            result = 0;
        }
        windows++;
        if (result == 0)
            wait_while_off(attached);
    }
    if (result < 0)
        regions_refuse(answer, -result, stage);
    return result;
}

/* ---- a run ---- */

static void add_facts(const struct attached *attached, struct answer *answer)
{
    struct pmclua_regions *header = (struct pmclua_regions *)answer->regions;
    header->observed_ns = attached->on_ns;
    header->target_ended = (uint64_t)attached->target_ended;
}

void attachment_run(struct attachment *attachment, const struct event_set *set, const struct run *run,
                    struct answer *answer)
{
    struct attached attached = { .attachment = attachment, .set = set, .start_ns = pmclua_now_ns(),
                                 .result = &answer->result };
    attached.limit_ns = run->timeout_ns ? attached.start_ns + run->timeout_ns : UINT64_MAX;
    answer->result.threads = 1;
    answer->result.start_ns = attached.start_ns;
    int result = follower_new(&attached.follower, attachment->regions, set);
    if (result < 0) {
        regions_refuse(answer, -result, PMCLUA_STAGE_REGION_MEMORY);
        return;
    }
    termination_defer(1);
    attached.ended = (int)syscall(SYS_pidfd_open, attachment->pid, 0);
    watch_programs(&attached);
    if (follow_all(&attached, answer) == 0) {
        answer->result.wall_ns = pmclua_now_ns() - attached.start_ns;
        if (regions_answer(attached.follower, 0, answer) == 0)
            add_facts(&attached, answer);
    }
    forget_programs(&attached);
    follower_free(attached.follower);
    if (attached.ended >= 0)
        close(attached.ended);
    termination_defer(0);
}
