/*
 * guard.c: whether a kernel has left its counters alone.
 *
 * Beside them each thread has a task-clock that runs all the time (runner_births.c). A kernel that disables,
 * resets, closes or replaces descriptors it does not know, or disables counters by prctl, meets this one as well.
 * What it has counted is the time for which it was enabled, and that is no shorter than the CPU time in between.
 */
#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "crew.h"

/* A reset leaves the time for which an event was enabled as it is. Read in one go, what was counted is the
 * later of the two: never the smaller by more than what the OS kernel takes between its two looks at the clock. */
enum { RESET_NS = 2000 };

static int look(const struct births *births, uint64_t *enabled_ns)
{
    struct { uint64_t value, enabled, id; } now;
    if (pmclua_read(births->fd, &now, sizeof now) != sizeof now || now.id != births->id)
        return -EUCLEAN;
    *enabled_ns = now.enabled;
    return now.value + RESET_NS < now.enabled ? -EUCLEAN : 0;
}

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void guard_begin(struct births *births)
{
    if (!births->page || births->is_guarding)
        return;
    births->broken = look(births, &births->enabled_ns);
    births->cpu_ns = cpu_ns();
    births->is_guarding = 1;
}

int64_t guard_look(const struct births *births)
{
    if (!births->page || births->broken)
        return births->broken;
    uint64_t used = cpu_ns() - births->cpu_ns, now, later;
    int result = look(births, &now);
    if (result < 0)
        return result;
    uint64_t enabled = now - births->enabled_ns;
    if (enabled >= used)
        return 0;
    int is_standing = look(births, &later) < 0 || later == now;
    return is_standing ? -EUCLEAN : (int64_t)(used - enabled);
}

uint64_t guard_switches(uint64_t *last, const struct rusage *now)
{
    uint64_t before = *last;
    *last = (uint64_t)(now->ru_nvcsw + now->ru_nivcsw);
    return *last - before;
}

void crew_end_guard(struct crew *crew)
{
    for (int i = 0; i < crew->count; i++)
        crew->seat[i].counters.births.is_guarding = 0;
}

/* Counts only grow. A reading that is lost (of a pinned group) is smaller than those before. */
static int goes_back(const struct counters *counters)
{
    uint32_t place = 0;
    for (int g = 0; counters->set && g < counters->set->groups; g++) {
        uint32_t end = place + 2 + (uint32_t)counters->set->group[g].count;
        int lost = pmclua_reading_is_lost(counters->after + place) || pmclua_reading_is_lost(counters->before + place);
        for (; place < end; place++)
            if (!lost && counters->after[place] < counters->before[place])
                return 1;
    }
    return 0;
}

/* At a switch a task is on its CPU a little before and after its events are (92 µs were seen in a virtual machine):
 * once that says nothing, three times in a row it does. Without a switch it is certain. */
enum { SWITCH_NS = 100000, DOUBTS = 3 };

static int is_in_doubt(const struct seat *seat, uint64_t switches)
{
    return seat->missing_ns > 0 && (uint64_t)seat->missing_ns > switches * SWITCH_NS;
}

/* Whether the kernel has disabled, reset, closed or replaced the counters of a thread. */
int guard_is_broken(struct seat *seat, uint64_t switches)
{
    seat->doubts = is_in_doubt(seat, switches) ? seat->doubts + 1 : 0;
    int is_gone = seat->errnum == EBADF || seat->errnum == EPROTO || seat->errnum == ENOTTY;
    if (seat->errnum == 0 && goes_back(&seat->counters))
        return 1;
    return is_gone || seat->missing_ns < 0 || (seat->doubts && switches == 0) || seat->doubts >= DOUBTS;
}
