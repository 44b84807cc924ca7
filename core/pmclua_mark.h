/*
 * pmclua_mark.h: marks in a program that one can change: what happens between two of them is counted.
 *
 *     #include <pmclua_mark.h>
 *
 *     pmclua_mark_begin("parse");
 *     parse(text);
 *     pmclua_mark_end("parse");
 *
 * Run it by `pmclua stat --marks -e instructions,page-faults -- ./program`, or as a workload of an
 * experiment with regions = "marks". Run otherwise, a mark is a load and a branch.
 *
 * Marks are named, may be repeated, nested and overlapping, and belong to the thread that sets them: each
 * thread opens a group of its own at its first mark (counting oneself needs no privilege) and reads it at
 * every mark, so that no thread's marks touch another's. What lies between is added to a table in a file
 * that pmclua made and reads. A child made by fork, and a program that is executed, has marks too.
 *
 * In each thread every event takes one of the descriptors that the program may have (ulimit -n).
 *
 * In recursion the counts of the outermost entry are summed, and every entry is counted.
 * Where several of a name are open in a thread, an end is that of the one begun in the same call of a function,
 * else of the latest: so coroutines that take turns on a thread have entries of their own, though what a
 * thread counts within one is also what others did meanwhile. A mark that ends on another thread than it
 * began on has no numbers, and is said.
 *
 * An end without its begin counts nothing and is reported; so is a begin whose end never came. A mark of which
 * entries were lost (no descriptors for a thread's events, no memory, more than 128 within each other) has no numbers,
 * and the reason. Names are told apart by their first 63 bytes. Marks may not be set in signal handlers.
 *
 * A program that cannot use the table, as in a container, on another machine, as another user or with more rights, says
 * so once on its standard error, and counts nothing. One whose environment was emptied (env -i, sudo, su -) cannot tell
 * that from being run otherwise, and is silent; pmclua says it: sudo --preserve-env=PMCLUA_MARKS hands it on.
 *
 * This file is all there is to it: gnu99 or C++11 on Linux, gcc or clang, and the C library. Other
 * languages call pmclua_mark_enter and pmclua_mark_leave, which do nothing outside pmclua either:
 *     echo '#include <pmclua_mark.h>' | cc -shared -fPIC -x c -o libpmclua_mark.so -
 */
#ifndef PMCLUA_MARK_H
#define PMCLUA_MARK_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- the table: lua/pmclua/core/marks.lua has the same ------------------------------------------------ */

enum {
    PMCLUA_MARK_NAME = 64,           /* bytes of a name, NUL and all */
    PMCLUA_MARK_DEPTH = 128,         /* marks of one thread within each other; deeper ones count nothing */
    PMCLUA_MARK_ATTR_WORDS = 18,     /* a perf_event_attr of 144 bytes */
    PMCLUA_MARK_FREE = 0, PMCLUA_MARK_USED = 1, PMCLUA_MARK_LEFT = 2,
    PMCLUA_MARK_EMPTY = 8,           /* empty marks that each thread sets first, to show what one costs */
    PMCLUA_MARK_OPEN = 4096,         /* slots; more are opened before any entry is lost */
    PMCLUA_MARK_NOT_TOLD = 999,      /* no errno: the environment does not name a table */
    PMCLUA_MARK_NAMES = 256          /* slots of one thread that its first memory has room for */
};
#define PMCLUA_MARK_MAGIC UINT64_C(0x334b52414d434d50)      /* "PMCMARK3" */
#define PMCLUA_MARK_EMPTY_NAME "(empty mark)"

/* At the start of the file; then `events` of pmclua_mark_event, the log, and the slots. Written by pmclua up to
 * `log_words`, by the program from `processes` on. Offsets are bytes from the start. Slots that were never open take
 * no memory: the file is sparse. */
struct pmclua_mark_table {
    uint64_t magic, bytes;           /* of the whole file */
    uint64_t groups, events;
    uint64_t slots_at, slots, slot_bytes;
    uint64_t log_at, log_words;      /* 0 words: no log is wanted */
    uint64_t processes;              /* that have attached */
    uint64_t slots_used;
    uint64_t lost;                   /* entries that had no slot, or no memory of their thread */
    uint64_t log_used;               /* words; may pass log_words: then some entries are not in the log */
    uint64_t refused_errno, refused_event;   /* of the first thread whose events could not be opened */
    uint64_t slots_open;             /* may be used; doubled up to `slots` before an entry is lost */
};

