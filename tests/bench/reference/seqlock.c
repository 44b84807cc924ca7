/*
 * seqlock.c: what a reading of a group of four events costs, in instructions of user space and OS kernel: by a
 * seqlock loop written by hand, by pmclua, and by read(2).
 *
 * usage: seqlock hand|pmclua|syscall N    instructions of one of N readings
 * Link with -lpmclua. Exit 77 where the machine does not allow reading in user space.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmclua.h"
#include "counters/user_read_machine.h"

enum { EVENTS = 4, HARDWARE = PERF_TYPE_HARDWARE };

static void give_up(const char *what)
{
    perror(what);
    exit(77);
}

/* ---- by hand ---- */

static volatile struct perf_event_mmap_page *pages[EVENTS];

static int open_event(uint64_t config, int leader, uint64_t config1, int with_kernel)
{
    struct perf_event_attr attr = { .size = sizeof attr, .type = HARDWARE, .config = config, .config1 = config1,
        .exclude_kernel = !with_kernel, .exclude_hv = 1, .disabled = leader < 0,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING };
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0);
    if (fd < 0)
        give_up("perf_event_open");
    return fd;
}

static uint64_t user_access(void)
{
#ifdef __aarch64__
    return 2;
#else
    return 0;
#endif
}

static uint64_t config_of(int i) { return i == 0 ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS; }

static void open_by_hand(void)
{
    int leader = -1;
    for (int i = 0; i < EVENTS; i++) {
        int fd = open_event(config_of(i), leader, user_access(), 0);
        pages[i] = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
        if (pages[i] == MAP_FAILED)
            give_up("mmap");
        if (leader < 0)
            leader = fd;
    }
    ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
    if (!pages[EVENTS - 1]->index || !pages[EVENTS - 1]->cap_user_rdpmc)
        give_up("rdpmc");
}

#define BARRIER() __asm__ volatile("" ::: "memory")

static inline uint64_t read_one(volatile struct perf_event_mmap_page *page, uint64_t *enabled, uint64_t *running)
{
    uint32_t lock, index;
    uint64_t count, counter, since;
    do {
        lock = page->lock;
        BARRIER();
        if (enabled) {
            uint64_t now = machine_clock();
            if (page->cap_user_time_short)
                now = page->time_cycles + ((now - page->time_cycles) & page->time_mask);
            since = page->time_offset + (now >> page->time_shift) * page->time_mult
                + (((now & ((1ull << page->time_shift) - 1)) * page->time_mult) >> page->time_shift);
            *enabled = page->time_enabled + since;
            *running = page->time_running + since;
        }
        index = page->index;
        count = (uint64_t)page->offset;
        if (!page->cap_user_rdpmc || !index || machine_counter(index - 1, &counter))
            exit(1);
        unsigned shift = 64u - page->pmc_width;
        count += (uint64_t)((int64_t)(counter << shift) >> shift);
        BARRIER();
    } while (page->lock != lock);
    return count;
}

static uint64_t words[2 + EVENTS];

static void read_by_hand(void)
{
    machine_fence();
    words[2] = read_one(pages[0], &words[0], &words[1]);
    for (int i = 1; i < EVENTS; i++)
        words[2 + i] = read_one(pages[i], NULL, NULL);
    machine_fence();
}

/* ---- by pmclua ---- */

static struct pmclua_group *group;

static void open_group(uint32_t options, int method)
{
    struct pmclua_attr attrs[EVENTS] = { 0 };
    struct pmclua_failure failure;
    for (int i = 0; i < EVENTS; i++) {
        pmclua_attr_set(&attrs[i], "config", config_of(i));
        pmclua_attr_set(&attrs[i], "exclude_kernel", 1);
        pmclua_attr_set(&attrs[i], "exclude_hv", 1);
    }
    if (pmclua_group_open(&group, attrs, EVENTS, 0, -1, options, &failure) < 0 || pmclua_group_start(group) < 0
        || pmclua_group_method(group) != method)
        give_up("pmclua_group_open");
}

static void read_by_pmclua(void)
{
    if (pmclua_group_read(group, words) < 0)
        exit(1);
}

/* ---- counting ---- */

static uint64_t instructions_of(int fd, void (*reading)(void), long times)
{
    uint64_t before[4], after[4];
    if (read(fd, before, sizeof before) != sizeof before)
        exit(1);
    for (long i = 0; i < times; i++)
        reading();
    if (read(fd, after, sizeof after) != sizeof after)
        exit(1);
    return after[3] - before[3];
}

int main(int argc, char **argv)
{
    const char *method = argc > 2 ? argv[1] : "";
    long times = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    int by_hand = strcmp(method, "hand") == 0;
    int fd = open_event(PERF_COUNT_HW_INSTRUCTIONS, -1, 0, 1);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    if (by_hand)
        open_by_hand();
    else if (strcmp(method, "pmclua") == 0)
        open_group(PMCLUA_READ_USER, PMCLUA_BY_USER);
    else
        open_group(0, PMCLUA_BY_SYSCALL);
    void (*reading)(void) = by_hand ? read_by_hand : read_by_pmclua;
    uint64_t once = instructions_of(fd, reading, times), twice = instructions_of(fd, reading, 2 * times);
    printf("%.1f\n", ((double)twice - (double)once) / (double)times);
    return 0;
}
