#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmark.h"
static char text[60000];
int main(void)
{
    char *end = text;
    for (int i = 0; i < 60; i++)
        end += sprintf(end, "## Part %d\n\nSome *words* in **a paragraph** with `code`, a [link][ref %d] and an ![image](i.png \"title\").\n"
                       "Its second line has <b>tags</b>, &amp; an entity, \xc3\xa9 and <https://example.org/%d>.\n\n"
                       "> quoted text\n> goes on\n\n- item one\n- item two\n  1. inner item\n\n```c\nint x%d = 0;\n```\n\n"
                       "[ref %d]: /url/%d 'the title'\n\n", i, i, i, i, i, i);
    cmark_node *all = cmark_parse_document(text, strlen(text), CMARK_OPT_DEFAULT);
    char *html = cmark_render_html(all, CMARK_OPT_DEFAULT), *again = cmark_render_commonmark(all, CMARK_OPT_DEFAULT, 72);
    char *xml = cmark_render_xml(all, CMARK_OPT_DEFAULT);
    printf("%zu %zu %zu\n", strlen(html), strlen(again), strlen(xml));
    free(html);
    free(again);
    free(xml);
    cmark_node_free(all);
    return 0;
}
