/* branch.c: add up the large half of n random bytes, in the order they came or sorted. */
#include <stdlib.h>
#include <pmclua_kernel.h>

struct bytes { uint64_t n; unsigned char *x; };

static int ascending(const void *a, const void *b)
{
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

static struct bytes *make(const struct pmclua_params *params)
{
    struct bytes *b = malloc(sizeof *b);
    uint64_t n = pmclua_u64(params, "n", 32768), random = 1;
    if (!b || !(b->x = malloc(n)))
        return pmclua_fail(params, "no memory for n bytes");
    b->n = n;
    for (uint64_t i = 0; i < n; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        b->x[i] = (unsigned char)(random >> 56);
    }
    return b;
}

static void add(const struct bytes *b, uint64_t iterations)
{
    while (iterations--) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < b->n; i++) {
            if (b->x[i] >= 128) {
                /* Keeps the compiler from turning the branch into a conditional move. */
                __asm__ volatile("" : "+r"(sum));
                sum += b->x[i];
            }
        }
        pmclua_keep(sum);
    }
}

static void drop(struct bytes *b)
{
    free(b->x);
    free(b);
}

void *unsorted_setup(const struct pmclua_params *params) { return make(params); }

void *sorted_setup(const struct pmclua_params *params)
{
    struct bytes *b = make(params);
    if (b)
        qsort(b->x, b->n, 1, ascending);
    return b;
}

void unsorted(void *state, uint64_t iterations) { add(state, iterations); }
void sorted(void *state, uint64_t iterations) { add(state, iterations); }
void unsorted_teardown(void *state) { drop(state); }
void sorted_teardown(void *state) { drop(state); }
