/*
 * params.c: the parameters that a kernel's setup asks for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "params.h"

static struct setup_call *call_of(const struct pmclua_params *params)
{
    return (struct setup_call *)params;
}

static void *param_fail(const struct pmclua_params *params, const char *why)
{
    struct setup_call *call = call_of(params);
    if (!call->why[0])
        snprintf(call->why, sizeof call->why, "%s", why && *why ? why : "its setup gives no reason");
    return NULL;
}

static const char *param_str(const struct pmclua_params *params, const char *name, const char *otherwise)
{
    size_t length = strlen(name);
    for (char *const *text = call_of(params)->parameters; *text; text++)
        if (strncmp(*text, name, length) == 0 && (*text)[length] == '=')
            return *text + length + 1;
    return otherwise;
}

static void not_a_number(const struct pmclua_params *params, const char *name, const char *text, const char *kind)
{
    char why[256];
    snprintf(why, sizeof why, "parameter %s is '%s', which is not %s", name, text, kind);
    param_fail(params, why);
}

static uint64_t param_u64(const struct pmclua_params *params, const char *name, uint64_t otherwise)
{
    const char *text = param_str(params, name, NULL);
    uint64_t value = otherwise;
    if (text && pmclua_parse_u64(text, &value) < 0)
        not_a_number(params, name, text, "an unsigned integer");
    return value;
}

static double param_f64(const struct pmclua_params *params, const char *name, double otherwise)
{
    const char *text = param_str(params, name, NULL);
    if (!text)
        return otherwise;
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end)
        not_a_number(params, name, text, "a number");
    return value;
}

void setup_call_new(struct setup_call *call, int thread, int threads, char *const *parameters)
{
    *call = (struct setup_call){
        { (uint32_t)thread, (uint32_t)threads, param_u64, param_f64, param_str, param_fail }, parameters, ""
    };
}
