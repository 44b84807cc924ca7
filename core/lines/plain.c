/*
 * plain.c: whether a long text can go to a terminal as it is.
 */
#include "pmclua.h"

enum { BLOCK = 64 };

/* Without branches, so that the compiler takes many bytes at a time. */
static unsigned is_harmful(unsigned char c)
{
    return ((c < ' ') & (c != '\n') & (c != '\t')) | (c > '~');
}

static int has_harmful(const char *text, size_t bytes)
{
    unsigned harmful = 0;
    for (size_t i = 0; i < bytes; i++)
        harmful |= is_harmful((unsigned char)text[i]);
    return harmful != 0;
}

int32_t pmclua_is_plain(const char *text, size_t bytes)
{
    for (; bytes >= BLOCK; text += BLOCK, bytes -= BLOCK)
        if (has_harmful(text, BLOCK))
            return 0;
    return !has_harmful(text, bytes);
}
