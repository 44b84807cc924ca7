/*
 * export.c: the least that an export of stored records costs: the bytes of the file through a buffer, as cat(1)
 * copies them, and as many CSV rows, or JSON numbers, by printf as pmclua writes.
 *
 * usage: export csv|json FILE RECORDS    ns of it all
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "timing.h"

enum { EVENTS = 3, BUFFER = 131072 };

static int copy(const char *path, int out)
{
    static char buffer[BUFFER];
    int in = open(path, O_RDONLY);
    if (in < 0)
        return -1;
    for (ssize_t got; (got = read(in, buffer, sizeof buffer)) != 0;)
        if (got < 0 || write(out, buffer, (size_t)got) != got)
            return -1;
    return close(in);
}

/* Rows as report/records.lua has them of one event after the other. */
static void rows(FILE *file, uint64_t count)
{
    for (int event = 0; event < EVENTS; event++)
        for (uint64_t i = 1; i <= count; i++)
            fprintf(file, "true,,,,,page_faults,,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%" PRIu64 ",,,%d,,,,\n",
                    1, i, i, 350000 + i, "counted", 350000 + i, 1);
}

/* Numbers as report/facts.lua has them: values and counts of each event; index, order, time, iterations. */
static void numbers(FILE *file, uint64_t count)
{
    for (int column = 0; column < 2 * EVENTS + 4; column++)
        for (uint64_t i = 1; i <= count; i++)
            fprintf(file, "%" PRIu64 ",", 350000 + i);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    uint64_t count = strtoull(argv[3], NULL, 10), start = now_ns();
    FILE *file = fopen("/dev/null", "w");
    if (!file || copy(argv[2], fileno(file)) != 0)
        return 1;
    if (strcmp(argv[1], "csv") == 0)
        rows(file, count);
    else
        numbers(file, count);
    fclose(file);
    printf("%.0f\n", (double)(now_ns() - start));
    return 0;
}
