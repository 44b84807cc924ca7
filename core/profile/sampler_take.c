/*
 * sampler_take.c: takes samples and news of mappings out of the rings, in the order of time (calls/order.c).
 *
 * So what is known of mappings when a sample is taken is what was mapped when it was made.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "calls/order.h"
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

/* Whether the path names memory without a file: code that was made at run time is its process's own. */
static int is_memory(const char *path)
{
    static const char *const starts[] = { "//anon", "[anon", "[heap]", "[stack", "/memfd:", "/dev/zero", "/SYSV",
                                          "anon_inode:" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(path, starts[i], strlen(starts[i])) == 0)
            return 1;
    return *path == '\0';
}

int sampler_map(struct pmclua_sampler *sampler, uint32_t pid, struct hit_file *file, uint64_t offset)
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
    return maps_add(&sampler->maps, space, start, bytes, offset, (uint32_t)number);
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
    int result = sampler_note_mapping(sampler, map->pid, &file, map->offset);
    if (result < 0 || (header->misc & PERF_RECORD_MISC_MMAP_DATA))
        return result;
    return sampler_map(sampler, map->pid, &file, map->offset);
}

static int take_exec(struct pmclua_sampler *sampler, const struct perf_event_header *header, uint64_t time_ns)
{
    const struct comm_record *comm = (const void *)(header + 1);
    if (!(header->misc & PERF_RECORD_MISC_COMM_EXEC))
        return 0;
    struct space *space = maps_space(&sampler->maps, comm->pid);
    if (!space)
        return -ENOMEM;
    if (sampler->told_count == 0)
        sampler->told[sampler->told_count++] = comm->tid;
    space->has_executed = 1;
    space->began_ns = space->began_ns ? space->began_ns : time_ns;
    strncpy(space->name, (const char *)(comm + 1), sizeof space->name - 1);
    maps_exec(space);
    return sampler_note_map(sampler, &(struct pmclua_profile_map){ .kind = PMCLUA_MAP_EXEC, .pid = comm->pid });
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
    if (sampler->told_count > 0 && sampler->told_count < PMCLUA_THREADS_TOLD)
        sampler->told[sampler->told_count++] = task->tid;
    if (!sampler_inherits(&sampler->asked))
        return 0;
    return LIST_ADD(sampler->living, sampler->living_count, (struct living){ task->tid, task->time });
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
    return sampler_note_map(sampler, &(struct pmclua_profile_map){ .kind = PMCLUA_MAP_FORK, .pid = task->pid,
                                                                   .other = task->ppid });
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
    int is_watched = sampler->asked.task_count > 0;        /* by events of its own, which it can lose */
    if (is_watched && space->has_executed && sampler->facts.drops++ == 0)
        memcpy(sampler->facts.drop, space->name, sizeof space->name);
    maps_end(&sampler->maps, space);
    return sampler_note_map(sampler, &(struct pmclua_profile_map){ .kind = PMCLUA_MAP_END, .pid = task->pid });
}

/* ---- samples ---- */

/* The return addresses of a sample's callers in user space, the innermost first; of one in Linux the first is where
 * user space was left. `top`: the word on top of the stack; 0: not known. */
struct callers { const uint64_t *address; uint64_t count, top; int is_in_linux; };

/* u64 ABI, and unless that is 0 the stack pointer; u64 bytes of the stack, and unless that is 0 these and how many of
 * them there were. Without these words nothing follows the call chain. */
static uint64_t top_of_stack(const uint64_t *word, const uint64_t *end)
{
    if (end - word < 5 || word[0] != PERF_SAMPLE_REGS_ABI_64 || word[2] != sizeof(uint64_t) || word[4] != word[2])
        return 0;
    return word[3];
}

struct call_words sampler_call_words(const struct perf_event_header *header)
{
    const uint64_t *word = (const void *)((const struct sample_record *)(const void *)(header + 1) + 1);
    const uint64_t *end = (const void *)((const uint8_t *)header + header->size);
    int is_whole = word < end && *word <= (uint64_t)(end - word - 1);
    return is_whole ? (struct call_words){ word + 1, end, *word } : (struct call_words){ end, end, 0 };
}

static struct callers callers_of(const struct perf_event_header *header, int is_in_linux)
{
    struct call_words chain = sampler_call_words(header);
    struct callers callers = { chain.address, chain.count, top_of_stack(chain.address + chain.count, chain.end), is_in_linux };
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
    const struct mapping *mapping = maps_find(&sampler->maps, sample->pid, address);
    if (mapping)
        *offset = address - mapping->start + mapping->offset;
    return mapping;
}

