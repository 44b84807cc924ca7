/*
 * guard.c: whether a kernel has left its counters alone.
 *
 * Beside them each thread has a task-clock that runs all the time (thread_starts.c). A kernel that disables,
 * resets, closes or replaces descriptors it does not know, or disables counters by prctl, meets this one as well.
 * What it has counted is the time for which it was enabled, and that is no shorter than the CPU time in between.
 */
#include <errno.h>

#include "host/clocks.h"
#include "guard.h"

/* A reset leaves the time for which an event was enabled as it is. Read in one go, what was counted is the
 * later of the two: never the smaller by more than what the OS kernel takes between its two looks at the clock. */
enum { RESET_NS = 2000 };

static int look(const struct thread_starts *clock, uint64_t *enabled_ns)
{
    struct { uint64_t value, enabled, id; } now;
    if (pmclua_read(clock->fd, &now, sizeof now) != sizeof now || now.id != clock->id)
        return -EUCLEAN;
    *enabled_ns = now.enabled;
    return now.value + RESET_NS < now.enabled ? -EUCLEAN : 0;
}

static uint64_t cpu_ns(void) { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

void guard_begin(struct guard *guard, const struct thread_starts *clock)
{
    if (!clock->page || guard->is_on)
        return;
    guard->broken = look(clock, &guard->enabled_ns);
    guard->cpu_ns = cpu_ns();
    guard->is_on = 1;
}

static int64_t missing_ns(const struct guard *guard, const struct thread_starts *clock)
{
    if (!clock->page || guard->broken)
        return clock->page ? guard->broken : 0;
    uint64_t used = cpu_ns() - guard->cpu_ns, now, later;
    int result = look(clock, &now);
    if (result < 0)
        return result;
    uint64_t enabled = now - guard->enabled_ns;
    if (enabled >= used)
        return 0;
    int is_standing = look(clock, &later) < 0 || later == now;
    return is_standing ? -EUCLEAN : (int64_t)(used - enabled);
}

void guard_look(struct guard *guard, const struct thread_starts *clock)
{
    guard->missing_ns = missing_ns(guard, clock);
}

uint64_t guard_switches(uint64_t *last, const struct rusage *now)
{
    uint64_t before = *last;
    *last = (uint64_t)(now->ru_nvcsw + now->ru_nivcsw);
    return *last - before;
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

static int is_in_doubt(const struct guard *guard, uint64_t switches)
{
    return guard->missing_ns > 0 && (uint64_t)guard->missing_ns > switches * SWITCH_NS;
}

int guard_is_broken(struct guard *guard, const struct counters *counters, int errnum, uint64_t switches)
{
    guard->doubts = is_in_doubt(guard, switches) ? guard->doubts + 1 : 0;
    int is_gone = errnum == EBADF || errnum == EPROTO || errnum == ENOTTY;
    if (errnum == 0 && goes_back(counters))
        return 1;
    return is_gone || guard->missing_ns < 0 || (guard->doubts && switches == 0) || guard->doubts >= DOUBTS;
}
