/*
 * task.c: one task of a launched program.
 *
 * The folder is private to its user and all nodes see it. "plan" has the messages that a runner gets, TASK first. The
 * task's file is created before its program runs, with the facts that were asked for, and gets the result when that has
 * ended: a file without one belongs to a task that was killed. Where its counters cannot be opened the program runs
 * uncounted, for others of the launch wait for it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/proc.h"
#include "runner/session/child.h"
#include "runner/session/descriptors.h"
#include "command.h"
#include "launch.h"
#include "stand_in.h"
#include "task.h"

enum { FACT_BYTES = 4096, NAMES_MAX = 1000, PLAN_MAX = 1 << 28, NOT_BEGUN = 125, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

struct task {
    int folder;
    char name[128];                        /* of its file */
    int file;
    struct pmclua_message about, workload, events, run, facts;
    const struct message_field *table;     /* of marks, as it is before the first; NULL: none is asked for */
    struct message_field table_field;
    uint64_t table_bytes;
    int marks;                             /* the table's descriptor */
    char memory[96];                       /* the folder of the table */
    struct command *command;
    struct event_set set;
    struct run asked;
};

/* ---- the plan ---- */

static int is_private(int fd, mode_t kind)
{
    struct stat facts;
    return fstat(fd, &facts) == 0 && (facts.st_mode & S_IFMT) == kind && facts.st_uid == geteuid()
        && (facts.st_mode & 077) == 0;
}

static uint8_t *read_whole(int fd, size_t *bytes)
{
    struct stat facts;
    if (fstat(fd, &facts) < 0 || facts.st_size <= 0 || facts.st_size > PLAN_MAX)
        return NULL;
    char *text = malloc((size_t)facts.st_size);
    int64_t got = text ? pmclua_read_at(fd, 0, text, (uint64_t)facts.st_size) : 0;
    *bytes = got > 0 ? (size_t)got : 0;
    return (uint8_t *)text;
}

static struct pmclua_message *place_of(struct task *task, uint32_t kind)
{
    switch (kind) {
    case PMCLUA_MSG_TASK:     return &task->about;
    case PMCLUA_MSG_WORKLOAD: return &task->workload;
    case PMCLUA_MSG_EVENTS:   return &task->events;
    case PMCLUA_MSG_RUN:      return &task->run;
    default:                  return NULL;
    }
}

/* Takes the messages of a plan apart: 0; -EPROTO, -ENOMEM. */
static int take_messages(struct task *task, const uint8_t *text, size_t bytes)
{
    struct message_header header;
    for (size_t at = 0; at < bytes; at += sizeof header + header.bytes) {
        if (bytes - at < sizeof header)
            return -EPROTO;
        memcpy(&header, text + at, sizeof header);
        struct pmclua_message *message = place_of(task, header.kind);
        if (!message || message->bytes || header.bytes > bytes - at - sizeof header)
            return -EPROTO;
        uint32_t size = (uint32_t)sizeof header + header.bytes;
        if (!(message->bytes = malloc(size)))
            return -ENOMEM;
        memcpy(message->bytes, text + at, size);
        message->used = message->size = size;
    }
    return task->about.bytes && task->workload.bytes && task->run.bytes ? 0 : -EPROTO;
}

static const char *open_plan(struct task *task, const char *folder)
{
    task->folder = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (task->folder < 0)
        return "this node does not see the folder of the launch";
    if (!is_private(task->folder, S_IFDIR))
        return "the folder of the launch is not this user's alone";
    int fd = openat(task->folder, "plan", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || !is_private(fd, S_IFREG))
        return "the folder of the launch has no plan of this user's alone";
    size_t bytes;
    uint8_t *text = read_whole(fd, &bytes);
    close(fd);
    int result = text ? take_messages(task, text, bytes) : -EPROTO;
    free(text);
    return result < 0 ? "the plan of the launch is damaged" : NULL;
}

/* ---- facts ---- */

static int add_fact(struct task *task, const char *name, const char *value)
{
    char *text = NULL;
    int length = asprintf(&text, "%s=%s", name, value);
    int result = length < 0 ? -ENOMEM : pmclua_message_add(&task->facts, PMCLUA_F_FACT, text, (uint32_t)length + 1);
    free(text);
    return result;
}

