/*
 * signals.c: signals that interrupt, and those by which this process dies while it has temporary folders.
 *
 * Invariant: what a signal did before is restored as soon as we do not need it. One that is ignored (by nohup, by a
 * shell for its background jobs) stays ignored; one that has a handler of its own kills nobody, and is not ours to
 * die of.
 */
#include <errno.h>
#include <signal.h>

#include "pmclua.h"
#include "signals.h"
#include "temporary.h"

static volatile sig_atomic_t interrupts, interrupt_signal;
static int catches, deadly_second;

static struct taken {
    int number, interrupts, is_ours;
    struct sigaction found;        /* what our handler has replaced */
} taken[] = {
    { .number = SIGINT, .interrupts = 1 }, { .number = SIGTERM, .interrupts = 2 }, { .number = SIGHUP, .interrupts = 2 },
    { .number = SIGQUIT }, { .number = SIGPIPE },
};
enum { TAKEN = sizeof taken / sizeof *taken };

static void act_as_found(const struct taken *one)
{
    if (one->found.sa_handler == SIG_DFL)
        temporary_remove_all();
    sigaction(one->number, &one->found, NULL);
    raise(one->number);
}

/* SIGTERM and SIGHUP ask to end at once, as a second SIGINT does. */
static void on_signal(int number)
{
    struct taken *one = taken;
    while (one->number != number)
        one++;
    int errnum = errno;
    if (catches && one->interrupts) {
        interrupts += one->interrupts;
        interrupt_signal = number;
        if (deadly_second && interrupts > 1)
            act_as_found(one);
    } else {
        act_as_found(one);
    }
    errno = errnum;
}

static int is_needed(const struct taken *one)
{
    return catches && one->interrupts ? one->found.sa_handler != SIG_IGN
                                      : temporary_is_there() && one->found.sa_handler == SIG_DFL;
}

static int settle(struct taken *one)
{
    struct sigaction now, ours = { .sa_handler = on_signal };        /* no SA_RESTART: waits end */
    if (sigaction(one->number, NULL, &now) < 0)
        return -errno;
    one->is_ours = now.sa_handler == on_signal;
    if (!one->is_ours)
        one->found = now;
    if (is_needed(one) == one->is_ours)
        return 0;
    return sigaction(one->number, one->is_ours ? &one->found : &ours, NULL) < 0 ? -errno : 0;
}

int signals_settle(void)
{
    int result = 0;
    for (int i = 0; i < TAKEN; i++) {
        int own = settle(&taken[i]);
        result = result < 0 ? result : own;
    }
    return result;
}

int pmclua_catch_interrupts(int32_t on)
{
    interrupts = 0;
    interrupt_signal = 0;
    catches = on != 0;
    deadly_second = on == 2;
    return signals_settle();
}

int32_t pmclua_second_kills(int32_t on)
{
    int before = deadly_second;
    deadly_second = on;
    return before;
}

int32_t pmclua_interrupt_signal(void) { return (int32_t)interrupt_signal; }
uint32_t pmclua_interrupts(void) { return (uint32_t)interrupts; }
