/*
 * calls_stack.c: calls as they are entered and left: whose return a sample is.
 *
 * Invariants: a return ends the open call of its region that was entered with the same stack pointer in its
 * process, on whichever thread, and no other. The open calls of a thread are taken to lie on one stack,
 * deeper ones at lower stack pointers, until one returns that cannot have: then the process is known to
 * switch stacks, and of its calls only how long they took is true (spreads_add marks them).
 */
#include <errno.h>
#include <string.h>

#include "calls.h"

enum { DEPTH_MAX = 1 << 20 };      /* open calls of a thread: deeper ones are cut */

/* ---- open calls ---- */

/* Charges a call with its callees (`took`) to its caller, as a callee. */
static void share(const struct pmclua_calls *calls, const struct frame *frame, const uint64_t *took)
{
    if (frame->below)
        u64s_add(calls, callees_of(calls, frame->below), took);
}

/* Whether no record was lost that would concern an open call's counts. */
static int is_whole(const struct frame *frame) { return frame->cuts == frame->thread->cuts; }

/* A call whose end was not seen has only its callees' share. */
static void share_callees(struct pmclua_calls *calls, struct frame *frame)
{
    call_settle(calls, frame->thread, frame->region, frame->outer, inner_of(calls, frame), frame->inner);
    share(calls, frame, callees_of(calls, frame));
}

static void drop(struct pmclua_calls *calls, struct frame *frame, uint64_t *reason)
{
    share_callees(calls, frame);
    if (is_whole(frame)) {
        ++*reason;
        frame_leave(calls, frame, reason);
    } else {
        calls->region[frame->region].facts.cut++;
        frame_remove(calls, frame);
    }
}

/* An open call was left without a return, at some time before this sample. What passed since its entry, but
 * for its callees', may be its own or its caller's. */
static void unwind(struct pmclua_calls *calls, struct frame *frame, const struct pmclua_calls_sample *sample)
{
    struct frame *caller = frame->below;
    if (caller) {
        call_measure(calls, frame->thread, sample->time_ns - frame->start_ns, frame->u64s, callees_of(calls, frame));
        u64s_add(calls, unsure_of(calls, caller), calls->scratch + call_u64s(calls));
        caller->is_unsure = 1;
    }
    drop(calls, frame, &calls->region[frame->region].facts.unwound);
}

void stack_leave_all(struct pmclua_calls *calls, struct thread *thread)
{
    while (thread->top)
        drop(calls, thread->top, &calls->region[thread->top->region].facts.unfinished);
    for (uint32_t region = 0; region < calls->regions; region++) {
        struct pair *pair = thread->region[region].pair;
        if (pair && pair->is_open)
            calls->region[region].facts.unfinished++;
        if (pair)
            pair->is_open = 0;
    }
}

/* ---- stacks that threads share ---- */

/* Whether stacks of the process are known to move between threads, or to take turns on one. */
static int is_switching(const struct pmclua_calls *calls, const struct process *process, uint32_t region)
{
    return process->is_switching || (calls->region[region].flags & PMCLUA_REGION_SWITCHES);
}

/* Where stacks are copied, too (Go), a return without an entry is that of an open call which is elsewhere
 * now. Which one is not known: it may be any that is open, whose old place another call may return from. */
static int may_have_moved(const struct pmclua_calls *calls, const struct frame *frame)
{
    return is_switching(calls, frame->process, frame->region) &&
           frame->orphans != frame->process->orphans[frame->region];
}

static int is_doubtful(const struct pmclua_calls *calls, const struct frame *frame)
{
    return may_have_moved(calls, frame) || (frame->is_doubtful && is_switching(calls, frame->process, frame->region));
}

/* ---- entry ---- */

/* Whether the top call cannot be open any more, now that a function is entered at `stack_pointer`. Where
 * a call leaves the stack pointer alone, an equal one may be a callee's. */
static int is_gone(const struct pmclua_calls *calls, const struct frame *top, const struct pmclua_calls_sample *sample)
{
    if (top->stack_pointer != sample->stack_pointer)
        return top->stack_pointer < sample->stack_pointer;
    return !calls->link_register || top->region == sample->region;
}

/* The call whose place on its stack one that is entered now has taken, on whichever thread: it is gone. */
static void replace(struct pmclua_calls *calls, const struct thread *thread, const struct pmclua_calls_sample *sample)
{
    uint32_t region = calls->link_register ? sample->region : ANY_REGION;
    struct frame *gone;
    while ((gone = frame_find(calls, thread->process, region, sample->stack_pointer))) {
        if (gone->thread)
            unwind(calls, gone, sample);
        else
            frame_remove(calls, gone);
    }
}

