/* empty.c: a kernel that does nothing. */
#include <stdint.h>

void empty(void *state, uint64_t iterations)
{
    (void)state;
    (void)iterations;
}
