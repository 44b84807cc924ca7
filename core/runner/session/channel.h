/*
 * channel.h: the runner's end of the socket pair.
 */
#pragma once

/* The descriptor; -1 until channel_open. */
int  channel_fd(void);
/* -1: it is none that pmclua gave. */
int  channel_open(int fd);
/* Whether a message has come, or whom we answer has gone: the repetitions that are left are not wanted. */
int  channel_has_message(void);
/* Whether whom we answer has gone, whatever it sent before. */
int  channel_is_closed(void);
/* No message is awaited any more, and what runs is not repeated. May be called by a signal's handler. */
void channel_hear_no_more(void);
