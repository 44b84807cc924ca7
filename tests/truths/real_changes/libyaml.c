#include <stdio.h>
#include <string.h>
#include "yaml.h"
static char text[60000];
static unsigned char out[200000];
int main(void)
{
    char *end = text;
    size_t size = 0;
    yaml_parser_t parser;
    yaml_emitter_t emitter;
    yaml_document_t all, made;
    int list;
    for (int i = 0; i < 60; i++)
        end += sprintf(end, "- &id%03d\n  name: item number %d of a list whose names are longer than others\n  \"quoted\\tkey\": 'single quoted, %d'\n"
                       "  tags: [one, two, {three: %d.5}]\n  text: |\n    lines of a block\n    are kept\n  same: *id%03d\n", i, i, i, i, i);
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, (unsigned char *)text, strlen(text));
    if (!yaml_parser_load(&parser, &all))
        return 1;
    yaml_document_initialize(&made, NULL, NULL, NULL, 1, 1);
    list = yaml_document_add_sequence(&made, NULL, YAML_BLOCK_SEQUENCE_STYLE);
    for (int i = 0; i < 200; i++)
        yaml_document_append_sequence_item(&made, list, yaml_document_add_scalar(&made, NULL,
            (yaml_char_t *)"some text with an accent: \xc3\xa9", -1, YAML_PLAIN_SCALAR_STYLE));
    yaml_emitter_initialize(&emitter);
    yaml_emitter_set_output_string(&emitter, out, sizeof out, &size);
    yaml_emitter_set_unicode(&emitter, 1);
    if (!yaml_emitter_dump(&emitter, &all) || !yaml_emitter_dump(&emitter, &made) || !yaml_emitter_close(&emitter))
        return 1;
    printf("%zu\n", size);
    yaml_emitter_delete(&emitter);
    yaml_parser_delete(&parser);
    return 0;
}
