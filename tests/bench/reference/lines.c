/*
 * lines.c: the cost of the same bytes by printf and fgets: writes a file of N lines as pmclua stores a
 * repetition, and reads the lines back.
 *
 * usage: lines FILE N    mean ns of a line, written and read
 */
#include <inttypes.h>
#include <stdio.h>

#include "timing.h"

static void write_line(FILE *file, uint64_t i)
{
    fprintf(file, "{\"kind\":\"repetition\",\"workload\":\"true\",\"levels\":{},\"cell\":1,\"pass\":1,"
        "\"warmup\":false,\"outcome\":\"done\",\"exit\":%d,\"signal\":null,\"index\":%" PRIu64
        ",\"order\":%" PRIu64 ",\"start_ns\":%" PRIu64 ",\"wall_ns\":%" PRIu64 ",\"iterations\":%d,"
        "\"user_ns\":%d,\"system_ns\":%d,\"max_rss_bytes\":%d,\"minor_faults\":%d,\"major_faults\":%d,"
        "\"voluntary_switches\":%d,\"involuntary_switches\":%d,\"counts\":[%d,%" PRIu64 ",%d],"
        "\"times\":[1,1,1],\"enabled\":[%" PRIu64 "],\"running\":[%" PRIu64 "]}\n",
        0, i, i, 123456789000 + i * 450000, 400000 + i, 1, 100000, 200000, 1500000, 50, 0, 1, 0, 50,
        350000 + i, 1, 351000 + i, 351000 + i);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    uint64_t count = strtoull(argv[2], NULL, 10), start = now_ns(), lines = 0;
    char line[4096];
    FILE *file = fopen(argv[1], "w");
    if (!file)
        return 1;
    for (uint64_t i = 1; i <= count; i++)
        write_line(file, i);
    if (fclose(file) != 0 || !(file = fopen(argv[1], "r")))
        return 1;
    while (fgets(line, sizeof line, file))
        lines++;
    fclose(file);
    if (lines != count)
        return 1;
    printf("%.1f\n", (double)(now_ns() - start) / (double)count);
    return 0;
}
