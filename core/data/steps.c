/*
 * steps.c: decodes functions once, when they are first asked for. An instruction that Capstone does not know is one
 * unknown step: what was executed through it is not followed.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/symbols.h"
#include "host/lists.h"
#include "steps.h"

enum { LONGEST = 1 << 20 };        /* bytes of a function: more is not decoded */

void function_release(struct function *function)
{
    free(function->step);
    free(function->jump);
}

static void function_free(struct function *function)
{
    function_release(function);
    free(function);
}

void functions_free(struct functions *functions)
{
    for (size_t i = 0; i < functions->count; i++)
        function_free(functions->function[i]);
    free(functions->function);
    functions->function = NULL;
    functions->count = 0;
}

/* ---- decoding ---- */

void step_add(struct step *step, int8_t a, int8_t b, int scale, int64_t constant)
{
    step->form = FORM_ADD;
    step->a = a;
    step->b = b;
    step->scale = (int8_t)scale;
    step->constant = constant;
}

void step_form(struct step *step, uint8_t form, int8_t a, int64_t constant)
{
    step_add(step, a, NONE, 0, constant);
    step->form = form;
}

static void decode_one(const struct disassembler *with, int machine, const uint8_t *bytes, size_t left, struct step *step)
{
    uint64_t address = step->address;
    *step = (struct step){ .address = address, .to = NONE, .a = NONE, .b = NONE, .condition = NONE,
                           .kind = STEP_UNKNOWN, .size = (uint8_t)(with->step ? with->step : 1) };
    uint32_t word = 0;
    memcpy(&word, bytes, left < sizeof word ? left : sizeof word);
    if (machine == EM_AARCH64 && arm64_atomic(word, step))
        return;
    if (!capstone()->disasm_iter(with->handle, &bytes, &left, &address, with->instruction))
        return;
    step->size = (uint8_t)with->instruction->size;
    if (machine == EM_AARCH64)
        arm64_step(with, step);
    else
        x86_step(with, step);
}

static int decode(struct function *function, const struct disassembler *with, const uint8_t *bytes)
{
    size_t left = function->end - function->start;
    uint64_t address = function->start;
    while (left > 0) {
        struct step step = { .address = address };
        decode_one(with, function->machine, bytes, left, &step);
        if (step.size > left)
            break;
        if (LIST_ADD(function->step, function->steps, step) < 0)
            return -ENOMEM;
        bytes += step.size;
        left -= step.size;
        address += step.size;
    }
    return 0;
}

static int find_jumps(struct function *function)
{
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < function->steps; i++) {
        uint64_t target = function->step[i].target;
        if (target - function->start < function->end - function->start)
            result = LIST_ADD(function->jump, function->jumps, (struct jump){ target, i });
    }
    list_sort(function->jump, function->jumps, sizeof *function->jump);
    return result;
}

int function_decode(struct function *function, const uint8_t *bytes)
{
    struct disassembler with = { 0 };
    int is_known = function->machine == EM_X86_64 || function->machine == EM_AARCH64;
    int result = is_known ? disassembler_open(&with, function->machine) : -ENOTSUP;
    function->stack = function->machine == EM_AARCH64 ? ARM64_STACK : X86_STACK;
    if (result == -ENOTSUP)                /* a program of 32 bits: nothing is known of it */
        return 0;
    if (result == 0)
        result = decode(function, &with, bytes);
    disassembler_close(&with);
    return result == 0 ? find_jumps(function) : result;
}

/* ---- functions ---- */

static const struct function *add(struct functions *functions, const struct pmclua_code *code, uint64_t offset, int *result)
{
    struct function *function = calloc(1, sizeof *function);
    uint8_t *bytes = malloc(code->bytes);
    *result = function && bytes ? 0 : -ENOMEM;
    if (*result == 0)
        *result = list_grow(&functions->function, functions->count, sizeof(struct function *));
    uint64_t first = offset - (code->address - code->start);
    int is_read = *result == 0
        && pread(functions->symbols->fd, bytes, code->bytes, (off_t)first) == (ssize_t)code->bytes;
    if (is_read) {
        function->start = code->start;
        function->end = code->start + code->bytes;
        function->machine = functions->symbols->machine;
        *result = function_decode(function, bytes);
    }
    free(bytes);
    if (!is_read || *result < 0) {
        if (function)
            function_free(function);
        return NULL;
    }
    functions->function[functions->count++] = function;
    return function;
}

const struct function *functions_at(struct functions *functions, uint64_t offset, uint64_t *address, int *result)
{
    *result = 0;
    if (!functions->symbols || symbols_address(functions->symbols, offset, address) < 0)
        return NULL;
    for (size_t i = functions->count; i-- > 0;) {
        const struct function *known = functions->function[i];
        if (*address - known->start < known->end - known->start)
            return known;
    }
    struct pmclua_code code;
    if (pmclua_symbols_code(functions->symbols, offset, &code, NULL, 0) < 0 || code.bytes == 0
        || code.bytes > LONGEST)
        return NULL;
    return add(functions, &code, offset, result);
}

int32_t function_step(const struct function *function, uint64_t address)
{
    size_t up_to = list_up_to(function->step, function->steps, sizeof *function->step, address);
    return up_to > 0 && function->step[up_to - 1].address == address ? (int32_t)(up_to - 1) : -1;
}

static int goes_on(const struct step *step)
{
    return step->kind != STEP_JUMP && step->kind != STEP_RETURN && step->kind != STEP_UNKNOWN;
}

uint32_t function_before(const struct function *function, uint32_t index, uint32_t *before, uint32_t size)
{
    uint64_t address = function->step[index].address;
    uint32_t count = 0;
    if (index > 0 && goes_on(&function->step[index - 1]) && count++ < size)
        before[0] = index - 1;
    size_t last = list_up_to(function->jump, function->jumps, sizeof *function->jump, address);
    for (size_t i = last; i-- > 0 && function->jump[i].target == address; count++)
        if (count < size)
            before[count] = function->jump[i].from;
    return count;
}
