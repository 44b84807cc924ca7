/*
 * kernel.c: kernels: dlopened, set up once, called from the hot loop between two reads.
 *
 * The counters run all the time; a repetition is the difference of the read before the call and the one
 * after it. Setup, reset and teardown are never between the two.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host/cpulist.h"
#include "pmclua_kernel.h"
#include "crew.h"
#include "params.h"

enum { WHY_BYTES = 1024 };

struct kernel {
    char *library, *symbol;
    char **parameters;                     /* "NAME=VALUE" */
    uint64_t threads, output, errors;
    int pinned;
    cpu_set_t cpus;
    /* from here on: filled when first run */
    void *handle;
    void (*run)(void *state, uint64_t iterations);
    void *(*setup)(const struct pmclua_params *params);
    void (*reset)(void *state, uint64_t iterations);
    void (*teardown)(void *state);
    struct crew *crew;
    void **state;                          /* one a seat */
    int is_set_up;
    int has_births;                        /* it has started threads or processes */
    int has_pool;                          /* it started threads that are still there */
    char why[WHY_BYTES];                   /* what went wrong, for people */
};

/* ---- definition ---- */

static int take_text(char **place, const char *text)
{
    *place = text ? strdup(text) : NULL;
    return *place ? 0 : -EPROTO;
}

static int take_field(struct kernel *kernel, const struct message_field *field)
{
    const char *text = field_text(field);
    switch (field->kind) {
    case PMCLUA_F_LIBRARY:   return take_text(&kernel->library, text);
    case PMCLUA_F_SYMBOL:    return take_text(&kernel->symbol, text);
    case PMCLUA_F_PARAMETER: return text && strchr(text, '=') ? 0 : -EPROTO;
    case PMCLUA_F_THREADS:   return field_u64(field, &kernel->threads);
    case PMCLUA_F_OUTPUT:    return field_u64(field, &kernel->output);
    case PMCLUA_F_ERRORS:    return field_u64(field, &kernel->errors);
    case PMCLUA_F_CPUS:
        kernel->pinned = 1;
        return text ? cpulist_parse(text, &kernel->cpus) : -EPROTO;
    default:
        return -EPROTO;
    }
}

