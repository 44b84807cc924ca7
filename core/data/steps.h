/*
 * steps.h: the functions of files as steps, and which steps come before others. Private to the core.
 */
#pragma once

#include <stddef.h>

#include "pmclua.h"
#include "step.h"

/* A jump within a function, by where it leads to. */
struct jump { uint64_t target; uint32_t from; };

/* A function, or a part of it: its steps by address. */
struct function {
    uint64_t start, end;           /* addresses, as the file has them */
    int machine;                   /* EM_X86_64 or EM_AARCH64 */
    uint8_t stack;                 /* the register that is the stack pointer */
    struct step *step;
    uint32_t steps;
    struct jump *jump;             /* by target */
    uint32_t jumps;
};

/* The functions of one file that were asked for, by start. Zeroed is empty. */
struct functions {
    struct pmclua_symbols *symbols;
    struct function **function;
    size_t count;
};

/* Fills in the steps of a function, whose `start`, `end` and `machine` are set, from its bytes. Machines other than these have
 * none. -ENOMEM, -ELIBACC. */
int  function_decode(struct function *function, const uint8_t *bytes);
/* Frees what a function holds, but not itself. */
void function_release(struct function *function);
void functions_free(struct functions *functions);
/* The function at an offset in the file, and its address there; NULL: it cannot be read. *result: -ENOMEM, -ELIBACC
 * (no Capstone), or 0. */
const struct function *functions_at(struct functions *functions, uint64_t offset, uint64_t *address, int *result);
/* The number of the step at an address; -1: there is none. */
int32_t function_step(const struct function *function, uint64_t address);
/* The steps that may have been executed just before step `index`: how many; the first `size` go to `before`. */
uint32_t function_before(const struct function *function, uint32_t index, uint32_t *before, uint32_t size);
