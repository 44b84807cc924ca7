/*
 * questions.c: the supervisor of a program whose system calls are asked about.
 *
 * A question costs two thirds of a stop by ptrace; most of both is the context switches.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/release.h"
#include "pmclua.h"
#include "questions.h"
#include "stand_in.h"

/* ---- the program ---- */

/* The listener for questions; -1: refused. Linux 5.5 can continue a call that was asked about, and 5.9 tells when no
 * process is left that could ask. */
static int filter_calls(const struct sock_fprog *filter)
{
    if (!release_is_from(5, 9) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, filter);
}

/* Ends with 1 where it cannot be asked about: then nothing has been executed. It shares our descriptors until it
 * executes. */
static void become(const struct questions *questions, int tell, int parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)                 /* it was killed before: no question would be answered */
        _exit(1);
    int listener = filter_calls(&questions->filter);
    if (write(tell, &listener, sizeof listener) != sizeof listener || listener < 0)
        _exit(1);
    syscall(SYS_execve, questions->path, questions->argv, questions->envp);
    _exit(127);
}

int questions_text(int pid, unsigned long from, char *text, size_t bytes)
{
    for (size_t have = 0; have < bytes;) {
        size_t part = 4096 - (from + have) % 4096;
        if (part > bytes - have)
            part = bytes - have;
        struct iovec here = { text + have, part }, there = { (void *)(from + have), part };
        if (syscall(SYS_process_vm_readv, pid, &here, 1L, &there, 1L, 0L) != (long)part)
            return -1;
        if (memchr(text + have, '\0', part))
            return 0;
        have += part;
    }
    return -1;
}

/* ---- its questions ---- */

/* Linux 6.6 and later: questions and answers wake the other side on the same CPU. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
enum { SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP = 1 };
#endif

/* A process that asked is blocked until we answer. So a refused request is retried before the program is given up. */
enum { TRIES = 8 };

int questions_control(const struct questions *questions, unsigned long request, void *argument)
{
    int result = -1;
    for (int i = 0; i < TRIES && result < 0 && result != -ENOENT; i++) {
        result = ioctl(questions->listener, request, argument);
        result = result < 0 ? -errno : result;
    }
    return result;
}

/* Like poll(2), which without a limit never ends with 0. */
static int wait_for(struct pollfd waits[2])
{
    int ready = -1;
    for (int i = 0; i < TRIES && ready <= 0; i++)
        ready = poll(waits, 2, -1);
    return ready;
}

/* Takes one question and answers it: 0, or -1 where it cannot. */
static int take_question(struct questions *questions)
{
    struct seccomp_notif question = { 0 };
    int result = questions_control(questions, SECCOMP_IOCTL_NOTIF_RECV, &question);
    if (result < 0)
        return result == -ENOENT ? 0 : -1;
    struct seccomp_notif_resp answer = { .id = question.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
    questions->take(questions, &question, &answer);
    result = questions_control(questions, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    return result < 0 && result != -ENOENT ? -1 : 0;
}

static int reap(struct questions *questions, int pid)
{
    return TEMP_FAILURE_RETRY(waitpid(pid, &questions->status, 0)) < 0 ? -1 : 0;
}

/* A program that we may not kill ends with us (PR_SET_PDEATHSIG). */
static void end_program(struct questions *questions, int pid, int ended)
{
    if (stand_in_signal(ended, SIGKILL) == 0)
        reap(questions, pid);
}

/* Answers the processes that the program has left running, in a child without their streams and command line. Zombies are
 * reaped first, as they may count as processes that could ask. */
static int leave(struct questions *questions)
{
    struct pollfd wait = { questions->listener, POLLIN, 0 };
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    int is_none = poll(&wait, 1, 0) > 0 && !(wait.revents & POLLIN);
    int pid = is_none ? 1 : fork();
    if (pid != 0)
        return 0;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    for (char *const *word = questions->argv; *word; word++)
        memset(*word, 0, strlen(*word));
    while (poll(&wait, 1, -1) > 0 && (wait.revents & POLLIN) && take_question(questions) == 0)
        ;
    _exit(0);
}

/* Follows a program to its end: 0, or -1. `ended`: its pidfd. */
static int follow(struct questions *questions, int first, int ended)
{
    struct pollfd waits[2] = { { questions->listener, POLLIN, 0 }, { ended, POLLIN, 0 } };
    ioctl(questions->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, (unsigned long)SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    while (wait_for(waits) > 0) {
        if (waits[0].revents & POLLIN) {
            if (take_question(questions) < 0)
                return -1;
        } else if (waits[0].revents)           /* no process is left that could ask */
            return reap(questions, first);
        else
            return reap(questions, first) < 0 ? -1 : leave(questions);
    }
    return -1;
}

/* ---- running it ---- */

/* Starts the program: its pid, and its pidfd. */
static int start(struct questions *questions, int *ended)
{
    int tell[2];
    if (pipe2(tell, O_CLOEXEC) < 0)
        return -1;
    /* One table of descriptors, so that the child's is ours. */
    int parent = getpid();
    int pid = (int)syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD | SIGCHLD, 0L, ended, 0L, 0L);
    if (pid == 0)
        become(questions, tell[1], parent);
    if (pid > 0) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);    /* writing into a descendant's memory may be allowed to its ancestors alone */
        stand_in_for(*ended);
    }
    struct pollfd waits[2] = { { tell[0], POLLIN, 0 }, { *ended, POLLIN, 0 } };
    int is_told = pid > 0 && wait_for(waits) > 0 && (waits[0].revents & POLLIN)
                  && TEMP_FAILURE_RETRY(read(tell[0], &questions->listener, sizeof(int))) == sizeof(int);
    if (!is_told)
        questions->listener = -1;
    close(tell[0]);
    close(tell[1]);
    return pid;
}

int questions_ask(struct questions *questions)
{
    int ended = -1;
    questions->listener = -1;
    int pid = start(questions, &ended);
    int result = pid > 0 && questions->listener >= 0 ? follow(questions, pid, ended) : -1;
    if (result < 0 && pid > 0)
        end_program(questions, pid, ended);
    return result;
}
