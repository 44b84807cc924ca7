/*
 * pmclua_kernel.h: what a measured kernel may use. It depends on nothing but <stdint.h>.
 *
 *   void  NAME(void *state, uint64_t iterations);            measured
 *   void *NAME_setup(const struct pmclua_params *params);    optional, unmeasured, once per cell and thread
 *   void  NAME_reset(void *state, uint64_t iterations);      optional, unmeasured, before each measured call
 *   void  NAME_teardown(void *state);                        optional
 *
 * Without NAME_setup the state is NULL. NAME does the work `iterations` times; pmclua divides by it.
 *
 *     #include <stdlib.h>
 *     #include <pmclua_kernel.h>
 *     struct state { uint64_t n; double *x; };
 *     void *sum_setup(const struct pmclua_params *params) {
 *         struct state *s = malloc(sizeof *s);
 *         s->n = pmclua_u64(params, "n", 1024);
 *         s->x = calloc(s->n, sizeof *s->x);
 *         return s->x ? s : pmclua_fail(params, "no memory for n doubles");
 *     }
 *     void sum(void *state, uint64_t iterations) {
 *         struct state *s = state;
 *         while (iterations--) {
 *             double total = 0;
 *             for (uint64_t i = 0; i < s->n; i++) total += s->x[i];
 *             pmclua_keep(total);
 *         }
 *     }
 */
#ifndef PMCLUA_KERNEL_H
#define PMCLUA_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Factor levels and constants of this cell, by name. */
struct pmclua_params {
    uint32_t thread, threads;      /* this thread, from 0, of how many (1: single-threaded) */
    uint64_t    (*u64)(const struct pmclua_params *params, const char *name, uint64_t otherwise);
    double      (*f64)(const struct pmclua_params *params, const char *name, double otherwise);
    const char *(*str)(const struct pmclua_params *params, const char *name, const char *otherwise);
    void       *(*fail)(const struct pmclua_params *params, const char *why);
};

/* The parameter `name`, or `otherwise` where the experiment has none. A text that is no number fails
 * the setup. */
static inline uint64_t pmclua_u64(const struct pmclua_params *params, const char *name, uint64_t otherwise)
{
    return params->u64(params, name, otherwise);
}

static inline double pmclua_f64(const struct pmclua_params *params, const char *name, double otherwise)
{
    return params->f64(params, name, otherwise);
}

static inline const char *pmclua_str(const struct pmclua_params *params, const char *name, const char *otherwise)
{
    return params->str(params, name, otherwise);
}

/* Says why a setup cannot go on; return its NULL from NAME_setup. */
static inline void *pmclua_fail(const struct pmclua_params *params, const char *why)
{
    return params->fail(params, why);
}

/* Makes the compiler compute x and forget what it knows of memory. */
#define pmclua_keep(x) __asm__ volatile("" : : "g"(x) : "memory")

#ifdef __cplusplus
}
#endif

#endif
