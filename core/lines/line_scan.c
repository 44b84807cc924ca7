/*
 * line_scan.c: scans the lines of a result file.
 *
 * Invariant: a line and its form and values say exactly the same: no count passes through a double on the way.
 * Lines come from files that anyone may have written: nothing is read or written outside the buffers as given, and
 * the depth of nesting is bounded.
 */
#include <errno.h>
#include <string.h>

#include "pmclua.h"

struct scanner {
    const char *at, *end;
    char *form, *form_end;
    uint64_t *values;
    uint8_t *absent;
    size_t count, size;
};

static int emit(struct scanner *s, const char *text, size_t bytes)
{
    if ((size_t)(s->form_end - s->form) < bytes)
        return -ENOSPC;
    memcpy(s->form, text, bytes);
    s->form += bytes;
    return 0;
}

static void skip_space(struct scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
        s->at++;
}

static char peek(const struct scanner *s)
{
    return s->at < s->end ? *s->at : '\0';
}

/* Takes the punctuation `c` into the form. */
static int expect(struct scanner *s, char c)
{
    skip_space(s);
    if (peek(s) != c)
        return -EINVAL;
    s->at++;
    return emit(s, &c, 1);
}

static int add_value(struct scanner *s, uint64_t value, int absent)
{
    if (s->count >= s->size)
        return -ENOSPC;
    s->values[s->count] = value;
    s->absent[s->count++] = (uint8_t)absent;
    return 0;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The length of an escape behind its backslash: 1, or 5 of uXXXX; 0: JSON has no such escape. */
static size_t escape_length(const char *at, const char *end)
{
    if (at == end)
        return 0;
    if (*at != 'u')
        return memchr("\"\\/bfnrt", *at, 8) ? 1 : 0;
    if (end - at < 5)
        return 0;
    return is_hex(at[1]) && is_hex(at[2]) && is_hex(at[3]) && is_hex(at[4]) ? 5 : 0;
}

static int scan_string(struct scanner *s)
{
    const char *first = s->at;
    if (peek(s) != '"')
        return -EINVAL;
    for (s->at++; s->at < s->end && *s->at != '"'; s->at++) {
        if ((unsigned char)*s->at < ' ')
            return -EINVAL;           /* control characters, NUL among them, are to be escaped */
        if (*s->at != '\\')
            continue;
        size_t length = escape_length(s->at + 1, s->end);
        if (!length)
            return -EINVAL;
        s->at += length;
    }
    if (s->at == s->end)
        return -EINVAL;
    s->at++;
    return emit(s, first, (size_t)(s->at - first));
}

static int take_word(struct scanner *s, const char *word)
{
    size_t bytes = strlen(word);
    if ((size_t)(s->end - s->at) < bytes || memcmp(s->at, word, bytes) != 0)
        return 0;
    s->at += bytes;
    return 1;
}

/* 0 and *value for an unsigned number at `at`; -ERANGE above 2^64 - 1. Leaves `at` past the digits. */
static int take_digits(struct scanner *s, uint64_t *value)
{
    uint64_t sum = 0;
    const char *first = s->at, *at = first, *safe = s->end - first > 19 ? first + 19 : s->end;
    for (; at < safe && is_digit(*at); at++)          /* 19 digits always fit */
        sum = sum * 10 + (uint64_t)(*at - '0');
    for (s->at = at; s->at < s->end && is_digit(*s->at); s->at++)
        if (__builtin_mul_overflow(sum, 10, &sum)
            || __builtin_add_overflow(sum, (uint64_t)(*s->at - '0'), &sum))
            return -ERANGE;
    if (s->at == first || (*first == '0' && s->at - first > 1))
        return -EINVAL;
    *value = sum;
    return 0;
}

static int skip_digits(struct scanner *s)
{
    const char *first = s->at;
    while (s->at < s->end && is_digit(*s->at))
        s->at++;
    return s->at > first ? 0 : -EINVAL;
}

/* Past ".5" and "e-9": what may follow a number's integer part. */
static int skip_fraction(struct scanner *s)
{
    int error = 0;
    if (peek(s) == '.') {
        s->at++;
        error = skip_digits(s);
    }
    if (!error && (peek(s) == 'e' || peek(s) == 'E')) {
        s->at++;
        if (peek(s) == '+' || peek(s) == '-')
            s->at++;
        error = skip_digits(s);
    }
    return error;
}

/* A value for null and unsigned integers; 1 for what is neither, which is left in place. */
static int take_plain(struct scanner *s)
{
    uint64_t value = 0;
    if (take_word(s, "null"))
        return add_value(s, 0, 1);
    if (!is_digit(peek(s)))
        return 1;
    const char *first = s->at;
    int error = take_digits(s, &value);
    if (error)
        return error;
    if (peek(s) == '.' || peek(s) == 'e' || peek(s) == 'E') {
        s->at = first;
        return 1;
    }
    return add_value(s, value, 0);
}

/* A number that is no u64 stays text of the form. */
static int scan_other_number(struct scanner *s)
{
    const char *first = s->at;
    uint64_t ignored;
    if (peek(s) == '-')
        s->at++;
    int error = take_digits(s, &ignored);
    if (!error)
        error = skip_fraction(s);
    return error ? error : emit(s, first, (size_t)(s->at - first));
}

static int scan_scalar(struct scanner *s)
{
    if (peek(s) == '"')
        return scan_string(s);
    if (take_word(s, "true"))
        return emit(s, "true", 4);
    if (take_word(s, "false"))
        return emit(s, "false", 5);
    int error = take_plain(s);
    if (error == 0)
        return emit(s, "%", 1);
    return error == 1 ? scan_other_number(s) : error;
}

static int take_comma(struct scanner *s)
{
    if (!take_word(s, ","))
        return 0;
    skip_space(s);
    return 1;
}

/* An array of nothing but values, past its '[' and up to its ']': 1 where it is another kind, with nothing taken. */
static int take_values(struct scanner *s)
{
    const char *first = s->at;
    size_t length_at = s->count;
    uint64_t length = 0;
    int error = add_value(s, 0, 0);
    skip_space(s);
    while (!error && peek(s) != ']') {
        error = length++ && !take_comma(s) ? 1 : take_plain(s);
        skip_space(s);
    }
    if (error == 0) {
        s->values[length_at] = length;
        return 0;
    }
    s->at = first;
    s->count = length_at;
    return error;
}

static int scan_value(struct scanner *s, int depth);

static int scan_member(struct scanner *s, int depth)
{
    skip_space(s);
    int error = scan_string(s);
    if (!error)
        error = expect(s, ':');
    return error ? error : scan_value(s, depth);
}

/* The members of an object or the elements of an array, past its opening, up to and with `close`. */
static int scan_members(struct scanner *s, int depth, char close)
{
    skip_space(s);
    if (close == '}' && peek(s) == close)
        return expect(s, close);
    for (;;) {
        int error = close == '}' ? scan_member(s, depth) : scan_value(s, depth);
        if (error)
            return error;
        skip_space(s);
        if (peek(s) != ',')
            return expect(s, close);
        error = expect(s, ',');
        if (error)
            return error;
    }
}

static int scan_value(struct scanner *s, int depth)
{
    skip_space(s);
    char open = peek(s);
    if (open != '{' && open != '[')
        return scan_scalar(s);
    if (depth == PMCLUA_LINE_DEPTH)
        return -E2BIG;
    int error = expect(s, open);
    if (error)
        return error;
    if (open == '{')
        return scan_members(s, depth + 1, '}');
    error = take_values(s);
    if (error == 0)
        error = emit(s, "%", 1);
    if (error == 0)
        return expect(s, ']');
    return error == 1 ? scan_members(s, depth + 1, ']') : error;
}

int32_t pmclua_line_scan(const char *line, size_t bytes, char *form, size_t form_bytes,
                         uint64_t *values, uint8_t *absent, size_t size)
{
    struct scanner s = { line, line + bytes, form, form + form_bytes, values, absent, 0, size };
    if (bytes > INT32_MAX)
        return -E2BIG;
    skip_space(&s);
    if (peek(&s) != '{')
        return -EINVAL;
    int error = scan_value(&s, 0);
    skip_space(&s);
    if (!error && s.at != s.end)
        error = -EINVAL;
    if (!error)
        error = emit(&s, "", 1);
    return error ? error : (int32_t)s.count;
}

int32_t pmclua_line_match(const char *line, size_t bytes, const char *form, uint64_t *values, uint8_t *absent,
                          size_t size)
{
    struct scanner s = { line, line + bytes, NULL, NULL, values, absent, 0, size };
    const char *end = form + strlen(form), *text = form;
    int error = bytes > INT32_MAX;
    while (!error && text < end) {
        const char *at = memchr(text, '%', (size_t)(end - text));
        size_t literal = (size_t)((at ? at : end) - text);
        if ((size_t)(s.end - s.at) < literal || memcmp(s.at, text, literal) != 0)
            return -EINVAL;
        s.at += literal;
        if (at)
            error = literal && at[-1] == '[' && at[1] == ']' ? take_values(&s) : take_plain(&s);
        text = at ? at + 1 : end;
    }
    return error || s.at != s.end ? -EINVAL : (int32_t)s.count;
}
