/*
 * params.h: what NAME_setup sees of its parameters, and what it complains of.
 */
#ifndef PMCLUA_RUNNER_PARAMS_H
#define PMCLUA_RUNNER_PARAMS_H

#include "pmclua.h"
#include "pmclua_kernel.h"

/* `params` is first: the callbacks get its address. */
struct setup_call {
    struct pmclua_params params;
    char *const *parameters;       /* "NAME=VALUE", NULL-terminated; borrowed */
    char why[1024];                /* the first complaint; empty: none */
};

void setup_call_new(struct setup_call *call, int thread, int threads, char *const *parameters);

#endif
