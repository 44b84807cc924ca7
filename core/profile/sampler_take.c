/*
 * sampler_take.c: takes samples and news of mappings out of the rings.
 *
 * Order: what was mapped before a sample was taken is published before it. So first the ends of the rings of samples
 * are looked at, and then all news until now are taken in, in the order of time: whatever a sample up to those ends
 * needs is there. Mappings keep their times, so that samples may then be taken ring by ring.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "calls/samples.h"
#include "counters/attr.h"
#include "host/lists.h"
#include "sampler.h"

/* The layouts of records, after the header. The last three words of those that are no samples are pid, tid, time. */
struct map_record {
    uint32_t pid, tid;
    uint64_t start, bytes, offset;
    union {
        struct { uint32_t major, minor; uint64_t inode, generation; } of;
        struct { uint8_t size, zero1; uint16_t zero2; uint8_t id[20]; } build;
    };
    uint32_t protection, flags;
    char path[];
};

/* ---- news ---- */

/* Whether the path is of memory that has no file: code that was made at run time is its process's own. */
static int is_memory(const char *path)
{
    static const char *const starts[] = { "//anon", "[anon", "[heap]", "[stack", "/memfd:", "/dev/zero", "/SYSV",
                                          "anon_inode:" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(path, starts[i], strlen(starts[i])) == 0)
            return 1;
    return *path == '\0';
}

int sampler_map(struct pmclua_sampler *sampler, uint32_t pid, struct hit_file *file, uint64_t offset, uint64_t time_ns)
{
    struct space *space = maps_space(&sampler->maps, pid);
    if (!space)
        return -ENOMEM;
    uint64_t start = file->from, bytes = file->to - start;
    if (is_memory(file->path)) {
        static char memory[] = "[memory]";
        *file = (struct hit_file){ .path = memory, .pid = pid, .since_ns = space->began_ns, .held = -1 };
        offset = start;
    }
    int64_t number = hits_file(&sampler->hits, file);
    if (number < 0)
        return -ENOMEM;
    if (space->has_executed && sampler->facts.program == 0)
        sampler->facts.program = (uint64_t)number + 1;
    space->has_executed = 0;
    return maps_add(space, start, bytes, offset, time_ns, (uint32_t)number);
}

static int take_map(struct pmclua_sampler *sampler, const struct perf_event_header *header, uint64_t time_ns)
{
    const struct map_record *map = (const void *)(header + 1);
    struct hit_file file = { .path = (char *)map->path, .from = map->start, .to = map->start + map->bytes,
                             .since_ns = time_ns, .task = map->tid, .held = -1 };
    if (header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        file.id_bytes = map->build.size <= BUILD_ID_MAX ? map->build.size : BUILD_ID_MAX;
        memcpy(file.build_id, map->build.id, file.id_bytes);
    } else {
        file.device = makedev(map->of.major, map->of.minor);
        file.inode = map->of.inode;
    }
    return sampler_map(sampler, map->pid, &file, map->offset, time_ns);
}

static int take_exec(struct pmclua_sampler *sampler, const struct perf_event_header *header, uint64_t time_ns)
{
    const struct comm_record *comm = (const void *)(header + 1);
    if (!(header->misc & PERF_RECORD_MISC_COMM_EXEC))
        return 0;
    struct space *space = maps_space(&sampler->maps, comm->pid);
    if (!space)
        return -ENOMEM;
    space->has_executed = 1;
    space->began_ns = space->began_ns ? space->began_ns : time_ns;
    strncpy(space->name, (const char *)(comm + 1), sizeof space->name - 1);
    return maps_add(space, 0, UINT64_MAX, 0, time_ns, NO_FILE);
}

/* ---- how much tasks may have counted since their last samples ---- */

static int is_clock(const struct pmclua_attr *attr)
{
    struct perf_event_attr native = native_of(attr);
    return native.type == PERF_TYPE_SOFTWARE
        && (native.config == PERF_COUNT_SW_CPU_CLOCK || native.config == PERF_COUNT_SW_TASK_CLOCK);
}

uint64_t sampler_begun_most(const struct pmclua_sampler *sampler, uint64_t lived_ns)
{
    uint64_t places = 0;
    for (uint32_t i = 0; i < sampler->rings; i++)
        places += sampler->ring[i].samples_fd >= 0;
    uint64_t most = places * (sampler->asked.period - 1);
    return is_clock(&sampler->asked.attr) && lived_ns < most ? lived_ns : most;
}

static int begin_task(struct pmclua_sampler *sampler, const struct task_record *task)
{
    sampler->facts.tasks++;
    if (!sampler_inherits(&sampler->asked))
        return 0;
    if (list_grow(&sampler->living, sampler->living_count, &sampler->living_room, sizeof *sampler->living) < 0)
        return -ENOMEM;
    sampler->living[sampler->living_count++] = (struct living){ task->tid, task->time };
    return 0;
}

