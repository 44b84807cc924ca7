/*
 * calls_frames.c: the open calls of all threads, found by address space and stack pointer.
 *
 * A stack need not belong to a thread: goroutines, ucontexts and other coroutines begin on one and go on
 * with another. What tells calls apart is where their return address lies: of a process's open calls one
 * at most has a given stack pointer (and, where a call does not move it, belongs to a given region).
 *
 * Invariant: every frame is in the table; it is in its thread's list, or (one that was left, as far as was
 * seen, but would return to the same place) in its process's list of those left, which is bounded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

enum { LEFT_MAX = 1 << 16 };       /* of a process */

/* ---- the table ---- */

static struct frame **place_of(const struct pmclua_calls *calls, uint32_t pid, uint64_t stack_pointer)
{
    uint64_t hash = ((stack_pointer >> 3) ^ ((uint64_t)pid << 40)) * 0x9e3779b97f4a7c15u;
    return &calls->table[hash >> 32 & (calls->table_size - 1)];
}

static void put_in(struct pmclua_calls *calls, struct frame *frame)
{
    struct frame **place = place_of(calls, frame->process->pid, frame->stack_pointer);
    frame->chain = *place;
    *place = frame;
}

static int grow_table(struct pmclua_calls *calls)
{
    uint32_t old = calls->table_size;
    if (calls->frame_count < old)
        return 0;
    struct frame **smaller = calls->table, **larger = calloc(2 * (size_t)old, sizeof *larger);
    if (!larger)
        return -ENOMEM;
    calls->table = larger;
    calls->table_size = 2 * old;
    for (uint32_t i = 0; i < old; i++) {
        for (struct frame *frame = smaller[i], *next; frame; frame = next) {
            next = frame->chain;
            put_in(calls, frame);
        }
    }
    free(smaller);
    return 0;
}

struct frame *frame_find(const struct pmclua_calls *calls, const struct process *process, uint32_t region,
                         uint64_t stack_pointer)
{
    struct frame *frame = *place_of(calls, process->pid, stack_pointer);
    while (frame && (frame->process != process || frame->stack_pointer != stack_pointer ||
                     (region != ANY_REGION && frame->region != region)))
        frame = frame->chain;
    return frame;
}

/* ---- a thread's list ---- */

/* Calls within it are now within the call around it. */
static void unlink_frame(struct frame *frame)
{
    struct thread *thread = frame->thread;
    for (struct frame *inner = frame->above; inner; inner = inner->above)
        if (inner->outer == frame)
            inner->outer = frame->outer;
    if (thread->region[frame->region].open == frame)
        thread->region[frame->region].open = frame->outer;
    *(frame->above ? &frame->above->below : &thread->top) = frame->below;
    if (frame->below)
        frame->below->above = frame->above;
    thread->depth--;
    frame->thread = NULL;
}

/* ---- those that were left ---- */

static void unlink_left(struct frame *frame)
{
    struct process *process = frame->process;
    *(frame->above ? &frame->above->below : &process->newest) = frame->below;
    *(frame->below ? &frame->below->above : &process->oldest) = frame->above;
    process->left--;
}

void frame_leave(struct pmclua_calls *calls, struct frame *frame, uint64_t *counted_as)
{
    struct process *process = frame->process;
    unlink_frame(frame);
    frame->counted_as = counted_as;
    frame->above = NULL;
    frame->below = process->newest;
    *(process->newest ? &process->newest->above : &process->oldest) = frame;
    process->newest = frame;
    if (++process->left > LEFT_MAX)
        frame_remove(calls, process->oldest);
}

void frames_forget(struct pmclua_calls *calls, struct process *process)
{
    while (process->newest)
        frame_remove(calls, process->newest);
}

/* ---- beginning and end of a frame ---- */

static struct frame *new_frame(struct pmclua_calls *calls)
{
    struct frame *frame = calls->spare;
    size_t width = calls->counted + 3 * (size_t)call_u64s(calls);
    if (frame)
        calls->spare = frame->chain;
    else
        frame = malloc(sizeof *frame + width * sizeof(uint64_t));
    return frame;
}

struct frame *frame_push(struct pmclua_calls *calls, struct thread *thread, const struct pmclua_calls_sample *sample)
{
    struct frame *frame = grow_table(calls) < 0 ? NULL : new_frame(calls);
    if (!frame)
        return NULL;
    *frame = (struct frame){
        .process = thread->process, .thread = thread, .below = thread->top, .outer = thread->region[sample->region].open,
        .region = sample->region, .level = thread->depth, .cuts = thread->cuts, .losses = calls->losses,
        .orphans = thread->process->orphans[sample->region],
        .stack_pointer = sample->stack_pointer, .start_ns = sample->time_ns };
    memcpy(frame->u64s, thread->counts, calls->counted * sizeof *thread->counts);
    memset(callees_of(calls, frame), 0, 3 * (size_t)call_u64s(calls) * sizeof(uint64_t));
    if (thread->top)
        thread->top->above = frame;
    thread->top = thread->region[sample->region].open = frame;
    thread->depth++;
    calls->frame_count++;
    put_in(calls, frame);
    return frame;
}

void frame_remove(struct pmclua_calls *calls, struct frame *frame)
{
    struct frame **place = place_of(calls, frame->process->pid, frame->stack_pointer);
    while (*place != frame)
        place = &(*place)->chain;
    *place = frame->chain;
    if (frame->thread)
        unlink_frame(frame);
    else
        unlink_left(frame);
    calls->frame_count--;
    frame->chain = calls->spare;
    calls->spare = frame;
}

int frames_new(struct pmclua_calls *calls)
{
    calls->table_size = 64;
    calls->table = calloc(calls->table_size, sizeof(struct frame *));
    return calls->table ? 0 : -ENOMEM;
}

static void free_chain(struct frame *frame)
{
    for (struct frame *next; frame; frame = next) {
        next = frame->chain;
        free(frame);
    }
}

void frames_free(struct pmclua_calls *calls)
{
    for (uint32_t i = 0; calls->table && i < calls->table_size; i++)
        free_chain(calls->table[i]);
    free_chain(calls->spare);
    free(calls->table);
}
