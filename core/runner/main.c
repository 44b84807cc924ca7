/*
 * main.c: the runner: a small program without Lua in which workloads are run and counted.
 *
 * It is started by client.c with one end of a socket pair, whose number is its argument (a second one is the
 * soft limit on descriptors that pmclua was started with, where it has raised its own). It takes messages from
 * there one after the other and answers each RUN with results. It ends when the other end closes.
 * Whatever a kernel does to this process costs its repetition alone: the client starts another runner.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "runner/kernels/kernel.h"
#include "runner/launching/command.h"
#include "runner/launching/call_counts.h"
#include "runner/launching/fixed.h"
#include "runner/launching/launch.h"
#include "runner/launching/task.h"
#include "runner/probing/attachment.h"
#include "runner/probing/probed.h"
#include "runner/session/channel.h"
#include "runner/session/child.h"
#include "runner/session/descriptors.h"
#include "runner/session/memory.h"

/* ---- definitions ---- */

struct workload {
    uint64_t id;
    struct command *command;       /* one of the three, */
    struct kernel *kernel;
    struct attachment *attachment;
    int errnum;                    /* or why it could not be defined */
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
    if (message_count(message, PMCLUA_F_LIBRARY) > 0)
        workload->errnum = -kernel_new(&workload->kernel, message);
    else if (message_count(message, PMCLUA_F_PID) > 0)
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
    entry->errnum = -event_set_define(&entry->set, message);
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

static int send_and_free(struct answer *answer)
{
    int result = answer_send(channel_fd(), answer);
    answer_free(answer);
    return result;
}

static int refuse(const struct run *run, int errnum, enum pmclua_stage stage)
{
    struct answer answer = { .result.sequence = run->id };
    answer_refuse(&answer, errnum, stage, NULL);
    return send_and_free(&answer);
}

static int run_command(struct command *command, const struct event_set *set, const struct run *run)
{
    int result = 0, goes_on = 1;
    for (uint64_t i = 0; i < run->repetitions && goes_on && result == 0; i++) {
        struct answer answer = { .result.sequence = run->id };
        command_run(command, set, run, &answer);
        int failed = answer.result.outcome != PMCLUA_DONE || answer.result.exit_code != 0;
        goes_on = !(failed && run->stop_at_failure) && !channel_has_message();
        result = send_and_free(&answer);
    }
    return result;
}

static int run_attachment(struct attachment *attachment, const struct event_set *set, const struct run *run)
{
    struct answer answer = { .result.sequence = run->id };
    attachment_run(attachment, set, run, &answer);
    return send_and_free(&answer);
}

static int answer_stop(uint64_t id)
{
    struct answer answer = { .result.sequence = id };
    return answer_send(channel_fd(), &answer);
}

static int run_message(const struct pmclua_message *message)
{
    struct run run;
    if (run_take(&run, message) < 0)
        return -EPROTO;
    struct workload *workload = find_workload(run.workload);
    struct set_entry *entry = run.events ? find_set(run.events) : NULL;
    if (!workload || (run.events && !entry))         /* defined before, but there was no memory to keep it */
        return refuse(&run, ENOMEM, PMCLUA_STAGE_DEFINITION);
    if (workload->errnum)
        return refuse(&run, workload->errnum, PMCLUA_STAGE_DEFINITION);
    if (entry && entry->errnum)
        return refuse(&run, entry->errnum, PMCLUA_STAGE_DEFINITION);
    if (!workload->kernel)
        team_close_counters();       /* they would compete for the PMU */
    const struct event_set *set = entry ? &entry->set : NULL;
    if (workload->command && entry && (run.repetitions > 1 || entry->uses++ > 0))
        event_set_keep_kinds_open(set);
    if (workload->attachment)
        return run_attachment(workload->attachment, set, &run);
    int result = memory_policy_set(&run);
    if (result < 0) {
        memory_policy_reset(&run);
        return refuse(&run, -result, PMCLUA_STAGE_NODE);
    }
    result = workload->kernel ? kernel_run(workload->kernel, set, &run, channel_fd())
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
    case PMCLUA_MSG_PREPARE:  command_prepare(); return 0;
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
        event_set_free(&entry->set);
        free(entry);
    }
}

static int serve(void)
{
    struct pmclua_message message = { 0 };
    int result = 0;
    while (result == 0 && !termination_waits()) {
        result = message_receive(channel_fd(), &message);
        if (result == 0)
            result = take_message(&message);
    }
    forget_all();
    pmclua_message_free(&message);
    return result == -EPIPE ? 0 : result == -ENOMEM ? PMCLUA_OUT_OF_MEMORY : PMCLUA_CUT_OFF;
}

static int run_task(const char *folder, char *const *argv)
{
    const char *why;
    int status = task_run(folder, argv, &why);
    if (why)
        fprintf(stderr, "pmclua-runner: %s: %s\n", folder, why);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "empty-calls") == 0)
        return empty_calls(strtoul(argv[2], NULL, 10));
    if (argc > 2 && strcmp(argv[1], "probed-calls") == 0)
        return probed_calls(argc - 2, argv + 2);
    if (argc > 3 && strcmp(argv[1], "fixed") == 0)
        return run_fixed(argv[2], argv + 3, environ);
    if (argc > 5 && strcmp(argv[1], "calls") == 0)
        return run_counted(argv[2], argv[3], argv[4], argv + 5, environ);
    if (argc > 3 && strcmp(argv[1], "task") == 0)
        return run_task(argv[2], argv + 3);
    if (channel_open(argc >= 2 ? atoi(argv[1]) : -1) < 0) {
        fputs("pmclua-runner is started by pmclua, not by hand\n", stderr);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    /* No signal tells that pmclua died before, and what it had sent waits to be run. It is dead to Linux only after
     * its descriptors are closed. */
    if (channel_is_closed())
        return PMCLUA_CUT_OFF;
    /* Descendants of a killed command become our children, so that we can end them too. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signals_catch();
    launch_raise_descriptor_limit(argc == 3 ? strtoull(argv[2], NULL, 10) : 0);
    int kept = descriptors_keep(channel_fd());
    return kept == -EMFILE ? PMCLUA_NO_DESCRIPTOR : kept < 0 ? 1 : serve();
}
