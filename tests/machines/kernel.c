// A kernel: moves and sets memory by libc's own functions, which libc chooses by CPU.
#include <stdint.h>
#include <string.h>
char from[4096], to[4096];
void kernel(void *state, uint64_t iterations)
{
    (void)state;
    for (uint64_t i = 0; i < iterations; i++) {
        memcpy(to, from, sizeof to);
        memset(from, (int)i, sizeof from);
    }
}
