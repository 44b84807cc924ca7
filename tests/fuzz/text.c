/*
 * text.c: lists of CPUs, names of functions, and the runner's messages, of any bytes.
 *
 * What holds: nothing outside the text is read; a list of CPUs that is taken has one; fields end where
 * their message does.
 */
#define _GNU_SOURCE
#include <string.h>

#include "host/cpulist.h"
#include "elf/names.h"
#include "fuzz.h"
#include "message/message.h"

static void read_cpus(const char *text)
{
    cpu_set_t set;
    int16_t order[CPU_SETSIZE];
    int count = cpulist_order(text, order);
    HOLD(cpulist_parse(text, &set) == (count < 0 ? count : 0));
    if (count < 0)
        return;
    HOLD(CPU_COUNT(&set) == count);
    for (int i = 0; i < count; i++)
        HOLD(CPU_ISSET(order[i], &set));
}

static void read_name(const char *text)
{
    struct name spelt;
    HOLD(name_spell(&spelt, text, 0) == 0);
    HOLD(strlen(spelt.plain) <= strlen(spelt.full) && strlen(spelt.full) <= strlen(spelt.shown));
    name_free(&spelt);
}

static int read_field(void *owner, const struct message_field *field)
{
    const struct pmclua_message *message = owner;
    uint64_t number;
    HOLD(field->data >= message->bytes && field->data + field->bytes <= message->bytes + message->used);
    field_u64(field, &number);
    const char *text = field_text(field);
    HOLD(!text || strlen(text) < field->bytes);
    return 0;
}

static void read_message(const uint8_t *bytes, size_t count)
{
    uint32_t used = (uint32_t)(sizeof(struct message_header) + count);
    struct pmclua_message message = { malloc(used), used, used };
    memcpy(message.bytes + sizeof(struct message_header), bytes, count);
    message_take(&message, read_field, &message);
    pmclua_message_free(&message);
}

int fuzz_one(const uint8_t *bytes, size_t count)
{
    if (count == 0)
        return 0;
    char *text = malloc(count);
    memcpy(text, bytes + 1, count - 1);
    text[count - 1] = '\0';
    switch (bytes[0] % 3) {
    case 0: read_cpus(text); break;
    case 1: read_name(text); break;
    default: read_message(bytes + 1, count - 1);
    }
    free(text);
    return 0;
}
