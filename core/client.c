/*
 * client.c: the client side of the runner connection: start it, talk to it, learn how it ended.
 *
 * The runner is one child on one end of a socket pair. It may die at any moment (a measured kernel may
 * do anything); then receive says -EPIPE after the last whole result, and end says how.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/clocks.h"
#include "host/descriptor_limit.h"
#include "host/descendants.h"
#include "host/padding.h"
#include "message/message.h"

struct pmclua_runner {
    pid_t pid;
    int fd;
    int ended;                     /* a pidfd, readable when the runner has ended; -1: this OS kernel has none */
    struct pmclua_message answer;
    int is_whole;                  /* the answer was handed out */
    int is_paused;
};

extern char **environ;

enum { UNDER_MAX = 64 };

/* ---- starting it ---- */

/* State of our own process; restored when the last runner has ended. */
static int runners, has_raised_limit, notices_children;
static struct sigaction children_found;

enum { DESCRIPTORS = 1 << 20 };

/* Hundreds of runners take two descriptors each. Whether there may be more now. */
static int raise_descriptor_limit(void)
{
    if (has_raised_limit || pmclua_descriptors_take(1, DESCRIPTORS) < 0)
        return 0;
    has_raised_limit = 1;
    return descriptors_found() != 0;
}

/* Where SIGCHLD is ignored, the OS kernel takes children away without a word. */
static void notice_children(void)
{
    struct sigaction now;
    if (notices_children || sigaction(SIGCHLD, NULL, &now) < 0
        || (now.sa_handler != SIG_IGN && !(now.sa_flags & SA_NOCLDWAIT)))
        return;
    children_found = now;
    if (now.sa_handler == SIG_IGN)
        now.sa_handler = SIG_DFL;
    now.sa_flags &= ~SA_NOCLDWAIT;
    notices_children = sigaction(SIGCHLD, &now, NULL) == 0;
}

static void ignore_children(void)
{
    struct sigaction now;
    if (!notices_children)
        return;
    notices_children = 0;
    int is_ours = sigaction(SIGCHLD, NULL, &now) == 0 && !(now.sa_flags & SA_NOCLDWAIT)
                  && (now.sa_handler == children_found.sa_handler || now.sa_handler == SIG_DFL);
    if (!is_ours || sigaction(SIGCHLD, &children_found, NULL) < 0)
        return;
    while (waitpid(-1, NULL, WNOHANG) > 0)     /* as the OS kernel would have, had we not been there */
        ;
}

static void begin_runner(void)
{
    runners++;
    notice_children();
}

static void end_runner(void)
{
    if (--runners > 0)
        return;
    ignore_children();
    if (has_raised_limit)
        pmclua_descriptors_give_back(1);
    has_raised_limit = 0;
}

/* The runner gets `theirs` under its own number, which is its argument; duplicating a descriptor onto
 * itself takes its close-on-exec away. */
static int spawn(pid_t *pid, const struct pmclua_start *start, int theirs, char *const *envp)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs, theirs);
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGCHLD);     /* who ignores it is not told how a child ended */
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char number[16], limit[32];
    snprintf(number, sizeof number, "%d", theirs);
    snprintf(limit, sizeof limit, "%llu", (unsigned long long)descriptors_found());
    char *argv[UNDER_MAX + 4] = { NULL };
    int count = 0;
    for (; start->under && count < UNDER_MAX && start->under[count]; count++)
        argv[count] = (char *)start->under[count];
    argv[count] = (char *)(count ? start->path : "pmclua-runner");
    argv[count + 1] = number;
    argv[count + 2] = descriptors_found() ? limit : NULL;
    int result = posix_spawn(pid, count ? argv[0] : start->path, &actions, &attributes, argv, envp);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -result;
}

/* The child inherits our personality: it is changed for the moment of making it. */
static int spawn_with_layout(pid_t *pid, const struct pmclua_start *start, int theirs)
{
    char **envp = start->padding > 0 ? padding_add(environ, start->padding) : environ;
    if (!envp)
        return -ENOMEM;
    int before = start->fixed_addresses ? personality(0xffffffff) : -1;
    if (before >= 0)
        personality((unsigned long)before | ADDR_NO_RANDOMIZE);
    int result = spawn(pid, start, theirs, envp);
    if (before >= 0)
        personality((unsigned long)before);
    if (start->padding > 0)
        padding_free(envp);
    return result;
}

