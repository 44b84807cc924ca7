/*
 * shim.c: records in a program what it allocates, where, and when it ends (LD_PRELOAD). PMCLUA_HEAP names the log.
 *
 * Call chains come from .eh_frame once; after that, a call from the same place with the same stack pointer has the same chain
 * if each return address is where it was. So a block costs some 50 ns instead of 2 us.
 *
 * Invariants: nothing here allocates by malloc while it records (`busy`); whatever fails, the program gets its memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "heap.h"

enum { CHUNK = 64, CACHED = 4096, EARLY_BYTES = 1 << 16 };

#define THREAD static __thread __attribute__((tls_model("initial-exec")))

THREAD uint64_t next_event, end_event;         /* of the log: this thread's */
THREAD int busy;

static struct heap_log *log_file;
static uint32_t own_pid;

static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t), *(*real_realloc)(void *, size_t);
static void *(*real_memalign)(size_t, size_t);
static void (*real_free)(void *);
static int (*real_posix_memalign)(void **, size_t, size_t);

/* dlsym may allocate before it has told where malloc is; that memory is never given back. */
static char early[EARLY_BYTES] __attribute__((aligned(16)));
static _Atomic size_t early_used;

static void *early_block(size_t bytes)
{
    size_t rounded = (bytes + 31) / 16 * 16, at = early_used;
    do
        if (rounded < bytes || rounded > EARLY_BYTES - at)
            return NULL;
    while (!atomic_compare_exchange_weak(&early_used, &at, at + rounded));
    return early + at;
}

static int is_early(const void *block) { return (uintptr_t)block - (uintptr_t)early < EARLY_BYTES; }

/* ---- events ---- */

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void put_event(uint64_t time_ns, uint64_t address, uint64_t bytes, uint32_t site)
{
    if (next_event == end_event) {
        next_event = atomic_fetch_add_explicit(&log_file->events, CHUNK, memory_order_relaxed);
        end_event = next_event + CHUNK;
    }
    if (next_event < HEAP_EVENTS)
        log_file->event[next_event] = (struct heap_event){ address, bytes, time_ns, site, own_pid };
    next_event++;
}

/* ---- sites ---- */

/* The chain of a call from one place at one height of the stack: its return addresses, and where each stands. */
struct chain {
    _Atomic uint32_t lock;
    uint32_t frames, site;
    int is_checked;                /* each return address was found where it should be */
    uint64_t frame[HEAP_FRAMES], place[HEAP_FRAMES];
};

static struct chain cache[CACHED];

struct walk { struct chain *chain; uint64_t top; };

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    struct chain *chain = walk->chain;
    uint64_t address = _Unwind_GetIP(context), top = _Unwind_GetCFA(context);
    if (top < walk->top)                       /* of this library */
        return _URC_NO_REASON;
    if (address == 0 || chain->frames == HEAP_FRAMES)
        return _URC_END_OF_STACK;
    uint64_t place = top - sizeof address;
    chain->is_checked &= *(const uint64_t *)(uintptr_t)place == address;
    chain->frame[chain->frames] = address;
    chain->place[chain->frames++] = place;
    return _URC_NO_REASON;
}

static int is_as_known(const struct chain *chain, uint64_t caller, uint64_t place)
{
    if (!chain->is_checked || chain->frames == 0 || chain->frame[0] != caller || chain->place[0] != place)
        return 0;
    for (uint32_t i = 1; i < chain->frames; i++)
        if (*(const uint64_t *)(uintptr_t)chain->place[i] != chain->frame[i])
            return 0;
    return 1;
}

/* Programs that are executed one after the other share the table; equal addresses are one site, whatever they mean. */
static uint32_t site_of(const struct chain *chain)
{
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < chain->frames; i++)
        hash = (hash ^ chain->frame[i]) * 1099511628211u;
    hash ^= hash >> 29;
    for (uint32_t tries = 0, at = (uint32_t)hash % HEAP_SITES; tries < 64; tries++, at = (at + 1) % HEAP_SITES) {
        struct heap_site *site = &log_file->site[at];
        uint32_t state = 0;
        if (at == 0)
            continue;
        if (atomic_compare_exchange_strong(&site->state, &state, 1)) {
            memcpy(site->frame, chain->frame, sizeof site->frame);
            site->frames = chain->frames;
            site->hash = hash;
            atomic_store(&site->state, 2);
            return at;
        }
        if (state == 2 && site->hash == hash && site->frames == chain->frames
            && memcmp(site->frame, chain->frame, chain->frames * sizeof *site->frame) == 0)
            return at;
    }
    atomic_fetch_add(&log_file->sites_lost, 1);
    return 0;
}

static void walk_into(struct chain *chain, uint64_t top)
{
    chain->frames = 0;
    chain->is_checked = 1;
    struct walk walk = { chain, top };
    _Unwind_Backtrace(step, &walk);
    chain->site = site_of(chain);
}

static uint32_t find_site(uint64_t caller, uint64_t top)
{
    uint64_t place = top - sizeof place, hash = (caller * 0x9e3779b97f4a7c15u) ^ (place * 0xc2b2ae3d27d4eb4fu);
    struct chain *chain = &cache[hash >> 52], own;
    uint32_t free_lock = 0;
    int is_ours = atomic_compare_exchange_strong_explicit(&chain->lock, &free_lock, 1, memory_order_acquire,
                                                          memory_order_relaxed);
    if (!is_ours)                              /* another thread's; after a fork, perhaps of one that is gone */
        chain = &own;
    if (!is_ours || !is_as_known(chain, caller, place))
        walk_into(chain, top);
    uint32_t site = chain->site;
    if (is_ours)
        atomic_store_explicit(&chain->lock, 0, memory_order_release);
    return site;
}

