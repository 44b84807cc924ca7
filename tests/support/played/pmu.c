/*
 * pmu.c: plays a PMU for pmclua and its runner (LD_PRELOAD), behind their table of system calls; and for programs
 * with marks, behind libc.
 *
 * PMCLUA_PLAYED_PMU names a file of lines:
 *
 *   work PATH                   counts of work done, 8 u64s, which programs add to (work.c)
 *   counters N                  how many events may count at once, beside those that have a counter of their own
 *   own TYPE CONFIG             an event with a counter of its own
 *   led TYPE CONFIG CONFIG      an event that opens only in a group whose leader has the second config
 *   event TYPE CONFIG CONFIG1 C0 ... C7     an event; it counts C0 a piece of work of kind 0, and so on
 *   kind TYPE CONFIG            an event of Linux's own that counts the next kind of work, in the thread that does it
 *
 * Invariant: events of types 0 (hardware), 3 (cache), 4 (raw) and of each type that a line has are played, and those
 * without a line do not open.
 * A played event is one that counts nothing in Linux, so groups, times, inheritance and rights are Linux's own; only
 * values are put in when a group is read. An event counts all work that is done while its group is enabled, whoever
 * does it. Groups that were opened first have the counters while they are enabled; one that finds none never runs.
 *
 * With "kind" lines work is what Linux counts, and samples (rings.c) hold the counts of their instant: each played event
 * is one of these kinds in turn, and the group's events together say what each of them counts. So a group has at
 * least as many events as there are kinds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmclua.h"
#include "played.h"

enum { KINDS = 8, MOST_EVENTS = 256, MOST_RULES = 32, MOST_FDS = 4096 };

struct known { uint64_t type, config, config1, per_work[KINDS]; };
struct rule { uint64_t type, config, leader; };

static struct known known[MOST_EVENTS];
static struct rule own[MOST_RULES], led[MOST_RULES], kind[KINDS];
static int known_count, own_count, led_count, kind_count, counters = 4;
static const volatile uint64_t *work;
static struct pmclua_system real;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A descriptor that was opened as a played event. */
struct played {
    const struct known *event;
    int is_open, leader, is_enabled, kind; /* leader: its descriptor, be it its own; kind: that it is one of */
    int cpu;                               /* whose counters it takes; -1: of any */
    uint64_t id, order, format;            /* order: of opening; format: read_format */
    uint64_t since[KINDS], before[KINDS];  /* of a leader: work when it was enabled; counted until then */
};
static struct played played[MOST_FDS];
static uint64_t opened;

/* ---- the description ---- */

static void map_work(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, KINDS * sizeof *work, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    work = memory == MAP_FAILED ? NULL : memory;
}

static void take_event(const char *words)
{
    struct known *event = &known[known_count];
    int at = 0, step;
    if (known_count == MOST_EVENTS
        || sscanf(words, "%li %li %li%n", (long *)&event->type, (long *)&event->config, (long *)&event->config1, &at) < 3)
        return;
    for (int i = 0; i < KINDS; i++, at += step)
        if (sscanf(words + at, "%li%n", (long *)&event->per_work[i], &step) < 1)
            break;
    known_count++;
}

static void take_line(const char *line)
{
    char path[4096];
    struct rule rule = { 0, 0, 0 };
    if (sscanf(line, "work %4095[^\n]", path) == 1)
        map_work(path);
    else if (strncmp(line, "event ", 6) == 0)
        take_event(line + 6);
    else if (sscanf(line, "own %li %li", (long *)&rule.type, (long *)&rule.config) == 2 && own_count < MOST_RULES)
        own[own_count++] = rule;
    else if (sscanf(line, "led %li %li %li", (long *)&rule.type, (long *)&rule.config, (long *)&rule.leader) == 3
             && led_count < MOST_RULES)
        led[led_count++] = rule;
    else if (sscanf(line, "kind %li %li", (long *)&rule.type, (long *)&rule.config) == 2 && kind_count < KINDS)
        kind[kind_count++] = rule;
    else
        sscanf(line, "counters %d", &counters);
}

/* ---- which events open ---- */

static int is_played(uint64_t type)
{
    for (int i = 0; i < known_count; i++)
        if (known[i].type == type)
            return 1;
    return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
}

static const struct known *find_event(uint64_t type, uint64_t config, uint64_t config1)
{
    for (int i = 0; i < known_count; i++)
        if (known[i].type == type && known[i].config == config && known[i].config1 == config1)
            return &known[i];
    return NULL;
}

static const struct rule *find_rule(const struct rule *rules, int count, const struct known *event)
{
    for (int i = 0; i < count; i++)
        if (rules[i].type == event->type && rules[i].config == event->config)
            return &rules[i];
    return NULL;
}

