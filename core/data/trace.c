/*
 * trace.c: what the instruction accessed that a sample waited for.
 *
 * A sample stands behind the instruction that was blocked, so it is looked for among those that may have come before it,
 * and its operands' registers are those of the sample with what was executed since undone. Where several instructions may
 * have come before, they must have accessed one line; a guess between them would name objects that were not accessed.
 */
#include <string.h>

#include "pmclua.h"
#include "trace.h"

enum { PATH_MOST = 40, FED_MOST = 12, BEFORE_MOST = 8, SKIP_MOST = 6, NEXT_MOST = 64, STORE_MOST = 16, LINE_BITS = 6 };

/* Steps backwards from the sample, and the registers before each: `known[i + 1]` are those before `step[i]`. */
struct path {
    uint32_t step[PATH_MOST], count, blocked;      /* blocked: the place of the blocked one */
    uint64_t known[PATH_MOST + 1];
    uint64_t value[PATH_MOST + 1][GENERAL];
};

static const struct step *step_at(const struct moment *moment, const struct path *path, uint32_t place)
{
    return &moment->function->step[path->step[place]];
}

/* ---- values ---- */

static uint64_t extended(const struct step *step, uint64_t value)
{
    if (!step->is_half)
        return value;
    return step->is_signed ? (uint64_t)(int64_t)(int32_t)value : (uint32_t)value;
}

static uint64_t constant_of(const struct moment *moment, const struct step *step)
{
    return (uint64_t)step->constant + (step->is_constant_of_file ? moment->bias : 0);
}

/* The new value of a step's register from those of `a` and `b`. */
static uint64_t combined(const struct moment *moment, const struct step *step, uint64_t a, uint64_t b)
{
    uint64_t constant = constant_of(moment, step);
    switch (step->form) {
    case FORM_ADD:      return extended(step, a + b * (uint64_t)(int64_t)step->scale + constant);
    case FORM_LEFT:     return extended(step, a << (constant & 63));
    case FORM_RIGHT:    return extended(step, (step->is_half ? (uint32_t)a : a) >> (constant & 63));
    case FORM_AND:      return extended(step, a & constant);
    default:            return extended(step, a * constant);
    }
}

/* The word that a step read, if the sample has it; 0: it does not. */
static int from_stack(const struct moment *moment, const struct step *step, uint64_t address, uint64_t *value)
{
    uint64_t offset = address - moment->stack_pointer, bytes = step->place.bytes;
    if (bytes == 0 || bytes > 8 || offset > moment->stack_bytes || moment->stack_bytes - offset < bytes)
        return 0;
    *value = 0;
    memcpy(value, moment->stack + offset, bytes);
    uint64_t sign = step->load == 2 ? BIT(8 * bytes - 1) : 0;
    *value = (*value ^ sign) - sign;
    return 1;
}

/* ---- backwards ---- */

static int knows(uint64_t known, int8_t number) { return number == NONE || (known & BIT(number)); }

/* The registers before a step from those after it. */
static void undo(const struct moment *moment, const struct step *step, const uint64_t *after, uint64_t known_after,
                 uint64_t *before, uint64_t *known)
{
    memcpy(before, after, GENERAL * sizeof *before);
    *known = known_after & ~step->writes;
    if (step->to == NONE || step->form != FORM_ADD || !(known_after & BIT(step->to)) || step->a == NONE)
        return;
    int needs_b = step->b != NONE, has_b = needs_b && step->b != step->to && (*known & BIT(step->b));
    if ((needs_b && !has_b) || (step->a != step->to && (step->writes & BIT(step->a))) || (*known & BIT(step->a)))
        return;
    uint64_t rest = constant_of(moment, step) + (has_b ? before[step->b] * (uint64_t)(int64_t)step->scale : 0);
    uint64_t value = after[step->to] - rest;
    before[step->a] = step->is_half ? (uint32_t)value : value;
    *known |= BIT(step->a);
}

/* Goes on backwards as long as only one step can have come before, and undoes what was executed. */
static void follow(const struct moment *moment, struct path *path)
{
    memcpy(path->value[0], moment->general, sizeof path->value[0]);
    path->known[0] = moment->known;
    for (uint32_t i = 0; i < path->count; i++) {
        const struct step *step = step_at(moment, path, i);
        undo(moment, step, path->value[i], path->known[i], path->value[i + 1], &path->known[i + 1]);
        uint32_t before;
        int is_last = i + 1 == path->count && i >= path->blocked && path->count < PATH_MOST;
        if (!is_last || function_before(moment->function, path->step[i], &before, 1) != 1)
            continue;
        uint8_t kind = moment->function->step[before].kind;
        if (kind != STEP_CALL && kind != STEP_UNKNOWN)
            path->step[path->count++] = before;
    }
}