struct pmclua_mark_event { uint64_t group; uint64_t attr[PMCLUA_MARK_ATTR_WORDS]; };

/* One mark in one thread. `words` are as of a reading: for each group enabled ns, running ns, values. */
struct pmclua_mark_slot {
    uint64_t state;                  /* PMCLUA_MARK_LEFT: its thread has ended, another may go on with it */
    uint32_t pid, tid;               /* of the thread that had it last */
    char name[PMCLUA_MARK_NAME];
    uint64_t threads;                /* that had it, one after the other */
    uint64_t begun, ended;
    uint64_t stray;                  /* ends without a begin */
    uint64_t too_deep;               /* begun beyond PMCLUA_MARK_DEPTH */
    uint64_t uncounted;              /* entries whose events could not be read */
    uint64_t wall_ns;                /* sums over entries, of a mark within itself the outermost alone */
    uint64_t words[1];               /* as many as a reading has */
};

/* The log is a row of entries: the slot's number from 1 (0: it was not written to its end), wall ns, words. */

/* ---- a thread ------------------------------------------------------------------------------------------- */

/* `at_begin` points into the thread's own memory; `caller` is where the call that began it has its stack. */
struct pmclua_mark_frame {
    struct pmclua_mark_slot *slot;
    uint64_t start_ns;
    uint64_t *at_begin;
    const void *caller;
    int is_counted;
};

/* In memory that fork wipes: a child finds `ready` 0 and opens groups of its own. */
struct pmclua_mark_thread {
    int ready;
    int can_count;                   /* its groups are open */
    unsigned depth, beyond;          /* frames; begins beyond PMCLUA_MARK_DEPTH that have not ended */
    unsigned known, room;            /* slots of this thread, and how many `slot` can have */
    uint64_t *now, *buffer;          /* a reading, and room for read(2) */
    struct pmclua_mark_slot **slot, *first[PMCLUA_MARK_NAMES];      /* slot: `first`, or a mapping of its own */
    struct pmclua_mark_frame frame[PMCLUA_MARK_DEPTH];
};