/* ---- start ---- */

/* This process's number as samples have it; 0: it cannot be told. In another PID namespace, the /proc of who samples tells it. */
static uint32_t number_of_process(struct heap_log *log)
{
    struct stat space, proc;
    char text[16] = "";
    if (stat("/proc/self/ns/pid", &space) < 0 || space.st_ino == log->pid_namespace)
        return (uint32_t)getpid();
    int is_theirs = stat("/proc", &proc) == 0 && proc.st_dev == log->proc_device
        && readlink("/proc/self", text, sizeof text - 1) > 0;
    if (!is_theirs)
        atomic_fetch_add(&log->elsewhere, 1);
    return is_theirs ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

static void after_fork(void)
{
    if (!log_file)
        return;
    uint32_t parent = own_pid;
    own_pid = number_of_process(log_file);
    if (!own_pid) {
        log_file = NULL;
        return;
    }
    next_event = end_event = 0;
    put_event(now(), parent, HEAP_FORK, 0);
}

static struct heap_log *map_log(void)
{
    const char *path = getenv("PMCLUA_HEAP");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0 || lseek(fd, 0, SEEK_END) < (off_t)sizeof(struct heap_log)) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    void *place = mmap(NULL, sizeof(struct heap_log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return place == MAP_FAILED ? NULL : place;
}

static void find_real(void)
{
    real_calloc = dlsym(RTLD_NEXT, "calloc");
    real_realloc = dlsym(RTLD_NEXT, "realloc");
    real_memalign = dlsym(RTLD_NEXT, "memalign");
    real_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    real_free = dlsym(RTLD_NEXT, "free");
    real_malloc = dlsym(RTLD_NEXT, "malloc");
}

/* Runs in the first call of malloc or before main, whichever is first: one thread alone is there. */
__attribute__((constructor)) static void begin(void)
{
    static int is_begun;
    if (is_begun)
        return;
    is_begun = 1;
    int error = errno;
    busy++;
    find_real();
    struct heap_log *log = map_log();
    own_pid = log ? number_of_process(log) : 0;
    if (own_pid) {
        log_file = log;
        atomic_fetch_add(&log->processes, 1);
        put_event(now(), 0, HEAP_START, 0);
        pthread_atfork(NULL, NULL, after_fork);
    }
    busy--;
    errno = error;
}

/* ---- what the program calls ---- */

static void note_block(const void *block, size_t bytes, uint64_t caller, uint64_t top)
{
    if (!log_file || !block || busy)
        return;
    int error = errno;
    busy++;
    uint32_t site = find_site(caller, top);
    put_event(now(), (uintptr_t)block, bytes, site);
    busy--;
    errno = error;
}

static void note_end(const void *block)
{
    if (log_file && block && !busy)
        put_event(now(), (uintptr_t)block, HEAP_FREE, 0);
}

#define CALLER (uint64_t)(uintptr_t)__builtin_return_address(0), (uint64_t)(uintptr_t)__builtin_dwarf_cfa()
#define EXPORT __attribute__((visibility("default"), noinline))

EXPORT void *malloc(size_t bytes)
{
    if (!real_malloc)
        begin();
    if (!real_malloc)
        return early_block(bytes);
    void *block = real_malloc(bytes);
    note_block(block, bytes, CALLER);
    return block;
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (!real_malloc)
        begin();
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX;                      /* refused */
    if (!real_malloc)
        return early_block(bytes);
    void *block = real_calloc(count, size);
    note_block(block, bytes, CALLER);
    return block;
}

EXPORT void free(void *block)
{
    if (!block || is_early(block))
        return;
    if (!real_free)
        begin();
    note_end(block);
    real_free(block);
}

static void *resize(void *block, size_t bytes, uint64_t caller, uint64_t top)
{
    if (!real_malloc)
        begin();
    if (is_early(block) || !real_malloc) {
        void *other = real_malloc ? real_malloc(bytes) : early_block(bytes);
        size_t held = block ? (size_t)(early + EARLY_BYTES - (char *)block) : 0;
        if (other && block)
            memcpy(other, block, bytes < held ? bytes : held);
        return other;
    }
    uint64_t before = log_file && !busy ? now() : 0;
    void *other = real_realloc(block, bytes);
    if (before && block && (other || bytes == 0))
        put_event(before, (uintptr_t)block, HEAP_FREE, 0);
    note_block(other, bytes, caller, top);
    return other;
}

EXPORT void *realloc(void *block, size_t bytes) { return resize(block, bytes, CALLER); }

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(block, bytes, CALLER);
}

static void *aligned(size_t alignment, size_t bytes, uint64_t caller, uint64_t top)
{
    if (!real_malloc)
        begin();
    void *block = real_memalign ? real_memalign(alignment, bytes) : NULL;
    note_block(block, bytes, caller, top);
    return block;
}

EXPORT void *memalign(size_t alignment, size_t bytes) { return aligned(alignment, bytes, CALLER); }
EXPORT void *aligned_alloc(size_t alignment, size_t bytes) { return aligned(alignment, bytes, CALLER); }
EXPORT void *valloc(size_t bytes) { return aligned((size_t)getpagesize(), bytes, CALLER); }

EXPORT int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (!real_malloc)
        begin();
    int result = real_posix_memalign ? real_posix_memalign(block, alignment, bytes) : ENOMEM;
    if (result == 0)
        note_block(*block, bytes, CALLER);
    return result;
}
