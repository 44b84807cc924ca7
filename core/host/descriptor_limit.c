/*
 * descriptor_limit.c: the soft limit on descriptors, raised while more are needed.
 *
 * Invariant: it is as it was found whenever no more are needed. It stays raised while the descriptors are open, since a
 * new one takes the lowest number that is free.
 */
#include <errno.h>
#include <sys/resource.h>

#include "descriptor_limit.h"
#include "pmclua.h"

static rlim_t found, raised;           /* before it was raised, and what it was raised to; 0: it was not */
static uint64_t taken;                 /* by all takers */

int pmclua_descriptors_take(uint64_t count, uint64_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -errno;
    rlim_t now = limit.rlim_cur;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    if (limit.rlim_cur > now) {
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
            return -errno;
        found = found ? found : now;
        raised = limit.rlim_cur;
    }
    taken += count;
    return 0;
}

void pmclua_descriptors_give_back(uint64_t count)
{
    struct rlimit limit;
    taken -= count;
    if (taken > 0 || !found)
        return;
    /* Another limit is the host program's own, set meanwhile. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == raised) {
        limit.rlim_cur = found;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    found = 0;
}

uint64_t descriptors_found(void) { return found; }