static int push(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    struct region *region = &calls->region[sample->region];
    region->facts.entries++;
    if (thread->depth >= DEPTH_MAX) {
        region->facts.cut++;
        return 0;
    }
    return frame_push(calls, thread, sample) ? 0 : -ENOMEM;
}

/* Whether an entry is but a jump to a function's first instruction, within a call of it. */
static int is_turn(const struct pmclua_calls *calls, const struct thread *thread,
                   const struct pmclua_calls_sample *sample)
{
    if (!(calls->region[sample->region].flags & PMCLUA_REGION_LOOPS))
        return 0;
    struct frame *frame = frame_find(calls, thread->process, sample->region, sample->stack_pointer);
    if (!frame || may_have_moved(calls, frame))
        return 0;
    if (frame == thread->top)
        return 1;
    if (frame->thread == thread || (!frame->thread && !is_switching(calls, thread->process, sample->region)))
        return 0;
    /* It began on another thread: is it the same call, or a new one in its place? */
    frame->is_doubtful = 1;
    return 1;
}

int stack_enter(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    if (is_turn(calls, thread, sample))
        return 0;
    while (thread->top && is_gone(calls, thread->top, sample))
        unwind(calls, thread->top, sample);
    replace(calls, thread, sample);
    return push(calls, thread, sample);
}

/* ---- return ---- */

static int end_top(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    struct frame *top = thread->top;
    struct region *region = &calls->region[top->region];
    if (!is_whole(top) || is_doubtful(calls, top)) {
        ++*(is_whole(top) ? &region->facts.moved : &region->facts.cut);
        share_callees(calls, top);
        frame_remove(calls, top);
        return 0;
    }
    call_measure(calls, thread, sample->time_ns - top->start_ns, top->u64s, callees_of(calls, top));
    call_measure_probes(calls, top->region);
    if (sample->kind == PMCLUA_POINT_TAIL) {
        region->facts.tails++;
        call_settle(calls, thread, top->region, top->outer, inner_of(calls, top), top->inner);
    } else {
        int result = call_add(calls, thread, top->region, top->start_ns, top->level,
                              top->is_unsure ? unsure_of(calls, top) : NULL);
        if (result < 0)
            return result;
        region->facts.nested += top->inner;
        call_settle(calls, thread, top->region, top->outer, calls->scratch, 1);
    }
    share(calls, top, calls->scratch);
    frame_remove(calls, top);
    return 0;
}

/* Removes a call that ends on another thread, or after it was counted as left (`counted_as`). */
static void take_out(struct pmclua_calls *calls, struct frame *frame)
{
    if (frame->thread)
        share_callees(calls, frame);
    else
        --*frame->counted_as;
    frame_remove(calls, frame);
}

/* Ends a call on another thread than it began on, or one that seemed to have been left: its stack was not the
 * thread's. Its duration is known, its counts are not. */
static int end_elsewhere(struct pmclua_calls *calls, struct thread *thread, struct frame *frame,
                         const struct pmclua_calls_sample *sample)
{
    struct region *region = &calls->region[frame->region];
    if (frame->losses != calls->losses) {
        if (frame->thread)
            unwind(calls, frame, sample);      /* it is cut */
        else
            frame_remove(calls, frame);
        return 0;
    }
    frame->process->is_switching = 1;
    int is_kept = !is_doubtful(calls, frame);
    uint64_t start_ns = frame->start_ns;
    take_out(calls, frame);
    if (!is_kept) {
        region->facts.moved++;
        return 0;
    }
    if (sample->kind == PMCLUA_POINT_TAIL) {
        region->facts.tails++;
        return 0;
    }
    memset(calls->scratch, 0, 2 * (size_t)call_u64s(calls) * sizeof *calls->scratch);
    calls->scratch[0] = calls->scratch[call_u64s(calls)] = sample->time_ns - start_ns;
    call_measure_probes(calls, sample->region);
    int result = call_add(calls, thread, sample->region, start_ns, 0, NULL);
    if (result == 0)
        call_settle(calls, thread, sample->region, NULL, calls->scratch, 1);
    return result;
}

int stack_leave(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    uint64_t stack_pointer = sample->stack_pointer;
    if (sample->kind == PMCLUA_POINT_RETURN_PROBE)
        stack_pointer -= calls->return_bytes;
    struct frame *frame = frame_find(calls, thread->process, sample->region, stack_pointer);
    if (!frame) {
        calls->region[sample->region].facts.orphans++;
        thread->process->orphans[sample->region]++;
        return 0;
    }
    if (frame->thread != thread)
        return end_elsewhere(calls, thread, frame, sample);
    while (thread->top != frame)
        unwind(calls, thread->top, sample);
    return end_top(calls, thread, sample);
}

int stack_pass(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    int result = stack_enter(calls, thread, sample);
    return result < 0 ? result : stack_leave(calls, thread, sample);
}
