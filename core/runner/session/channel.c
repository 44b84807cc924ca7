#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "channel.h"

static int channel = -1;

int channel_fd(void) { return channel; }

int channel_open(int fd)
{
    if (fd <= 2 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return -1;
    channel = fd;
    return 0;
}

int channel_has_message(void)
{
    struct pollfd ready = { .fd = channel, .events = POLLIN };
    return poll(&ready, 1, 0) > 0;
}

int channel_is_closed(void)
{
    struct pollfd closed = { .fd = channel };
    return poll(&closed, 1, 0) > 0;                       /* POLLHUP is always told */
}

void channel_hear_no_more(void) { shutdown(channel, SHUT_RD); }
