/*
 * channel.h: the runner's end of the socket pair.
 */
#pragma once

/* The descriptor; -1 until channel_open. */
int  channel_fd(void);
/* -1: not a descriptor that pmclua gave. */
int  channel_open(int fd);
/* Whether a message has come or the client has gone: the repetitions left are not wanted. */
int  channel_has_message(void);
/* Whether the client has gone, whatever it sent before. */
int  channel_is_closed(void);
/* Ends the receiving of messages, and with it the repetitions of a run. May be called by a signal handler. */
void channel_hear_no_more(void);
