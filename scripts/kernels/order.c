/* order.c: a store, with what memory order asks for around it. */
#include <pmclua_kernel.h>

static uint64_t place;

void relaxed(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations--)
        __atomic_store_n(&place, iterations, __ATOMIC_RELAXED);
}

void release(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations--)
        __atomic_store_n(&place, iterations, __ATOMIC_RELEASE);
}

void sequential(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations--)
        __atomic_store_n(&place, iterations, __ATOMIC_SEQ_CST);
}

void fetch_add(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations--)
        __atomic_fetch_add(&place, 1, __ATOMIC_SEQ_CST);
}
