/*
 * program.c: a program that pmclua itself chooses: started without input, read within a limit, and ended.
 *
 * It stays in our process group, so an interrupt at the terminal reaches it as it does us.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clocks.h"
#include "descendants.h"
#include "pmclua.h"

extern char **environ;

static int spawn(int32_t *pid, const char *const *argv, int output, int with_errors)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (with_errors)
        posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int result = posix_spawn(pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -result;
}

int pmclua_program_start(const char *const *argv, int32_t with_errors, int32_t *pid)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    int result = spawn(pid, argv, ends[1], with_errors);
    close(ends[1]);
    if (result == 0)
        return ends[0];
    close(ends[0]);
    return result;
}

int pmclua_program_wait(int fd, uint64_t limit_ns)
{
    uint64_t end = pmclua_now_ns() + limit_ns;
    uint32_t interrupts = pmclua_interrupts();
    for (;;) {
        uint64_t now = pmclua_now_ns(), left = now < end ? end - now : 0;
        struct timespec time = timespec_of(left);
        int result = ppoll(&(struct pollfd){ .fd = fd, .events = POLLIN }, fd >= 0, &time, NULL);
        if (result > 0)
            return 0;
        if (result == 0)
            return -ETIMEDOUT;
        if (errno != EINTR || pmclua_interrupts() != interrupts)
            return -errno;
    }
}

int pmclua_program_end(int32_t pid, uint64_t limit_ns, int32_t *status)
{
    enum { LOOK_NS = 1000000 };
    uint64_t end = pmclua_now_ns() + limit_ns;
    int result;
    while ((result = waitpid(pid, status, WNOHANG)) == 0 && pmclua_now_ns() < end &&
           pmclua_program_wait(-1, LOOK_NS) == -ETIMEDOUT)
        ;
    if (result != 0)
        return result < 0 ? -errno : 0;     /* the host ignores its children, or waits for them all */
    descendants_signal(pid, SIGKILL);
    kill(pid, SIGKILL);
    waitpid(pid, status, 0);
    return -ETIMEDOUT;
}
