/*
 * trace.h: from a sample's registers to what the instruction accessed that was blocked. Private to the core.
 */
#pragma once

#include "steps.h"

/* A sample in a function, at step `index`. */
struct moment {
    const struct function *function;
    uint32_t index;
    const uint64_t *general;       /* GENERAL registers by our numbers */
    uint64_t known;                /* of these, as bits */
    uint64_t flags;                /* of x86 */
    uint64_t bias;                 /* of addresses over the file's */
    const uint8_t *stack;          /* from the stack pointer on */
    uint64_t stack_pointer, stack_bytes;
};

/* The access of a sample; kind and certainty are PMCLUA_DATA_*. */
struct finding { uint32_t kind, certainty; uint64_t address; uint8_t bytes, is_write, is_of_thread; };

void trace(const struct moment *moment, struct finding *finding);
