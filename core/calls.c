/*
 * calls.c: calls put together from samples at the places where functions are entered and left.
 *
 * Invariants: the open calls of a thread lie on one stack, deeper ones at lower stack pointers; a return
 * ends the open call of its region that was entered with the same stack pointer, and no other; a thread's
 * counts are the sum over CPUs of what it had last on each, so that a call may migrate; a call around which
 * records were lost is cut. pmclua.h says what the samples are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

enum { DEPTH_MAX = 1 << 20 };      /* open calls of a thread: deeper ones are cut */

/* ---- open calls ---- */

static size_t frame_stride(const struct pmclua_calls *calls)
{
    return calls->counted + 3 * (size_t)call_words(calls);
}

static uint64_t *counts_before(const struct pmclua_calls *calls, const struct thread *thread, uint32_t index)
{
    return thread->words + index * frame_stride(calls);
}

static uint64_t *callees_of(const struct pmclua_calls *calls, const struct thread *thread, uint32_t index)
{
    return counts_before(calls, thread, index) + calls->counted;
}

static uint64_t *inner_of(const struct pmclua_calls *calls, const struct thread *thread, uint32_t index)
{
    return callees_of(calls, thread, index) + call_words(calls);
}

static uint64_t *unsure_of(const struct pmclua_calls *calls, const struct thread *thread, uint32_t index)
{
    return inner_of(calls, thread, index) + call_words(calls);
}

static struct frame *top_of(const struct thread *thread)
{
    return thread->depth ? &thread->frames[thread->depth - 1] : NULL;
}

static int grow_frames(struct pmclua_calls *calls, struct thread *thread)
{
    if (thread->frames && thread->depth < thread->size)
        return 0;
    if (thread->depth >= DEPTH_MAX)
        return -ENOBUFS;
    uint32_t size = thread->size ? 2 * thread->size : 16;
    struct frame *frames = realloc(thread->frames, size * sizeof *frames);
    if (frames)
        thread->frames = frames;
    uint64_t *words = frames ? realloc(thread->words, size * frame_stride(calls) * sizeof *words) : NULL;
    if (!words)
        return -ENOMEM;
    thread->words = words;
    thread->size = size;
    return 0;
}

static void add_words(const struct pmclua_calls *calls, uint64_t *to, const uint64_t *more)
{
    for (uint32_t i = 0; i < call_words(calls); i++)
        to[i] += more[i];
}

/* `count` finished calls that took `took` belong to the open call of their region at `outer`; where there
 * is none, they are outermost. */
static void settle(struct pmclua_calls *calls, struct thread *thread, const struct frame *frame,
                   const uint64_t *took, uint32_t count)
{
    if (frame->outer >= 0) {
        thread->frames[frame->outer].inner += count;
        add_words(calls, inner_of(calls, thread, (uint32_t)frame->outer), took);
    } else if (count > 0) {
        add_words(calls, calls->region[frame->region].outermost, took);
        add_words(calls, calls->rows[thread->row[frame->region]].sums, took);
    }
}

/* Takes the top call away; what it and its callees took (`took`) is a callee's share of the one below. */
static void pop(struct pmclua_calls *calls, struct thread *thread, const uint64_t *took)
{
    struct frame *top = top_of(thread);
    thread->open[top->region] = top->outer;
    thread->depth--;
    if (thread->depth > 0)
        add_words(calls, callees_of(calls, thread, thread->depth - 1), took);
}

/* Of a call whose end was not seen only its callees' share is known. */
static void drop_top(struct pmclua_calls *calls, struct thread *thread, uint64_t *reason)
{
    const struct frame *top = top_of(thread);
    struct region *region = &calls->region[top->region];
    ++*(top->cuts == thread->cuts ? reason : &region->facts.cut);
    settle(calls, thread, top, inner_of(calls, thread, thread->depth - 1), top->inner);
    pop(calls, thread, callees_of(calls, thread, thread->depth - 1));
}

/* What a call took, with callees and alone, into the scratch words. */
static void measure(struct pmclua_calls *calls, const struct thread *thread, uint64_t duration_ns,
                    const uint64_t *before, const uint64_t *callees)
{
    uint32_t words = call_words(calls);
    uint64_t *total = calls->scratch, *self = total + words;
    total[0] = duration_ns;
    for (uint32_t i = 1; i < words; i++)
        total[i] = thread->counts[i - 1] - before[i - 1];
    for (uint32_t i = 0; i < words; i++)
        self[i] = callees ? total[i] - callees[i] : total[i];
    /* Times of CPUs whose clocks differ by a little. Costs may well be negative. */
    for (uint32_t i = 0; i < own_words(calls); i++)
        if (self[i] > total[i])
            self[i] = 0;
}

