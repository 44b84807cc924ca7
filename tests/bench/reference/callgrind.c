/*
 * callgrind.c: a call counted by hand under callgrind: between client requests, each with a dump of its own.
 *
 * usage: valgrind --tool=callgrind --collect-atstart=no … callgrind N    median ns of N calls
 */
#include <stdio.h>

#include "../../../core/runner/session/valgrind_request.h"
#include "timing.h"

enum { TURNS = 1000 };

/* As a kernel, too. */
void turns(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations--)
        __asm__ volatile("");
}

int main(int argc, char **argv)
{
    size_t count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    uint64_t *times = calloc(count + 1, sizeof *times);
    if (!times || count == 0 || !runs_under_valgrind())
        return 2;
    for (size_t i = 0; i < count; i++) {
        uint64_t before = now_ns();
        valgrind_request(CALLGRIND_ZERO, NULL);
        valgrind_request(CALLGRIND_TOGGLE_COLLECT, NULL);
        turns(NULL, TURNS);
        valgrind_request(CALLGRIND_TOGGLE_COLLECT, NULL);
        valgrind_request(CALLGRIND_DUMP, "by hand");
        times[i] = now_ns() - before;
    }
    printf("%.0f\n", median(times, count));
    free(times);
    return 0;
}