/* Half of the limit is left for others: files, groups, the store. */
static int is_near_limit(int fd)
{
    struct rlimit now;
    return getrlimit(RLIMIT_NOFILE, &now) == 0 && (rlim_t)fd >= now.rlim_cur / 2;
}

static int connect_pair(int ends[2])
{
    int type = SOCK_STREAM | SOCK_CLOEXEC, result = socketpair(AF_UNIX, type, 0, ends);
    if (result < 0 && errno == EMFILE && raise_descriptor_limit())
        result = socketpair(AF_UNIX, type, 0, ends);
    if (result == 0 && is_near_limit(ends[1]))
        raise_descriptor_limit();
    return result < 0 ? -errno : 0;
}

int pmclua_runner_start(struct pmclua_runner **out, const struct pmclua_start *start)
{
    struct pmclua_runner *runner = calloc(1, sizeof *runner);
    begin_runner();
    int ends[2], result = runner ? connect_pair(ends) : -ENOMEM;
    if (result == 0) {
        result = spawn_with_layout(&runner->pid, start, ends[1]);
        close(ends[1]);
        if (result < 0)
            close(ends[0]);
    }
    if (result < 0) {
        end_runner();
        free(runner);
        return result;
    }
    runner->fd = ends[0];
    runner->ended = (int)syscall(SYS_pidfd_open, runner->pid, 0);
    *out = runner;
    return 0;
}

int32_t pmclua_runner_pid(const struct pmclua_runner *runner)
{
    return runner->pid;
}

/* By its pidfd: a host that waits for any child of its own may have reaped the runner, and its pid be another's. */
static int signal_runner(const struct pmclua_runner *runner, int number)
{
    long result = runner->ended < 0 ? kill(runner->pid, number)
                                    : syscall(SYS_pidfd_send_signal, runner->ended, number, NULL, 0);
    return result < 0 ? -errno : 0;
}

/* Its descendants may not run before it is stopped: it might wait for one. */
void pmclua_runner_pause(struct pmclua_runner *runner)
{
    if (runner->is_paused)
        return;
    runner->is_paused = 1;
    if (signal_runner(runner, SIGSTOP) == 0)
        descendants_signal(runner->pid, SIGSTOP);
}

int pmclua_runner_wake(struct pmclua_runner *runner)
{
    if (!runner->is_paused)
        return 0;
    int result = signal_runner(runner, 0);
    if (result == 0) {
        descendants_signal(runner->pid, SIGCONT);
        result = signal_runner(runner, SIGCONT);
    }
    runner->is_paused = result < 0;
    return result;
}

/* Killing leaves orphans, which become the runner's children: a few rounds get them all. */
void pmclua_runner_end_descendants(const struct pmclua_runner *runner)
{
    int is_there = signal_runner(runner, 0) == 0;
    for (int round = 0; is_there && round < 10 && descendants_signal(runner->pid, SIGKILL) > 0; round++)
        nanosleep(&(struct timespec){ 0, 100000 }, NULL);
}

int pmclua_runner_send(struct pmclua_runner *runner, const struct pmclua_message *message)
{
    int result = pmclua_runner_wake(runner);
    return result < 0 ? result : message_send(runner->fd, message->bytes, message->used);
}

#define NEVER UINT64_MAX

static uint64_t left_ns(uint64_t deadline)
{
    uint64_t now = pmclua_now_ns();
    return now < deadline ? deadline - now : 0;
}

/* 1 when there is something to read, 0 at the deadline. A runner that has ended and left nothing to
 * read is -EPIPE, even while a child of its kernel holds the other end. */
static int wait_readable(const struct pmclua_runner *runner, uint64_t deadline)
{
    uint32_t interrupts = pmclua_interrupts();
    for (;;) {
        struct timespec left = timespec_of(left_ns(deadline));
        struct pollfd ready[2] = { { .fd = runner->fd, .events = POLLIN }, { .fd = runner->ended, .events = POLLIN } };
        int result = ppoll(ready, 2, deadline == NEVER ? NULL : &left, NULL);
        if (result > 0)
            return ready[0].revents ? 1 : -EPIPE;
        if (result == 0)
            return 0;
        if (errno != EINTR)
            return -errno;
        if (pmclua_interrupts() != interrupts)
            return -EINTR;
    }
}

int pmclua_pause(uint64_t ns)
{
    struct timespec left = timespec_of(ns);
    uint32_t interrupts = pmclua_interrupts();
    while (nanosleep(&left, &left) < 0)
        if (errno != EINTR || pmclua_interrupts() != interrupts)
            return -errno;
    return 0;
}

