/*
 * message.h: reading the messages that pmclua.h builds, and moving whole messages over a socket.
 * Used by the runner and by its client.
 */
#pragma once

#include "pmclua.h"

/* A message on the wire: this header, then `bytes` of fields (a job) or a pmclua_result with its tail
 * (an answer). Both ends are the same build on the same machine: native layout. */
struct message_header { uint32_t bytes, kind; uint64_t id; };

enum { MSG_RESULT = 0x736d5043, MESSAGE_MAX = 1 << 30 };      /* no kind that stray bytes look like */

struct message_field { uint32_t kind, bytes; const uint8_t *data; };

/* Hands each field to `take` until it returns -errno: 0, or that; -EPROTO. */
int message_take(const struct pmclua_message *message, int (*take)(void *owner, const struct message_field *field),
                 void *owner);
const struct message_header *message_header(const struct pmclua_message *message);
/* A field's number (-EPROTO: not 8 bytes) or text (NUL-terminated by its writer; NULL: it is not). */
int field_u64(const struct message_field *field, uint64_t *value);
const char *field_text(const struct message_field *field);
/* A copy of its text, to be freed: -EPROTO if it is no text, -ENOMEM. *text is NULL then. */
int field_copy(const struct message_field *field, char **text);
/* How many fields of one kind a message has. */
int message_count(const struct pmclua_message *message, uint32_t kind);
/* A copy of every text field of one kind, NULL-terminated; freed by texts_free. NULL: no memory or not
 * text. */
char **message_texts(const struct pmclua_message *message, uint32_t kind);
void texts_free(char **texts);

/* Sends or receives a whole message, waiting as long as it takes. -EPIPE: the other end is gone. */
int message_send(int fd, const void *bytes, size_t count);
int message_receive(int fd, struct pmclua_message *message);
/* Receives the part of an answer that has arrived, without waiting; `message` is emptied (used = 0) before the first.
 * 1: the answer is whole; 0: there is more to come; -EPROTO: not an answer, and the stream is useless from here on. */
int message_receive_part(int fd, struct pmclua_message *message);
