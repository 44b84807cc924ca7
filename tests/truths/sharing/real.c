/*
 * real.c: the layouts of data by which programs that are known for it shared cache lines falsely, and as they were mended.
 *
 * usage: real CASE apart|padded     prints the CPU time of two threads in seconds
 * regression  Phoenix, linear_regression: sums in the arguments of each thread, 16 bytes behind the beginning of a line
 * used        Valkey, used_memory_thread: the memory that each thread has, in one array (pull request 4107)
 * clusters    PARSEC, streamcluster: a row for each thread, padded to 32 bytes where a line has 64
 * spinlocks   Boost, spinlock_pool: locks of unrelated objects side by side
 * queue       Aeron, SPSC queue: the producer's copy of the head beside the consumer's head (pull request 1915)
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2, LINE = 64, POINTS = 1 << 16, SLOTS = 1 << 16 };

static int is_padded;

/* What each thread has: side by side, or two lines apart, as CPUs fetch them in pairs. */
#define EACH(type, name)                                                            \
    static struct { alignas(2 * LINE) type of[THREADS]; } name;                      \
    static struct { struct { alignas(2 * LINE) type its; } of[THREADS]; } name##_padded
#define OWN(name, thread) (is_padded ? &name##_padded.of[thread].its : &name.of[thread])

struct point { char x, y; };
struct arguments { long thread; struct point *points; long count, sx, sy, sxx, syy, sxy; };
static struct { alignas(2 * LINE) char header[16]; struct arguments of[THREADS]; } sums;
static struct { struct { alignas(2 * LINE) struct arguments its; } of[THREADS]; } sums_padded;
static struct point points[POINTS], *volatile all_points = points;

static void regression(long thread)
{
    struct arguments *mine = OWN(sums, thread);
    *mine = (struct arguments){ .thread = thread, .points = all_points, .count = POINTS };
    for (int round = 0; round < 8000; round++)
        for (long i = 0; i < mine->count; i++) {
            mine->sx += mine->points[i].x;
            mine->sy += mine->points[i].y;
            mine->sxx += mine->points[i].x * mine->points[i].x;
            mine->syy += mine->points[i].y * mine->points[i].y;
            mine->sxy += mine->points[i].x * mine->points[i].y;
        }
}

EACH(volatile long, used_memory);
static void used(long thread)
{
    volatile long *bytes = OWN(used_memory, thread);
    for (int i = 0; i < 800000000; i++)
        *bytes += i & 1 ? 48 : -48;
}

struct row { volatile double cost[4]; };
EACH(struct row, rows);
static void clusters(long thread)
{
    struct row *row = OWN(rows, thread);
    for (int i = 0; i < 400000000; i++)
        row->cost[i & 3] += 0.5;
}

EACH(atomic_int, pool);
static void spinlocks(long thread)
{
    atomic_int *lock = OWN(pool, thread);
    for (int i = 0; i < 120000000; i++) {
        while (atomic_exchange_explicit(lock, 1, memory_order_acquire))
            ;
        atomic_store_explicit(lock, 0, memory_order_release);
    }
}

/* The producer, thread 0, has a copy of the head, and asks for the head itself where the queue looks full. */
EACH(atomic_long, heads);
static alignas(2 * LINE) atomic_long tail;
static alignas(2 * LINE) unsigned long slots[SLOTS];
static alignas(2 * LINE) unsigned long sum;
enum { ITEMS = 20000000 };

static void produce(atomic_long *copy, atomic_long *head)
{
    unsigned long item = 1;
    for (long i = 0; i < ITEMS; i++) {
        for (int step = 0; step < 4; step++)
            item = item * 6364136223846793005u + 1;     /* it makes items more slowly than they are taken */
        while (i - atomic_load_explicit(copy, memory_order_relaxed) == SLOTS) {
            atomic_store_explicit(copy, atomic_load_explicit(head, memory_order_acquire), memory_order_relaxed);
            if (i - *copy == SLOTS)
                sched_yield();
        }
        slots[i % SLOTS] = item;
        atomic_store_explicit(&tail, i + 1, memory_order_release);
    }
}

static void consume(atomic_long *head)
{
    long end = 0;
    for (long i = 0; i < ITEMS; i++) {
        while (i == end)
            if ((end = atomic_load_explicit(&tail, memory_order_acquire)) == i)
                sched_yield();
        sum += slots[i % SLOTS];
        atomic_store_explicit(head, i + 1, memory_order_release);
    }
}

static void queue(long thread)
{
    if (thread == 0)
        produce(OWN(heads, 0), OWN(heads, 1));
    else
        consume(OWN(heads, 1));
}

static const struct { const char *name; void (*work)(long thread); } CASES[] = {
    { "regression", regression }, { "used", used }, { "clusters", clusters }, { "spinlocks", spinlocks }, { "queue", queue },
};

static void (*work)(long thread);
static pthread_barrier_t all_run;

/* Each thread on a CPU of its own, where there is one. */
static void *start(void *thread)
{
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET((size_t)thread, &cpu);
    sched_setaffinity(0, sizeof cpu, &cpu);
    pthread_barrier_wait(&all_run);
    work((long)thread);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    is_padded = argc > 2 && strcmp(argv[2], "padded") == 0;
    for (size_t i = 0; argc > 1 && i < sizeof CASES / sizeof *CASES; i++)
        if (strcmp(argv[1], CASES[i].name) == 0)
            work = CASES[i].work;
    if (!work || pthread_barrier_init(&all_run, NULL, THREADS) != 0)
        return 2;
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, start, (void *)i) != 0)
            return 1;
    for (long i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct timespec spent;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    printf("%.3f\n", (double)spent.tv_sec + (double)spent.tv_nsec / 1e9);
    return 0;
}
