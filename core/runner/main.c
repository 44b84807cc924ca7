/*
 * main.c: the runner: a small program without Lua in which workloads are run and counted.
 *
 * It is started by client.c with one end of a socket pair, whose number is its argument (a second one is the
 * soft limit on descriptors that pmclua was started with, where it has raised its own). It takes messages from
 * there one after the other and answers each RUN with results. It ends when the other end closes.
 * Whatever a kernel does to this process costs its repetition alone: who asked starts another runner.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/cpulist.h"
#include "launch.h"
#include "runner.h"
#include "regions.h"

enum { STANDARD_COPY = 10 };

static int channel;                     /* our end of the socket pair */

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

/* ---- what was defined ---- */

struct workload {
    uint64_t id;
    struct command *command;       /* one of the three, */
    struct kernel *kernel;
    struct attachment *attachment;
    int errnum;                    /* or why there is neither */
    struct workload *next;
};

struct set_entry {
    struct event_set set;
    int errnum;
    uint64_t uses;                 /* runs of commands that it has counted */
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
    if (fields_count(message, PMCLUA_F_LIBRARY) > 0)
        workload->errnum = -kernel_new(&workload->kernel, message);
    else if (fields_count(message, PMCLUA_F_PID) > 0)
        workload->errnum = -attachment_new(&workload->attachment, message);
    else
        workload->errnum = -command_new(&workload->command, message);
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
        if (workload->attachment)
            attachment_free(workload->attachment);
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
    case PMCLUA_F_INHERIT:         return &run->inherit;
    case PMCLUA_F_STOP_AT_FAILURE: return &run->stop_at_failure;
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
    int result = answer_send(channel, &answer);
    answer_free(&answer);
    return result;
}

int runner_is_asked(void)
{
    struct pollfd ready = { .fd = channel, .events = POLLIN };
    return poll(&ready, 1, 0) > 0;
}

void runner_hear_no_more(void) { shutdown(channel, SHUT_RD); }

static int run_command(struct command *command, const struct event_set *set, const struct run *run)
{
    int result = 0, goes_on = 1;
    for (uint64_t i = 0; i < run->repetitions && goes_on && result == 0; i++) {
        struct answer answer = { .result.sequence = run->id };
        command_run(command, set, run, &answer);
        int failed = answer.result.outcome != PMCLUA_DONE || answer.result.exit_code != 0;
        goes_on = !(failed && run->stop_at_failure) && !runner_is_asked();
        result = answer_send(channel, &answer);
        answer_free(&answer);
    }
    return result;
}

static int run_attachment(struct attachment *attachment, const struct event_set *set, const struct run *run)
{
    struct answer answer = { .result.sequence = run->id };
    attachment_run(attachment, set, run, &answer);
    int result = answer_send(channel, &answer);
    answer_free(&answer);
    return result;
}

static int answer_stop(uint64_t id)
{
    struct answer answer = { .result.sequence = id };
    return answer_send(channel, &answer);
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
    if (!workload->kernel)
        kernel_close_counters();       /* they would compete for the PMU */
    const struct event_set *set = entry ? &entry->set : NULL;
    if (workload->command && entry && (run.repetitions > 1 || entry->uses++ > 0))
        events_keep_quick(set);
    if (workload->attachment)
        return run_attachment(workload->attachment, set, &run);
    int result = memory_policy_set(&run);
    if (result < 0) {
        memory_policy_reset(&run);
        return refuse(&run, -result, "memory from that NUMA node");
    }
    result = workload->kernel ? kernel_run(workload->kernel, set, &run, channel)
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
    case PMCLUA_MSG_STOP:     return answer_stop(header->id);
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

/* Descriptors that pmclua's own parent left open are no business of workloads, but of a command in the
 * foreground, which stands for one that was started without us. */
static int *inherited;
static int inherited_count;

int runner_inherited(const int **list)
{
    *list = inherited;
    return inherited_count;
}

static void keep_inherited(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        int fd = atoi(entry->d_name);
        if (fd <= 2 || fd == channel || fd == dirfd(folder))
            continue;
        int *longer = realloc(inherited, ((size_t)inherited_count + 1) * sizeof *longer);
        if (!longer)
            break;
        inherited = longer;
        inherited[inherited_count++] = fd;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    if (folder)
        closedir(folder);
}

/* A kernel that writes to descriptors it does not know reaches nobody's files but its own runner's. */
void runner_close_others(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (standard[fd] >= 0)
            close(standard[fd]);
        standard[fd] = -1;
    }
    while (inherited_count > 0)
        close(inherited[--inherited_count]);
}

static int serve(void)
{
    struct pmclua_message message = { 0 };
    int result = 0;
    while (result == 0 && !runner_is_terminated()) {
        result = message_receive(channel, &message);
        if (result == 0)
            result = take_message(&message);
    }
    forget_all();
    pmclua_message_free(&message);
    free(inherited);
    return result == -EPIPE ? 0 : PMCLUA_CUT_OFF;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "empty-calls") == 0)
        return empty_calls(strtoul(argv[2], NULL, 10));
    if (argc > 2 && strcmp(argv[1], "probed-calls") == 0)
        return probed_calls(argc - 2, argv + 2);
    if (argc >= 4 && strcmp(argv[1], "reads") == 0)
        return list_reads(argv[2], argv + 3);
    channel = argc >= 2 ? atoi(argv[1]) : -1;
    if (channel <= 2 || fcntl(channel, F_SETFD, FD_CLOEXEC) < 0) {
        fputs("pmclua-runner is started by pmclua, not by hand\n", stderr);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    /* What a killed command leaves behind becomes our child, so that it can be ended too. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    runner_catch_signals();
    launch_raise_descriptor_limit(argc == 3 ? strtoull(argv[2], NULL, 10) : 0);
    keep_inherited();
    return keep_standard() < 0 ? 1 : serve();
}