/* Adds what the innermost function would return to if it had no frame, where that is in code and no caller yet. */
static int64_t add_guess(struct pmclua_sampler *sampler, const struct sample_record *sample,
                         const struct callers *callers, int64_t frame)
{
    uint64_t innermost = callers->is_in_linux;
    const struct mapping *mapping = frame >= 0 && callers->top ? maps_find(&sampler->maps, sample->pid, callers->top - 1)
                                                               : NULL;
    if (!mapping || (callers->count > innermost && callers->address[innermost] == callers->top))
        return frame;
    int64_t guess = chains_frame(&sampler->chains, (uint32_t)frame, mapping->file | CHAIN_GUESS,
                                 callers->top - 1 - mapping->start + mapping->offset);
    return guess == -ENOSPC ? frame : guess;
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
    int left_user_space = callers.is_in_linux && known > 0;
    while (frame >= 0 && known-- > 0) {
        if (known == 0 && left_user_space)
            frame = add_guess(sampler, sample, &callers, frame);
        const struct mapping *mapping = find_caller(sampler, sample, &callers, known, &place);
        if (mapping && frame >= 0)
            frame = chains_frame(&sampler->chains, (uint32_t)frame, mapping->file, place);
    }
    if (!callers.is_in_linux)
        frame = add_guess(sampler, sample, &callers, frame);
    if (frame >= 0)
        frame = chains_frame(&sampler->chains, (uint32_t)frame, file, offset);
    if (frame > 0)
        sampler->chains.frame[frame - 1].count++;
    sampler->facts.chains_lost += frame == -ENOSPC;
    return frame == -ENOMEM ? -ENOMEM : 0;
}

/* The thread that took a sample, where threads are told apart. A thread that ended may have had a later one's id. */
static uint32_t thread_of(const struct pmclua_sampler *sampler, const struct sample_record *sample)
{
    uint32_t number = sampler->asked.options & PMCLUA_ENTRIES ? sampler->told_count : 0;
    while (number > 0 && sampler->told[number - 1] != sample->tid)
        number--;
    return number;
}

static int add_sample(struct pmclua_sampler *sampler, const struct perf_event_header *header, uint32_t file,
                      uint64_t offset)
{
    int result = hits_add(&sampler->hits, file, offset, thread_of(sampler, (const void *)(header + 1)));
    if (result == 0 && (sampler->asked.options & PMCLUA_CHAINS))
        result = take_chain(sampler, header, file, offset);
    if (result == 0 && file == LINUX_FILE && (sampler->asked.options & PMCLUA_ENTRIES))
        result = sampler_take_entry(sampler, header);
    if (result == 0 && sampler_keeps_records(sampler))
        result = sampler_take_record(sampler, header, file, offset);
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
        mapping = maps_find(&sampler->maps, sample->pid, sample->ip);
    if (mapping)
        return add_sample(sampler, header, mapping->file, sample->ip - mapping->start + mapping->offset);
    sampler->facts.unmapped++;
    return 0;
}

/* ---- all rings ---- */

/* Each CPU's ring of samples, then its ring of news. */
static struct ring *ring_of(void *owner, int number)
{
    struct cpu_rings *rings = &((struct pmclua_sampler *)owner)->ring[number / 2];
    return number % 2 == 0 ? &rings->samples : &rings->news;
}

static int time_of(const struct perf_event_header *record, uint64_t *time_ns)
{
    return record_time(record, sizeof *record + offsetof(struct sample_record, time), time_ns);
}

static void take_lost(struct pmclua_sampler *sampler, int ring, const struct lost_record *lost)
{
    *(ring % 2 == 0 ? &sampler->facts.lost : &sampler->facts.news_lost) += lost->lost;
}

static int take_record(void *owner, int ring, const struct perf_event_header *record)
{
    struct pmclua_sampler *sampler = owner;
    const void *body = record + 1;
    uint64_t time_ns = 0;
    time_of(record, &time_ns);
    switch (record->type) {
    case PERF_RECORD_SAMPLE: return take_sample(sampler, record);
    case PERF_RECORD_MMAP2:  return take_map(sampler, record, time_ns);
    case PERF_RECORD_COMM:   return take_exec(sampler, record, time_ns);
    case PERF_RECORD_FORK:   return take_fork(sampler, body);
    case PERF_RECORD_EXIT:   return take_exit(sampler, body);
    case PERF_RECORD_LOST:   take_lost(sampler, ring, body); return 0;
    case PERF_RECORD_THROTTLE: sampler->facts.throttled++; return 0;
    default:                 return 0;
    }
}

int sampler_take(struct pmclua_sampler *sampler, int is_last)
{
    struct ring_order order = { 2 * (int)sampler->rings, ring_of, time_of, take_record, sampler };
    return rings_take(&order, is_last);
}