static int has_own(const struct known *event)
{
    return find_rule(own, own_count, event) != NULL;
}

/* The general counters that a group takes; -1: it has an event with a counter of its own twice. */
static int counters_of(int leader, const struct known *more)
{
    int count = more && !has_own(more);
    for (int fd = 0; fd < MOST_FDS; fd++) {
        if (!played[fd].is_open || played[fd].leader != leader)
            continue;
        if (more && has_own(more) && played[fd].event == more)
            return -1;
        count += !has_own(played[fd].event);
    }
    return count;
}

/* 0, or why an event does not open in its group (-errno). */
static int refusal(const struct known *event, int group_fd)
{
    const struct rule *needs = event ? find_rule(led, led_count, event) : NULL;
    if (!event)
        return -ENOENT;
    int has_leader = group_fd >= 0 && group_fd < MOST_FDS && played[group_fd].is_open;
    if (needs && (!has_leader || played[group_fd].event->config != needs->leader))
        return -EINVAL;
    int count = counters_of(group_fd, event);
    return count < 0 || count > counters ? -EINVAL : 0;
}

static int members_of(int leader)
{
    int count = 0;
    for (int fd = 0; leader >= 0 && fd < MOST_FDS; fd++)
        count += played[fd].is_open && played[fd].leader == leader;
    return count;
}

/* What Linux counts in its place. */
static void stand_in(struct perf_event_attr *attr, int group_fd)
{
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_DUMMY;
    attr->config1 = 0;
    attr->precise_ip = 0;
    attr->size = sizeof *attr;
    if (kind_count > 0) {
        const struct rule *its = &kind[members_of(group_fd) % kind_count];
        attr->type = (uint32_t)its->type;
        attr->config = its->config;
        attr->exclude_kernel = attr->exclude_user = attr->exclude_hv = 0;
    }
}

static void note(int fd, const struct known *event, int group_fd, int cpu, const struct perf_event_attr *attr)
{
    int its = kind_count > 0 ? members_of(group_fd) % kind_count : 0;
    struct played *one = &played[fd];
    /* What a command executes first is the start of its work. */
    *one = (struct played){ .event = event, .is_open = 1, .leader = group_fd >= 0 ? group_fd : fd,
                            .is_enabled = !attr->disabled || attr->enable_on_exec, .order = ++opened,
                            .format = attr->read_format, .kind = its, .cpu = cpu };
    for (int i = 0; i < KINDS; i++)
        one->since[i] = work ? work[i] : 0;
    real.ioctl(fd, PERF_EVENT_IOC_ID, (uint64_t)(uintptr_t)&one->id);
}

int play_open(const struct pmclua_attr *attr, int32_t pid, int32_t cpu, int32_t group_fd, uint32_t flags)
{
    struct perf_event_attr dummy;
    memcpy(&dummy, attr, sizeof dummy < sizeof *attr ? sizeof dummy : sizeof *attr);
    if (!is_played(dummy.type))
        return real.perf_event_open(attr, pid, cpu, group_fd, flags);
    const struct known *event = find_event(dummy.type, dummy.config, dummy.config1);
    int why = refusal(event, group_fd);
    if (why < 0)
        return why;
    stand_in(&dummy, group_fd);
    int fd = real.perf_event_open((const struct pmclua_attr *)&dummy, pid, cpu, group_fd, flags);
    if (fd >= MOST_FDS) {
        real.close(fd);
        return -EMFILE;
    }
    if (fd >= 0)
        note(fd, event, group_fd, cpu, &dummy);
    return fd;
}

/* ---- what they count ---- */

/* Whether a group has taken counters that this one would need. */
static int is_before(int fd, int leader)
{
    const struct played *other = &played[fd], *own = &played[leader];
    int is_beside = other->cpu < 0 || own->cpu < 0 || other->cpu == own->cpu;
    return other->is_open && other->leader == fd && other->is_enabled && is_beside && other->order < own->order;
}

static int is_on(int leader)
{
    int taken = 0;
    for (int fd = 0; fd < MOST_FDS; fd++)
        if (is_before(fd, leader))
            taken += counters_of(fd, NULL);
    return taken + counters_of(leader, NULL) <= counters;
}

/* `now`: the work done, the same for all members of a group. */
static uint64_t value_of(const struct played *leader, const struct known *event, const uint64_t *now)
{
    uint64_t value = 0;
    for (int i = 0; i < KINDS; i++)
        value += event->per_work[i] * (leader->before[i] + (leader->is_enabled ? now[i] - leader->since[i] : 0));
    return value;
}

