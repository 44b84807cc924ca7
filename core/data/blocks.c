/*
 * blocks.c: which block of the heap an address was in at its time, by the log of allocations (core/heap).
 *
 * Addresses are used again and again, so events and samples are played in the order of time. Of millions of blocks those alone
 * are played that have the address of some sample at some time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blocks.h"
#include "heap/heap.h"
#include "host/lists.h"

/* A live block. One process's never overlap, so two that do are equal to the tree. */
struct block { uint64_t start, bytes; uint32_t pid, site; };

struct starts { uint64_t *list; size_t count; };

struct blocks {
    const struct heap_log *log;
    uint64_t events, taken;        /* of `order` */
    const struct heap_event **order;
    size_t kept;
    void *tree;                    /* of struct block */
};

/* ---- the log ---- */

/* Notes this process's PID namespace, whose numbers of processes samples have. */
static int write_head(int fd)
{
    struct heap_log *head = mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct stat space, proc;
    if (head == MAP_FAILED)
        return -errno;
    if (stat("/proc/self/ns/pid", &space) == 0 && stat("/proc", &proc) == 0) {
        head->pid_namespace = space.st_ino;
        head->proc_device = proc.st_dev;
    }
    munmap(head, sizeof *head);
    return 0;
}

/* Programs that write where the disk is full would be killed. */
int pmclua_heap_make(const char *path)
{
    if (unlink(path) < 0 && errno != ENOENT)
        return -errno;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int result = -posix_fallocate(fd, 0, sizeof(struct heap_log));
    if (result == 0)
        result = write_head(fd);
    close(fd);
    if (result < 0)
        unlink(path);
    return result;
}

int blocks_open(struct blocks **out, const char *path, struct pmclua_heap *facts)
{
    struct blocks *blocks = calloc(1, sizeof *blocks);
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC), result = fd < 0 ? -errno : blocks ? 0 : -ENOMEM;
    if (result == 0 && (fstat(fd, &stat) < 0 || stat.st_size < (off_t)sizeof(struct heap_log)))
        result = -EINVAL;
    void *place = result < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct heap_log), PROT_READ, MAP_SHARED, fd, 0);
    if (result == 0 && place == MAP_FAILED)
        result = -errno;
    if (fd >= 0)
        close(fd);
    if (result < 0) {
        free(blocks);
        return result;
    }
    blocks->log = place;
    uint64_t asked = blocks->log->events;
    blocks->events = asked < HEAP_EVENTS ? asked : HEAP_EVENTS;
    *facts = (struct pmclua_heap){ .events = blocks->events, .lost = asked - blocks->events,
        .processes = blocks->log->processes, .sites_lost = blocks->log->sites_lost,
        .elsewhere = blocks->log->elsewhere };
    *out = blocks;
    return 0;
}

void blocks_close(struct blocks *blocks)
{
    if (!blocks)
        return;
    tdestroy(blocks->tree, free);
    munmap((void *)(uintptr_t)blocks->log, sizeof(struct heap_log));
    free(blocks->order);
    free(blocks);
}

const struct heap_event *blocks_events(const struct blocks *blocks, uint64_t *events)
{
    uint64_t asked = blocks->log->events;
    *events = asked < HEAP_EVENTS ? asked : HEAP_EVENTS;
    return blocks->log->event;
}

static int is_block(const struct heap_event *event) { return event->bytes < HEAP_START; }

/* ---- which events matter ---- */

/* The order of time; of one moment that of the log. */
static int by_time(const void *a, const void *b)
{
    const struct heap_event *one = *(const struct heap_event *const *)a, *other = *(const struct heap_event *const *)b;
    if (one->time_ns != other->time_ns)
        return one->time_ns < other->time_ns ? -1 : 1;
    return one < other ? -1 : one > other;
}

/* Whether a sorted list has a number from `from` on, below from + bytes. */
static int has(const uint64_t *list, size_t count, uint64_t from, uint64_t bytes)
{
    size_t before = from ? list_up_to(list, count, sizeof *list, from - 1) : 0;
    return before < count && list[before] - from < bytes;
}

/* Keeps blocks that have a sample's address, and notes where they start. */
static int keep_blocks(struct blocks *blocks, const uint64_t *address, size_t count, struct starts *starts)
{
    int result = 0;
    for (uint64_t i = 0; result == 0 && i < blocks->events; i++) {
        const struct heap_event *event = &blocks->log->event[i];
        if (event->time_ns == 0 || event->bytes == HEAP_FREE
            || (is_block(event) && !has(address, count, event->address, event->bytes)))
            continue;
        result = LIST_ADD(blocks->order, blocks->kept, event);
        if (result == 0 && is_block(event))
            result = LIST_ADD(starts->list, starts->count, event->address);
    }
    return result;
}

