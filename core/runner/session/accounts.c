/*
 * accounts.c: what Linux has on account of a thread, by /proc: no rights are needed for one's own processes.
 *
 * Invariant: on CPU, waiting and off CPU add up to the time between the two readings, to the nanosecond: what is
 * neither of the first two is the third.
 */
#include <stdio.h>
#include <stdlib.h>

#include "host/clocks.h"
#include "host/proc.h"
#include "accounts.h"

enum { TEXT_BYTES = 512 };

/* "run_ns wait_ns slices" */
static void read_times(const char *path, struct account *account)
{
    char text[TEXT_BYTES], *end;
    if (read_text(path, text, sizeof text) <= 0)
        return;
    account->on_cpu_ns = strtoull(text, &end, 10);
    account->wait_ns = strtoull(end, &end, 10);
    account->taken |= PMCLUA_TAKE_TIMES;
}

/* Lines "name: number", in the order that Linux has had since 2.6.20. */
static void read_io(const char *path, struct account *account)
{
    char text[TEXT_BYTES];
    struct pmclua_io *io = &account->io;
    unsigned long long read_chars, write_chars, read_calls, write_calls, read_bytes, write_bytes;
    if (read_text(path, text, sizeof text) <= 0
        || sscanf(text, "rchar: %llu\nwchar: %llu\nsyscr: %llu\nsyscw: %llu\nread_bytes: %llu\nwrite_bytes: %llu",
                  &read_chars, &write_chars, &read_calls, &write_calls, &read_bytes, &write_bytes) != 6)
        return;
    *io = (struct pmclua_io){ read_bytes, write_bytes, read_chars, write_chars, read_calls, write_calls };
    account->taken |= PMCLUA_TAKE_IO;
}

void account_read(int pid, uint64_t what, struct account *account)
{
    char path[64];
    *account = (struct account){ 0 };
    if (what & PMCLUA_TAKE_IO) {
        snprintf(path, sizeof path, "/proc/%d/io", pid);
        read_io(path, account);
    }
    if (what & PMCLUA_TAKE_TIMES) {
        snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
        read_times(path, account);
    }
}

void account_of_self(uint64_t what, struct account *account)
{
    uint64_t on_cpu_ns = account->on_cpu_ns;
    account->taken = 0;
    if (what & PMCLUA_TAKE_TIMES)
        read_times("/proc/thread-self/schedstat", account);
    account->on_cpu_ns = on_cpu_ns;
}

void account_stamp(uint64_t what, struct account *account)
{
    if (what & PMCLUA_TAKE_TIMES)
        account->on_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t at_most(uint64_t value, uint64_t limit) { return value < limit ? value : limit; }

/* Clamped to the wall time: the clocks are read one after the other. The time on CPU first, whose clock is read last before
 * the call and first after it: a wait between these and the reading of schedstat is in none of the call's. */
static void add_times(struct pmclua_result *result, const struct account *before, const struct account *after,
                      uint64_t wall_ns)
{
    uint64_t on_cpu_ns = at_most(after->on_cpu_ns - before->on_cpu_ns, wall_ns);
    uint64_t wait_ns = at_most(after->wait_ns - before->wait_ns, wall_ns - on_cpu_ns);
    result->wait_ns += wait_ns;
    result->on_cpu_ns += on_cpu_ns;
    result->off_cpu_ns += wall_ns - wait_ns - on_cpu_ns;
}

static void add_io(struct pmclua_io *sum, const struct pmclua_io *before, const struct pmclua_io *after)
{
    sum->read_bytes += after->read_bytes - before->read_bytes;
    sum->write_bytes += after->write_bytes - before->write_bytes;
    sum->read_chars += after->read_chars - before->read_chars;
    sum->write_chars += after->write_chars - before->write_chars;
    sum->read_calls += after->read_calls - before->read_calls;
    sum->write_calls += after->write_calls - before->write_calls;
}

void account_add(struct pmclua_result *result, const struct account *before, const struct account *after,
                 uint64_t wall_ns)
{
    uint64_t both = before->taken & after->taken;
    if (both & PMCLUA_TAKE_TIMES)
        add_times(result, before, after, wall_ns);
    if (both & PMCLUA_TAKE_IO)
        add_io(&result->io, &before->io, &after->io);
    result->taken = both;
}
