#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "message.h"

/* Fields are padded to 8 bytes, so that attrs and numbers are aligned where they lie. */
static uint32_t padded(uint32_t bytes)
{
    return (bytes + 7) & ~7u;
}

static int reserve(struct pmclua_message *message, uint32_t more)
{
    if (more > MESSAGE_MAX - message->used)
        return -EMSGSIZE;
    uint32_t needed = message->used + more;
    if (needed <= message->size)
        return 0;
    uint32_t size = needed < 512 ? 1024 : needed * 2;
    uint8_t *bytes = realloc(message->bytes, size);
    if (!bytes)
        return -ENOMEM;
    message->bytes = bytes;
    message->size = size;
    return 0;
}

int pmclua_message_begin(struct pmclua_message *message, uint32_t kind, uint64_t id)
{
    message->used = 0;
    int result = reserve(message, sizeof(struct message_header));
    if (result < 0)
        return result;
    *(struct message_header *)message->bytes = (struct message_header){ 0, kind, id };
    message->used = sizeof(struct message_header);
    return 0;
}

int pmclua_message_add(struct pmclua_message *message, uint32_t field, const void *bytes, uint32_t count)
{
    int result = reserve(message, 8 + padded(count));
    if (result < 0)
        return result;
    uint8_t *place = message->bytes + message->used;
    memcpy(place, &field, 4);
    memcpy(place + 4, &count, 4);
    memset(place + 8, 0, padded(count));
    if (count > 0)
        memcpy(place + 8, bytes, count);
    message->used += 8 + padded(count);
    ((struct message_header *)message->bytes)->bytes = message->used - (uint32_t)sizeof(struct message_header);
    return 0;
}

void pmclua_message_free(struct pmclua_message *message)
{
    free(message->bytes);
    *message = (struct pmclua_message){ 0 };
}

const struct message_header *message_header(const struct pmclua_message *message)
{
    return (const struct message_header *)message->bytes;
}

/* Steps through the fields: *offset starts at 0. 1 and *field, 0 at the end, -EPROTO. */
static int message_next(const struct pmclua_message *message, uint32_t *offset, struct message_field *field)
{
    uint32_t place = (uint32_t)sizeof(struct message_header) + *offset;
    if (place == message->used)
        return 0;
    if (message->used - place < 8)
        return -EPROTO;
    memcpy(&field->kind, message->bytes + place, 4);
    memcpy(&field->bytes, message->bytes + place + 4, 4);
    if (field->bytes > message->used - place - 8 || padded(field->bytes) > message->used - place - 8)
        return -EPROTO;
    field->data = message->bytes + place + 8;
    *offset += 8 + padded(field->bytes);
    return 1;
}

int message_take(const struct pmclua_message *message, int (*take)(void *owner, const struct message_field *field),
                 void *owner)
{
    struct message_field field;
    uint32_t offset = 0;
    int result;
    while ((result = message_next(message, &offset, &field)) > 0)
        if ((result = take(owner, &field)) < 0)
            break;
    return result;
}

int field_u64(const struct message_field *field, uint64_t *value)
{
    if (field->bytes != sizeof *value)
        return -EPROTO;
    memcpy(value, field->data, sizeof *value);
    return 0;
}

const char *field_text(const struct message_field *field)
{
    const char *text = (const char *)field->data;
    return field->bytes > 0 && text[field->bytes - 1] == '\0' ? text : NULL;
}

int field_copy(const struct message_field *field, char **text)
{
    const char *its = field_text(field);
    *text = its ? strdup(its) : NULL;
    return *text ? 0 : its ? -ENOMEM : -EPROTO;
}

int message_count(const struct pmclua_message *message, uint32_t kind)
{
    struct message_field field;
    uint32_t offset = 0;
    int count = 0;
    while (message_next(message, &offset, &field) > 0)
        count += field.kind == kind;
    return count;
}

char **message_texts(const struct pmclua_message *message, uint32_t kind)
{
    struct message_field field;
    uint32_t offset = 0;
    int count = 0;
    char **texts = calloc((size_t)message_count(message, kind) + 1, sizeof *texts);
    while (texts && message_next(message, &offset, &field) > 0) {
        if (field.kind != kind)
            continue;
        const char *text = field_text(&field);
        if (!text || !(texts[count++] = strdup(text))) {
            texts_free(texts);
            return NULL;
        }
    }
    return texts;
}

void texts_free(char **texts)
{
    for (char **text = texts; text && *text; text++)
        free(*text);
    free(texts);
}

int message_send(int fd, const void *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = TEMP_FAILURE_RETRY(send(fd, bytes, count, MSG_NOSIGNAL));
        if (sent < 0)
            return errno == ECONNRESET ? -EPIPE : -errno;
        bytes = (const char *)bytes + sent;
        count -= (size_t)sent;
    }
    return 0;
}

static int receive_all(int fd, void *bytes, size_t count)
{
    while (count > 0) {
        ssize_t got = TEMP_FAILURE_RETRY(recv(fd, bytes, count, MSG_WAITALL));
        if (got < 0 && errno != ECONNRESET)
            return -errno;
        if (got <= 0)
            return -EPIPE;
        bytes = (char *)bytes + got;
        count -= (size_t)got;
    }
    return 0;
}

int message_receive(int fd, struct pmclua_message *message)
{
    struct message_header header;
    int result = receive_all(fd, &header, sizeof header);
    if (result < 0)
        return result;
    result = pmclua_message_begin(message, header.kind, header.id);
    if (result == 0)
        result = reserve(message, header.bytes);
    if (result == 0)
        result = receive_all(fd, message->bytes + message->used, header.bytes);
    if (result < 0)
        return result;
    ((struct message_header *)message->bytes)->bytes = header.bytes;
    message->used += header.bytes;
    return 0;
}

/* The length of an answer; until its header is whole, that of the header. */
static int answer_bytes(const struct pmclua_message *message, uint32_t *bytes)
{
    *bytes = sizeof(struct message_header);
    if (message->used < *bytes)
        return 0;
    const struct message_header *header = message_header(message);
    if (header->kind != MSG_RESULT || header->bytes < sizeof(struct pmclua_result) ||
        header->bytes > MESSAGE_MAX - *bytes)
        return -EPROTO;
    *bytes += header->bytes;
    return 0;
}

int message_receive_part(int fd, struct pmclua_message *message)
{
    for (;;) {
        uint32_t bytes;
        int result = answer_bytes(message, &bytes);
        if (result == 0 && message->used == bytes)
            return 1;
        if (result == 0)
            result = reserve(message, bytes - message->used);
        if (result < 0)
            return result;
        ssize_t got = TEMP_FAILURE_RETRY(recv(fd, message->bytes + message->used, bytes - message->used, MSG_DONTWAIT));
        if (got < 0 && errno == EAGAIN)
            return 0;
        if (got < 0 && errno != ECONNRESET)
            return -errno;
        if (got <= 0)
            return -EPIPE;
        message->used += (uint32_t)got;
    }
}
