/* sharing.c: each thread counts up in a place of its own, so many bytes from its neighbour's. */
#include <pmclua_kernel.h>

static char places[64 * 4096] __attribute__((aligned(4096)));

void *count_setup(const struct pmclua_params *params)
{
    uint64_t apart = pmclua_u64(params, "apart", 8);
    if (apart < 8 || apart * params->threads > sizeof places)
        return pmclua_fail(params, "apart is from 8 to 4096 bytes, for at most 64 threads");
    return places + apart * params->thread;
}

void count(void *state, uint64_t iterations)
{
    volatile uint64_t *place = state;
    while (iterations--)
        ++*place;
}