/* Whether what a step at `place` read from the stack was written again before the sample. */
static int is_overwritten(const struct moment *moment, const struct path *path, uint32_t place)
{
    const struct place *read = &step_at(moment, path, place)->place;
    for (uint32_t i = 0; i < place; i++) {
        const struct place *other = &step_at(moment, path, i)->place;
        if (other->is_written && other->base == read->base && other->index == read->index
            && other->displacement == read->displacement)
            return 1;
    }
    return 0;
}

static int address_before(const struct moment *moment, const struct path *path, uint32_t place, uint64_t *address, int *is_redone);

/* A register's value before the step at `place`: 1; 0: it is lost. *is_redone: it was computed anew. */
static int value_before(const struct moment *moment, const struct path *path, uint32_t place, int8_t number, uint64_t *value,
                        int *is_redone)
{
    *value = 0;
    if (number == NONE)
        return 1;
    if (path->known[place + 1] & BIT(number)) {
        *value = path->value[place + 1][number];
        return 1;
    }
    uint32_t at = place + 1;
    while (at < path->count && !(step_at(moment, path, at)->writes & BIT(number)))
        at++;
    if (at == path->count)
        return 0;
    const struct step *step = step_at(moment, path, at);
    uint64_t a = 0, b = 0, address = 0;
    *is_redone = 1;
    if (step->to == number && step->load)
        return address_before(moment, path, at, &address, is_redone) && !is_overwritten(moment, path, at)
            && from_stack(moment, step, address, value);
    if (step->to != number || step->form == FORM_NONE
        || !value_before(moment, path, at, step->a, &a, is_redone) || !value_before(moment, path, at, step->b, &b, is_redone))
        return 0;
    *value = combined(moment, step, a, b);
    return 1;
}

static uint64_t address_of(const struct moment *moment, const struct place *place, uint64_t base, uint64_t index)
{
    uint64_t bias = place->base == NONE && place->index == NONE && !place->is_of_thread ? moment->bias : 0;
    if (place->index_form)
        index = place->index_form == INDEX_SIGNED ? (uint64_t)(int64_t)(int32_t)index : (uint32_t)index;
    return base + index * place->scale + (uint64_t)place->displacement + bias;
}

static int address_before(const struct moment *moment, const struct path *path, uint32_t place, uint64_t *address, int *is_redone)
{
    const struct place *accessed = &step_at(moment, path, place)->place;
    uint64_t base, index;
    if (!value_before(moment, path, place, accessed->base, &base, is_redone)
        || !value_before(moment, path, place, accessed->index, &index, is_redone))
        return 0;
    *address = address_of(moment, accessed, base, index);
    return 1;
}

/* ---- forwards ---- */

struct state { uint64_t value[GENERAL], known; };

static uint64_t value_in(const struct state *state, int8_t number) { return number == NONE ? 0 : state->value[number]; }

static void execute(const struct moment *moment, const struct step *step, struct state *state)
{
    uint64_t known = state->known, value = 0;
    const struct place *place = &step->place;
    int is_there = 0;
    if (step->to != NONE && step->load && knows(known, place->base) && knows(known, place->index))
        is_there = from_stack(moment, step, address_of(moment, place, value_in(state, place->base), value_in(state, place->index)),
                              &value);
    else if (step->to != NONE && step->form != FORM_NONE && knows(known, step->a) && knows(known, step->b)) {
        value = combined(moment, step, value_in(state, step->a), value_in(state, step->b));
        is_there = 1;
    }
    state->known &= ~step->writes;
    if (is_there) {
        state->value[step->to] = value;
        state->known |= BIT(step->to);
    }
}

/* The next step on the way around a loop to `wanted`; -1: unknown. */
static int32_t next_step(const struct moment *moment, uint32_t index, const struct step *wanted)
{
    const struct step *step = &moment->function->step[index];
    int leads_back = step->target && step->target <= wanted->address && wanted->address <= step->address;
    if (step->kind == STEP_CALL || step->kind == STEP_RETURN || step->kind == STEP_UNKNOWN)
        return -1;
    if (step->kind == STEP_JUMP || (step->kind == STEP_BRANCH && leads_back))
        return function_step(moment->function, step->target);
    return index + 1 < moment->function->steps ? (int32_t)index + 1 : -1;
}

