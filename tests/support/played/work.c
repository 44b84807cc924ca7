/*
 * work.c: a program whose work a played PMU counts (pmu.c): each argument is how much of one kind it does.
 *
 * "1000" adds 1000 pieces; "1000+40" between 1000 and 1040, in an order that repeats from run to run. A last word
 * "wait" has it do the same again for each byte that it reads from its standard input, until that ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KINDS = 8, RUNS = 7 };              /* the last word counts runs */

static void add(uint64_t *work, char **words, int count)
{
    uint64_t run = __atomic_fetch_add(&work[RUNS], 1, __ATOMIC_RELAXED);
    for (int i = 0; i < count && i < RUNS; i++) {
        char *rest;
        uint64_t amount = strtoull(words[i], &rest, 10);
        uint64_t spread = *rest == '+' ? strtoull(rest + 1, NULL, 10) + 1 : 1;
        __atomic_fetch_add(&work[i], amount + (run * 2654435761u >> 7) % spread, __ATOMIC_RELAXED);
    }
}

int main(int argc, char **argv)
{
    const char *path = getenv("PMCLUA_PLAYED_WORK");
    int fd = path ? open(path, O_RDWR) : -1;
    uint64_t *work = fd < 0 ? MAP_FAILED : mmap(NULL, KINDS * sizeof *work, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (work == MAP_FAILED)
        return 1;
    int waits = argc > 1 && strcmp(argv[argc - 1], "wait") == 0;
    char byte;
    add(work, argv + 1, argc - 1 - waits);
    while (waits && read(0, &byte, 1) == 1)
        add(work, argv + 1, argc - 2);
    return 0;
}
