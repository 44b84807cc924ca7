#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cJSON.h"
int main(void)
{
    static char text[100000];
    char *end = text;
    int i, found = 0;
    end += sprintf(end, "[");
    for (i = 0; i < 400; i++)
        end += sprintf(end, "%s{\"name\": \"item number %d\", \"size\": %d.5, \"tags\": [\"a\\n\", \"\\u00e9\", true, null],"
                       " \"text\": \"some words that are longer than the others\"}", i ? ", " : "", i, i * 7);
    sprintf(end, "]");
    cJSON *all = cJSON_Parse(text), *one;
    cJSON_ArrayForEach(one, all)
        found += cJSON_GetObjectItem(one, "text") != NULL;
    char *a = cJSON_Print(all), *b = cJSON_PrintUnformatted(all);
    printf("%d %zu %zu\n", found, strlen(a), strlen(b));
    free(a);
    free(b);
    cJSON_Delete(all);
    return 0;
}