static int change_variable(const char *change)
{
    const char *end = strchr(change, '=');
    char *name = end ? strndup(change, (size_t)(end - change)) : strdup(change);
    int result = !name ? -ENOMEM : (end ? setenv(name, end + 1, 1) : unsetenv(name)) < 0 ? -errno : 0;
    free(name);
    return result;
}

static int add_file(struct task *task, const char *path)
{
    char text[FACT_BYTES];
    return read_text(path, text, sizeof text) < 0 ? 0 : add_fact(task, path, text);
}

static int take_field(void *owner, const struct message_field *field)
{
    struct task *task = owner;
    if (field->kind == PMCLUA_F_TABLE) {
        task->table_field = *field;
        task->table = &task->table_field;
        return 0;
    }
    if (field->kind == PMCLUA_F_TABLE_BYTES)
        return field_u64(field, &task->table_bytes);
    const char *text = field_text(field);
    if (!text)
        return -EPROTO;
    const char *value;
    switch (field->kind) {
    case PMCLUA_F_BUILD:         return strcmp(text, pmclua_build()) == 0 ? 0 : -ESTALE;
    case PMCLUA_F_TELL_VARIABLE: return (value = getenv(text)) ? add_fact(task, text, value) : 0;
    case PMCLUA_F_TELL_FILE:     return add_file(task, text);
    case PMCLUA_F_CHANGE:        return change_variable(text);
    default:                     return -EPROTO;
    }
}

static int create(const struct task *task, const char *name)
{
    int fd = openat(task->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

static int write_facts(const struct task *task)
{
    return pmclua_write(task->file, (const char *)task->facts.bytes, task->facts.used);
}

/* Process ids belong to a PID namespace, of which a host may have several. */
static int create_own(struct task *task)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c; c++)
        if (*c == '/')
            *c = '-';
    task->file = -EEXIST;
    for (int i = 0; i < NAMES_MAX && task->file == -EEXIST; i++) {
        snprintf(task->name, sizeof task->name, "task-%s-%d-%d", host, (int)getpid(), i);
        task->file = create(task, task->name);
    }
    return task->file < 0 ? task->file : write_facts(task);
}

/* ---- marks: a table in memory of this node, copied when the program has ended ---- */

/* Named as pmclua's own are, so that it removes what a killed one left (host/temporary.lua). */
static int make_folder(struct task *task)
{
    struct stat facts;
    char boot[6];
    unsigned long long namespace = 0;
    if (stat("/proc/self/ns/pid", &facts) == 0
        && read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot) == (long)sizeof boot - 1)
        namespace = strtoull(boot, NULL, 16) * 0x100000000u + facts.st_ino;
    snprintf(task->memory, sizeof task->memory, "/dev/shm/pmclua-marks-%llu-%d-%llu-XXXXXX", namespace, (int)getpid(),
             (unsigned long long)proc_start_ticks(0));
    if (mkdtemp(task->memory))
        return 0;
    task->memory[0] = '\0';
    return -errno;
}

static int make_table(struct task *task)
{
    char path[sizeof task->memory + 8];
    int result = make_folder(task);
    if (result < 0)
        return result;
    snprintf(path, sizeof path, "%s/table", task->memory);
    task->marks = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (task->marks < 0)
        return -errno;
    result = pmclua_write(task->marks, (const char *)task->table->data, task->table->bytes);
    if (result == 0 && ftruncate(task->marks, (off_t)task->table_bytes) < 0)
        result = -errno;
    return result < 0 ? result : setenv("PMCLUA_MARKS", path, 1) < 0 ? -errno : 0;
}

/* Copies a sparse file: holes stay holes. */
static int copy_written(int from, int to)
{
    off_t start = 0, end;
    while ((start = lseek(from, start, SEEK_DATA)) >= 0) {
        if ((end = lseek(from, start, SEEK_HOLE)) < 0 || lseek(to, start, SEEK_SET) < 0)
            return -errno;
        while (start < end) {
            ssize_t sent = TEMP_FAILURE_RETRY(sendfile(to, from, &start, (size_t)(end - start)));
            if (sent <= 0)
                return sent < 0 ? -errno : -EIO;
        }
    }
    return errno == ENXIO ? 0 : -errno;
}

