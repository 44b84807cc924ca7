/*
 * region.c: a region counted by hand: read(2) of a group of software events before and after an empty call.
 *
 * usage: region each N    median ns of N regions, each timed by itself
 *        region all N     mean ns of N regions in a row, differences taken
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "timing.h"

enum { EVENTS = 2 };
static const uint64_t configs[EVENTS] = { PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_TASK_CLOCK };

struct reading { uint64_t nr, enabled, running, value[EVENTS]; };

static int open_group(void)
{
    int leader = -1;
    for (int i = 0; i < EVENTS; i++) {
        struct perf_event_attr attr = { .size = sizeof attr, .type = PERF_TYPE_SOFTWARE, .config = configs[i],
            .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
            .disabled = leader < 0 };
        int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0);
        if (fd < 0) {
            perror("perf_event_open");
            exit(77);
        }
        if (leader < 0)
            leader = fd;
    }
    ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
    return leader;
}

static void nothing(void *state, uint64_t iterations) { (void)state; (void)iterations; }
static void (*volatile measured)(void *, uint64_t) = nothing;

static struct reading before, after;
static volatile uint64_t differences[EVENTS];

static void region(int fd)
{
    if (read(fd, &before, sizeof before) != sizeof before)
        exit(1);
    measured(NULL, 1);
    if (read(fd, &after, sizeof after) != sizeof after)
        exit(1);
    for (int i = 0; i < EVENTS; i++)
        differences[i] = after.value[i] - before.value[i];
}

int main(int argc, char **argv)
{
    size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    int fd = open_group();
    if (argc > 1 && strcmp(argv[1], "all") == 0) {
        uint64_t start = now_ns();
        for (size_t i = 0; i < count; i++)
            region(fd);
        printf("%.3f\n", (double)(now_ns() - start) / (double)count);
        return 0;
    }
    uint64_t *times = calloc(count, sizeof *times);
    for (size_t i = 0; i < count; i++) {
        uint64_t start = now_ns();
        region(fd);
        times[i] = now_ns() - start;
    }
    printf("%.1f\n", median(times, count));
    return 0;
}
