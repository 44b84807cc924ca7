#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calls/samples.h"
#include "counters/attr.h"
#include "counters/registers.h"
#include "host/proc.h"
#include "probe_attrs.h"

void attr_set_common(struct pmclua_attr *attr, int inherit)
{
    pmclua_attr_set(attr, "read_format", PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                         PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID);
    pmclua_attr_set(attr, "inherit", (uint64_t)inherit);
    pmclua_attr_set(attr, "use_clockid", 1);
    pmclua_attr_set(attr, "clockid", CLOCK_MONOTONIC);
    pmclua_attr_set(attr, "sample_id_all", 1);
    pmclua_attr_set(attr, "disabled", 0);
    pmclua_attr_set(attr, "enable_on_exec", 0);
}

void attr_set_leader(struct pmclua_attr *attr, int inherit, uint32_t options, uint64_t ring_bytes)
{
    static const char *const reports[] = { "task", "comm", "comm_exec", "watermark", "disabled" };
    attr_set_common(attr, inherit);
    pmclua_attr_set(attr, "sample_type", SAMPLE_BASE);
    pmclua_attr_set(attr, "wakeup_watermark", (uint32_t)(ring_bytes / 4));
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
        pmclua_attr_set(attr, reports[i], 1);
    pmclua_attr_set(attr, "enable_on_exec", (options & PMCLUA_ON_EXEC) != 0);
    pmclua_attr_set(attr, "pinned", (options & PMCLUA_PINNED) != 0);
}

struct pmclua_attr attr_of_leader(int inherit, uint32_t options, uint64_t ring_bytes)
{
    struct pmclua_attr attr = attr_of(&(struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1, .exclude_hv = 1 });
    attr_set_leader(&attr, inherit, options, ring_bytes);
    return attr;
}

struct pmclua_attr attr_of_clock(uint32_t options)
{
    return attr_of(&(struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1, .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED, .inherit = 1, .disabled = 1,
        .enable_on_exec = (options & PMCLUA_ON_EXEC) != 0 });
}

/* Makes an event write a sample each time it happens. */
static void set_sampling(struct pmclua_attr *attr, uint64_t sample_type)
{
    pmclua_attr_set(attr, "sample_period", 1);
    pmclua_attr_set(attr, "sample_type", sample_type);
    if (sample_type & PERF_SAMPLE_REGS_USER)
        pmclua_attr_set(attr, "sample_regs_user", 1ull << STACK_POINTER);
}

/* The number in a file of a PMU; -1. */
static long long number_of_pmu(const char *pmu, const char *file)
{
    char path[128], text[32];
    snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/%s", pmu, file);
    if (read_text(path, text, sizeof text) <= 0)
        return -1;
    return strtoll(text + strcspn(text, "0123456789"), NULL, 10);
}

long long uprobe_type(void) { return number_of_pmu("uprobe", "type"); }
long long kprobe_type(void) { return number_of_pmu("kprobe", "type"); }

uint64_t return_probe_config(const char *pmu)
{
    long long bit = number_of_pmu(pmu, "format/retprobe");
    return 1ull << (bit < 0 ? 0 : bit);
}

struct pmclua_attr attr_of_switches(int inherit)
{
    struct pmclua_attr attr = attr_of(&(struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES });
    attr_set_common(&attr, inherit);
    set_sampling(&attr, SWITCH_SAMPLE);
    return attr;
}

struct pmclua_attr attr_of_tracepoint(const struct tracefs_event *event, int inherit)
{
    struct pmclua_attr attr = attr_of(&(struct perf_event_attr){ .type = PERF_TYPE_TRACEPOINT, .config = event->id });
    attr_set_common(&attr, inherit);
    set_sampling(&attr, SAMPLE_BASE | PERF_SAMPLE_READ | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER);
    return attr;
}

static int has_stack(const struct point *point)
{
    return point->kind != PMCLUA_POINT_FROM && point->kind != PMCLUA_POINT_TO;
}

/* A place of a file as an event of the uprobe PMU. */
static int uprobe_attr(const struct point *point, int file, struct pmclua_attr *attr)
{
    long long type = uprobe_type();
    if (type < 0)
        return -ENOENT;
    static char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    struct perf_event_attr event = {
        .type = (uint32_t)type, .config1 = (uintptr_t)path, .config2 = point->offset,
        .config = point->kind == PMCLUA_POINT_RETURN_PROBE ? return_probe_config("uprobe") : 0,
    };
    *attr = attr_of(&event);
    return 0;
}

int attr_of_point(const struct region_set *regions, const struct point *point, int inherit, struct pmclua_attr *attr)
{
    *attr = point->attr;
    int result = point->file >= 0 ? uprobe_attr(point, regions->file[point->file], attr) : 0;
    if (result < 0)
        return result;
    attr_set_common(attr, inherit);
    set_sampling(attr, SAMPLE_BASE | PERF_SAMPLE_READ | (has_stack(point) ? PERF_SAMPLE_REGS_USER : 0));
    return 0;
}
