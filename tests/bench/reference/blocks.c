/*
 * blocks.c: allocates a block and frees it, as often as it is told.
 *
 * usage: blocks N    mean ns of both, by the program's own clock
 */
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    uint64_t start = now_ns();
    for (long i = 0; i < count; i++) {
        char *volatile block = malloc(40);
        free(block);
    }
    printf("%.1f\n", count ? (double)(now_ns() - start) / (double)count : 0.0);
    return 0;
}