static void end_task(struct pmclua_sampler *sampler, const struct task_record *task)
{
    for (uint32_t i = 0; i < sampler->living_count; i++) {
        struct living *one = &sampler->living[i];
        if (one->tid != task->tid)
            continue;
        sampler->facts.begun += sampler_begun_most(sampler, task->time - one->since_ns);
        *one = sampler->living[--sampler->living_count];
        return;
    }
}

static int take_fork(struct pmclua_sampler *sampler, const struct task_record *task)
{
    if (begin_task(sampler, task) < 0)
        return -ENOMEM;
    struct space *parent = maps_space(&sampler->maps, task->ppid);
    struct space *child = parent ? maps_space(&sampler->maps, task->pid) : NULL;
    if (!child)
        return -ENOMEM;
    if (parent == child) {
        child->threads++;
        return 0;
    }
    child->began_ns = task->time;
    maps_fork(child, parent);
    return 0;
}

/* A process whose program was executed and mapped nothing before it ended lost its events (drops.c). */
static int take_exit(struct pmclua_sampler *sampler, const struct task_record *task)
{
    end_task(sampler, task);
    struct space *space = maps_space(&sampler->maps, task->pid);
    if (!space)
        return -ENOMEM;
    if (--space->threads > 0)
        return 0;
    space->ended_ns = task->time;
    int is_watched = sampler->asked.task_count > 0;        /* by events of its own, which it can lose */
    if (is_watched && space->has_executed && sampler->facts.drops++ == 0)
        memcpy(sampler->facts.drop, space->name, sizeof space->name);
    return 0;
}

static int take_news(struct pmclua_sampler *sampler, const struct news *news)
{
    const void *body = news->record + 1;
    switch (news->record->type) {
    case PERF_RECORD_MMAP2: return take_map(sampler, news->record, news->time_ns);
    case PERF_RECORD_COMM:  return take_exec(sampler, news->record, news->time_ns);
    case PERF_RECORD_FORK:  return take_fork(sampler, body);
    case PERF_RECORD_EXIT:  return take_exit(sampler, body);
    default:                return 0;
    }
}

static int keep_news(struct pmclua_sampler *sampler, const struct perf_event_header *record)
{
    struct perf_event_header *copy = malloc(record->size);
    if (!copy || list_grow(&sampler->news, sampler->news_count, &sampler->news_room, sizeof *sampler->news) < 0) {
        free(copy);
        return -ENOMEM;
    }
    memcpy(copy, record, record->size);
    uint64_t time_ns;
    memcpy(&time_ns, (const uint8_t *)record + record->size - sizeof time_ns, sizeof time_ns);
    sampler->news[sampler->news_count++] = (struct news){ time_ns, copy };
    /* cppcheck-suppress memleak -- it is the news' */
    return 0;
}

static int take_news_record(void *owner, const struct perf_event_header *record)
{
    struct cpu_rings *ring = owner;
    struct pmclua_sampler *sampler = ring->sampler;
    if (record->type == PERF_RECORD_LOST)
        sampler->facts.news_lost += ((const struct lost_record *)(record + 1))->lost;
    else
        return keep_news(sampler, record);
    return 0;
}

/* Of one moment, in the order in which a process lives. */
static int by_time(const void *a, const void *b)
{
    static const int order[] = { [PERF_RECORD_FORK] = 1, [PERF_RECORD_COMM] = 2, [PERF_RECORD_MMAP2] = 3,
                                 [PERF_RECORD_EXIT] = 4 };
    const struct news *one = a, *other = b;
    if (one->time_ns != other->time_ns)
        return one->time_ns < other->time_ns ? -1 : 1;
    uint32_t most = sizeof order / sizeof *order, first = one->record->type, second = other->record->type;
    return (first < most ? order[first] : 0) - (second < most ? order[second] : 0);
}

/* Takes in all news until `known_ns`; what is later may have an earlier one in a ring that was read before. */
static int take_all_news(struct pmclua_sampler *sampler, uint64_t known_ns)
{
    size_t taken = 0;
    int result = 0;
    if (sampler->news_count > 1)
        qsort(sampler->news, sampler->news_count, sizeof *sampler->news, by_time);
    for (; result == 0 && taken < sampler->news_count && sampler->news[taken].time_ns <= known_ns; taken++) {
        result = take_news(sampler, &sampler->news[taken]);
        free((void *)sampler->news[taken].record);
    }
    sampler->news_count -= taken;
    if (taken > 0)
        memmove(sampler->news, sampler->news + taken, sampler->news_count * sizeof *sampler->news);
    return result;
}

/* ---- samples ---- */

/* The return addresses of a sample's callers in user space, the innermost first; of one in Linux the first is where
 * user space was left. */
struct callers { const uint64_t *address; uint64_t count; int is_in_linux; };

