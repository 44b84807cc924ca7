/*
 * spawn.c: the bare cost of running a command: posix_spawn and wait, N times.
 *
 * usage: spawn N COMMAND [ARG…]
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    for (long left = strtol(argv[1], NULL, 10); left > 0; left--) {
        pid_t pid;
        int status, error = posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ);
        if (error || waitpid(pid, &status, 0) < 0)
            return 1;
    }
    return 0;
}
