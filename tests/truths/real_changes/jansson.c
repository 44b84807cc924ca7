#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
int main(void)
{
    static char text[100000];
    char *end = text, key[20];
    size_t i, found = 0;
    json_object_seed(1);
    end += sprintf(end, "[");
    for (i = 0; i < 120; i++)
        end += sprintf(end, "%s{\"name\": \"item number %zu\", \"size\": %zu.5, \"count\": %zu, \"tags\": [\"a\\n\", \"\\u00e9\","
                       " true, null], \"text\": \"some words that are longer than the others\"}", i ? ", " : "", i, i * 7, i);
    sprintf(end, "]");
    json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *table = json_object();
    for (i = 0; i < 300; i++) {
        sprintf(key, "key %zu", i);
        json_object_set_new(table, key, json_integer(i));
    }
    for (i = 0; i < 600; i++) {
        sprintf(key, "key %zu", i);
        found += json_object_get(table, key) != NULL;
    }
    char *a = json_dumps(all, JSON_INDENT(2)), *b = json_dumps(all, JSON_SORT_KEYS);
    printf("%zu %zu %zu\n", found, strlen(a), strlen(b));
    free(a);
    free(b);
    json_decref(table);
    json_decref(all);
    return 0;
}