static struct callers callers_of(const struct perf_event_header *header, int is_in_linux)
{
    const uint64_t *word = (const void *)((const struct sample_record *)(const void *)(header + 1) + 1);
    const uint64_t *end = (const void *)((const uint8_t *)header + header->size);
    if (word >= end || *word > (uint64_t)(end - word - 1))
        return (struct callers){ 0 };
    struct callers callers = { word + 1, *word, is_in_linux };
    for (; callers.count > 0 && *callers.address >= PERF_CONTEXT_MAX; callers.count--)
        callers.address++;
    if (!is_in_linux && callers.count > 0) {       /* the sample's own instruction */
        callers.address++;
        callers.count--;
    }
    return callers;
}

/* Where a caller is: in its call, and not after it, where another function may begin. NULL: in no known code. */
static const struct mapping *find_caller(struct pmclua_sampler *sampler, const struct sample_record *sample,
                                         const struct callers *callers, uint64_t index, uint64_t *offset)
{
    uint64_t address = callers->address[index] - (index > 0 || !callers->is_in_linux);
    const struct mapping *mapping = maps_find(&sampler->maps, sample->pid, address, sample->time);
    if (mapping)
        *offset = address - mapping->start + mapping->offset;
    return mapping;
}

/* Notes the call chain of a sample. What a word outside of known code would return to is no caller. */
static int take_chain(struct pmclua_sampler *sampler, const struct perf_event_header *header, uint32_t file,
                      uint64_t offset)
{
    const struct sample_record *sample = (const void *)(header + 1);
    struct callers callers = callers_of(header, file == LINUX_FILE);
    uint64_t known = 0, place = 0;
    int64_t frame = 0;
    while (known < callers.count && find_caller(sampler, sample, &callers, known, &place))
        known++;
    while (frame >= 0 && known-- > 0) {
        const struct mapping *mapping = find_caller(sampler, sample, &callers, known, &place);
        frame = mapping ? chains_frame(&sampler->chains, (uint32_t)frame, mapping->file, place) : frame;
    }
    if (frame >= 0)
        frame = chains_frame(&sampler->chains, (uint32_t)frame, file, offset);
    if (frame > 0)
        sampler->chains.frame[frame - 1].count++;
    sampler->facts.chains_lost += frame == -ENOSPC;
    return frame == -ENOMEM ? -ENOMEM : 0;
}

static int add_sample(struct pmclua_sampler *sampler, const struct perf_event_header *header, uint32_t file,
                      uint64_t offset)
{
    int result = hits_add(&sampler->hits, file, offset);
    if (result == 0 && (sampler->asked.options & PMCLUA_CHAINS))
        result = take_chain(sampler, header, file, offset);
    if (result == 0 && file == LINUX_FILE && (sampler->asked.options & PMCLUA_ENTRIES))
        result = sampler_take_entry(sampler, header);
    return result;
}

static int take_sample(struct pmclua_sampler *sampler, const struct perf_event_header *header)
{
    const struct sample_record *sample = (const void *)(header + 1);
    int level = header->misc & PERF_RECORD_MISC_CPUMODE_MASK;
    sampler->facts.samples++;
    if (level == PERF_RECORD_MISC_KERNEL)
        return add_sample(sampler, header, LINUX_FILE, sample->ip);
    const struct mapping *mapping = NULL;
    if (level == PERF_RECORD_MISC_USER)
        mapping = maps_find(&sampler->maps, sample->pid, sample->ip, sample->time);
    if (mapping)
        return add_sample(sampler, header, mapping->file, sample->ip - mapping->start + mapping->offset);
    sampler->facts.unmapped++;
    return 0;
}

static int take_record(void *owner, const struct perf_event_header *record)
{
    struct cpu_rings *ring = owner;
    struct pmclua_sampler *sampler = ring->sampler;
    const void *body = record + 1;
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        return take_sample(sampler, record);
    case PERF_RECORD_THROTTLE:
        sampler->facts.throttled++;
        return 0;
    case PERF_RECORD_LOST:
        sampler->facts.lost += ((const struct lost_record *)body)->lost;
        return 0;
    default:
        return 0;
    }
}

enum { LATE_NS = 10000000 };           /* between a record's time and its being published, at most */

int sampler_take(struct pmclua_sampler *sampler, int is_last)
{
    int result = 0;
    for (uint32_t i = 0; i < sampler->rings; i++)
        ring_look(&sampler->ring[i].samples);
    uint64_t known_ns = is_last ? UINT64_MAX : pmclua_now_ns();
    for (uint32_t i = 0; result == 0 && i < sampler->rings; i++) {
        ring_look(&sampler->ring[i].news);
        result = ring_read(&sampler->ring[i].news, take_news_record, &sampler->ring[i]);
    }
    if (result == 0)
        result = take_all_news(sampler, known_ns);
    for (uint32_t i = 0; result == 0 && i < sampler->rings; i++)
        result = ring_read(&sampler->ring[i].samples, take_record, &sampler->ring[i]);
    if (result == 0 && !is_last)
        maps_tidy(&sampler->maps, known_ns - LATE_NS);
    return result;
}
