#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "utf8proc.h"
int main(void)
{
    static char text[20000];
    const int options[] = { UTF8PROC_COMPOSE, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD,
        UTF8PROC_COMPOSE | UTF8PROC_CHARBOUND | UTF8PROC_LUMP | UTF8PROC_NLF2LS };
    utf8proc_uint8_t *mapped;
    utf8proc_int32_t c, before = 0, state = 0;
    long total = 0, breaks = 0, width = 0;
    for (int i = 0; i < 150; i++)
        strcat(text, "Some Words \xc3\xa9\xc3\x80 e\xcc\x81 \xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82\xed\x95\x9c\xea\xb8\x80 \xef\xac\x81\xf0\x9f\x98\x80\r\n");
    for (int i = 0; i < 4; i++) {
        total += utf8proc_map((utf8proc_uint8_t *)text, 0, &mapped, UTF8PROC_NULLTERM | UTF8PROC_STABLE | options[i]);
        free(mapped);
    }
    for (utf8proc_uint8_t *at = (utf8proc_uint8_t *)text; *at; before = c) {
        at += utf8proc_iterate(at, -1, &c);
        breaks += utf8proc_grapheme_break_stateful(before, c, &state);
        width += utf8proc_charwidth(c) + utf8proc_islower(c) + utf8proc_toupper(c) % 2;
    }
    printf("%ld %ld %ld\n", total, breaks, width);
    return 0;
}
