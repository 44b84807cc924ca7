/*
 * runner.c: the runner: a small program without Lua in which workloads are run and counted.
 *
 * It is started by client.c with one end of a socket pair as descriptor 3, takes messages from it one
 * after the other and answers each RUN with results. It ends when the other end closes. Whatever a
 * kernel does to this process costs its repetition alone: who asked starts another runner.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "cpulist.h"
#include "runner.h"
#include "runner_regions.h"

enum { CHANNEL = 3, STANDARD_COPY = 10 };

/* ---- the child that may have to be killed ---- */

static volatile sig_atomic_t watched, limit_hit;

/* A child told to lead a process group may not have got to it yet: then only its pid is known. */
static void kill_watched(void)
{
    if (watched)
        kill((pid_t)watched, SIGKILL);
    if (watched < 0)
        kill(-(pid_t)watched, SIGKILL);
}

static void on_limit(int signal)
{
    (void)signal;
    limit_hit = 1;
    kill_watched();
}

static volatile sig_atomic_t deferring, terminated;

static void on_terminate(int signal)
{
    kill_watched();
    if (!deferring)
        _exit(128 + signal);
    terminated = signal;
}

void runner_defer_termination(int on)
{
    deferring = on;
    if (!on && terminated)
        _exit(128 + terminated);
}

int runner_is_terminated(void) { return terminated != 0; }

/* A handler, not SIG_IGN, which executed programs would inherit. */
static void on_interrupt(int signal) { (void)signal; }

void runner_watch(int pid) { watched = pid; }

void runner_limit(uint64_t timeout_ns)
{
    if (timeout_ns > 0)
        limit_hit = 0;
    struct itimerval limit = { .it_value = { (time_t)(timeout_ns / 1000000000u),
                                             (suseconds_t)(timeout_ns % 1000000000u / 1000) } };
    if (timeout_ns > 0 && limit.it_value.tv_sec == 0 && limit.it_value.tv_usec == 0)
        limit.it_value.tv_usec = 1;
    setitimer(ITIMER_REAL, &limit, NULL);
}

int runner_limit_hit(void) { return limit_hit; }

/* An interrupt from the terminal is for who asked; one that our parent ignores stays ignored. */
static void catch_signals(void)
{
    struct sigaction old, interrupt = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART },
        terminate = { .sa_handler = on_terminate }, limit = { .sa_handler = on_limit, .sa_flags = SA_RESTART };
    sigaction(SIGINT, NULL, &old);
    if (old.sa_handler != SIG_IGN)
        sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGTERM, &terminate, NULL);
    sigaction(SIGALRM, &limit, NULL);
}

/* ---- standard descriptors ---- */

static int standard[3];

int runner_standard(int fd) { return standard[fd]; }

/* Keeps the three as given; where one is closed, /dev/null stands in, so that no descriptor of ours
 * can become a standard one. */
static int keep_standard(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return -1;
        standard[fd] = fcntl(fd, F_DUPFD_CLOEXEC, STANDARD_COPY);
        if (standard[fd] < 0)
            return -1;
    }
    return 0;
}

/* ---- answers ---- */

int answer_words(struct answer *answer, uint32_t words)
{
    uint64_t *room = realloc(answer->words, (words ? words : 1) * sizeof *room);
    if (!room)
        return -ENOMEM;
    answer->words = room;
    answer->result.words = words;
    return 0;
}

void answer_refuse(struct answer *answer, int errnum, const char *why)
{
    free(answer->text);
    answer->text = strdup(why);
    answer->result.outcome = PMCLUA_NOT_STARTED;
    answer->result.errnum = errnum;
    answer->result.output_bytes = answer->text ? (uint32_t)strlen(why) : 0;
    answer->result.error_bytes = answer->result.words = 0;
}

/* In one write, so that a runner that dies later has answered wholly. */
int answer_send(int fd, struct answer *answer)
{
    const struct pmclua_result *result = &answer->result;
    size_t words = result->words * sizeof *answer->words, regions = result->region_words * sizeof *answer->regions;
    size_t text = (size_t)result->output_bytes + result->error_bytes;
    struct message_header header = { (uint32_t)(sizeof *result + words + regions + text), MSG_RESULT,
                                     result->sequence };
    static char *buffer;
    static size_t size;
    size_t bytes = sizeof header + header.bytes;
    if (bytes > size) {
        char *larger = realloc(buffer, bytes);
        if (!larger)
            return -ENOMEM;
        buffer = larger;
        size = bytes;
    }
    char *place = buffer;
    place = mempcpy(place, &header, sizeof header);
    place = mempcpy(place, result, sizeof *result);
    if (words)
        place = mempcpy(place, answer->words, words);
    if (regions)
        place = mempcpy(place, answer->regions, regions);
    if (text)
        memcpy(place, answer->text, text);
    return message_send(fd, buffer, bytes);
}

