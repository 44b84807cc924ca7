/*
 * kernel.c: kernels: defined by a message, loaded and set up once, torn down at the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/cpulist.h"
#include "kernel.h"
#include "simulated.h"

/* ---- definition ---- */

static int take_field(void *owner, const struct message_field *field)
{
    struct kernel *kernel = owner;
    const char *text = field_text(field);
    switch (field->kind) {
    case PMCLUA_F_LIBRARY:   return field_copy(field, &kernel->library);
    case PMCLUA_F_SYMBOL:    return field_copy(field, &kernel->symbol);
    case PMCLUA_F_PARAMETER: return text && strchr(text, '=') ? 0 : -EPROTO;
    case PMCLUA_F_THREADS:   return field_u64(field, &kernel->threads);
    case PMCLUA_F_OUTPUT:    return field_u64(field, &kernel->output);
    case PMCLUA_F_ERRORS:    return field_u64(field, &kernel->errors);
    case PMCLUA_F_CPUS:
        kernel->pinned = text ? cpulist_order(text, kernel->cpu) : -EPROTO;
        return kernel->pinned < 0 ? kernel->pinned : 0;
    default:
        return -EPROTO;
    }
}

int kernel_new(struct kernel **out, const struct pmclua_message *message)
{
    struct kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return -ENOMEM;
    int result = message_take(message, take_field, kernel);
    if (result == 0 && !(kernel->parameters = message_texts(message, PMCLUA_F_PARAMETER)))
        result = -ENOMEM;
    if (result == 0 && (!kernel->library || !kernel->symbol || kernel->threads > 4096))
        result = -EPROTO;
    if (result < 0) {
        kernel_free(kernel);
        return result;
    }
    *out = kernel;
    return 0;
}

__attribute__((format(printf, 3, 4)))
static int refuse(struct kernel *kernel, int errnum, const char *form, ...)
{
    va_list arguments;
    va_start(arguments, form);
    vsnprintf(kernel->why, sizeof kernel->why, form, arguments);
    va_end(arguments);
    return -errnum;
}

/* ---- loading ---- */

static void *companion(struct kernel *kernel, const char *suffix)
{
    char name[512];
    if ((size_t)snprintf(name, sizeof name, "%s%s", kernel->symbol, suffix) >= sizeof name)
        return NULL;
    return dlsym(kernel->handle, name);
}

static int find_functions(struct kernel *kernel)
{
    kernel->handle = dlopen(kernel->library, RTLD_NOW | RTLD_LOCAL);
    if (!kernel->handle)
        return refuse(kernel, ELIBACC, "%s", dlerror());
    *(void **)&kernel->run = dlsym(kernel->handle, kernel->symbol);
    if (!kernel->run)
        return refuse(kernel, ENOENT, "no symbol '%s' in %s", kernel->symbol, kernel->library);
    *(void **)&kernel->setup = companion(kernel, "_setup");
    *(void **)&kernel->reset = companion(kernel, "_reset");
    *(void **)&kernel->teardown = companion(kernel, "_teardown");
    return 0;
}

int kernel_load(struct kernel *kernel)
{
    if (kernel->team)
        return 0;
    kernel->run = simulated_nothing;          /* what counting itself costs is counted around this */
    int found = *kernel->library ? find_functions(kernel) : 0;
    if (found < 0)
        return found;
    /* A pinned kernel gets a thread of its own, so that the runner's is never pinned. */
    int own = kernel->threads > 0 || kernel->pinned;
    int count = kernel->threads > 0 ? (int)kernel->threads : 1;
    free(kernel->state);
    kernel->state = calloc((size_t)count, sizeof *kernel->state);
    if (!kernel->state)
        return refuse(kernel, ENOMEM, "no memory for %d thread(s)", count);
    kernel->team = own ? team_new(count, kernel->cpu, kernel->pinned) : team_of_self();
    if (!kernel->team)
        return refuse(kernel, errno, "cannot start %d thread(s): %s", count, strerror(errno));
    return 0;
}

void kernel_end_if_forked(void)
{
    static pid_t runner;
    if (runner == 0)
        runner = getpid();
    else if (getpid() != runner)
        _exit(0);
}

/* ---- setup ---- */

/* A setup's parameters, and its complaint. `params` is first: the callbacks get its address. */
struct setup_call {
    struct pmclua_params params;
    char *const *parameters;       /* "NAME=VALUE", NULL-terminated; borrowed */
    char why[1024];                /* the first complaint; empty: none */
};

static void *param_fail(const struct pmclua_params *params, const char *why)
{
    struct setup_call *call = (struct setup_call *)params;
    if (!call->why[0])
        snprintf(call->why, sizeof call->why, "%s", why && *why ? why : "its setup gives no reason");
    return NULL;
}

static const char *param_str(const struct pmclua_params *params, const char *name, const char *otherwise)
{
    size_t length = strlen(name);
    for (char *const *text = ((struct setup_call *)params)->parameters; *text; text++)
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

/* All threads set up at the same time: each with a call of its own. */
struct setups { struct kernel *kernel; struct setup_call *call; };

static void setup_step(struct team_thread *thread, void *argument)
{
    const struct setups *setups = argument;
    struct kernel *kernel = setups->kernel;
    struct setup_call *call = &setups->call[thread->index];
    *call = (struct setup_call){ { (uint32_t)thread->index, (uint32_t)kernel->team->count, param_u64, param_f64,
                                   param_str, param_fail }, kernel->parameters, "" };
    void *state = kernel->setup(&call->params);
    kernel_end_if_forked();
    kernel->state[thread->index] = state;
}

int kernel_set_up(struct kernel *kernel)
{
    if (kernel->is_set_up || !kernel->setup)
        return 0;
    int count = kernel->team->count, result = 0;
    struct setups setups = { kernel, calloc((size_t)count, sizeof *setups.call) };
    if (!setups.call)
        return refuse(kernel, ENOMEM, "no memory to set up %d thread(s)", count);
    team_do(kernel->team, setup_step, &setups);
    for (int i = 0; result == 0 && i < count; i++)
        if (setups.call[i].why[0])
            result = refuse(kernel, ECANCELED, "%s", setups.call[i].why);
    free(setups.call);
    kernel->is_set_up = result == 0;
    return result;
}

/* ---- the end ---- */

static void teardown_step(struct team_thread *thread, void *argument)
{
    struct kernel *kernel = argument;
    kernel->teardown(kernel->state[thread->index]);
    kernel_end_if_forked();
}

void kernel_free(struct kernel *kernel)
{
    if (kernel->team && kernel->teardown && (kernel->is_set_up || !kernel->setup))
        team_do(kernel->team, teardown_step, kernel);
    if (kernel->team && kernel->team->own_threads)
        team_free(kernel->team);
    kernel_end_descendants();
    /* Threads that it has left running are in its code, for as long as the process lives. */
    if (kernel->handle && team_other_threads() <= 0)
        dlclose(kernel->handle);
    texts_free(kernel->parameters);
    free(kernel->state);
    free(kernel->library);
    free(kernel->symbol);
    free(kernel);
}