/* The address that a step accesses when it is executed next. */
static int address_next(const struct moment *moment, uint32_t wanted, uint64_t *address)
{
    const struct step *target = &moment->function->step[wanted];
    struct state state = { .known = moment->known };
    memcpy(state.value, moment->general, sizeof state.value);
    int32_t at = (int32_t)moment->index;
    for (int i = 0; at >= 0 && i < NEXT_MOST; i++) {
        if (at == (int32_t)wanted) {
            const struct place *place = &target->place;
            if (!knows(state.known, place->base) || !knows(state.known, place->index))
                return 0;
            *address = address_of(moment, place, value_in(&state, place->base), value_in(&state, place->index));
            return 1;
        }
        execute(moment, &moment->function->step[at], &state);
        at = next_step(moment, (uint32_t)at, target);
    }
    return 0;
}

/* Whether what a step read is written soon behind it: x = x + 1 waits for its load. */
static int is_written_soon(const struct moment *moment, uint32_t index)
{
    const struct function *function = moment->function;
    const struct place *read = &function->step[index].place;
    uint64_t needed = (read->base == NONE ? 0 : BIT(read->base)) | (read->index == NONE ? 0 : BIT(read->index));
    if (function->step[index].writes & needed)
        return 0;
    for (uint32_t i = index + 1; i < function->steps && i <= index + STORE_MOST; i++) {
        const struct step *step = &function->step[i];
        const struct place *place = &step->place;
        if (place->is_written && place->bytes && place->base == read->base && place->index == read->index
            && place->scale == read->scale && place->displacement == read->displacement)
            return 1;
        if ((step->writes & needed) || step->kind == STEP_JUMP || step->kind == STEP_CALL || step->kind == STEP_RETURN)
            return 0;
    }
    return 0;
}

/* ---- one instruction that may have been blocked ---- */

/* Finds the address of the step at `place`, the surest way first. */
static void find_address(const struct moment *moment, const struct path *path, uint32_t place, struct finding *finding)
{
    const struct step *step = step_at(moment, path, place);
    const struct place *accessed = &step->place;
    uint64_t base = 0;
    int is_redone = 0;
    finding->bytes = accessed->bytes;
    finding->is_of_thread = accessed->is_of_thread;
    finding->is_write = accessed->is_written || is_written_soon(moment, path->step[place]);
    if (address_before(moment, path, place, &finding->address, &is_redone))
        finding->certainty = is_redone ? PMCLUA_DATA_REDONE : PMCLUA_DATA_EXACT;
    else if (address_next(moment, path->step[place], &finding->address))
        finding->certainty = PMCLUA_DATA_NEXT;
    else if (step->load && step->to == accessed->base && (path->known[place] & BIT(step->to))) {
        finding->address = path->value[place][step->to] + (uint64_t)accessed->displacement;
        finding->certainty = PMCLUA_DATA_CHAIN;
    } else if (value_before(moment, path, place, accessed->base, &base, &is_redone)) {
        uint64_t bias = accessed->base == NONE && !accessed->is_of_thread ? moment->bias : 0;
        finding->address = base + (uint64_t)accessed->displacement + bias;
        finding->certainty = PMCLUA_DATA_BASE;
    } else
        finding->kind = PMCLUA_DATA_LOST;
}

/* The load whose value an instruction computes with; -1: none near it. */
static int32_t find_load(const struct moment *moment, const struct path *path)
{
    uint64_t unused = BIT(moment->function->stack);
    uint64_t wanted = step_at(moment, path, path->blocked)->reads & ~unused;
    for (uint32_t i = path->blocked + 1; wanted && i < path->count && i <= path->blocked + FED_MOST; i++) {
        const struct step *step = step_at(moment, path, i);
        if (!(step->writes & wanted))
            continue;
        if (step->place.bytes && step->place.is_read)
            return (int32_t)i;
        wanted = (wanted & ~step->writes) | (step->reads & ~unused);
    }
    return -1;
}

