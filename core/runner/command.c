/*
 * command.c: commands: executed on demand, counted from exec to the end with all children.
 *
 * A repetition is: hold a child, open the counters on it, release, wait, read. Nothing is allocated
 * between release and exec.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/cpulist.h"
#include "launch.h"
#include "host/padding.h"
#include "runner.h"
#include "regions.h"
#include "streams.h"

struct command {
    char **argv, **envp;
    char *path;                    /* what is executed: argv[0] as found in PATH */
    char *directory;
    struct stream_choice streams;
    uint64_t foreground;
    int pinned;
    cpu_set_t cpus;
    struct region_set *regions;    /* NULL: none */
};

extern char **environ;

/* ---- definition ---- */

static int take_field(struct command *command, const struct message_field *field)
{
    const char *text = field_text(field);
    switch (field->kind) {
    case PMCLUA_F_ARGUMENT:
    case PMCLUA_F_ENVIRONMENT:
        return text ? 0 : -EPROTO;         /* gathered by texts_of */
    case PMCLUA_F_DIRECTORY:
        return text && (command->directory = strdup(text)) ? 0 : -EPROTO;
    case PMCLUA_F_STDIN:
        return text && (command->streams.input = strdup(text)) ? 0 : -EPROTO;
    case PMCLUA_F_INHERIT_STDIN:
        return field_u64(field, &command->streams.inherit_input);
    case PMCLUA_F_OUTPUT:
        return field_u64(field, &command->streams.output[0]);
    case PMCLUA_F_ERRORS:
        return field_u64(field, &command->streams.output[1]);
    case PMCLUA_F_FOREGROUND:
        return field_u64(field, &command->foreground);
    case PMCLUA_F_CPUS:
        command->pinned = 1;
        return text ? cpulist_parse(text, &command->cpus) : -EPROTO;
    default: {
        int taken = region_set_take(&command->regions, field);
        return taken > 0 ? 0 : taken < 0 ? taken : -EPROTO;
    }
    }
}

static const char *environment_value(char *const *envp, const char *name)
{
    size_t length = strlen(name);
    for (; *envp; envp++)
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
            return *envp + length + 1;
    return NULL;
}

static int is_executable(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

/* argv[0] with a slash is taken as it is; else the first executable in the command's own PATH. NULL
 * and errno when there is none. */
static char *find_program(const char *name, char *const *envp)
{
    if (strchr(name, '/') || !*name)
        return strdup(name);
    const char *path = environment_value(envp, "PATH");
    if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t length = strcspn(path, ":");
        char *candidate = NULL;
        if (asprintf(&candidate, "%.*s/%s", length ? (int)length : 1, length ? path : ".", name) < 0)
            return NULL;
        if (is_executable(candidate))
            return candidate;
        free(candidate);
        if (!path[length])
            break;
        path += length + 1;
    }
    return strdup(name);      /* executing it will say ENOENT */
}

void command_free(struct command *command)
{
    texts_free(command->argv);
    texts_free(command->envp);
    free(command->path);
    free(command->directory);
    free(command->streams.input);
    region_set_free(command->regions);
    free(command);
}

static int define(struct command *command, const struct pmclua_message *message)
{
    struct message_field field;
    uint32_t offset = 0;
    int result, arguments, variables;
    while ((result = message_next(message, &offset, &field)) > 0)
        if ((result = take_field(command, &field)) < 0)
            return result;
    if (result < 0)
        return result;
    command->argv = texts_of(message, PMCLUA_F_ARGUMENT, &arguments);
    command->envp = texts_of(message, PMCLUA_F_ENVIRONMENT, &variables);
    if (!command->argv || !command->envp)
        return -ENOMEM;
    if (arguments == 0)
        return -EPROTO;
    if (variables == 0) {
        texts_free(command->envp);
        command->envp = NULL;
    }
    command->path = find_program(command->argv[0], command->envp ? command->envp : environ);
    return command->path ? 0 : -ENOMEM;
}

int command_new(struct command **out, const struct pmclua_message *message)
{
    struct command *command = calloc(1, sizeof *command);
    if (!command)
        return -ENOMEM;
    int result = define(command, message);
    if (result < 0) {
        command_free(command);
        return result;
    }
    *out = command;
    return 0;
}

/* ---- one repetition ---- */

static void take_status(struct pmclua_result *result, int status)
{
    result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (result->signal)
        result->outcome = runner_limit_hit() ? PMCLUA_TIMED_OUT : PMCLUA_SIGNALLED;
}

/* Waits for the child: 0, or -errno: how it ended is not known. With a time limit it stays a zombie until
 * the limit is disarmed, so that the limit never strikes a stranger who got its pid. */
