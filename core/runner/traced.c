#include "traced.h"

/* What tracing costs here is measured once. */
static struct pmclua_system_calls costs;

struct pmclua_call_trace *traced_open(const struct run *run, int pid, struct answer *answer)
{
    struct pmclua_call_trace *trace = NULL;
    if (!run->enter_point)
        return NULL;
    struct pmclua_call_points points = { run->enter_point, run->leave_point, pid, 1 };
    int result = costs.call_ns ? 0 : pmclua_call_trace_keep(&points);
    if (result == 0 && !costs.call_ns)
        pmclua_call_trace_costs(&points, &costs);
    if (result == 0)
        result = pmclua_call_trace_open(&trace, &points);
    answer->result.untraced = result < 0 ? (uint32_t)-result : 0;
    if (result < 0)
        return NULL;
    pmclua_call_trace_start(trace, pmclua_now_ns());
    return trace;
}

void traced_take(struct pmclua_call_trace *trace, struct answer *answer)
{
    if (!trace)
        return;
    int result = pmclua_call_trace_end(trace, &answer->calls, &answer->result.call_u64s);
    pmclua_call_trace_close(trace);
    if (result < 0) {
        answer->result.untraced = (uint32_t)-result;
        return;
    }
    struct pmclua_system_calls *head = (struct pmclua_system_calls *)answer->calls;
    head->call_ns = costs.call_ns;
    head->traced_ns = costs.traced_ns;
    head->fault_ns = costs.fault_ns;
}