static void remove_table(const struct task *task)
{
    char path[sizeof task->memory + 8];
    snprintf(path, sizeof path, "%s/table", task->memory);
    unlink(path);
    rmdir(task->memory);
}

static int leave_table(const struct task *task)
{
    char name[160];
    snprintf(name, sizeof name, "%s.marks", task->name);
    int fd = create(task, name);
    if (fd < 0)
        return fd;
    int result = copy_written(task->marks, fd);
    if (result == 0 && ftruncate(fd, (off_t)task->table_bytes) < 0)
        result = -errno;
    return close(fd) < 0 && result == 0 ? -errno : result;
}

/* ---- running ---- */

static int leave(const struct task *task, const struct answer *answer)
{
    const void *bytes;
    size_t count;
    int result = answer_pack(answer, &bytes, &count);
    return result < 0 ? result : pmclua_write(task->file, bytes, count);
}

static int prepare(struct task *task, char *const *argv)
{
    int result = pmclua_message_begin(&task->facts, PMCLUA_MSG_TASK, message_header(&task->about)->id);
    if (result == 0)
        result = message_take(&task->about, take_field, task);
    if (result == 0 && task->table)
        result = make_table(task);
    for (; result == 0 && *argv; argv++)
        result = pmclua_message_add(&task->workload, PMCLUA_F_ARGUMENT, *argv, (uint32_t)strlen(*argv) + 1);
    if (result == 0)
        result = command_new(&task->command, &task->workload);
    if (result == 0 && task->events.bytes)
        result = event_set_define(&task->set, &task->events);
    return result < 0 ? result : run_take(&task->asked, &task->run);
}

/* Writes the result of its program. Where it could not be counted, that is written first, and it runs uncounted. */
static int run_program(struct task *task, struct pmclua_result *ended)
{
    struct answer answer = { 0 };
    command_run(task->command, task->events.bytes ? &task->set : NULL, &task->asked, &answer);
    int result = leave(task, &answer);
    if (answer.result.outcome == PMCLUA_NOT_COUNTED) {
        answer_free(&answer);
        command_run(task->command, NULL, &task->asked, &answer);
        if (result == 0)
            result = leave(task, &answer);
    }
    *ended = answer.result;
    answer_free(&answer);
    return result;
}

/* As the program ended, so that its launcher sees what it would have seen. */
static int end_as(const struct pmclua_result *result)
{
    if (result->outcome == PMCLUA_NOT_STARTED)
        return result->errnum == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
    return result->signal > 0 ? stand_in_die(result->signal) : result->exit_code;
}

static const char *begin(struct task *task, const char *folder, char *const *argv)
{
    const char *why = open_plan(task, folder);
    if (why)
        return why;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signals_leave();
    launch_raise_descriptor_limit(0);
    int result = descriptors_keep(-1);
    if (result == 0)
        result = prepare(task, argv);
    if (result == -ESTALE)
        return "the runner on this node is not the one that pmclua has: both have to be of one build";
    if (result == 0)
        result = create_own(task);
    return result < 0 ? strerror(-result) : NULL;
}

static void forget(struct task *task)
{
    struct pmclua_message *messages[] = { &task->about, &task->workload, &task->events, &task->run, &task->facts };
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        pmclua_message_free(messages[i]);
    event_set_free(&task->set);
    if (task->command)
        command_free(task->command);
    if (task->memory[0])
        remove_table(task);
    const int descriptors[] = { task->folder, task->file, task->marks };
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

/* The mark at the end of the file: without it the task counts as lost. */
static int leave_end(struct task *task)
{
    int result = pmclua_message_begin(&task->facts, PMCLUA_MSG_TASK, message_header(&task->about)->id);
    return result < 0 ? result : write_facts(task);
}

int task_run(const char *folder, char *const *argv, const char **why)
{
    struct task task = { .folder = -1, .file = -1, .marks = -1 };
    struct pmclua_result ended = { 0 };
    *why = begin(&task, folder, argv);
    int is_begun = *why == NULL;
    if (is_begun) {
        int result = run_program(&task, &ended);
        if (result == 0 && task.table)
            result = leave_table(&task);
        if (result == 0)
            result = leave_end(&task);
        if (result < 0)
            *why = "what it counted could not be written";
    }
    forget(&task);
    return is_begun ? end_as(&ended) : NOT_BEGUN;
}
