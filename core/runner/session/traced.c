#include "traced.h"

struct call_trace *traced_open(const struct run *run, int pid, struct answer *answer)
{
    struct call_trace *trace = NULL;
    struct call_points points = { run->enter_point, run->leave_point, run->wake_point, pid };
    int result = run->enter_point ? call_trace_open(&trace, &points) : 0;
    answer->result.untraced = result < 0 ? (uint32_t)-result : 0;
    return trace;
}

void traced_take(struct call_trace *trace, struct answer *answer)
{
    int result = trace ? call_trace_end(trace, &answer->calls, &answer->result.call_u64s) : 0;
    if (result < 0)
        answer->result.untraced = (uint32_t)-result;
}