static void judge(const struct moment *moment, struct path *path, struct finding *finding)
{
    const struct step *blocked = step_at(moment, path, path->blocked);
    *finding = (struct finding){ .kind = PMCLUA_DATA_NO_OPERAND };
    if (blocked->kind == STEP_COMPUTING)
        finding->kind = PMCLUA_DATA_COMPUTING;
    if (blocked->kind == STEP_COMPUTING || blocked->kind == STEP_CALL || blocked->kind == STEP_RETURN
        || blocked->kind == STEP_UNKNOWN)
        return;
    follow(moment, path);
    int32_t load = blocked->place.bytes ? (int32_t)path->blocked : find_load(moment, path);
    if (load < 0)
        return;
    finding->kind = load == (int32_t)path->blocked ? PMCLUA_DATA_AT : PMCLUA_DATA_FED;
    find_address(moment, path, (uint32_t)load, finding);
}

/* ---- all that may have come before ---- */

struct choice { struct finding finding; uint32_t count; int differs; };

static int has_address(const struct finding *finding)
{
    return finding->kind == PMCLUA_DATA_AT || finding->kind == PMCLUA_DATA_FED;
}

static void add_choice(const struct moment *moment, struct path *path, struct choice *choice)
{
    struct finding found;
    path->blocked = path->count - 1;
    judge(moment, path, &found);
    path->count = path->blocked + 1;
    if (choice->count++ == 0) {
        choice->finding = found;
        return;
    }
    const struct finding *first = &choice->finding;
    int is_same = has_address(first) && has_address(&found)
        ? first->address >> LINE_BITS == found.address >> LINE_BITS && first->is_of_thread == found.is_of_thread
        : first->kind == found.kind;
    choice->differs |= !is_same;
}

/* Whether a branch, at `from`, can have led to step `to`. */
static int can_have_come(const struct moment *moment, uint32_t from, uint32_t to)
{
    const struct step *step = &moment->function->step[from];
    if (step->kind != STEP_BRANCH || step->condition == NONE)
        return 1;
    int is_behind = to == from + 1, is_target = step->target == moment->function->step[to].address;
    return (is_behind && is_target) || x86_is_taken(step->condition, moment->flags) == is_target;
}

/* Whether a branch was executed together with the step before it. */
static int is_fused(const struct function *function, uint32_t branch)
{
    uint32_t before;
    return function->step[branch].kind == STEP_BRANCH && function_before(function, branch, &before, 1) == 1
        && before + 1 == branch && function->step[before].is_fused;
}

static void look_before(const struct moment *moment, struct path *path, uint32_t index, struct choice *choice)
{
    uint32_t before[BEFORE_MOST], held = path->count;
    uint32_t count = function_before(moment->function, index, before, BEFORE_MOST);
    choice->differs |= count > BEFORE_MOST || held >= SKIP_MOST;
    for (uint32_t i = 0; i < count && !choice->differs; i++) {
        const struct step *step = &moment->function->step[before[i]];
        if (!can_have_come(moment, before[i], index))
            continue;
        path->count = held;
        path->step[path->count++] = before[i];
        if (step->kind == STEP_JUMP || step->kind == STEP_NOTHING) {
            look_before(moment, path, before[i], choice);
        } else {
            if (is_fused(moment->function, before[i]))
                path->step[path->count++] = before[i] - 1;
            add_choice(moment, path, choice);
        }
    }
}

void trace(const struct moment *moment, struct finding *finding)
{
    const struct step *step = &moment->function->step[moment->index];
    struct path path = { .count = 0 };
    struct choice choice = { .count = 0 };
    *finding = (struct finding){ .kind = step->kind == STEP_COMPUTING ? PMCLUA_DATA_COMPUTING : PMCLUA_DATA_NO_OPERAND };
    if (step->kind == STEP_COMPUTING)
        return;
    if (step->kind == STEP_REPEATED) {             /* it stands at itself until it has ended */
        const struct place *place = &step->place;
        *finding = (struct finding){ .kind = PMCLUA_DATA_AT, .certainty = PMCLUA_DATA_EXACT, .bytes = place->bytes,
                                     .is_write = place->is_written, .address = moment->general[place->base] };
        return;
    }
    look_before(moment, &path, moment->index, &choice);
    if (choice.count > 0)
        *finding = choice.finding;
    else if (moment->index > 0)
        finding->kind = PMCLUA_DATA_LOST;
    if (choice.differs)
        *finding = (struct finding){ .kind = PMCLUA_DATA_AMBIGUOUS };
}
