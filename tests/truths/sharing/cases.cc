/*
 * cases.cc: threads that share cache lines in known ways.
 *
 * usage: cases CASE THREADS     they work for half a second; how they share is known to ../sharing.lua
 */
#include <pthread.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static const int MOST = 8;
static std::atomic<bool> is_over;

/* Works until the time is over: asks once in many rounds, so that `is_over` is rarely read. */
template <typename Work> static void until_over(Work work)
{
    while (!is_over.load(std::memory_order_relaxed))
        for (int i = 0; i < 20000; i++)
            work(i);
}

/* ---- bytes of its own for each thread, in one line ---- */
static volatile long counters[MOST];
static volatile char bytes[MOST];
static struct { volatile int hits, misses; } stats[MOST];
static struct { std::atomic<long> reads, writes; } pair_of_atomics;
static std::atomic<long> atomics[MOST];
static struct { volatile long counter; long limit; } with_config;
static struct { long sum; char tag[5]; } __attribute__((packed)) packed[MOST];

static void count(int k, int) { until_over([k](int) { counters[k]++; }); }
static void mark_bytes(int k, int) { until_over([k](int i) { bytes[k] += (char)i; }); }
static void count_stats(int k, int)
{
    until_over([k](int i) { if (i & 3) stats[k].hits++; else stats[k].misses++; });
}
static void count_atomics(int k, int) { until_over([k](int) { atomics[k].fetch_add(1); }); }
static void count_pair(int k, int)
{
    until_over([k](int) { (k ? pair_of_atomics.reads : pair_of_atomics.writes).fetch_add(1); });
}
static volatile long sink[MOST * 16];
static void read_config(int k, int)
{
    volatile long *own = &sink[k * 16];
    if (k == 0)
        until_over([](int) { with_config.counter++; });
    else
        until_over([own](int i) { if (i < *(volatile long *)&with_config.limit) *own = i; });
}
static void sum_packed(int k, int)
{
    until_over([k](int i) { *(volatile long *)(void *)&packed[k].sum += i; });
}
static std::vector<int> vector_counts(MOST);
static void count_vector(int k, int)
{
    volatile int *own = &vector_counts[(size_t)k];
    until_over([own](int) { ++*own; });
}
static volatile long *blocks[MOST];
static void count_blocks(int k, int) { until_over([k](int) { ++*blocks[k]; }); }

/* ---- the same bytes ---- */
static std::atomic<long> total;
static long guarded;
static std::mutex guard;
static std::atomic_flag spin = ATOMIC_FLAG_INIT;
static long spun;
static std::atomic<uint64_t> bits;
static std::shared_ptr<int> pointer = std::make_shared<int>(1);
static std::map<int, long> tree;
static struct { std::atomic<unsigned> head; char pad[60]; std::atomic<unsigned> tail; char pad2[60]; int slot[256]; } ring
    __attribute__((aligned(64)));
static volatile long latest;
static std::atomic<long> ticket;

static void add_total(int, int) { until_over([](int) { total++; }); }
static void add_guarded(int, int) { until_over([](int) { std::lock_guard<std::mutex> held(guard); guarded++; }); }
static void add_spun(int, int)
{
    until_over([](int) {
        while (spin.test_and_set(std::memory_order_acquire))
            if (is_over.load(std::memory_order_relaxed))
                return;
        *(volatile long *)&spun += 1;
        spin.clear(std::memory_order_release);
    });
}
static void set_bits(int k, int) { until_over([k](int) { bits.fetch_xor(1ull << k); }); }
static void copy_pointer(int k, int)
{
    volatile long *own = &sink[k * 16];
    until_over([own](int) { std::shared_ptr<int> copy = pointer; *own = *copy; });
}
static void add_tree(int, int)
{
    until_over([](int i) { std::lock_guard<std::mutex> held(guard); tree[i % 4]++; });
}
static void pass_ring(int k, int)
{
    if (k == 0)
        until_over([](int i) {
            unsigned at = ring.head.load(std::memory_order_relaxed);
            if (at - ring.tail.load(std::memory_order_acquire) < 256) {
                ring.slot[at % 256] = i;
                ring.head.store(at + 1, std::memory_order_release);
            }
        });
    else if (k == 1)
        until_over([](int) {
            unsigned at = ring.tail.load(std::memory_order_relaxed);
            if (at != ring.head.load(std::memory_order_acquire)) {
                sink[0] = ring.slot[at % 256];
                ring.tail.store(at + 1, std::memory_order_release);
            }
        });
}
static void watch_latest(int k, int)
{
    volatile long *own = &sink[k * 16];
    if (k == 0)
        until_over([](int i) { latest = i; });
    else
        until_over([own](int) { *own += latest; });
}
static void take_tickets(int k, int)
{
    volatile long *own = &sink[k * 16];
    until_over([own](int) { *own = ticket.fetch_add(1); });
}