int kernel_new(struct kernel **out, const struct pmclua_message *message)
{
    struct kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return -ENOMEM;
    struct message_field field;
    uint32_t offset = 0;
    int result, count;
    while ((result = message_next(message, &offset, &field)) > 0)
        if ((result = take_field(kernel, &field)) < 0)
            break;
    if (result == 0 && !(kernel->parameters = texts_of(message, PMCLUA_F_PARAMETER, &count)))
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

/* What counting itself costs is counted around this. */
static void nothing(void *state, uint64_t iterations)
{
    (void)state;
    (void)iterations;
}

static int load(struct kernel *kernel)
{
    if (kernel->crew)
        return 0;
    kernel->run = nothing;
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
    kernel->crew = own ? crew_new(count, kernel->pinned ? &kernel->cpus : NULL) : crew_of_self();
    if (!kernel->crew)
        return refuse(kernel, errno, "cannot start %d thread(s): %s", count, strerror(errno));
    return 0;
}

/* A kernel may fork; its child must not go on as a second runner. */
static void end_if_forked(void)
{
    static pid_t runner;
    if (runner == 0)
        runner = getpid();
    else if (getpid() != runner)
        _exit(0);
}

/* ---- setup ---- */

/* All threads set up at the same time: each with a call of its own. */
struct setups { struct kernel *kernel; struct setup_call *call; };

static void setup_step(struct seat *seat, void *argument)
{
    const struct setups *setups = argument;
    struct kernel *kernel = setups->kernel;
    struct setup_call *call = &setups->call[seat->index];
    setup_call_new(call, seat->index, kernel->crew->count, kernel->parameters);
    void *state = kernel->setup(&call->params);
    end_if_forked();
    kernel->state[seat->index] = state;
}

static int set_up(struct kernel *kernel)
{
    if (kernel->is_set_up || !kernel->setup)
        return 0;
    int count = kernel->crew->count, result = 0;
    struct setups setups = { kernel, calloc((size_t)count, sizeof *setups.call) };
    if (!setups.call)
        return refuse(kernel, ENOMEM, "no memory to set up %d thread(s)", count);
    crew_do(kernel->crew, setup_step, &setups);
    for (int i = 0; result == 0 && i < count; i++)
        if (setups.call[i].why[0])
            result = refuse(kernel, ECANCELED, "%s", setups.call[i].why);
    free(setups.call);
    kernel->is_set_up = result == 0;
    return result;
}

/* ---- the measured call ---- */

struct measured_call { struct kernel *kernel; const struct run *run; };

static int pin_seat(const struct run *run, cpu_set_t *before)
{
    if (!run->pinned)
        return 0;
    if (sched_getaffinity(0, sizeof *before, before) < 0)
        return -errno;
    return sched_setaffinity(0, sizeof run->cpus, &run->cpus) < 0 ? -errno : 0;
}

static void measure_step(struct seat *seat, void *argument)
{
    const struct measured_call *call = argument;
    const struct kernel *kernel = call->kernel;
    struct counters *counters = &seat->counters;
    void *state = kernel->state[seat->index];
    void (*run)(void *, uint64_t) = kernel->run;
    uint64_t iterations = call->run->iterations;
    if (call->run->stack_offset)
        /* cppcheck-suppress allocaCalled */
        pmclua_keep(alloca(call->run->stack_offset));     /* moves the stack of what is called below */
    cpu_set_t affinity;
    int ready = pin_seat(call->run, &affinity), is_pinned = call->run->pinned && ready == 0;
    if (kernel->reset) {
        kernel->reset(state, iterations);
        end_if_forked();           /* it would wait for threads that it has not got */
    }
    if (ready == 0)
        ready = memory_cool(call->run->cold_bytes);
    if (seat->crew->count > 1)
        crew_meet(seat);
    guard_begin(&counters->births);
    /* Once for nothing: the way to the counters is then as warm before the call as after it. */
    counters_read(counters, counters->before);
    seat->start_ns = pmclua_now_ns();
    int result = pmclua_groups_measure(counters->group, counters->set ? counters->set->groups : 0, run, state,
                                       iterations, counters->before, counters->after);
    seat->end_ns = pmclua_now_ns();
    seat->missing_ns = guard_look(&counters->births);
    end_if_forked();
    if (is_pinned)
        sched_setaffinity(0, sizeof affinity, &affinity);
    seat->errnum = ready < 0 ? -ready : -result;
}

/* From the first thread's start to the last one's end. */
static void take_times(struct pmclua_result *result, const struct crew *crew)
{
    uint64_t start = UINT64_MAX, end = 0;
    for (int i = 0; i < crew->count; i++) {
        const struct seat *seat = &crew->seat[i];
        start = seat->start_ns < start ? seat->start_ns : start;
        end = seat->end_ns > end ? seat->end_ns : end;
    }
    result->start_ns = start;
    result->wall_ns = end - start;
}

static int take_counts(struct answer *answer, struct crew *crew, const struct event_set *set,
                       uint64_t switches)
{
    uint32_t words = set ? set->words : 0;
    if (answer_words(answer, words * (uint32_t)crew->count) < 0)
        return -ENOMEM;
    for (int i = 0; i < crew->count; i++) {
        if (words && guard_is_broken(&crew->seat[i], switches))
            return -EUCLEAN;
        if (crew->seat[i].errnum)
            return -crew->seat[i].errnum;
        counters_difference(&crew->seat[i].counters, answer->words + (size_t)i * words);
    }
    return 0;
}

/* ---- threads that a kernel starts ---- */

/* Whether the kernel has started threads or processes lately that its counters do not count. */
static int misses_threads(struct kernel *kernel)
{
    if (!crew_births(kernel->crew))
        return 0;
    kernel->has_births = 1;
    kernel->has_pool |= crew_strangers() > 0;
    return kernel->crew->seat[0].counters.alone;
}

/* Counters that were opened now would miss the threads that are there: only another runner gets them. */
static void refuse_missed(struct answer *answer)
{
    answer->result.outcome = PMCLUA_MISSED;
    answer->result.words = 0;
}

/* No more with these counters: who asked takes another runner. */
static void abandon(struct answer *answer)
{
    answer->result.threads = 0;
    crew_close_counters();
}

static int repeat(struct kernel *kernel, const struct event_set *set, const struct run *run, int fd,
                  struct answer *answer)
{
    struct measured_call call = { kernel, run };
    int result = 0;
    int goes_on = 1;
    uint64_t switched = 0;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    guard_switches(&switched, &before);
    crew_end_guard(kernel->crew);
    for (uint64_t i = 0; i < run->repetitions && goes_on && result == 0; i++) {
        answer->result = (struct pmclua_result){ .sequence = run->id, .iterations = run->iterations,
                                                 .threads = (uint32_t)kernel->crew->count,
                                                 .method = (uint32_t)counters_method(&kernel->crew->seat[0].counters) };
        getrusage(RUSAGE_SELF, &before);
        crew_do(kernel->crew, measure_step, &call);
        getrusage(RUSAGE_SELF, &after);
        take_times(&answer->result, kernel->crew);
        answer_usage(answer, &before, &after);
        uint64_t switches = guard_switches(&switched, &after);
        if (switches > 0)
            crew_end_guard(kernel->crew);
        int counted = take_counts(answer, kernel->crew, set, switches);
        int misses = misses_threads(kernel);
        answer->result.births = (uint32_t)kernel->has_births;
        if (misses) {
            refuse_missed(answer);
            return answer_send(fd, answer);
        }
        if (counted < 0) {
            answer->result.outcome = PMCLUA_NOT_COUNTED;
            answer->result.words = 0;
            answer->result.failure = (struct pmclua_failure){ .errnum = -counted, .index = -1 };
        }
        goes_on = counted != -EUCLEAN && !(counted < 0 && run->stop_at_failure) && !runner_is_asked();
        if (counted == -EUCLEAN)
            abandon(answer);
        result = answer_send(fd, answer);
    }
    return result;
}

/* Everything that must be in place before the first measured call: 0, or the answer says what is not. */
static int prepare(struct kernel *kernel, const struct event_set *set, const struct run *run, struct answer *answer)
{
    uint32_t options = run->inherit ? 0 : PMCLUA_READ_USER;
    int result = load(kernel);
    if (result == 0 && kernel->has_pool && !crew_is_counting(kernel->crew, set, options)) {
        refuse_missed(answer);
        return -EAGAIN;
    }
    /* Counters before setup: threads that setup starts inherit them. */
    const struct seat *failed = result == 0 ? crew_count(kernel->crew, set, options) : NULL;
    if (failed) {
        answer->result.outcome = PMCLUA_NOT_COUNTED;
        answer->result.failure = failed->failure;
        return -failed->errnum;
    }
    if (result == 0)
        result = set_up(kernel);
    if (result == 0 && misses_threads(kernel)) {
        refuse_missed(answer);
        return -EAGAIN;
    }
    if (result < 0)
        answer_refuse(answer, -result, kernel->why);
    return result;
}

static void silence(FILE *stream, int fd)
{
    fflush(stream);
    /* cppcheck-suppress leakReturnValNotUsed -- it is `stream` */
    if (!freopen("/dev/null", fd == 0 ? "r" : "w", stream))
        close(fd);
}

/* Standard output and error are the caller's only for the kernels that ask for them, standard input (a script, a
 * terminal) never. A runner has one kernel, so that this is done once; but the empty one, which needs nothing. */
static void direct_output(const struct kernel *kernel)
{
    static int is_done;
    if (is_done || !kernel->library[0])
        return;
    is_done = 1;
    silence(stdin, 0);
    if (kernel->output != PMCLUA_TO_INHERIT)
        silence(stdout, 1);
    if (kernel->errors != PMCLUA_TO_INHERIT)
        silence(stderr, 2);
    runner_close_others();
}

int kernel_run(struct kernel *kernel, const struct event_set *set, const struct run *run, int fd)
{
    struct answer answer = { .result.sequence = run->id };
    direct_output(kernel);
    end_if_forked();           /* knows our pid from here on */
    int result = prepare(kernel, set, run, &answer);
    answer.result.births = (uint32_t)kernel->has_births;
    answer.result.threads = result == 0 ? (uint32_t)kernel->crew->count : 0;
    result = result < 0 || run->repetitions == 0 ? answer_send(fd, &answer)
                                                 : repeat(kernel, set, run, fd, &answer);
    answer_free(&answer);
    return result;
}

/* ---- the end ---- */

void kernel_close_counters(void)
{
    crew_close_counters();
}

static void teardown_step(struct seat *seat, void *argument)
{
    struct kernel *kernel = argument;
    kernel->teardown(kernel->state[seat->index]);
    end_if_forked();
}

void kernel_free(struct kernel *kernel)
{
    if (kernel->crew && kernel->teardown && (kernel->is_set_up || !kernel->setup))
        crew_do(kernel->crew, teardown_step, kernel);
    if (kernel->crew && kernel->crew->own_threads)
        crew_free(kernel->crew);
    if (kernel->handle)
        dlclose(kernel->handle);
    texts_free(kernel->parameters);
    free(kernel->state);
    free(kernel->library);
    free(kernel->symbol);
    free(kernel);
}