#ifdef __cplusplus
extern "C" {
#endif

/* Weak: every file that includes this one defines them, and the program has one of each. */
#define PMCLUA_MARK_ONE __attribute__((weak))

PMCLUA_MARK_ONE struct pmclua_mark_table *pmclua_mark_table;      /* NULL outside pmclua */
PMCLUA_MARK_ONE struct pmclua_mark_table pmclua_mark_none;        /* under callgrind, which needs none */
PMCLUA_MARK_ONE __thread struct pmclua_mark_thread *pmclua_mark_self;
/* This thread's descriptors, by event. Not wiped by fork, so that a child can close its parent's. */
PMCLUA_MARK_ONE __thread int *pmclua_mark_fds;
PMCLUA_MARK_ONE pthread_key_t pmclua_mark_key;

void pmclua_mark_enter(const char *name);
void pmclua_mark_leave(const char *name);

static inline void pmclua_mark_begin(const char *name)
{
    if (__builtin_expect(pmclua_mark_table != NULL, 0))
        pmclua_mark_enter(name);
}

static inline void pmclua_mark_end(const char *name)
{
    if (__builtin_expect(pmclua_mark_table != NULL, 0))
        pmclua_mark_leave(name);
}

/* ---- reading -------------------------------------------------------------------------------------------- */

static inline struct pmclua_mark_event *pmclua_mark_events(void)
{
    return (struct pmclua_mark_event *)(void *)(pmclua_mark_table + 1);
}

static inline size_t pmclua_mark_words(void)
{
    return (size_t)(2 * pmclua_mark_table->groups + pmclua_mark_table->events);
}

static inline uint64_t pmclua_mark_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One read(2) of a group of `count` members into its words; 0, or -1. */
static inline int pmclua_mark_read_group(int leader, uint64_t count, uint64_t *buffer, uint64_t *words)
{
    size_t bytes = (size_t)(3 + count) * sizeof *buffer;
    if (read(leader, buffer, bytes) != (ssize_t)bytes || buffer[0] != count)
        return -1;
    memcpy(words, buffer + 1, bytes - sizeof *buffer);
    return 0;
}

/* Every group; at an end (`closing`) in reverse order, so that what lies between two readings of a group
 * is the same for all but the readings themselves. */
PMCLUA_MARK_ONE int pmclua_mark_read(struct pmclua_mark_thread *self, uint64_t *words, int closing)
{
    const struct pmclua_mark_event *event = pmclua_mark_events();
    uint64_t events = pmclua_mark_table->events;
    if (!closing) {
        for (uint64_t first = 0, next; first < events; first = next) {
            for (next = first; next < events && event[next].group == event[first].group; next++) { }
            if (pmclua_mark_read_group(pmclua_mark_fds[first], next - first, self->buffer, words) < 0)
                return -1;
            words += 2 + (next - first);
        }
        return 0;
    }
    words += pmclua_mark_words();
    for (uint64_t end = events, first; end > 0; end = first) {
        for (first = end - 1; first > 0 && event[first - 1].group == event[end - 1].group; first--) { }
        words -= 2 + (end - first);
        if (pmclua_mark_read_group(pmclua_mark_fds[first], end - first, self->buffer, words) < 0)
            return -1;
    }
    return 0;
}

/* ---- a thread's groups ------------------------------------------------------------------------------------ */

static inline void pmclua_mark_close_fds(void)
{
    /* Backwards: closing a leader first would set its siblings counting on their own. */
    for (uint64_t i = pmclua_mark_table->events; i > 0; i--)
        if (pmclua_mark_fds[i - 1] >= 0) {
            close(pmclua_mark_fds[i - 1]);
            pmclua_mark_fds[i - 1] = -1;
        }
}

static inline void pmclua_mark_refused(int errnum, uint64_t event)
{
    uint64_t none = 0;
    if (__atomic_compare_exchange_n(&pmclua_mark_table->refused_errno, &none, (uint64_t)errnum, 0,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        pmclua_mark_table->refused_event = event;
}

/* Opens and starts the groups on the calling thread: leaders are disabled until all is open, siblings are
 * not, and ENABLE goes to the leader alone. */
static inline int pmclua_mark_open_fds(void)
{
    enum { CLOEXEC = 8, ENABLE = 0x2400 };
    const struct pmclua_mark_event *event = pmclua_mark_events();
    uint64_t events = pmclua_mark_table->events, first = 0;
    for (uint64_t i = 0; i < events; i++) {
        if (event[i].group != event[first].group)
            first = i;
        int leader = i == first ? -1 : pmclua_mark_fds[first];
        pmclua_mark_fds[i] = (int)syscall(SYS_perf_event_open, event[i].attr, 0, -1, leader, (unsigned long)CLOEXEC);
        if (pmclua_mark_fds[i] < 0) {
            pmclua_mark_refused(errno, i);
            pmclua_mark_close_fds();
            return -1;
        }
    }
    for (uint64_t i = 0; i < events; i++)
        if (i == 0 || event[i].group != event[i - 1].group)
            ioctl(pmclua_mark_fds[i], ENABLE, 0);
    return 0;
}

static inline size_t pmclua_mark_thread_bytes(void)
{
    size_t words = pmclua_mark_words();
    size_t rooms = (PMCLUA_MARK_DEPTH + 1) * words + 3 + (size_t)pmclua_mark_table->events;
    return sizeof(struct pmclua_mark_thread) + rooms * sizeof(uint64_t);
}

/* Also called by the C library when a thread ends. */
PMCLUA_MARK_ONE void pmclua_mark_end_thread(void *unused)
{
    struct pmclua_mark_thread *self = pmclua_mark_self;
    (void)unused;
    if (!self)
        return;
    for (unsigned i = 0; i < self->known; i++)
        __atomic_store_n(&self->slot[i]->state, (uint64_t)PMCLUA_MARK_LEFT, __ATOMIC_RELEASE);
    pmclua_mark_close_fds();
    free(pmclua_mark_fds);
    if (self->slot != self->first)
        munmap(self->slot, self->room * sizeof *self->slot);
    munmap(self, pmclua_mark_thread_bytes());
    pmclua_mark_fds = NULL;
    pmclua_mark_self = NULL;
}

static inline int *pmclua_mark_new_fds(void)
{
    size_t events = (size_t)pmclua_mark_table->events;
    int *fds = (int *)malloc((events ? events : 1) * sizeof *fds);
    for (size_t i = 0; fds && i < events; i++)
        fds[i] = -1;
    return fds;
}

/* A new thread's memory, all 0; NULL. */
static inline struct pmclua_mark_thread *pmclua_mark_new_thread(void)
{
    size_t bytes = pmclua_mark_thread_bytes();
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    enum { WIPE_ON_FORK = 18 };      /* without it a child would read its parent's counts as its own */
    pmclua_mark_fds = pmclua_mark_new_fds();
    if (madvise(memory, bytes, WIPE_ON_FORK) < 0 || !pmclua_mark_fds) {
        pmclua_mark_refused(ENOMEM, 0);
        free(pmclua_mark_fds);
        munmap(memory, bytes);
        return NULL;
    }
    pthread_setspecific(pmclua_mark_key, memory);
    return (struct pmclua_mark_thread *)memory;
}

/* Faults the memory from `offset` on in: marks within others then cost no page faults there, and a full file system is
 * no SIGBUS. 0; -1: no memory. Before Linux 5.14 it does nothing. */
static inline int pmclua_mark_populate(void *memory, size_t offset, size_t bytes)
{
    enum { POPULATE_WRITE = 23 };
    size_t before = offset % (size_t)sysconf(_SC_PAGESIZE);
    return madvise((char *)memory + offset - before, before + bytes, POPULATE_WRITE) < 0 && errno != EINVAL ? -1 : 0;
}

/* Opens the groups and sets a few empty marks. */
static inline void pmclua_mark_make_ready(struct pmclua_mark_thread *self)
{
    pmclua_mark_populate(self, 0, pmclua_mark_thread_bytes());
    uint64_t *room = (uint64_t *)(void *)(self + 1);
    size_t words = pmclua_mark_words();
    for (unsigned i = 0; i < PMCLUA_MARK_DEPTH; i++)
        self->frame[i].at_begin = room + i * words;
    self->now = room + PMCLUA_MARK_DEPTH * words;
    self->buffer = self->now + words;
    self->slot = self->first;
    self->room = PMCLUA_MARK_NAMES;
    self->ready = 1;
    self->can_count = pmclua_mark_open_fds() == 0;
    /* Pays for the first calls (lazy binding, the clock's page) before any mark. */
    pmclua_mark_clock();
    if (self->can_count)
        pmclua_mark_read(self, self->now, 1);
    for (int i = 0; i < PMCLUA_MARK_EMPTY; i++) {
        pmclua_mark_enter(PMCLUA_MARK_EMPTY_NAME);
        pmclua_mark_leave(PMCLUA_MARK_EMPTY_NAME);
    }
}

static inline struct pmclua_mark_thread *pmclua_mark_this_thread(void)
{
    if (pmclua_mark_self && pmclua_mark_self->ready)
        return pmclua_mark_self;
    if (pmclua_mark_self)
        pmclua_mark_close_fds();     /* a forked child: these are its parent's */
    else
        pmclua_mark_self = pmclua_mark_new_thread();
    if (pmclua_mark_self)
        pmclua_mark_make_ready(pmclua_mark_self);
    return pmclua_mark_self;
}

/* ---- slots -------------------------------------------------------------------------------------------------- */

static inline struct pmclua_mark_slot *pmclua_mark_slot_at(uint64_t number)
{
    return (struct pmclua_mark_slot *)(void *)((char *)pmclua_mark_table + pmclua_mark_table->slots_at +
                                               number * pmclua_mark_table->slot_bytes);
}

static inline int pmclua_mark_is(const struct pmclua_mark_slot *slot, const char *name)
{
    return strncmp(slot->name, name, PMCLUA_MARK_NAME - 1) == 0;
}

/* A slot that nobody had, of those that are open; NULL. */
static inline struct pmclua_mark_slot *pmclua_mark_take(const char *name)
{
    uint64_t number = __atomic_load_n(&pmclua_mark_table->slots_used, __ATOMIC_RELAXED);
    do {
        if (number >= __atomic_load_n(&pmclua_mark_table->slots_open, __ATOMIC_RELAXED))
            return NULL;
    } while (!__atomic_compare_exchange_n(&pmclua_mark_table->slots_used, &number, number + 1, 1, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    struct pmclua_mark_slot *slot = pmclua_mark_slot_at(number);
    strncpy(slot->name, name, PMCLUA_MARK_NAME - 1);
    __atomic_store_n(&slot->state, (uint64_t)PMCLUA_MARK_USED, __ATOMIC_RELEASE);
    return slot;
}

/* A slot of this name that an ended thread has left; NULL. */
static inline struct pmclua_mark_slot *pmclua_mark_adopt(const char *name)
{
    uint64_t used = __atomic_load_n(&pmclua_mark_table->slots_used, __ATOMIC_RELAXED);
    for (uint64_t i = 0; i < used; i++) {
        struct pmclua_mark_slot *slot = pmclua_mark_slot_at(i);
        uint64_t left = PMCLUA_MARK_LEFT;
        if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == PMCLUA_MARK_LEFT && pmclua_mark_is(slot, name) &&
            __atomic_compare_exchange_n(&slot->state, &left, (uint64_t)PMCLUA_MARK_USED, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return slot;
    }
    return NULL;
}

/* Opens as many slots again, or as many as there are: 0 where there are no more. */
static inline int pmclua_mark_open_more(void)
{
    struct pmclua_mark_table *table = pmclua_mark_table;
    uint64_t open = __atomic_load_n(&table->slots_open, __ATOMIC_RELAXED), more = 2 * open;
    if (open == 0)
        more = PMCLUA_MARK_OPEN;
    if (more > table->slots)
        more = table->slots;
    if (more <= open || pmclua_mark_populate(table, (size_t)(table->slots_at + open * table->slot_bytes),
                                             (size_t)((more - open) * table->slot_bytes)) < 0)
        return 0;
    __atomic_compare_exchange_n(&table->slots_open, &open, more, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return 1;
}

static inline struct pmclua_mark_slot *pmclua_mark_claim(const char *name)
{
    struct pmclua_mark_slot *slot;
    do {
        slot = pmclua_mark_take(name);
        if (!slot)
            slot = pmclua_mark_adopt(name);
    } while (!slot && pmclua_mark_open_more());
    if (slot) {
        slot->threads++;
        slot->pid = (uint32_t)getpid();
        slot->tid = (uint32_t)syscall(SYS_gettid);
    }
    return slot;
}

/* Room for one more slot of this thread: 0, or -1. */
static inline int pmclua_mark_make_room(struct pmclua_mark_thread *self)
{
    if (self->known < self->room)
        return 0;
    size_t bytes = self->room * sizeof *self->slot;
    void *more = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED)
        return -1;
    pmclua_mark_populate(more, 0, 2 * bytes);
    memcpy(more, self->slot, bytes);
    if (self->slot != self->first)
        munmap(self->slot, bytes);
    self->slot = (struct pmclua_mark_slot **)more;
    self->room *= 2;
    return 0;
}

/* The slot of a name in this thread; NULL: there is no room. The usual one is found in front. */
static inline struct pmclua_mark_slot *pmclua_mark_slot_of(struct pmclua_mark_thread *self, const char *name)
{
    for (unsigned i = 0; i < self->known; i++)
        if (pmclua_mark_is(self->slot[i], name))
            return self->slot[i];
    struct pmclua_mark_slot *slot = pmclua_mark_make_room(self) == 0 ? pmclua_mark_claim(name) : NULL;
    if (slot)
        self->slot[self->known++] = slot;
    return slot;
}

/* ---- under callgrind ------------------------------------------------------------------------------------------ */

/* Where pmclua has callgrind count (PMCLUA_MARKS=":valgrind"), there is no table: each mark has callgrind write what
 * was counted since the last, before the mark does anything ("cut") and when it is done ("+NAME", "-NAME"). The
 * instructions that ask for it are those of valgrind/valgrind.h; without Valgrind they do nothing. */
PMCLUA_MARK_ONE int pmclua_mark_dumps;      /* so many more */
PMCLUA_MARK_ONE uint64_t pmclua_mark_cut[6];
enum { PMCLUA_MARK_DUMPS_MAX = 2 * 1000 };  /* begins and ends; two files each */

static inline void pmclua_mark_request(const uint64_t *words)
{
#if defined __x86_64__
    uint64_t answer = 0;
    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
                     : "+d"(answer) : "a"(words) : "cc", "memory");
#elif defined __aarch64__
    register uint64_t answer __asm__("x3") = 0;
    register const uint64_t *place __asm__("x4") = words;
    __asm__ volatile("ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t"
                     "orr x10, x10, x10"
                     : "+r"(answer) : "r"(place) : "cc", "memory");
#else
    (void)words;
#endif
}

/* A dump's number and the address of its text. */
#define PMCLUA_MARK_DUMP(TEXT) { 0x43540003, (uint64_t)(uintptr_t)(TEXT), 0, 0, 0, 0 }

static inline void pmclua_mark_write_name(char kind, const char *name)
{
    char text[24 + PMCLUA_MARK_NAME];
    uint64_t words[6] = PMCLUA_MARK_DUMP(text), tid = (uint64_t)syscall(SYS_gettid);
    memset(text, 0, sizeof text);
    memcpy(text, "pmclua mark ", 12);
    for (int i = 21; i > 11; i--, tid /= 10)
        text[i] = (char)('0' + tid % 10);
    text[22] = ' ';
    text[23] = pmclua_mark_dumps-- > 0 ? kind : '!';
    for (int i = 0; i < PMCLUA_MARK_NAME - 1 && name[i]; i++)
        text[24 + i] = name[i];
    pmclua_mark_request(words);
}

/* Dumps what was counted until here first. */
static inline void pmclua_mark_dump(char kind, const char *name)
{
    pmclua_mark_request(pmclua_mark_cut);
    pmclua_mark_write_name(kind, name);
}

/* ---- begin and end -------------------------------------------------------------------------------------------- */

/* The stack of whoever calls this function; the same for all where the compiler does not say. */
#if defined __GNUC__ && !defined __clang__
#define PMCLUA_MARK_CALLER __builtin_dwarf_cfa()
#elif defined __has_builtin
#if __has_builtin(__builtin_dwarf_cfa)
#define PMCLUA_MARK_CALLER __builtin_dwarf_cfa()
#endif
#endif
#ifndef PMCLUA_MARK_CALLER
#define PMCLUA_MARK_CALLER NULL
#endif

static inline void pmclua_mark_do_enter(const char *name, const void *caller)
{
    struct pmclua_mark_thread *self = pmclua_mark_this_thread();
    struct pmclua_mark_slot *slot = self ? pmclua_mark_slot_of(self, name) : NULL;
    if (!slot) {
        __atomic_fetch_add(&pmclua_mark_table->lost, 1, __ATOMIC_RELAXED);
        return;
    }
    slot->begun++;
    if (self->depth == PMCLUA_MARK_DEPTH) {
        slot->too_deep++;
        self->beyond++;
        return;
    }
    struct pmclua_mark_frame *frame = &self->frame[self->depth++];
    frame->slot = slot;
    frame->caller = caller;
    frame->start_ns = pmclua_mark_clock();
    frame->is_counted = self->can_count && pmclua_mark_read(self, frame->at_begin, 0) == 0;
}

/* Writes an entry of the log, if there is room for it. */
static inline void pmclua_mark_log(const struct pmclua_mark_slot *slot, uint64_t wall_ns, const uint64_t *words)
{
    uint64_t count = pmclua_mark_words();
    uint64_t at = __atomic_fetch_add(&pmclua_mark_table->log_used, 2 + count, __ATOMIC_RELAXED);
    if (at + 2 + count > pmclua_mark_table->log_words)
        return;
    uint64_t *place = (uint64_t *)(void *)((char *)pmclua_mark_table + pmclua_mark_table->log_at) + at;
    uint64_t before = (uint64_t)((const char *)slot - (const char *)pmclua_mark_slot_at(0));
    place[1] = wall_ns;
    memcpy(place + 2, words, (size_t)count * sizeof *words);
    __atomic_store_n(&place[0], before / pmclua_mark_table->slot_bytes + 1, __ATOMIC_RELEASE);
}

/* Takes frame `place` out; those above it, of marks that overlap with it, move down with their memory. */
static inline void pmclua_mark_remove(struct pmclua_mark_thread *self, unsigned place)
{
    struct pmclua_mark_frame removed = self->frame[place];
    self->depth--;
    for (; place < self->depth; place++)
        self->frame[place] = self->frame[place + 1];
    self->frame[self->depth] = removed;
}

static inline int pmclua_mark_is_within(const struct pmclua_mark_thread *self, unsigned place)
{
    for (unsigned i = 0; i < place; i++)
        if (self->frame[i].slot == self->frame[place].slot)
            return 1;
    return 0;
}

/* Adds what a frame has counted to its slot. `self->now` is a reading of just now. */
static inline void pmclua_mark_add(struct pmclua_mark_thread *self, unsigned place, uint64_t end_ns, int is_read)
{
    const struct pmclua_mark_frame *frame = &self->frame[place];
    struct pmclua_mark_slot *slot = frame->slot;
    int is_outermost = !pmclua_mark_is_within(self, place);
    size_t words = pmclua_mark_words();
    uint64_t wall_ns = end_ns - frame->start_ns;
    slot->ended++;
    if (is_outermost)
        slot->wall_ns += wall_ns;
    if (!is_read || !frame->is_counted) {
        slot->uncounted++;
        return;
    }
    for (size_t i = 0; i < words; i++)
        self->now[i] -= frame->at_begin[i];
    for (size_t i = 0; is_outermost && i < words; i++)
        slot->words[i] += self->now[i];
    if (pmclua_mark_table->log_words)
        pmclua_mark_log(slot, wall_ns, self->now);
}

/* The place behind the frame that ends; 0: none of that name is open. */
static inline unsigned pmclua_mark_find(const struct pmclua_mark_thread *self, const char *name, const void *caller)
{
    unsigned latest = 0;
    for (unsigned place = self->depth; place > 0; place--) {
        if (!pmclua_mark_is(self->frame[place - 1].slot, name))
            continue;
        if (self->frame[place - 1].caller == caller)
            return place;
        if (latest == 0)
            latest = place;
    }
    return latest;
}

/* The reading comes first, before the mark is looked for. */
static inline void pmclua_mark_do_leave(const char *name, const void *caller)
{
    struct pmclua_mark_thread *self = pmclua_mark_self && pmclua_mark_self->ready ? pmclua_mark_self : NULL;
    int is_read = self && self->can_count && pmclua_mark_read(self, self->now, 1) == 0;
    uint64_t end_ns = self ? pmclua_mark_clock() : 0;
    if (self && self->beyond > 0) {
        self->beyond--;
        return;
    }
    unsigned place = self ? pmclua_mark_find(self, name, caller) : 0;
    if (place > 0) {
        pmclua_mark_add(self, place - 1, end_ns, is_read);
        pmclua_mark_remove(self, place - 1);
        return;
    }
    /* An end without a begin is only counted as stray. */
    self = pmclua_mark_this_thread();
    struct pmclua_mark_slot *slot = self ? pmclua_mark_slot_of(self, name) : NULL;
    if (slot)
        slot->stray++;
}

/* The program's errno stays what it was. */
PMCLUA_MARK_ONE void pmclua_mark_enter(const char *name)
{
    if (pmclua_mark_table == &pmclua_mark_none) {
        pmclua_mark_dump('+', name);
        return;
    }
    int errnum = errno;
    if (pmclua_mark_table)
        pmclua_mark_do_enter(name, PMCLUA_MARK_CALLER);
    errno = errnum;
}

PMCLUA_MARK_ONE void pmclua_mark_leave(const char *name)
{
    if (pmclua_mark_table == &pmclua_mark_none) {
        pmclua_mark_dump('-', name);
        return;
    }
    int errnum = errno;
    if (pmclua_mark_table)
        pmclua_mark_do_leave(name, PMCLUA_MARK_CALLER);
    errno = errnum;
}

/* ---- the start -------------------------------------------------------------------------------------------------- */

/* NULL, and errno says why; EPROTO: it is not a table, or one of another version of this file. */
static inline struct pmclua_mark_table *pmclua_mark_map(const char *path)
{
    struct stat facts;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    void *memory = MAP_FAILED;
    errno = EPROTO;
    if (fstat(fd, &facts) == 0 && (size_t)facts.st_size > sizeof(struct pmclua_mark_table))
        memory = mmap(NULL, (size_t)facts.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int errnum = errno;
    close(fd);
    errno = errnum;
    if (memory == MAP_FAILED)
        return NULL;
    struct pmclua_mark_table *table = (struct pmclua_mark_table *)memory;
    if (table->magic == PMCLUA_MARK_MAGIC && table->bytes == (uint64_t)facts.st_size)
        return table;
    munmap(memory, (size_t)facts.st_size);
    errno = EPROTO;
    return NULL;
}

/* The table, with memory for what every program uses; NULL, and errno says why. */
static inline struct pmclua_mark_table *pmclua_mark_open_table(const char *path)
{
    enum { MOST = 8 << 20 };
    struct pmclua_mark_table *table = pmclua_mark_map(path);
    if (!table)
        return NULL;
    int result = pthread_key_create(&pmclua_mark_key, pmclua_mark_end_thread);
    if (result == 0 && pmclua_mark_populate(table, 0, table->slots_at < MOST ? (size_t)table->slots_at : (size_t)MOST))
        result = ENOSPC;
    if (result == 0)
        return table;
    munmap(table, (size_t)table->bytes);
    errno = result;
    return NULL;
}

/* Says to pmclua, by a name that this thread has for a moment, that no mark of this program is counted: pmclua can be
 * in another mount namespace, or another user's. `own` gets the thread's name. */
static inline void pmclua_mark_signal_unreached(char own[16], int errnum)
{
    char said[16];
    snprintf(said, sizeof said, "pmclua lost %d", errnum);
    prctl(PR_GET_NAME, own, 0, 0, 0);
    prctl(PR_SET_NAME, said, 0, 0, 0);
    prctl(PR_SET_NAME, own, 0, 0, 0);
}

/* Says it to its user, too. */
static inline void pmclua_mark_say_unreached(const char *path, int errnum)
{
    char own[16] = "";
    pmclua_mark_signal_unreached(own, errnum);
    dprintf(STDERR_FILENO, "pmclua: the marks of '%s' are not counted: it cannot use their table, %s: %s\n", own, path,
            errnum == EPROTO ? "it is that of another version, or none" : strerror(errnum));
}

static inline void pmclua_mark_start_dumps(void)
{
    const uint64_t words[6] = PMCLUA_MARK_DUMP("pmclua mark cut");
    memcpy(pmclua_mark_cut, words, sizeof words);
    pmclua_mark_dumps = PMCLUA_MARK_DUMPS_MAX;
    pmclua_mark_table = &pmclua_mark_none;
    for (int i = 0; i < PMCLUA_MARK_EMPTY; i++) {
        pmclua_mark_enter(PMCLUA_MARK_EMPTY_NAME);
        pmclua_mark_leave(PMCLUA_MARK_EMPTY_NAME);
    }
}

PMCLUA_MARK_ONE void pmclua_mark_attach(void)
{
    static int is_done;
    const char *path = getenv("PMCLUA_MARKS");
    if (is_done)
        return;
    is_done = 1;
    if (!path || !*path) {
        /* Outside pmclua, or within it where the environment was emptied on the way here: who watches knows. */
        char own[16] = "";
        pmclua_mark_signal_unreached(own, PMCLUA_MARK_NOT_TOLD);
        return;
    }
    /* A program with more rights than who started it opens no file that he names. */
    int has_more_rights = getauxval(AT_SECURE) != 0;
    if (strcmp(path, ":valgrind") == 0 && !has_more_rights) {
        pmclua_mark_start_dumps();
        return;
    }
    struct pmclua_mark_table *table = has_more_rights ? NULL : pmclua_mark_open_table(path);
    if (!table) {
        pmclua_mark_say_unreached(path, has_more_rights ? EPERM : errno);
        return;
    }
    __atomic_fetch_add(&table->processes, 1, __ATOMIC_RELAXED);
    pmclua_mark_table = table;
    if (__atomic_load_n(&table->slots_open, __ATOMIC_RELAXED) == 0)
        pmclua_mark_open_more();
}

__attribute__((constructor)) static void pmclua_mark_start(void)
{
    int errnum = errno;
    pmclua_mark_attach();
    errno = errnum;
}

/* The first thread does not end before its process: here it leaves its slots to others. */
__attribute__((destructor)) static void pmclua_mark_finish(void)
{
    if (pmclua_mark_table && pmclua_mark_table != &pmclua_mark_none)
        pmclua_mark_end_thread(NULL);
}

#ifdef __cplusplus
}

namespace pmclua {
/* A mark as long as a scope: `pmclua::mark here("parse");` */
struct mark {
    explicit mark(const char *its_name) : name(its_name) { pmclua_mark_begin(name); }
    ~mark() { pmclua_mark_end(name); }
    mark(const mark &) = delete;
    mark &operator=(const mark &) = delete;
    const char *name;
};
}
#endif

#endif
