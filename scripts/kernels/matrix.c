/* matrix.c: the sum of an n × n matrix, walked along its rows or down its columns. */
#include <stdlib.h>
#include <pmclua_kernel.h>

struct matrix { uint64_t n; double *x; };

static void *make(const struct pmclua_params *params)
{
    struct matrix *m = malloc(sizeof *m);
    if (!m)
        return pmclua_fail(params, "no memory");
    m->n = pmclua_u64(params, "n", 512);
    m->x = malloc(m->n * m->n * sizeof *m->x);
    if (!m->x)
        return pmclua_fail(params, "no memory for an n by n matrix of doubles");
    for (uint64_t i = 0; i < m->n * m->n; i++)
        m->x[i] = (double)i;
    return m;
}

static void drop(void *state)
{
    struct matrix *m = state;
    free(m->x);
    free(m);
}

void *sum_rows_setup(const struct pmclua_params *params) { return make(params); }
void *sum_columns_setup(const struct pmclua_params *params) { return make(params); }
void sum_rows_teardown(void *state) { drop(state); }
void sum_columns_teardown(void *state) { drop(state); }

void sum_rows(void *state, uint64_t iterations)
{
    const struct matrix *m = state;
    while (iterations--) {
        double sum = 0;
        for (uint64_t i = 0; i < m->n; i++)
            for (uint64_t j = 0; j < m->n; j++)
                sum += m->x[i * m->n + j];
        pmclua_keep(sum);
    }
}

void sum_columns(void *state, uint64_t iterations)
{
    const struct matrix *m = state;
    while (iterations--) {
        double sum = 0;
        for (uint64_t j = 0; j < m->n; j++)
            for (uint64_t i = 0; i < m->n; i++)
                sum += m->x[i * m->n + j];
        pmclua_keep(sum);
    }
}
