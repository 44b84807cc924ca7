#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/descendants.h"
#include "channel.h"
#include "child.h"

static volatile sig_atomic_t watched, limit_hit, deferring, terminated;
static struct itimerval grace;       /* between SIGTERM and SIGKILL at the limit; none: SIGKILL at once */

/* A child told to lead a process group may not have got to it yet: then only its pid is known. */
static void signal_watched(int signal)
{
    if (watched)
        kill((pid_t)watched, signal);
    if (watched < 0)
        kill(-(pid_t)watched, signal);
}

static void on_limit(int signal)
{
    int errnum = errno;              /* of the interrupted code */
    int is_last = limit_hit || !timerisset(&grace.it_value);
    (void)signal;
    limit_hit = 1;
    signal_watched(is_last ? SIGKILL : SIGTERM);
    if (!is_last)
        setitimer(ITIMER_REAL, &grace, NULL);
    errno = errnum;
}

void child_die_of(int number)
{
    struct sigaction again = { .sa_handler = SIG_DFL };
    sigset_t only;
    sigaction(number, &again, NULL);
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
}

static void on_terminate(int signal)
{
    int errnum = errno, has_grace = watched && !terminated && timerisset(&grace.it_value);
    signal_watched(has_grace ? SIGTERM : SIGKILL);
    if (has_grace) {                 /* a launcher ends what it has started elsewhere */
        limit_hit = 1;
        setitimer(ITIMER_REAL, &grace, NULL);
    } else if (!deferring) {
        child_die_of(signal);
    }
    terminated = signal;
    channel_hear_no_more();
    errno = errnum;
}

void termination_defer(int on)
{
    deferring += on ? 1 : -1;
    if (!deferring && terminated)
        child_die_of(terminated);
}

int termination_waits(void) { return terminated != 0; }

/* A handler, not SIG_IGN, which executed programs would inherit. */
static void on_interrupt(int signal) { (void)signal; }

void child_watch(int pid) { watched = pid; }

static struct itimerval timer_of(uint64_t ns)
{
    struct itimerval timer = { .it_value = { (time_t)(ns / 1000000000u), (suseconds_t)(ns % 1000000000u / 1000) } };
    if (ns > 0 && ns < 1000)
        timer.it_value.tv_usec = 1;
    return timer;
}

static void set_timer(uint64_t ns)
{
    struct itimerval limit = timer_of(ns);
    setitimer(ITIMER_REAL, &limit, NULL);
}

void child_limit(uint64_t timeout_ns, uint64_t grace_ns)
{
    limit_hit = 0;
    grace = timer_of(grace_ns);
    if (timeout_ns > 0)
        set_timer(timeout_ns);
}

void child_disarm(void) { set_timer(0); }

int child_hit_limit(void) { return limit_hit; }

/* The terminal's interrupt is for pmclua; one that our parent ignores stays ignored. */
void signals_catch(void)
{
    struct sigaction old, interrupt = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART },
        terminate = { .sa_handler = on_terminate }, limit = { .sa_handler = on_limit, .sa_flags = SA_RESTART };
    sigaction(SIGINT, NULL, &old);
    if (old.sa_handler != SIG_IGN)
        sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGTERM, &terminate, NULL);
    sigaction(SIGALRM, &limit, NULL);
}

static void on_passed(int signal)
{
    int errnum = errno;
    signal_watched(signal);
    errno = errnum;
}

void signals_leave(void)
{
    static const int left[] = { SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM };
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        struct sigaction old, caught = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };
        if (left[i] == SIGTERM)
            caught.sa_handler = on_passed;
        if (sigaction(left[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(left[i], &caught, NULL);
    }
}

/* ---- what a killed command leaves ---- */

void child_reap_orphans(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

enum { ROUNDS = 200 };

/* The runner is its descendants' reaper: orphans become its children, round by round. */
void child_end_descendants(void)
{
    for (int round = 0; round < ROUNDS && descendants_signal(getpid(), SIGKILL) > 0; round++) {
        child_reap_orphans();
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    child_reap_orphans();
}