void answer_free(struct answer *answer)
{
    free(answer->words);
    pmclua_calls_free_words(answer->regions);
    free(answer->text);
    *answer = (struct answer){ 0 };
}

/* ---- texts of a message ---- */

static int count_fields(const struct pmclua_message *message, uint32_t kind)
{
    struct message_field field;
    uint32_t offset = 0;
    int count = 0;
    while (message_next(message, &offset, &field) > 0)
        count += field.kind == kind;
    return count;
}

char **texts_of(const struct pmclua_message *message, uint32_t kind, int *count)
{
    struct message_field field;
    uint32_t offset = 0;
    char **texts = calloc((size_t)count_fields(message, kind) + 1, sizeof *texts);
    *count = 0;
    while (texts && message_next(message, &offset, &field) > 0) {
        if (field.kind != kind)
            continue;
        const char *text = field_text(&field);
        if (!text || !(texts[*count] = strdup(text))) {
            texts_free(texts);
            return NULL;
        }
        ++*count;
    }
    return texts;
}

void texts_free(char **texts)
{
    for (char **text = texts; text && *text; text++)
        free(*text);
    free(texts);
}

/* ---- what was defined ---- */

struct workload {
    uint64_t id;
    struct command *command;       /* one of the two, */
    struct kernel *kernel;
    int errnum;                    /* or why there is neither */
    struct workload *next;
};

struct set_entry {
    struct event_set set;
    int errnum;
    struct set_entry *next;
};

static struct workload *workloads;
static struct set_entry *sets;

static struct workload *find_workload(uint64_t id)
{
    struct workload *workload = workloads;
    while (workload && workload->id != id)
        workload = workload->next;
    return workload;
}

static struct set_entry *find_set(uint64_t id)
{
    struct set_entry *entry = sets;
    while (entry && entry->set.id != id)
        entry = entry->next;
    return entry;
}

static void define_workload(const struct pmclua_message *message)
{
    struct workload *workload = calloc(1, sizeof *workload);
    if (!workload)
        return;
    workload->id = message_header(message)->id;
    int is_kernel = count_fields(message, PMCLUA_F_LIBRARY) > 0;
    workload->errnum = is_kernel ? -kernel_new(&workload->kernel, message) : -command_new(&workload->command, message);
    workload->next = workloads;
    workloads = workload;
}

static void define_set(const struct pmclua_message *message)
{
    struct set_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return;
    entry->errnum = -events_define(&entry->set, message);
    entry->set.id = message_header(message)->id;
    entry->next = sets;
    sets = entry;
}

static void forget_workload(uint64_t id)
{
    for (struct workload **place = &workloads; *place; place = &(*place)->next) {
        struct workload *workload = *place;
        if (workload->id != id)
            continue;
        *place = workload->next;
        if (workload->command)
            command_free(workload->command);
        if (workload->kernel)
            kernel_free(workload->kernel);
        free(workload);
        return;
    }
}

/* ---- running ---- */

/* Where a RUN field's number goes; NULL: it has none. */
static uint64_t *place_of(struct run *run, uint32_t kind)
{
    switch (kind) {
    case PMCLUA_F_WORKLOAD:        return &run->workload;
    case PMCLUA_F_EVENTS:          return &run->events;
    case PMCLUA_F_ITERATIONS:      return &run->iterations;
    case PMCLUA_F_REPETITIONS:     return &run->repetitions;
    case PMCLUA_F_TIMEOUT:         return &run->timeout_ns;
    case PMCLUA_F_CAPTURE_LIMIT:   return &run->capture_limit;
    case PMCLUA_F_PADDING:         return &run->padding;
    case PMCLUA_F_FIXED_ADDRESSES: return &run->fixed_addresses;
    case PMCLUA_F_STACK_OFFSET:    return &run->stack_offset;
    case PMCLUA_F_COLD_BYTES:      return &run->cold_bytes;
    case PMCLUA_F_NO_HUGE_PAGES:   return &run->no_huge_pages;
    case PMCLUA_F_NODE:            return &run->node;
    default:                       return NULL;
    }
}

