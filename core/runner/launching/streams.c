#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/session/descriptors.h"
#include "streams.h"

enum { CAPTURE_DEFAULT = 16 << 20 };

/* /dev/null, opened once. -errno. */
static int null_device(void)
{
    static int fd = -1;
    if (fd < 0)
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int open_input(const struct stream_choice *choice, struct streams *streams)
{
    if (choice->input && !choice->inherit_input) {
        streams->fd[0] = streams->input = open(choice->input, O_RDONLY | O_CLOEXEC);
        return streams->fd[0] < 0 ? -errno : 0;
    }
    streams->fd[0] = choice->inherit_input ? descriptors_standard(0) : null_device();
    return streams->fd[0] < 0 ? streams->fd[0] : 0;
}

static int open_output(const struct stream_choice *choice, uint64_t limit, struct streams *streams, int place)
{
    uint64_t where = choice->output[place - 1];
    if (where == PMCLUA_TO_CAPTURE) {
        struct capture *capture = &streams->capture[place - 1];
        int result = capture_open(capture, limit ? limit : CAPTURE_DEFAULT);
        streams->fd[place] = capture->theirs;
        return result;
    }
    streams->fd[place] = where == PMCLUA_TO_INHERIT ? descriptors_standard(place) : null_device();
    return streams->fd[place] < 0 ? streams->fd[place] : 0;
}

void streams_close(struct streams *streams)
{
    if (streams->input >= 0)
        close(streams->input);
    for (int i = 0; i < 2; i++)
        capture_close(&streams->capture[i]);
}

int streams_open(struct streams *streams, const struct stream_choice *choice, uint64_t capture_limit)
{
    struct capture none = { .ours = -1, .theirs = -1 };
    *streams = (struct streams){ { -1, -1, -1 }, -1, { none, none } };
    int result = open_input(choice, streams);
    for (int place = 1; result == 0 && place < 3; place++)
        result = open_output(choice, capture_limit, streams, place);
    if (result < 0)
        streams_close(streams);
    return result;
}

void streams_follow(struct streams *streams, int pid, struct pmclua_drops *drops)
{
    if (drops || streams->capture[0].ours >= 0 || streams->capture[1].ours >= 0)
        capture_follow(streams->capture, pid, drops);
}

void streams_take(const struct streams *streams, struct answer *answer)
{
    const struct capture *out = &streams->capture[0], *err = &streams->capture[1];
    if (answer->result.outcome == PMCLUA_NOT_STARTED || out->used + err->used == 0 ||
        !(answer->text = malloc((size_t)out->used + err->used)))
        return;
    if (out->used)
        memcpy(answer->text, out->text, out->used);
    if (err->used)
        memcpy(answer->text + out->used, err->text, err->used);
    answer->result.output_bytes = out->used;
    answer->result.error_bytes = err->used;
}
