/*
 * stream.c: work whose operations and bytes are known, on doubles: copy and triad (McCalpin's STREAM), a polynomial,
 * and independent multiply-adds in registers. WIDTH: doubles of a vector of peakflops.
 */
#include <stdlib.h>
#include <pmclua_kernel.h>

#ifndef WIDTH
#if defined __AVX512F__
#define WIDTH 8
#elif defined __AVX__
#define WIDTH 4
#else
#define WIDTH 2
#endif
#endif

enum { CHAINS = 12 };          /* 2 multiply-adds a cycle that take 4 or 5 each need 8 or 10 that do not wait */
enum { BLOCK = 9216 };         /* bytes, whole KiB, of which working sets are made: 384 elements */

struct arrays { uint64_t n; double *a, *b, *c, memory[]; };

static void *arrays_setup(const struct pmclua_params *params)
{
    uint64_t bytes = pmclua_u64(params, "bytes", BLOCK), n = bytes / 24;
    if (bytes == 0 || bytes % BLOCK != 0)
        return pmclua_fail(params, "bytes must be a multiple of 9216");
    struct arrays *s = aligned_alloc(64, (sizeof *s + 3 * n * sizeof(double) + 63) / 64 * 64);
    if (!s)
        return pmclua_fail(params, "no memory for three arrays");
    s->n = n;
    s->a = s->memory;
    s->b = s->a + n;
    s->c = s->b + n;
    for (uint64_t i = 0; i < 3 * n; i++)
        s->memory[i] = 1;
    return s;
}

void *copy_setup(const struct pmclua_params *params) { return arrays_setup(params); }
void *triad_setup(const struct pmclua_params *params) { return arrays_setup(params); }
void *horner_setup(const struct pmclua_params *params) { return arrays_setup(params); }
void *peakflops_setup(const struct pmclua_params *params) { return arrays_setup(params); }
void copy_teardown(void *state) { free(state); }
void triad_teardown(void *state) { free(state); }
void horner_teardown(void *state) { free(state); }
void peakflops_teardown(void *state) { free(state); }

/* Compilers make a call of memcpy of the loop, which may go around the caches. */
#ifdef __clang__
#define NO_MEMCPY __attribute__((no_builtin("memcpy")))
#else
#define NO_MEMCPY __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

/* 16 bytes an element. */
NO_MEMCPY void copy(void *state, uint64_t iterations)
{
    struct arrays *s = state;
    double *restrict a = s->a;
    const double *restrict b = s->b;
    while (iterations--) {
        for (uint64_t i = 0; i < s->n; i++)
            a[i] = b[i];
        pmclua_keep(a);
    }
}

/* 24 bytes and 2 operations an element. */
void triad(void *state, uint64_t iterations)
{
    struct arrays *s = state;
    double *restrict a = s->a;
    const double *restrict b = s->b, *restrict c = s->c;
    while (iterations--) {
        for (uint64_t i = 0; i < s->n; i++)
            a[i] = b[i] + 3 * c[i];
        pmclua_keep(a);
    }
}

/* A polynomial of degree 16: 16 bytes and 32 operations an element. */
void horner(void *state, uint64_t iterations)
{
    struct arrays *s = state;
    double *restrict a = s->a;
    const double *restrict b = s->b;
    while (iterations--) {
        for (uint64_t i = 0; i < s->n; i++) {
            double x = b[i], y = 0.5;
            for (int power = 0; power < 16; power++)
                y = y * x + 0.25;
            a[i] = y;
        }
        pmclua_keep(a);
    }
}

#if WIDTH == 1
typedef double vector;
#else
typedef double vector __attribute__((vector_size(WIDTH * sizeof(double))));
#endif

/* 2 operations for each of n lanes, and no bytes. */
void peakflops(void *state, uint64_t iterations)
{
    const struct arrays *s = state;
    vector factor = (vector){ 0 } + 0.999, sum[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        sum[i] = (vector){ 0 } + i;
    while (iterations--)
        for (uint64_t i = 0; i < s->n; i += CHAINS * WIDTH)
            for (int k = 0; k < CHAINS; k++)
                sum[k] = sum[k] * factor + factor;
    for (int i = 0; i < CHAINS; i++)
        pmclua_keep(*(double *)&sum[i]);
}
