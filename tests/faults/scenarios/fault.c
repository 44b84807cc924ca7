/* A kernel whose page faults are known: PAGES for each iteration. */
#include <stdint.h>
#include <sys/mman.h>

#include "pages.h"

void fault(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations--) {
        volatile char *place = mmap(0, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int i = 0; i < PAGES; i++)
            place[i * 4096] = 1;
        munmap((void *)place, PAGES * 4096);
    }
}
