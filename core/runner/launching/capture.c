/*
 * capture.c: what a command writes, kept up to a limit while it runs.
 *
 * A pipe is drained while the command runs, so that a flood costs the limit and no more, and a command
 * never waits for us for long. A child that outlives the command may keep the pipe open: its end is the
 * command's end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "streams.h"

/* A pipe holds one chunk unless its writer enlarges it; more than this is written as we read. */
enum { CHUNK_BYTES = 65536, DRAIN_CHUNKS = 16, PAUSE_MS = 10 };

int capture_open(struct capture *capture, uint64_t limit)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *capture = (struct capture){ .ours = ends[0], .theirs = ends[1], .limit = limit };
    return 0;
}

static void keep(struct capture *capture, const char *bytes, size_t count)
{
    size_t room = capture->limit - capture->used;
    if (count > room)
        count = room;
    if (capture->used + count > capture->size) {
        size_t size = (capture->used + count) * 2;
        char *text = realloc(capture->text, size);
        if (!text)
            return;
        capture->text = text;
        capture->size = (uint32_t)size;
    }
    if (count > 0)
        memcpy(capture->text + capture->used, bytes, count);
    capture->used += (uint32_t)count;
}

/* Reads what the pipe holds: 0, or -1 at its end. Bounded: what outlives the command may write for ever. */
static int drain(struct capture *capture)
{
    static char chunk[CHUNK_BYTES];
    for (int i = 0; i < DRAIN_CHUNKS; i++) {
        ssize_t got = read(capture->ours, chunk, sizeof chunk);
        if (got > 0)
            keep(capture, chunk, (size_t)got);
        else if (got == 0)
            return -1;
        else if (errno != EINTR)
            return 0;
    }
    return 0;
}

/* Asks the OS kernel where no descriptor says so (pidfd_open may be unknown or forbidden). */
static int has_ended(int pid)
{
    siginfo_t info = { .si_pid = 0 };
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) < 0)
        return errno != EINTR;
    return info.si_pid == pid;
}

void capture_follow(struct capture captures[2], int pid, struct pmclua_drops *drops)
{
    struct pollfd ready[4];
    struct pmclua_drop first;
    int ended = (int)syscall(SYS_pidfd_open, pid, 0);
    ready[2] = (struct pollfd){ .fd = ended, .events = POLLIN };
    ready[3] = (struct pollfd){ .fd = drops ? pmclua_drops_fd(drops) : -1, .events = POLLIN };
    for (int i = 0; i < 2; i++) {
        ready[i] = (struct pollfd){ .fd = captures[i].ours, .events = POLLIN };
        if (captures[i].theirs >= 0)
            close(captures[i].theirs);
        captures[i].theirs = -1;
    }
    for (int is_over = 0; !is_over;) {
        int count = poll(ready, 4, ended >= 0 ? -1 : PAUSE_MS);
        is_over = count > 0 && ended >= 0 ? ready[2].revents != 0 : has_ended(pid);
        for (int i = 0; i < 2; i++)
            if (ready[i].fd >= 0 && drain(&captures[i]) < 0)
                ready[i].fd = -1;
        if (count > 0 && ready[3].revents)
            pmclua_drops_read(drops, &first);
    }
    if (ended >= 0)
        close(ended);
}

void capture_close(struct capture *capture)
{
    if (capture->ours >= 0)
        close(capture->ours);
    if (capture->theirs >= 0)
        close(capture->theirs);
    free(capture->text);
}