/* ---- nothing that is shared ---- */
struct alignas(128) Padded { volatile long n; };
static Padded padded[MOST];
static thread_local volatile long own_count;
static int table[4096];
static std::string text = std::string(4096, 'x');

static void count_padded(int k, int) { until_over([k](int) { padded[k].n++; }); }
static void count_own(int, int) { until_over([](int) { own_count++; }); }
static void read_table(int k, int)
{
    volatile long *own = &sink[k * 16];
    until_over([own](int i) { *own += ((volatile int *)table)[i % 4096]; });
}
static void read_hot(int k, int)
{
    volatile long *own = &sink[k * 16];
    until_over([own](int) { *own += ((volatile int *)table)[7] + ((volatile int *)table)[8]; });
}
static void read_text(int k, int)
{
    volatile long *own = &sink[k * 16];
    until_over([own](int i) { *own += *(volatile char *)&text[(size_t)i % 4096]; });
}
static void own_vectors(int, int)
{
    std::vector<long> mine(4096);
    until_over([&mine](int i) { *(volatile long *)&mine[(size_t)i % 4096] += i; });
}
static void on_stack(int, int)
{
    volatile long mine[64] = { 0 };
    until_over([&mine](int i) { mine[i % 64] += i; });
}

/* ---- one thread after the other ---- */
static long buffer[8] __attribute__((aligned(128)));
static struct { char before[128]; std::atomic<int> number; char after[124]; } whose;
static void in_turns(int k, int threads)
{
    auto end = std::chrono::steady_clock::now();
    while (whose.number.load() != k)
        if (is_over.load())
            return;
    end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400 / threads);
    while (std::chrono::steady_clock::now() < end)
        for (int i = 0; i < 200000; i++)
            *(volatile long *)&buffer[i % 8] += i;
    whose.number.store(k + 1);
}

static const struct { const char *name; void (*work)(int, int); } CASES[] = {
    { "counters", count }, { "bytes", mark_bytes }, { "stats", count_stats }, { "atomics", count_atomics },
    { "pair_of_atomics", count_pair }, { "with_config", read_config }, { "packed", sum_packed },
    { "vector", count_vector }, { "blocks", count_blocks },
    { "total", add_total }, { "guarded", add_guarded }, { "spin", add_spun }, { "bits", set_bits },
    { "pointer", copy_pointer }, { "tree", add_tree }, { "ring", pass_ring }, { "latest", watch_latest },
    { "ticket", take_tickets },
    { "padded", count_padded }, { "own", count_own }, { "table", read_table }, { "hot", read_hot },
    { "text", read_text }, { "vectors", own_vectors }, { "stack", on_stack }, { "turns", in_turns },
};

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : 2;
    void (*work)(int, int) = nullptr;
    for (auto &entry : CASES)
        if (argc > 1 && !strcmp(argv[1], entry.name))
            work = entry.work;
    if (!work || threads < 1 || threads > MOST)
        return 2;
    with_config.limit = 1 << 30;
    for (int k = 0; k < threads; k++)
        blocks[k] = (volatile long *)calloc(1, sizeof(long));
    std::vector<std::thread> list;
    for (int k = 0; k < threads; k++)
        list.emplace_back(work, k, threads);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    is_over = true;
    for (auto &one : list)
        one.join();
    return 0;
}