/* The top call was left without a return, at some time before this sample. What passed since its entry, but
 * for its callees', may be its own or its caller's. */
static void unwind(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    const struct frame *top = top_of(thread);
    uint32_t index = thread->depth - 1;
    struct frame *caller = index > 0 ? &thread->frames[index - 1] : NULL;
    if (caller) {
        measure(calls, thread, sample->time_ns - top->start_ns, counts_before(calls, thread, index),
                callees_of(calls, thread, index));
        add_words(calls, unsure_of(calls, thread, index - 1), calls->scratch + call_words(calls));
        caller->is_unsure = 1;
    }
    drop_top(calls, thread, &calls->region[top->region].facts.unwound);
}

/* The thread ends, or becomes another program. */
static void leave_all(struct pmclua_calls *calls, struct thread *thread)
{
    while (thread->depth > 0)
        drop_top(calls, thread, &calls->region[top_of(thread)->region].facts.unfinished);
    for (uint32_t region = 0; region < calls->regions; region++) {
        struct pair *pair = thread->pair[region];
        if (pair && pair->is_open)
            calls->region[region].facts.unfinished++;
        if (pair)
            pair->is_open = 0;
    }
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

static int push(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    struct region *region = &calls->region[sample->region];
    region->facts.entries++;
    int result = grow_frames(calls, thread);
    if (result == -ENOBUFS) {
        region->facts.cut++;
        return 0;
    }
    if (result < 0)
        return result;
    thread->frames[thread->depth] = (struct frame){
        .region = sample->region, .level = thread->depth, .cuts = thread->cuts,
        .outer = thread->open[sample->region], .stack_pointer = sample->stack_pointer,
        .start_ns = sample->time_ns };
    memcpy(counts_before(calls, thread, thread->depth), thread->counts, calls->counted * sizeof *thread->counts);
    memset(callees_of(calls, thread, thread->depth), 0, 3 * (size_t)call_words(calls) * sizeof(uint64_t));
    thread->open[sample->region] = (int32_t)thread->depth++;
    return 0;
}

static int enter(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    struct frame *top = top_of(thread);
    int is_turn = (calls->region[sample->region].flags & PMCLUA_REGION_LOOPS) && top &&
                  top->region == sample->region && top->stack_pointer == sample->stack_pointer;
    if (is_turn)
        return 0;
    while ((top = top_of(thread)) && is_gone(calls, top, sample))
        unwind(calls, thread, sample);
    return push(calls, thread, sample);
}

/* ---- return ---- */

/* What of a call in the scratch words is the cost of its own two probes. */
static void measure_probes(struct pmclua_calls *calls, uint32_t region)
{
    uint32_t words = call_words(calls), own = own_words(calls);
    const int64_t *inside = calls->region[region].cost ? calls->region[region].cost + 2 * own : NULL;
    for (uint32_t i = 0; inside && i < own; i++) {
        calls->scratch[own + i] += (uint64_t)inside[i];
        calls->scratch[words + own + i] += (uint64_t)inside[i];
    }
}

/* Adds the call in the scratch words. */
static int add_call(struct pmclua_calls *calls, struct thread *thread, uint32_t region, uint64_t start_ns,
                    uint64_t level, const uint64_t *unsure)
{
    int32_t *row = &thread->row[region];
    if (*row < 0)
        *row = spreads_row(calls, region, thread->pid, thread->tid, thread->name);
    if (*row < 0)
        return *row;
    struct call_end end = { region, thread->tid, (uint32_t)*row, start_ns, level, calls->scratch,
                            calls->scratch + call_words(calls), unsure };
    return spreads_add(calls, &end);
}

static int end_top(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    struct frame frame = *top_of(thread);
    struct region *region = &calls->region[frame.region];
    uint32_t index = thread->depth - 1;
    if (frame.cuts != thread->cuts) {
        drop_top(calls, thread, &region->facts.cut);
        return 0;
    }
    measure(calls, thread, sample->time_ns - frame.start_ns, counts_before(calls, thread, index),
            callees_of(calls, thread, index));
    measure_probes(calls, frame.region);
    if (sample->kind == PMCLUA_POINT_TAIL) {
        region->facts.tails++;
        add_words(calls, region->tails, calls->scratch);
        settle(calls, thread, &frame, inner_of(calls, thread, index), frame.inner);
        pop(calls, thread, calls->scratch);
        return 0;
    }
    int result = add_call(calls, thread, frame.region, frame.start_ns, frame.level,
                          frame.is_unsure ? unsure_of(calls, thread, index) : NULL);
    if (result < 0)
        return result;
    region->facts.nested += frame.inner;
    settle(calls, thread, &frame, calls->scratch, 1);
    pop(calls, thread, calls->scratch);
    return 0;
}

/* How many open calls there are when the one that ends here is the top; 0: it is not among them. */
static uint32_t find_open(const struct thread *thread, uint32_t region, uint64_t stack_pointer)
{
    for (uint32_t depth = thread->depth; depth > 0; depth--) {
        const struct frame *frame = &thread->frames[depth - 1];
        if (frame->stack_pointer > stack_pointer)
            return 0;
        if (frame->stack_pointer == stack_pointer && frame->region == region)
            return depth;
    }
    return 0;
}

static int leave(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    uint64_t stack_pointer = sample->stack_pointer;
    if (sample->kind == PMCLUA_POINT_RETURN_PROBE)
        stack_pointer -= calls->return_bytes;
    uint32_t depth = find_open(thread, sample->region, stack_pointer);
    if (depth == 0) {
        calls->region[sample->region].facts.orphans++;
        return 0;
    }
    while (thread->depth > depth)
        unwind(calls, thread, sample);
    return end_top(calls, thread, sample);
}

/* A function of one instruction: nothing is between its two ends. */
static int pass(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    int result = enter(calls, thread, sample);
    return result < 0 ? result : leave(calls, thread, sample);
}

/* ---- regions between any two points ---- */

/* They are no functions and lie on no stack: each is open at most once, and nothing is a callee of it. */
static int from(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    struct region *region = &calls->region[sample->region];
    struct pair **place = &thread->pair[sample->region];
    if (!*place && !(*place = calloc(1, sizeof **place + calls->counted * sizeof(uint64_t))))
        return -ENOMEM;
    struct pair *pair = *place;
    region->facts.entries++;
    if (pair->is_open)
        ++*(pair->cuts == thread->cuts ? &region->facts.unwound : &region->facts.cut);
    pair->is_open = 1;
    pair->cuts = thread->cuts;
    pair->start_ns = sample->time_ns;
    memcpy(pair->counts, thread->counts, calls->counted * sizeof *pair->counts);
    return 0;
}

static int to(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    struct region *region = &calls->region[sample->region];
    struct pair *pair = thread->pair[sample->region];
    if (!pair || !pair->is_open) {
        region->facts.orphans++;
        return 0;
    }
    pair->is_open = 0;
    if (pair->cuts != thread->cuts) {
        region->facts.cut++;
        return 0;
    }
    measure(calls, thread, sample->time_ns - pair->start_ns, pair->counts, NULL);
    measure_probes(calls, sample->region);
    int result = add_call(calls, thread, sample->region, pair->start_ns, 0, NULL);
    if (result < 0)
        return result;
    struct frame outermost = { .region = sample->region, .outer = -1 };
    settle(calls, thread, &outermost, calls->scratch, 1);
    return 0;
}

/* ---- what comes in ---- */

/* The cost of a probe is of what is around it: before a call begins, after it has ended. */
static int begin(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    thread_spend(calls, thread, sample->region, 0);
    switch (sample->kind) {
    case PMCLUA_POINT_ENTRY: return enter(calls, thread, sample);
    case PMCLUA_POINT_WHOLE: return pass(calls, thread, sample);
    default:                 return from(calls, thread, sample);
    }
}

static int end(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    int result = sample->kind == PMCLUA_POINT_TO ? to(calls, thread, sample) : leave(calls, thread, sample);
    thread_spend(calls, thread, sample->region, 1);
    return result;
}

/* The thread of a sample; NULL and *result: none (0: this sample is not to be taken). */
static struct thread *take_sample(struct pmclua_calls *calls, const struct pmclua_calls_sample *sample, int *result)
{
    *result = -EINVAL;
    if (sample->cpu >= calls->cpus)
        return NULL;
    calls->samples++;
    *result = -ENOMEM;
    struct thread *thread = thread_of(calls, sample->pid, sample->tid);
    if (thread && calls->lost > 0 && thread_is_another(thread, sample)) {
        pmclua_calls_end(calls, sample->tid);
        thread = thread_of(calls, sample->pid, sample->tid);
    }
    if (thread && thread->is_counted && thread->source != sample->source) {
        *result = 0;
        return NULL;
    }
    if (thread)
        *result = thread_take(calls, thread, sample);
    return *result < 0 ? NULL : thread;
}

int pmclua_calls_point(struct pmclua_calls *calls, const struct pmclua_calls_sample *sample)
{
    int result;
    if (sample->region >= calls->regions)
        return -EINVAL;
    struct thread *thread = take_sample(calls, sample, &result);
    if (!thread)
        return result;
    switch (sample->kind) {
    case PMCLUA_POINT_ENTRY:
    case PMCLUA_POINT_WHOLE:
    case PMCLUA_POINT_FROM: return begin(calls, thread, sample);
    default:                return end(calls, thread, sample);
    }
}

int pmclua_calls_switch(struct pmclua_calls *calls, const struct pmclua_calls_sample *sample)
{
    int result;
    take_sample(calls, sample, &result);
    return result;
}

int pmclua_calls_name(struct pmclua_calls *calls, uint32_t pid, uint32_t tid, const char *name, int32_t executed)
{
    struct thread *thread = thread_of(calls, pid, tid);
    if (!thread)
        return -ENOMEM;
    memset(thread->name, 0, sizeof thread->name);
    memcpy(thread->name, name, strnlen(name, sizeof thread->name - 1));
    for (uint32_t region = 0; region < calls->regions; region++)
        if (thread->row[region] >= 0)
            spreads_rename_row(calls, (uint32_t)thread->row[region], thread->name);
    if (executed)
        leave_all(calls, thread);
    return 0;
}

int pmclua_calls_fork(struct pmclua_calls *calls, uint32_t pid, uint32_t tid, uint32_t parent_tid)
{
    const struct thread *parent = thread_find(calls, parent_tid);
    return parent && tid != parent_tid ? pmclua_calls_name(calls, pid, tid, parent->name, 0) : 0;
}

int pmclua_calls_end(struct pmclua_calls *calls, uint32_t tid)
{
    struct thread *thread = thread_find(calls, tid);
    if (!thread)
        return 0;
    leave_all(calls, thread);
    thread_remove(calls, thread);
    return 0;
}

void pmclua_calls_pause(struct pmclua_calls *calls)
{
    struct thread *thread;
    while ((thread = thread_next(calls, NULL)))
        pmclua_calls_end(calls, thread->tid);
}

void pmclua_calls_lost(struct pmclua_calls *calls, uint32_t cpu, uint64_t records)
{
    calls->lost += records;
    for (struct thread *thread = thread_next(calls, NULL); thread; thread = thread_next(calls, thread)) {
        thread->cuts++;
        if (cpu < calls->cpus && thread->last[cpu])
            thread->last[cpu]->is_stale = 1;
    }
}

/* ---- beginning and end ---- */

void pmclua_calls_free(struct pmclua_calls *calls)
{
    if (!calls)
        return;
    threads_free(calls);
    free(calls->scratch);
    spreads_free(calls);
    free(calls);
}

int pmclua_calls_new(struct pmclua_calls **out, const struct pmclua_calls_setup *setup)
{
    if (setup->regions == 0 || setup->cpus == 0 || setup->values < 2)
        return -EINVAL;
    struct pmclua_calls *calls = calloc(1, sizeof *calls);
    if (!calls)
        return -ENOMEM;
    calls->regions = setup->regions;
    calls->cpus = setup->cpus;
    calls->values = setup->values;
    calls->counted = setup->values + (setup->costs ? setup->values + 1 : 0);
    calls->link_register = setup->link_register;
    calls->return_bytes = setup->return_bytes;
    calls->keep = setup->keep;
    calls->scratch = calloc(2 * (size_t)call_words(calls), sizeof *calls->scratch);
    if (!calls->scratch || threads_new(calls) < 0 || spreads_new(calls, setup) < 0) {
        pmclua_calls_free(calls);
        return -ENOMEM;
    }
    *out = calls;
    return 0;
}
