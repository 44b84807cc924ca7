/* dot.c: a dot product of n floats, as plain C; the compiler's flags decide what it becomes. */
#include <stdlib.h>
#include <pmclua_kernel.h>

struct vectors { uint64_t n; float *a, *b; };

void *dot_setup(const struct pmclua_params *params)
{
    struct vectors *v = malloc(sizeof *v);
    if (!v)
        return pmclua_fail(params, "no memory");
    v->n = pmclua_u64(params, "n", 4096);
    v->a = malloc(v->n * sizeof *v->a);
    v->b = malloc(v->n * sizeof *v->b);
    if (!v->a || !v->b)
        return pmclua_fail(params, "no memory for two vectors of n floats");
    for (uint64_t i = 0; i < v->n; i++) {
        v->a[i] = (float)(i % 7);
        v->b[i] = (float)(i % 5);
    }
    return v;
}

void dot(void *state, uint64_t iterations)
{
    const struct vectors *v = state;
    while (iterations--) {
        float sum = 0;
        for (uint64_t i = 0; i < v->n; i++)
            sum += v->a[i] * v->b[i];
        pmclua_keep(sum);
    }
}

void dot_teardown(void *state)
{
    struct vectors *v = state;
    free(v->a);
    free(v->b);
    free(v);
}
