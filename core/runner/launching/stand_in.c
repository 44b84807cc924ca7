/*
 * stand_in.c: a process of ours in the place of the program that it has started.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/session/child.h"
#include "stand_in.h"

int stand_in_signal(int ended, int number)
{
    return (int)syscall(SYS_pidfd_send_signal, ended, number, NULL, 0);
}

static volatile sig_atomic_t passed_to = -1;      /* a pidfd; -1: nobody */

static void pass_on(int signal)
{
    int errnum = errno;
    if (passed_to >= 0)
        stand_in_signal(passed_to, signal);
    errno = errnum;
}

void stand_in_for(int ended)
{
    struct sigaction ours = { .sa_handler = SIG_IGN };
    sigaction(SIGINT, &ours, NULL);
    sigaction(SIGQUIT, &ours, NULL);
    ours.sa_handler = pass_on;
    ours.sa_flags = SA_RESTART;
    passed_to = getpgrp() == getpid() ? -1 : ended;
    sigaction(SIGTERM, &ours, NULL);
}

int stand_in_die(int number)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    child_die_of(number);
    return 128 + number;
}

int stand_in_end(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : stand_in_die(WTERMSIG(status)); }