static int wait_for(int pid, uint64_t timeout_ns, int *status, struct rusage *usage, uint64_t *end_ns)
{
    int got;
    siginfo_t info;
    if (timeout_ns > 0) {
        while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
            ;
        *end_ns = pmclua_now_ns();
        runner_disarm();
    }
    do
        got = wait4(pid, status, 0, usage);
    while (got < 0 && errno == EINTR);
    int result = got < 0 ? -errno : 0;
    if (timeout_ns == 0)
        *end_ns = pmclua_now_ns();
    return result;
}

static void run_held(struct held *held, int own_group, struct streams *streams, const struct run *run,
                     struct pmclua_drops *drops, struct answer *answer)
{
    struct pmclua_result *result = &answer->result;
    struct rusage usage;
    uint64_t end_ns;
    int status;
    runner_watch(own_group ? -held->pid : held->pid);
    runner_limit(run->timeout_ns);
    result->start_ns = pmclua_now_ns();
    launch_release(held);
    streams_follow(streams, held->pid, drops);
    int waited = wait_for(held->pid, run->timeout_ns, &status, &usage, &end_ns);
    runner_watch(0);
    if (runner_limit_hit())
        runner_end_descendants();
    result->wall_ns = end_ns - result->start_ns;
    if (waited < 0) {
        answer_refuse(answer, -waited, "wait for\nthe command");
        return;
    }
    take_status(result, status);
    struct rusage before = launch_counts_before(held);
    answer_usage(answer, &before, &usage);
    result->max_rss_bytes = memory_peak(&usage);
}

/* Executing a file that one may not read, or that gains rights, ends its events at once (the OS kernel
 * protects what it would show): then its counts are not 0 but absent. Enabled time of a task's group is its time
 * on CPUs (`before_ns` is what the child took before it executed), so it tells, unless the group lost its place on
 * the PMU: 3 to 6 µs where the events were ended. A group that is not inherited is enabled while the first thread
 * runs, whatever others used: 270 µs for the least that a program takes. */
enum { ENDED_NS = 50000 };

static int is_dropped(const struct pmclua_result *result, uint64_t before_ns, const struct set_group *group,
                      const uint64_t *reading)
{
    uint64_t inherit = 0, enabled_ns = reading[0];
    if (pmclua_reading_is_lost(reading))
        return 0;
    pmclua_attr_get(&group->attrs[0], "inherit", &inherit);
    uint64_t used_ns = result->user_ns + result->system_ns;
    return before_ns + enabled_ns * 10 < used_ns && (inherit || enabled_ns < ENDED_NS);
}

/* A program that the command, or a child of it, executed is missing in the counts. */
static int is_partial(const struct pmclua_result *result, const struct set_group *group, int pid)
{
    uint64_t inherit = 0;
    pmclua_attr_get(&group->attrs[0], "inherit", &inherit);
    return result->drops > 0 && (inherit || result->drop.pid == pid);
}

static void clear_dropped(const struct event_set *set, uint64_t before_ns, int pid, struct answer *answer)
{
    uint64_t *words = answer->words;
    for (int i = 0; i < set->groups; i++) {
        size_t count = 2 + (size_t)set->group[i].count;
        if (is_partial(&answer->result, &set->group[i], pid)
            || is_dropped(&answer->result, before_ns, &set->group[i], words)) {
            memset(words, 0, count * sizeof *words);
            answer->result.errnum = EACCES;
        }
        words += count;
    }
}

static void read_counters(struct counters *counters, uint64_t before_ns, int pid, struct answer *answer)
{
    uint32_t words = counters->set ? counters->set->words : 0;
    int result = answer_words(answer, words);
    if (result == 0)
        result = counters_read(counters, answer->words);
    if (result < 0) {
        answer->result.outcome = PMCLUA_NOT_COUNTED;
        answer->result.failure = (struct pmclua_failure){ .errnum = -result, .index = -1 };
        answer->result.words = 0;
    } else if (words) {
        clear_dropped(counters->set, before_ns, pid, answer);
    }
}

/* A reason of two lines: what could not be done, and to what. */
static void refuse_start(const struct command *command, int errnum, const char *stage, struct answer *answer)
{
    const char *subject = strcmp(stage, "enter") == 0 ? command->directory : command->path;
    char why[4096];
    snprintf(why, sizeof why, "%s\n%s", stage, subject);
    answer_refuse(answer, errnum, why);
}

static void end_held(const struct command *command, struct held *held, struct answer *answer)
{
    const char *stage;
    int errnum = launch_end(held, &stage);
    if (errnum)
        refuse_start(command, errnum, stage, answer);
}

/* What kept the child itself from going on is the cause, where it is that which kept its events from
 * being opened. */
static void abandon_held(const struct command *command, struct held *held, struct answer *answer)
{
    const char *stage;
    int errnum = launch_abandon(held, &stage);
    if (errnum)
        refuse_start(command, errnum, stage, answer);
}

