/*
 * step.h: instructions of all machines, reduced to what tells their accesses. Private to the core.
 */
#pragma once

#include <stdint.h>

#include "elf/capstone.h"

/* Registers by number: general ones from 0, vectors from 32 on; of x86 masks from 16, the flags 24; of arm64 the stack pointer
 * is 31, and the flags have none. */
enum { GENERAL = 32, VECTORS = 32, X86_STACK = 4, X86_MASKS = 16, X86_FLAGS = 24,
       ARM64_STACK = 31 };
enum { NONE = -1 };

#define BIT(number) (1ull << (number))

/* An access to memory, at base + index * scale + displacement. Without either register the address is absolute, as the file
 * has it. */
struct place {
    int8_t base, index;            /* NONE */
    uint8_t scale, bytes;          /* bytes 0: it does not access memory */
    uint8_t is_read, is_written, is_of_thread;
    uint8_t index_form;            /* of arm64: how much of the index counts */
    int64_t displacement;
};

enum { INDEX_WHOLE, INDEX_UNSIGNED, INDEX_SIGNED };      /* all; its 32 bits, extended by zeros, by their sign */

enum step_kind {
    STEP_OTHER, STEP_JUMP, STEP_BRANCH, STEP_CALL, STEP_RETURN, STEP_NOTHING, STEP_COMPUTING,
    STEP_REPEATED,                 /* accesses memory as often as a register says; stands at itself meanwhile */
    STEP_UNKNOWN
};

/* How the new value of register `to` follows from others. ADD: a + b * scale + constant. */
enum form { FORM_NONE, FORM_ADD, FORM_LEFT, FORM_RIGHT, FORM_AND, FORM_MULTIPLY };

struct step {
    uint64_t address, target;      /* target: of a direct jump; 0 */
    uint64_t reads, writes;        /* registers, as bits */
    struct place place;
    int64_t constant;
    int8_t to, a, b;               /* NONE */
    int8_t scale;
    uint8_t size, kind, form;
    uint8_t is_half, is_signed;    /* the value has 32 bits, and is extended by zeros or by its sign */
    uint8_t is_fused;              /* a branch behind it is executed with it */
    uint8_t is_constant_of_file;   /* `constant` is an address as the file has it */
    uint8_t load;                  /* `to` is what is read: 1: extended by zeros, 2: by its sign */
    int8_t condition;              /* of a branch, as x86 numbers them; NONE: unknown */
};

/* Sets how the new value follows: a + b * scale + constant; or another form, of a and a constant. */
void step_add(struct step *step, int8_t a, int8_t b, int scale, int64_t constant);
void step_form(struct step *step, uint8_t form, int8_t a, int64_t constant);
/* Fills in what the instruction does that was disassembled last. */
void x86_step(const struct disassembler *disassembler, struct step *step);
void arm64_step(const struct disassembler *disassembler, struct step *step);
/* The same for atomic instructions that Capstone 4 does not know, from the word itself: 1; 0: another instruction. */
int  arm64_atomic(uint32_t word, struct step *step);
/* Whether a branch on `condition` is taken with these flags. */
int  x86_is_taken(int condition, uint64_t flags);