int blocks_choose(struct blocks *blocks, uint64_t *address, size_t count)
{
    struct starts starts = { .list = NULL };
    list_sort(address, count, sizeof *address);
    int result = keep_blocks(blocks, address, count, &starts);
    list_sort(starts.list, starts.count, sizeof *starts.list);
    for (uint64_t i = 0; result == 0 && i < blocks->events; i++) {
        const struct heap_event *event = &blocks->log->event[i];
        if (event->time_ns && event->bytes == HEAP_FREE && has(starts.list, starts.count, event->address, 1))
            result = LIST_ADD(blocks->order, blocks->kept, event);
    }
    free(starts.list);
    if (blocks->kept)
        qsort(blocks->order, blocks->kept, sizeof *blocks->order, by_time);
    return result;
}

/* ---- the play ---- */

static int by_place(const void *a, const void *b)
{
    const struct block *one = a, *other = b;
    if (one->pid != other->pid)
        return one->pid < other->pid ? -1 : 1;
    if (one->start < other->start ? other->start - one->start >= one->bytes : one->start - other->start >= other->bytes)
        return one->start < other->start ? -1 : 1;
    return 0;
}

static const struct block *find(const struct blocks *blocks, uint32_t pid, uint64_t address)
{
    struct block key = { .start = address, .bytes = 1, .pid = pid };
    struct block *const *node = tfind(&key, &blocks->tree, by_place);
    return node ? *node : NULL;
}

static void end_block(struct blocks *blocks, const struct block *block)
{
    struct block *held = (struct block *)(uintptr_t)block;
    tdelete(held, &blocks->tree, by_place);
    free(held);
}

static int add_block(struct blocks *blocks, uint32_t pid, uint64_t start, uint64_t bytes, uint32_t site)
{
    struct block *block = malloc(sizeof *block);
    if (!block)
        return -ENOMEM;
    *block = (struct block){ start, bytes ? bytes : 1, pid, site };
    struct block *const *node;
    while ((node = tfind(block, &blocks->tree, by_place)))      /* whose end was lost */
        end_block(blocks, *node);
    if (!tsearch(block, &blocks->tree, by_place)) {
        free(block);
        return -ENOMEM;
    }
    return 0;
}

/* The blocks of one process, for a fork or an end of all. */
struct chosen { uint32_t pid; struct block **list; size_t count; int result; };

static void choose(const void *node, VISIT when, void *argument)
{
    struct chosen *chosen = argument;
    struct block *block = *(struct block *const *)node;
    if ((when == postorder || when == leaf) && block->pid == chosen->pid && chosen->result == 0)
        chosen->result = LIST_ADD(chosen->list, chosen->count, block);
}

static int each_of(struct blocks *blocks, uint32_t pid, uint32_t child)
{
    struct chosen chosen = { .pid = pid };
    twalk_r(blocks->tree, choose, &chosen);
    for (size_t i = 0; chosen.result == 0 && i < chosen.count; i++) {
        const struct block *block = chosen.list[i];
        if (child)
            chosen.result = add_block(blocks, child, block->start, block->bytes, block->site);
        else
            end_block(blocks, block);
    }
    free(chosen.list);
    return chosen.result;
}

static int take(struct blocks *blocks, const struct heap_event *event)
{
    switch (event->bytes) {
    case HEAP_START: return each_of(blocks, event->pid, 0);
    case HEAP_FORK:  return each_of(blocks, (uint32_t)event->address, event->pid);
    case HEAP_FREE: {
        const struct block *block = find(blocks, event->pid, event->address);
        if (block && block->start == event->address)
            end_block(blocks, block);
        return 0;
    }
    default:
        return add_block(blocks, event->pid, event->address, event->bytes, event->site);
    }
}

int blocks_find(struct blocks *blocks, uint64_t time_ns, struct pmclua_access *access)
{
    int result = 0;
    for (; result == 0 && blocks->taken < blocks->kept && blocks->order[blocks->taken]->time_ns <= time_ns; blocks->taken++)
        result = take(blocks, blocks->order[blocks->taken]);
    const struct block *block = result == 0 ? find(blocks, access->pid, access->address) : NULL;
    if (!block)
        return result;
    access->is_block = 1;
    access->is_stack = 0;
    access->start = block->start;
    access->bytes = block->bytes;
    access->site = block->site < HEAP_SITES ? block->site : 0;
    return 0;
}

uint32_t blocks_site(const struct blocks *blocks, uint32_t number, uint64_t *frame)
{
    const struct heap_site *site = &blocks->log->site[number];
    uint32_t frames = number == 0 || site->state != 2 ? 0 : site->frames;
    frames = frames < HEAP_FRAMES ? frames : HEAP_FRAMES;
    memcpy(frame, site->frame, frames * sizeof *frame);
    return frames;
}