static int take_run_field(struct run *run, const struct message_field *field)
{
    if (field->kind == PMCLUA_F_RUN_CPUS) {
        const char *text = field_text(field);
        run->pinned = 1;
        return text ? cpulist_parse(text, &run->cpus) : -EPROTO;
    }
    uint64_t *place = place_of(run, field->kind);
    if (!place || field_u64(field, place) < 0)
        return -EPROTO;
    if (field->kind == PMCLUA_F_NODE)
        run->node++;
    return 0;
}

static int take_run(struct run *run, const struct pmclua_message *message)
{
    *run = (struct run){ .id = message_header(message)->id, .repetitions = 1 };
    struct message_field field;
    uint32_t offset = 0;
    int result;
    while ((result = message_next(message, &offset, &field)) > 0)
        if ((result = take_run_field(run, &field)) < 0)
            return result;
    return result;
}

static int refuse(const struct run *run, int errnum, const char *why)
{
    struct answer answer = { .result.sequence = run->id };
    answer_refuse(&answer, errnum, why);
    int result = answer_send(CHANNEL, &answer);
    answer_free(&answer);
    return result;
}

static int run_command(struct command *command, const struct event_set *set, const struct run *run)
{
    int result = 0;
    for (uint64_t i = 0; i < run->repetitions && result == 0; i++) {
        struct answer answer = { .result.sequence = run->id };
        command_run(command, set, run, &answer);
        result = answer_send(CHANNEL, &answer);
        answer_free(&answer);
    }
    return result;
}

static int run_message(const struct pmclua_message *message)
{
    struct run run;
    if (take_run(&run, message) < 0)
        return -EPROTO;
    struct workload *workload = find_workload(run.workload);
    struct set_entry *entry = run.events ? find_set(run.events) : NULL;
    if (!workload || (run.events && !entry))
        return refuse(&run, ENOENT, "not defined");
    if (workload->errnum)
        return refuse(&run, workload->errnum, "the workload's definition");
    if (entry && entry->errnum)
        return refuse(&run, entry->errnum, "the event set's definition");
    if (workload->command)
        kernel_close_counters();       /* they would compete for the PMU */
    const struct event_set *set = entry ? &entry->set : NULL;
    int result = memory_policy_set(&run);
    if (result < 0) {
        memory_policy_reset(&run);
        return refuse(&run, -result, "memory from that NUMA node");
    }
    result = workload->kernel ? kernel_run(workload->kernel, set, &run, CHANNEL)
                              : run_command(workload->command, set, &run);
    memory_policy_reset(&run);
    return result;
}

static int take_message(const struct pmclua_message *message)
{
    const struct message_header *header = message_header(message);
    switch (header->kind) {
    case PMCLUA_MSG_WORKLOAD: define_workload(message); return 0;
    case PMCLUA_MSG_EVENTS:   define_set(message); return 0;
    case PMCLUA_MSG_FORGET:   forget_workload(header->id); return 0;
    case PMCLUA_MSG_RUN:      return run_message(message);
    default:                  return -EPROTO;
    }
}

static void forget_all(void)
{
    while (workloads)
        forget_workload(workloads->id);
    while (sets) {
        struct set_entry *entry = sets;
        sets = entry->next;
        events_free(&entry->set);
        free(entry);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "empty-calls") == 0)
        return empty_calls(strtoul(argv[2], NULL, 10));
    if (argc > 1 || fcntl(CHANNEL, F_SETFD, FD_CLOEXEC) < 0) {
        fputs("pmclua-runner is started by pmclua, not by hand\n", stderr);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    catch_signals();
    /* What pmclua's own parent left open is no business of workloads. */
    close_range(CHANNEL + 1, ~0U, 0);
    if (keep_standard() < 0)
        return 1;
    struct pmclua_message message = { 0 };
    int result = 0;
    while (result == 0) {
        result = message_receive(CHANNEL, &message);
        if (result == 0)
            result = take_message(&message);
    }
    forget_all();
    pmclua_message_free(&message);
    return result == -EPIPE ? 0 : 1;
}
