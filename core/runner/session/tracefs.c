/*
 * tracefs.c: probes that are defined through tracefs (Documentation/trace/uprobetracer.rst).
 *
 * Invariant: a group of probes is named after the runner that made it and its pid namespace, so that what
 * a killed runner left behind can be told from what a living one needs. Nobody else's probes are touched:
 * the file of definitions is only ever opened for appending (opening it otherwise clears it).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/proc.h"
#include "tracefs.h"

#ifdef SYS_fsopen
/* The path of a mount of our own, without a mount point, which only this process sees; NULL: not allowed. */
static const char *own_mount(void)
{
    enum { CREATE = 6, CLOSE_ON_EXEC = 1 };        /* FSCONFIG_CMD_CREATE; FSOPEN_CLOEXEC, FSMOUNT_CLOEXEC */
    static char path[64];
    static int tried;
    if (tried++)
        return path[0] ? path : NULL;
    int filesystem = (int)syscall(SYS_fsopen, "tracefs", CLOSE_ON_EXEC);
    if (filesystem < 0)
        return NULL;
    int mount = syscall(SYS_fsconfig, filesystem, CREATE, NULL, NULL, 0) < 0
                    ? -1 : (int)syscall(SYS_fsmount, filesystem, CLOSE_ON_EXEC, 0);
    close(filesystem);
    if (mount < 0)
        return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", mount);
    return path;
}
#else
static const char *own_mount(void) { return NULL; }
#endif

static const char *root(void)
{
    static const char *const usual[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
    const char *named = getenv("TRACEFS_PATH");
    if (named)
        return named;
    for (int i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/events", usual[i]);
        if (access(path, F_OK) == 0)
            return usual[i];
    }
    const char *own = own_mount();
    return own ? own : usual[0];
}

/* The file of definitions: of places of Linux, or of files. */
static void name_file(char *path, size_t bytes, int of_kernel)
{
    snprintf(path, bytes, "%s/%s", root(), of_kernel ? "kprobe_events" : "uprobe_events");
}

static int define(int of_kernel, const char *line)
{
    char path[256];
    name_file(path, sizeof path, of_kernel);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t written = write(fd, line, strlen(line));
    int result = written < 0 ? -errno : 0;
    close(fd);
    return result;
}

/* ---- names ---- */

static unsigned long pid_namespace(void)
{
    struct stat facts;
    return stat("/proc/self/ns/pid", &facts) == 0 ? (unsigned long)facts.st_ino : 0;
}

static void name_group(struct tracefs_probes *probes)
{
    static unsigned count;
    snprintf(probes->group, sizeof probes->group, "pmclua_%lu_%d_%u", pid_namespace(), (int)getpid(), count++);
}

/* Whether a line of definitions belongs to an ended runner of our pid namespace; its "group/event". */
static int is_left(const char *line, char *name, size_t bytes)
{
    unsigned long namespace;
    int pid, end = 0;
    unsigned number;
    /* A return probe of Linux reads "r16:", with the most calls that it follows at a time. */
    if (sscanf(line, "%*[pr]%*[0-9]:pmclua_%lu_%d_%u/%n", &namespace, &pid, &number, &end) < 3
        && sscanf(line, "%*[pr]:pmclua_%lu_%d_%u/%n", &namespace, &pid, &number, &end) < 3)
        return 0;
    if (end == 0)
        return 0;
    if (namespace != pid_namespace() || kill(pid, 0) == 0 || errno != ESRCH)
        return 0;
    const char *start = strchr(line, ':') + 1;
    size_t length = strcspn(start, " \n");
    if (length >= bytes)
        return 0;
    memcpy(name, start, length);
    name[length] = '\0';
    return 1;
}

static void clean(int of_kernel)
{
    char path[256], line[4096], name[128], removal[160];
    name_file(path, sizeof path, of_kernel);
    FILE *definitions = fopen(path, "re");
    /* Removing one removes all of its name: removing the others then fails. */
    while (definitions && fgets(line, sizeof line, definitions)) {
        if (!is_left(line, name, sizeof name))
            continue;
        snprintf(removal, sizeof removal, "-:%s", name);
        define(of_kernel, removal);
    }
    if (definitions)
        fclose(definitions);
}

void tracefs_clean(void)
{
    clean(0);
    clean(1);
}

/* ---- definitions ---- */

static const char *const event_names[2] = { "at", "back" };

static int add(struct tracefs_probes *probes, const char *place, int is_return, uint32_t number)
{
    if (!probes->group[0])
        name_group(probes);
    char line[512];
    int length = snprintf(line, sizeof line, "%s:%s/%s %s id=\\%u:u32", is_return ? "r" : "p", probes->group,
                          event_names[is_return], place, number);
    if (length >= (int)sizeof line)
        return -ENAMETOOLONG;
    int result = define(probes->of_kernel, line);
    if (result == 0)
        probes->event[is_return].is_defined = 1;
    return result;
}

int tracefs_add(struct tracefs_probes *probes, int fd, uint64_t offset, int is_return, uint32_t number)
{
    char place[64];
    /* Through the open file, because a path with a space cannot be written here. */
    snprintf(place, sizeof place, "/proc/self/fd/%d:0x%llx", fd, (unsigned long long)offset);
    return add(probes, place, is_return, number);
}

int tracefs_add_kernel(struct tracefs_probes *probes, const char *place, int is_return)
{
    /* One word: what follows a space would define more than this probe. */
    if (!*place || strpbrk(place, " \t\n;#"))
        return -EINVAL;
    probes->of_kernel = 1;
    return add(probes, place, is_return, 0);
}

/* A file of the event's folder as text; "" where it cannot be read. */
static void read_file(const struct tracefs_probes *probes, const char *event, const char *file, char *text,
                      size_t bytes)
{
    char path[384];
    snprintf(path, sizeof path, "%s/events/%s/%s/%s", root(), probes->group, event, file);
    read_text(path, text, bytes);
}

static int learn(const struct tracefs_probes *probes, const char *name, struct tracefs_event *event)
{
    char text[4096];
    if (!event->is_defined)
        return 0;
    read_file(probes, name, "id", text, sizeof text);
    event->id = strtoull(text, NULL, 10);
    read_file(probes, name, "format", text, sizeof text);
    const char *field = strstr(text, "field:u32 id;"), *offset = field ? strstr(field, "offset:") : NULL;
    if (event->id == 0 || !offset)
        return -EACCES;
    event->field = (uint32_t)strtoul(offset + strlen("offset:"), NULL, 10);
    return 0;
}

int tracefs_finish(struct tracefs_probes *probes)
{
    int result = learn(probes, event_names[0], &probes->event[0]);
    return result < 0 ? result : learn(probes, event_names[1], &probes->event[1]);
}

void tracefs_remove(struct tracefs_probes *probes)
{
    char removal[128];
    for (int i = 0; i < 2; i++) {
        snprintf(removal, sizeof removal, "-:%s/%s", probes->group, event_names[i]);
        if (probes->event[i].is_defined)
            define(probes->of_kernel, removal);
    }
    *probes = (struct tracefs_probes){ 0 };
}
