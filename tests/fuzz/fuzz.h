/*
 * fuzz.h: what a target here is: one function that takes any bytes, and what holds whatever they are.
 * Each target is linked with libFuzzer (run.lua) or with replay.c (the suite).
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define fuzz_one LLVMFuzzerTestOneInput

/* Returns 0; ends by abort() where something does not hold. */
int fuzz_one(const uint8_t *bytes, size_t count);

#define HOLD(condition)                                                              \
    do {                                                                             \
        if (!(condition)) {                                                          \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                 \
        }                                                                            \
    } while (0)

/* What is left of the input, taken from its beginning; zeros where it has ended. */
struct input { const uint8_t *at, *end; };

static inline uint64_t take_number(struct input *input, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes && input->at < input->end; i++)
        value |= (uint64_t)*input->at++ << 8 * i;
    return value;
}

#endif