static int has_inherited(const struct event_set *set)
{
    uint64_t inherit = 0;
    for (int i = 0; set && i < set->groups && !inherit; i++)
        pmclua_attr_get(&set->group[i].attrs[0], "inherit", &inherit);
    return inherit != 0;
}

/* NULL, and the result says why, where the programs that it executes cannot be watched. */
static struct pmclua_drops *watch_programs(int pid, struct pmclua_result *result)
{
    struct pmclua_drops *drops = NULL;
    int opened = pmclua_drops_open(&drops, pid, 1);
    result->unseen = opened < 0 ? (uint32_t)-opened : 0;
    return drops;
}

/* Of a command whose children are not counted (`is_alone`) only what it executes itself matters. */
static void take_drops(struct pmclua_drops *drops, int is_alone, int pid, struct pmclua_result *result)
{
    int count = drops ? pmclua_drops_read(drops, &result->drop) : -(int)result->unseen;
    int matters = count > 0 && (!is_alone || result->drop.pid == pid);
    result->drops = matters ? (uint32_t)count : 0;
    result->unseen = count < 0 && !is_alone ? (uint32_t)-count : 0;
    pmclua_drops_close(drops);
}

static void run_counted(const struct command *command, struct held *held, struct streams *streams,
                        const struct event_set *set, const struct run *run, struct answer *answer)
{
    struct counters counters;
    if (counters_open(&counters, set, held->pid, PMCLUA_ON_EXEC, &answer->result.failure) < 0) {
        answer->result.outcome = PMCLUA_NOT_COUNTED;
        abandon_held(command, held, answer);
        return;
    }
    int pid = held->pid;
    /* Without it drops are only seen by the time that is missing. */
    struct pmclua_drops *drops = counters.set ? watch_programs(pid, &answer->result) : NULL;
    run_held(held, !command->foreground, streams, run, drops, answer);
    uint64_t before_ns = launch_used_ns(held);
    end_held(command, held, answer);
    take_drops(drops, !has_inherited(set), pid, &answer->result);
    if (answer->result.outcome != PMCLUA_NOT_STARTED)
        read_counters(&counters, before_ns, pid, answer);
    counters_close(&counters);
}

/* The same with the calls of its regions. */
static void run_followed(const struct command *command, struct held *held, struct streams *streams,
                         const struct event_set *set, const struct run *run, struct answer *answer)
{
    struct following *following;
    runner_defer_termination(1);
    int result = regions_open(&following, command->regions, set, held->pid, answer);
    if (result < 0 || runner_is_terminated()) {
        abandon_held(command, held, answer);
        if (result == 0)
            answer_refuse(answer, ECANCELED, "regions: termination");
    } else {
        int pid = held->pid;
        struct pmclua_drops *drops = watch_programs(pid, &answer->result);
        run_held(held, !command->foreground, streams, run, drops, answer);
        end_held(command, held, answer);
        take_drops(drops, command->regions->one_thread != 0, pid, &answer->result);
    }
    if (result == 0)
        regions_close(following, answer);
    runner_defer_termination(0);
}

static void launch_and_count(const struct command *command, char *const *envp, struct streams *streams,
                             const struct event_set *set, const struct run *run, struct answer *answer)
{
    struct launch launch = {
        .path = command->path, .argv = command->argv, .envp = envp,
        .directory = command->directory, .standard = { streams->fd[0], streams->fd[1], streams->fd[2] },
        .own_group = !command->foreground, .fixed_addresses = run->fixed_addresses != 0,
        .cpus = run->pinned ? &run->cpus : command->pinned ? &command->cpus : NULL,
    };
    if (command->foreground)
        launch.keep_count = runner_inherited(&launch.keep);
    struct held held;
    int result = launch_hold(&held, &launch);
    if (result < 0)
        refuse_start(command, -result, "start", answer);
    else if (command->regions)
        run_followed(command, &held, streams, set, run, answer);
    else
        run_counted(command, &held, streams, set, run, answer);
}

void command_run(struct command *command, const struct event_set *set, const struct run *run, struct answer *answer)
{
    struct streams streams;
    left_begin();
    answer->result.threads = 1;
    answer->result.iterations = run->iterations;
    int result = streams_open(&streams, &command->streams, run->capture_limit);
    if (result < 0) {
        char why[4096];
        snprintf(why, sizeof why, "read\n%s", command->streams.input ? command->streams.input : "/dev/null");
        answer_refuse(answer, -result, why);
        return;
    }
    char *const *envp = command->envp ? command->envp : environ;
    char **padded = run->padding ? padding_add(envp, (uint32_t)run->padding) : NULL;
    launch_and_count(command, padded ? padded : envp, &streams, set, run, answer);
    padding_free(padded);
    left_take(&answer->result);
    streams_take(&streams, answer);
    streams_close(&streams);
}
