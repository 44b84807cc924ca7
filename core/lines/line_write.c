/*
 * line_write.c: writes the lines of a result file.
 *
 * Invariant: a line and its form and values say exactly the same: no count passes through a double on the way.
 */
#include <errno.h>
#include <string.h>

#include "pmclua.h"

struct writer {
    char *at, *end;
    const uint64_t *values;
    const uint8_t *absent;
    size_t next, count;
};

static int put(struct writer *w, const char *text, size_t bytes)
{
    if ((size_t)(w->end - w->at) < bytes)
        return -ENOSPC;
    memcpy(w->at, text, bytes);
    w->at += bytes;
    return 0;
}

static int put_value(struct writer *w)
{
    char digits[20];                  /* 2^64 - 1 has 20 */
    char *first = digits + sizeof digits;
    if (w->next >= w->count)
        return -EINVAL;
    uint64_t value = w->values[w->next];
    if (w->absent[w->next++])
        return put(w, "null", 4);
    do
        *--first = (char)('0' + value % 10);
    while (value /= 10);
    return put(w, first, (size_t)(digits + sizeof digits - first));
}

/* The elements of "[%]": its length is the next value. */
static int put_array(struct writer *w)
{
    if (w->next >= w->count || w->absent[w->next])
        return -EINVAL;
    uint64_t length = w->values[w->next++];
    for (uint64_t i = 0; i < length; i++) {
        int error = i ? put(w, ",", 1) : 0;
        if (!error)
            error = put_value(w);
        if (error)
            return error;
    }
    return 0;
}

/* Past the string that begins at `at`; at its end where it has none. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : end;
}

int32_t pmclua_line_write(char *out, size_t bytes, const char *form,
                          const uint64_t *values, const uint8_t *absent, size_t count)
{
    struct writer w = { out, out + (bytes > INT32_MAX ? INT32_MAX : bytes), values, absent, 0, count };
    const char *end = form + strlen(form), *text = form, *at = form;
    while (at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        if (*at != '%') {
            at++;
            continue;
        }
        int error = put(&w, text, (size_t)(at - text));
        if (!error)
            error = at > form && at[-1] == '[' && at[1] == ']' ? put_array(&w) : put_value(&w);
        if (error)
            return error;
        text = ++at;
    }
    int error = put(&w, text, (size_t)(end - text));
    if (error)
        return error;
    return w.next == w.count ? (int32_t)(w.at - out) : -EINVAL;
}
