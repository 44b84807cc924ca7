#include <errno.h>

#include "host/cpulist.h"
#include "run.h"

/* Where a RUN field's number goes; NULL: it has none. */
static uint64_t *number_of(struct run *run, uint32_t kind)
{
    switch (kind) {
    case PMCLUA_F_WORKLOAD:        return &run->workload;
    case PMCLUA_F_EVENTS:          return &run->events;
    case PMCLUA_F_ITERATIONS:      return &run->iterations;
    case PMCLUA_F_REPETITIONS:     return &run->repetitions;
    case PMCLUA_F_TIMEOUT:         return &run->timeout_ns;
    case PMCLUA_F_CAPTURE_LIMIT:   return &run->capture_limit;
    case PMCLUA_F_PADDING:         return &run->padding;
    case PMCLUA_F_FIXED_ADDRESSES: return &run->fixed_addresses;
    case PMCLUA_F_STACK_OFFSET:    return &run->stack_offset;
    case PMCLUA_F_COLD_BYTES:      return &run->cold_bytes;
    case PMCLUA_F_NO_HUGE_PAGES:   return &run->no_huge_pages;
    case PMCLUA_F_SCATTER_BYTES:   return &run->scatter_bytes;
    case PMCLUA_F_NODE:            return &run->node;
    case PMCLUA_F_START_CPU:       return &run->start_cpu;
    case PMCLUA_F_INHERIT:         return &run->inherit;
    case PMCLUA_F_STOP_AT_FAILURE: return &run->stop_at_failure;
    case PMCLUA_F_TAKE:            return &run->take;
    case PMCLUA_F_SIMULATED:       return &run->simulated;
    case PMCLUA_F_ENTER_POINT:     return &run->enter_point;
    case PMCLUA_F_LEAVE_POINT:     return &run->leave_point;
    case PMCLUA_F_WAKE_POINT:      return &run->wake_point;
    default:                       return NULL;
    }
}

static int take_field(void *owner, const struct message_field *field)
{
    struct run *run = owner;
    if (field->kind == PMCLUA_F_RUN_CPUS) {
        const char *text = field_text(field);
        run->pinned = 1;
        return text ? cpulist_parse(text, &run->cpus) : -EPROTO;
    }
    uint64_t *number = number_of(run, field->kind);
    if (!number || field_u64(field, number) < 0)
        return -EPROTO;
    /* 0 says that there was none. */
    if (field->kind == PMCLUA_F_NODE || field->kind == PMCLUA_F_START_CPU)
        (*number)++;
    return 0;
}

int run_take(struct run *run, const struct pmclua_message *message)
{
    *run = (struct run){ .id = message_header(message)->id, .repetitions = 1 };
    return message_take(message, take_field, run);
}
