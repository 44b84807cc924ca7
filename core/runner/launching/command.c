/*
 * command.c: commands as messages define them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/cpulist.h"
#include "command.h"

extern char **environ;

static int take_field(void *owner, const struct message_field *field)
{
    struct command *command = owner;
    const char *text = field_text(field);
    switch (field->kind) {
    case PMCLUA_F_ARGUMENT:
    case PMCLUA_F_ENVIRONMENT:
        return text ? 0 : -EPROTO;         /* gathered by message_texts */
    case PMCLUA_F_DIRECTORY:
        return field_copy(field, &command->directory);
    case PMCLUA_F_STDIN:
        return field_copy(field, &command->streams.input);
    case PMCLUA_F_INHERIT_STDIN:
        return field_u64(field, &command->streams.inherit_input);
    case PMCLUA_F_OUTPUT:
        return field_u64(field, &command->streams.output[0]);
    case PMCLUA_F_ERRORS:
        return field_u64(field, &command->streams.output[1]);
    case PMCLUA_F_FOREGROUND:
        return field_u64(field, &command->foreground);
    case PMCLUA_F_STANDARD:
        return field_u64(field, &command->standard);
    case PMCLUA_F_WATCHED:
        return field_u64(field, &command->watched);
    case PMCLUA_F_GRACE:
        return field_u64(field, &command->grace_ns);
    case PMCLUA_F_CPUS:
        command->pinned = 1;
        return text ? cpulist_parse(text, &command->cpus) : -EPROTO;
    default:
        return region_set_take(&command->regions, field);
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
    int result = message_take(message, take_field, command);
    if (result < 0)
        return result;
    command->argv = message_texts(message, PMCLUA_F_ARGUMENT);
    command->envp = message_texts(message, PMCLUA_F_ENVIRONMENT);
    if (!command->argv || !command->envp)
        return -ENOMEM;
    if (!command->argv[0])
        return -EPROTO;
    if (!command->envp[0]) {
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