static const struct played *of_id(uint64_t id)
{
    for (int fd = 0; fd < MOST_FDS; fd++)
        if (played[fd].is_open && played[fd].id == id)
            return &played[fd];
    return NULL;
}

/* The member of a group that was opened next after an order. */
static const struct played *next_member(int leader, uint64_t after)
{
    const struct played *next = NULL;
    for (int fd = 0; fd < MOST_FDS; fd++)
        if (played[fd].is_open && played[fd].leader == leader && played[fd].order > after
            && (!next || played[fd].order < next->order))
            next = &played[fd];
    return next;
}

void play_values(uint64_t *pairs, uint64_t count)
{
    uint64_t done[KINDS] = { 0 };
    for (uint64_t i = 0; i < count; i++) {
        const struct played *member = of_id(pairs[2 * i + 1]);
        if (member)
            done[member->kind] = pairs[2 * i];
    }
    for (uint64_t i = 0; i < count; i++) {
        const struct played *member = of_id(pairs[2 * i + 1]);
        uint64_t value = 0;
        for (int k = 0; member && k < kind_count; k++)
            value += member->event->per_work[k] * done[k];
        pairs[2 * i] = member ? value : pairs[2 * i];
    }
}

int group_is_played(int fd)
{
    return kind_count > 0 && fd < MOST_FDS && members_of(played[fd].is_open ? played[fd].leader : fd) > 0;
}

/* A group's reading: nr, enabled, running, and each member's value, with its id where that is asked for. */
static void put_values(int fd, uint64_t *words)
{
    int leader = played[fd].leader, on = is_on(leader), step = played[fd].format & PERF_FORMAT_ID ? 2 : 1;
    uint64_t order = 0, now[KINDS] = { 0 };
    for (int i = 0; i < KINDS && work; i++)
        now[i] = work[i];
    if (!on)
        words[2] = 0;
    for (uint64_t i = 0; i < words[0]; i++) {
        uint64_t *value = &words[3 + (uint64_t)step * i];
        const struct played *member = step == 2 ? of_id(value[1]) : next_member(leader, order);
        order = member ? member->order : order;
        *value = member && on ? value_of(&played[leader], member->event, now) : 0;
    }
}

long play_read(int32_t fd, void *buffer, size_t bytes)
{
    long got = real.read(fd, buffer, bytes);
    int is_counted = fd >= 0 && group_is_played(fd);
    if (got < (long)(3 * sizeof(uint64_t)) || fd < 0 || fd >= MOST_FDS || !(is_counted || played[fd].is_open))
        return got;
    pthread_mutex_lock(&lock);
    if (is_counted)
        play_values((uint64_t *)buffer + 3, ((uint64_t *)buffer)[0]);
    else
        put_values(fd, buffer);
    pthread_mutex_unlock(&lock);
    return got;
}

static void enable(struct played *leader, int on)
{
    for (int i = 0; i < KINDS; i++) {
        if (leader->is_enabled && work)
            leader->before[i] += work[i] - leader->since[i];
        leader->since[i] = work ? work[i] : 0;
    }
    leader->is_enabled = on;
}

int play_ioctl(int32_t fd, uint32_t request, uint64_t argument)
{
    if (fd >= 0 && fd < MOST_FDS && played[fd].is_open) {
        if (request == PERF_EVENT_IOC_ENABLE)
            enable(&played[fd], 1);
        if (request == PERF_EVENT_IOC_DISABLE)
            enable(&played[fd], 0);
    }
    int result = real.ioctl(fd, request, argument);
    if (request == PERF_EVENT_IOC_DISABLE)
        rings_play();
    return result;
}

int play_close(int32_t fd)
{
    if (fd >= 0 && fd < MOST_FDS)
        played[fd].is_open = 0;
    return real.close(fd);
}

/* Closing the last event of a tracepoint takes Linux some 30 ms. */
static void hold_kinds(void)
{
    for (int i = 0; i < kind_count; i++) {
        struct perf_event_attr attr = { .type = (uint32_t)kind[i].type, .config = kind[i].config, .disabled = 1,
                                        .size = sizeof attr };
        real.perf_event_open((const struct pmclua_attr *)&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
}

__attribute__((constructor)) static void play(void)
{
    const char *path = getenv("PMCLUA_PLAYED_PMU");
    struct pmclua_system *table = dlsym(RTLD_DEFAULT, "pmclua_system");
    FILE *file = path ? fopen(path, "re") : NULL;
    char line[4096];
    if (!file)
        return;
    while (fgets(line, sizeof line, file))
        take_line(line);
    fclose(file);
    real = table ? *table : libc_system;
    plays_libc = !table;
    if (table)
        hold_kinds();
    if (table)
        *table = (struct pmclua_system){ play_open, play_ioctl, play_read, play_close };
}