static int is_sound(const struct message_header *header)
{
    const struct pmclua_result *facts = (const struct pmclua_result *)(header + 1);
    uint64_t words = (uint64_t)facts->reading_u64s + facts->region_u64s + facts->profile_u64s + facts->call_u64s;
    return header->bytes == sizeof *facts + 8 * words + facts->output_bytes + facts->error_bytes;
}

const struct pmclua_result *pmclua_result_within(const void *bytes, uint64_t count)
{
    const struct message_header *header = bytes;
    const struct pmclua_result *result = (const struct pmclua_result *)(header + 1);
    int is_whole = count >= sizeof *header + sizeof *result && header->kind == MSG_RESULT
        && header->bytes <= count - sizeof *header && is_sound(header);
    /* Tasks send no blocks: their contents are not checked. */
    return is_whole && !result->region_u64s && !result->profile_u64s && !result->call_u64s ? result : NULL;
}

/* Never waits within an answer: a kernel may have written anything to the connection, and hang since. */
int pmclua_runner_receive(struct pmclua_runner *runner, int64_t timeout_ns, const struct pmclua_result **out)
{
    uint64_t deadline = timeout_ns < 0 ? NEVER : pmclua_now_ns() + (uint64_t)timeout_ns;
    int result = 0;
    if (runner->is_whole)
        runner->answer.used = 0;
    runner->is_whole = 0;
    while (result == 0) {
        result = wait_readable(runner, deadline);
        if (result <= 0)
            return result;
        result = message_receive_part(runner->fd, &runner->answer);
    }
    if (result < 0)
        return result;
    runner->is_whole = 1;
    const struct message_header *header = message_header(&runner->answer);
    if (!is_sound(header))
        return -EPROTO;
    *out = (const struct pmclua_result *)(header + 1);
    return 1;
}

const uint64_t *pmclua_result_readings(const struct pmclua_result *result)
{
    return (const uint64_t *)(result + 1);
}

const uint64_t *pmclua_result_regions(const struct pmclua_result *result)
{
    return pmclua_result_readings(result) + result->reading_u64s;
}

const uint64_t *pmclua_result_profile(const struct pmclua_result *result)
{
    return pmclua_result_regions(result) + result->region_u64s;
}

const uint64_t *pmclua_result_calls(const struct pmclua_result *result)
{
    return pmclua_result_profile(result) + result->profile_u64s;
}

const char *pmclua_result_text(const struct pmclua_result *result)
{
    return (const char *)(pmclua_result_calls(result) + result->call_u64s);
}

enum { NOT_KNOWN = 0x7f };             /* a status that is neither an exit nor a signal's */

/* Waits for the runner to end within `limit_ns`: 1 when it was reaped, *status untouched where that fails. */
static int reap(const struct pmclua_runner *runner, int *status, uint64_t limit_ns)
{
    uint64_t deadline = pmclua_now_ns() + limit_ns;
    for (;;) {
        pid_t got = waitpid(runner->pid, status, WNOHANG);
        if (got == runner->pid || (got < 0 && errno != EINTR))
            return 1;
        uint64_t wait = left_ns(deadline);
        if (wait == 0)
            return 0;
        /* Without a descriptor that tells, it is checked every 0.2 ms. */
        struct timespec left = timespec_of(runner->ended >= 0 ? wait : 200000);
        ppoll(&(struct pollfd){ .fd = runner->ended, .events = POLLIN }, 1, &left, NULL);
    }
}

int pmclua_runner_end(struct pmclua_runner *runner, int32_t kill_it, int32_t *exit_code, int32_t *signal)
{
    int status = NOT_KNOWN, is_awake = pmclua_runner_wake(runner) == 0;
    uint64_t limit_ns = !is_awake ? 0 : kill_it > 1 ? 8000000000 : kill_it ? 100000000 : 2000000000;
    shutdown(runner->fd, SHUT_RDWR);   /* the runner reads the end of its work */
    /* A killed one gets SIGTERM first, so that it can kill what it runs. */
    if (kill_it)
        signal_runner(runner, SIGTERM);
    if (!reap(runner, &status, limit_ns) && signal_runner(runner, SIGKILL) == 0)
        TEMP_FAILURE_RETRY(waitpid(runner->pid, NULL, 0));
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    *signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    close(runner->fd);
    if (runner->ended >= 0)
        close(runner->ended);
    pmclua_message_free(&runner->answer);
    free(runner);
    end_runner();
    return 0;
}
